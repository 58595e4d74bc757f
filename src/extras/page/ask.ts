/**
 * The page for questions in SQL. The query is part of the address, so it can be kept and sent to a colleague.
 */
import { bytesText, countText, durationText, plural } from '../../base/text.ts';
import { asRowsyncError, usageError } from '../../base/errors.ts';
import { ident } from '../../base/sql.ts';
import { isZone } from '../../wire/time-zones.ts';
import type { QueryAnswer, ReplicaReader } from '../../replica/reader.ts';
import { readKnownTables } from '../history/known-since.ts';
import { queryPast } from '../history/past-tables.ts';
import type { AnswerChunks } from '../shared/child-process.ts';
import { oldestOf } from '../shared/freshness.ts';
import { ageBound, requireFresh } from '../shared/fresh-tables.ts';
import { readBrowsedTables, readSaved, readViews, type SavedQuestion } from '../shared/rows-page.ts';
import { framed, meantHtml, problem, type PageInput } from './context.ts';
import { questionOf } from './saved-questions.ts';
import { pathPart } from './address.ts';
import { exact, html, type Html } from './html.ts';
import { foldedHtml, hiddenHtml } from './layout.ts';
import { cutText } from './values.ts';

/** Rows of an answer that the page shows; an export has all. */
const ANSWER_ROWS_MAX = 1_000;
const CELL_CHARS_MAX = 1_000;
/** Bytes of an answer that the page holds. */
const ANSWER_BYTES_MAX = 8_000_000;
/** Memory of SQLite for one page or query. */
export const SQLITE_BYTES_MAX = 48 * 1024 * 1024;

type QueryOutcome = ReturnType<typeof ask>;

type AskView = ReturnType<typeof readAskView>;

const EXAMPLES = [
  'SELECT * FROM sync_status',
  'SELECT "table", count(*) FROM sync_deleted GROUP BY 1',
  'SELECT kind, outcome, count(*), max(started_at) FROM sync_runs GROUP BY 1, 2',
] as const;

function askHtml(view: AskView): Html {
  const { sql, at, fresh, hasHistory, zone, outcome, unsaved } = view;
  return html`<h1>${view.name === null ? 'Ask in SQL' : html`<bdi>${view.name}</bdi>`}</h1>
    ${unsaved !== undefined && html`<p class="problem" role="alert">The question was not saved: ${unsaved.words}</p>`}
    <div class="asking">
      <div>
        <form method="get" action="/ask" class="ask">
          <label for="sql">One query that only reads</label>
          <textarea id="sql" name="sql" rows="6" spellcheck="false" autocomplete="off" required dir="ltr">
${exact(sql)}</textarea>
          ${
            hasHistory &&
            html`<label for="at">As it was at (${zone}; empty: as it is)</label>
              <input id="at" name="at" type="datetime-local" step="1" value="${exact(at)}" />`
          }
          <label for="fresh">No table older than (10m, 1h; empty: as it is)</label>
          <input id="fresh" name="fresh" size="6" autocomplete="off" value="${exact(fresh)}" />
          <p class="buttons"><button class="main">Ask</button><button type="button" id="stop" hidden>Stop</button></p>
        </form>
        ${outcome === null ? examplesHtml() : outcomeHtml(outcome, view)} ${savingHtml(view)}
      </div>
      ${namesHtml(view)}
    </div>`;
}

function savingHtml({ sql, at, fresh, name, saved, outcome, unsaved, formToken }: AskView): Html {
  const isAnswer = name === null && outcome?.kind === 'answer' && at === '' && fresh === '';
  return html`${
    saved.length !== 0 &&
    html`<section aria-labelledby="saved">
      <h2 id="saved">Saved questions</h2>
      <ul class="facet">
        ${saved.map(
          (each) =>
            html`<li>
              <a href="/ask/${pathPart(each)}"><bdi>${each}</bdi></a>
            </li>`,
        )}
      </ul>
    </section>`
  }${
    (isAnswer || unsaved !== undefined) &&
    foldedHtml(
      unsaved !== undefined,
      'Save this question',
      html`<form method="post" action="/edit" class="buttons">
          ${hiddenHtml(formToken, { kind: 'save', sql: exact(sql) })}
          <label for="name">Name</label>
          <input
            id="name"
            name="name"
            value="${exact(unsaved?.name ?? '')}"
            maxlength="100"
            required
            autocomplete="off"
          />
          <button>Save</button>
        </form>
        <p class="hint">It becomes a view of the replica, so every SQL client has it.</p>`,
    )
  }${
    name !== null &&
    html`<details>
      <summary>Drop this question</summary>
      <form method="post" action="/edit">
        ${hiddenHtml(formToken, { kind: 'drop', name: exact(name) })}
        <button>Drop the view</button>
      </form>
    </details>`
  }`;
}

function examplesHtml(): Html {
  return html`<p class="about">For example:</p>
    <ul class="examples">
      ${EXAMPLES.map(
        (text) =>
          html`<li>
            <a href="/ask?sql=${encodeURIComponent(text)}"><code>${text}</code></a>
          </li>`,
      )}
    </ul>`;
}

function outcomeHtml(outcome: QueryOutcome, { sql, at, fresh }: AskView): Html {
  if (outcome.kind === 'problem') {
    return html`<div class="verdict warn" role="alert">
      <h2>${outcome.words}</h2>
      <p>${outcome.hint}</p>
    </div>`;
  }
  const { columns, rows, isCut, tookMs, asOf } = outcome;
  const query = new URLSearchParams({ sql, ...(at === '' ? {} : { at }), ...(fresh === '' ? {} : { fresh }) });
  const count = `${isCut ? 'The first ' : ''}${plural(rows.length, 'row')}`;
  const numeric = columns.map((_, index) => isNumeric(rows, index));
  const bars = barsOf(columns, rows);
  return html`<p class="about" role="status">
      ${count}, in
      ${tookMs < 1_000 ? `${Math.ceil(tookMs)} ms` : durationText(tookMs)}${asOf === null ? '' : `, as of ${asOf} or later`}${isCut ? '; an export has all' : ''}.
      <a href="/export/csv?${exact(query.toString())}" download>CSV</a>
      <a href="/export/json?${exact(query.toString())}" download>JSON</a>
    </p>
    <div class="scroll rows" role="region" aria-label="Answer" tabindex="0">
      <table class="grid">
        <caption class="unseen">
          Answer
        </caption>
        <thead>
          <tr>
            ${columns.map((name, index) => html`<th scope="col" class="${numeric[index] === true ? 'number' : ''}"><bdi>${name}</bdi></th>`)}
            ${bars.length !== 0 && html`<td></td>`}
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            (row, index) =>
              html`<tr>
                ${row.map((value, column) => answerCellHtml(value, numeric[column] === true))} ${bars[index] ?? null}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>`;
}

/** A chart of an answer of two columns: a bar for each number, beside its row. None for other answers. */
function barsOf(columns: readonly string[], rows: readonly (readonly unknown[])[]): readonly Html[] {
  if (columns.length !== 2 || rows.length < 2 || !isNumeric(rows, 1)) return [];
  const values = rows.map(([, value]) => Number(value ?? 0));
  const low = Math.min(0, ...values);
  const span = Math.max(0, ...values) - low || 1;
  const place = (value: number): number => Math.round(((value - low) / span) * 1000) / 10;
  return values.map((value) => {
    const [left, right] = [place(Math.min(0, value)), place(Math.max(0, value))];
    return html`<td class="bar" aria-hidden="true">
      <svg viewBox="0 0 100 10" preserveAspectRatio="none">
        <rect class="${value < 0 ? 'failed' : 'read'}" x="${left}" y="0" width="${right - left}" height="10" />
      </svg>
    </td>`;
  });
}

function isNumeric(rows: readonly (readonly unknown[])[], index: number): boolean {
  const given = rows.map((row) => row[index]).filter((value) => value !== null);
  return given.length > 0 && given.every((value) => typeof value === 'number' || typeof value === 'bigint');
}

function answerCellHtml(value: unknown, isNumber: boolean): Html {
  if (typeof value === 'number' || typeof value === 'bigint') return html`<td class="number">${String(value)}</td>`;
  if (value instanceof Uint8Array) return html`<td><em class="none">${bytesText(value.length)} of bytes</em></td>`;
  if (typeof value !== 'string')
    return html`<td class="null ${isNumber ? 'number' : ''}"><span class="unseen">no value</span></td>`;
  const more =
    value.length > CELL_CHARS_MAX ? html` <em class="none">… ${countText(value.length)} characters</em>` : null;
  return html`<td>
    <div class="cut"><bdi>${cutText(value, CELL_CHARS_MAX)}</bdi>${more}</div>
  </td>`;
}

function namesHtml({ tables, views }: AskView): Html {
  const all = [
    ...tables.map(({ name, columns }) => ({ name, columns: ['_id', ...columns.map((column) => column.name)] })),
    ...views,
  ];
  return html`<aside aria-label="Tables and columns">
    <h2>Names</h2>
    ${all.map(
      ({ name, columns }) =>
        html`<details>
          <summary><bdi>${name}</bdi></summary>
          <p>
            <a href="/ask?sql=${encodeURIComponent(`SELECT * FROM ${ident(name).toWellFormed()} LIMIT 100`)}"
              >First rows</a
            >
          </p>
          <ul class="names">
            ${columns.map((column) => html`<li><bdi>${column}</bdi></li>`)}
          </ul>
        </details>`,
    )}
  </aside>`;
}

/** The zone of local times here. Node has no name for some, such as a path in TZ, and takes others for UTC. */
export function machineZone(): string {
  // Its type promises more than Node keeps.
  const { timeZone }: { readonly timeZone?: string } = Intl.DateTimeFormat().resolvedOptions();
  return timeZone !== undefined && isZone(timeZone) ? timeZone : 'UTC';
}

/** The page of the saved question with this name, or of the one in the address. `unsaved`: why it was not saved. */
export function answerAsk(page: PageInput, name: string, unsaved?: UnsavedQuestion): AnswerChunks {
  const { reader } = page;
  const saved = readSaved(reader);
  const question = saved.find((each) => each.name === name) ?? null;
  if (question === null && name !== '') {
    const names = saved.map((each) => each.name);
    const meant = meantHtml(name, names, (near) => html`<a href="/ask/${pathPart(near)}"><bdi>${near}</bdi></a>`);
    const hint = html`${meant}<a href="/ask">All saved questions</a>`;
    return problem(page, 404, `There is no question “${name}”`, hint);
  }
  const view = readAskView(page, { question, saved, unsaved });
  const layout = { title: `${question?.name ?? 'Ask'} · rowsync`, place: 'Ask', isWide: true } as const;
  return framed(page, layout, askHtml(view), view.outcome?.kind === 'problem' ? 400 : 200);
}

/** A name that a question could not be saved under, and why. */
interface UnsavedQuestion {
  readonly name: string;
  readonly words: string;
}

function readAskView(
  { reader, query, request }: PageInput,
  given: {
    readonly question: SavedQuestion | null;
    readonly saved: readonly SavedQuestion[];
    readonly unsaved: UnsavedQuestion | undefined;
  },
) {
  const { question, saved, unsaved } = given;
  const sql = question?.sql ?? questionOf(query.get('sql'));
  const at = query.get('at') ?? '';
  const fresh = query.get('fresh') ?? '';
  // A question that was stopped comes back as it was typed, and is not asked again.
  const isStopped = request.refused !== undefined;
  return {
    sql,
    /** A moment, as it was typed; empty for the present. */
    at,
    /** How old the tables may be, as it was typed; empty for any age. */
    fresh,
    /** The name of the question; null for one that is not saved. */
    name: question?.name ?? null,
    saved: saved.map(({ name }) => name),
    formToken: request.formToken,
    hasHistory: readKnownTables(reader).some(({ since }) => since !== null),
    /** The zone of a moment that names none. */
    zone: machineZone(),
    /** Null before the first question. */
    outcome: sql === '' || isStopped ? null : ask(reader, { sql, at, fresh, nowMs: request.nowMs }),
    unsaved,
    tables: readBrowsedTables(reader),
    views: readViews(reader),
  };
}

/** A question and its moment: empty for the present; without a zone, in the zone of this machine. */
interface QueryRequest {
  readonly sql: string;
  readonly at: string;
  /** How old the tables may be; empty for any age. */
  readonly fresh: string;
  readonly nowMs: number;
}

/** The answer to a question. @throws RowsyncError as a query does. */
export function queryAt(
  reader: ReplicaReader,
  { sql, at, fresh, nowMs }: QueryRequest,
): QueryAnswer & { readonly asOf: string | null } {
  if (at === '' || fresh !== '') {
    const names = (): readonly string[] => reader.tablesOf(sql);
    const tables = fresh === '' ? [] : requireFresh(reader, { names, bound: ageBound(fresh, nowMs) });
    if (at === '') return { ...reader.query(sql), asOf: oldestOf(tables) };
    throw usageError('An earlier time and a greatest age exclude each other', 'Leave one of them empty.');
  }
  const ms = Date.parse(at);
  if (!Number.isNaN(ms)) return { ...queryPast(reader, sql, { moment: Math.floor(ms / 1000), nowMs }), asOf: null };
  throw usageError(`Cannot read "${at}" as a time`, 'Write it as 2026-11-01T08:00, or leave it empty.');
}

function ask(reader: ReplicaReader, question: QueryRequest) {
  const startedMs = process.hrtime.bigint();
  try {
    const { columns, rows, asOf } = queryAt(reader, question);
    const shown: (readonly unknown[])[] = [];
    let bytes = 0;
    let isCut = false;
    for (const row of rows) {
      if (shown.length === ANSWER_ROWS_MAX || bytes > ANSWER_BYTES_MAX) {
        isCut = true;
        break;
      }
      shown.push(row);
      bytes += row.reduce<number>((sum, cell) => sum + (typeof cell === 'string' ? cell.length : 8), 0);
    }
    return {
      kind: 'answer' as const,
      columns,
      rows: shown,
      isCut,
      tookMs: Number(process.hrtime.bigint() - startedMs) / 1e6,
      /** The time of the oldest table that was read; null where no age was asked for. */
      asOf,
    };
  } catch (thrown) {
    const { message, hint } = asRowsyncError(thrown);
    if (/out of memory|blob too big/i.test(message)) {
      const mebibytes = countText(SQLITE_BYTES_MAX / 1024 / 1024);
      return {
        kind: 'problem' as const,
        words: `The query needs more memory than the page gives it (${mebibytes} MiB)`,
        hint: 'Ask for less, or ask with rowsync sql.',
      };
    }
    return { kind: 'problem' as const, words: message, hint };
  }
}
