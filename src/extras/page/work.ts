/**
 * The page about the daemon's work: current and next work with buttons to begin it now. Then comes recent work with
 * what it did to which table.
 */
import { readHeldPush } from '../shared/browse-row.ts';
import { stampFromMs } from '../../base/clock.ts';
import { sumOf } from '../../base/sum.ts';
import { ageText, countText, durationText, plural } from '../../base/text.ts';
import type { RunRecord } from '../../replica/reader.ts';
import { type TableResult } from '../../replica/bookkeeping/runs.ts';
import { readRunResults } from './run-facts.ts';
import type { WorkKind } from '../../daemon/jobs.ts';
import type { DaemonState } from '../../daemon/state.ts';
import type { WorkProgress, WorkNote } from '../shared/work-log.ts';
import { cycleForm, decideForm, sectionHtml, tableHtml } from './layout.ts';
import { html, type Html } from './html.ts';
import { framed, type PageInput } from './context.ts';
import type { AnswerChunks } from '../shared/child-process.ts';
import { pathPart } from './address.ts';
import { timeHtml } from './values.ts';
import { readBrowsedTables } from '../shared/rows-page.ts';

const BUTTONS: readonly { readonly work: WorkKind; readonly label: string }[] = [
  { work: 'pull', label: 'Pull now' },
  { work: 'follow', label: 'Follow now' },
  { work: 'push', label: 'Push now' },
  { work: 'files', label: 'Fetch files now' },
  { work: 'verify', label: 'Compare now' },
  { work: 'backup', label: 'Back up now' },
];

function progressHtml(progress: WorkProgress | null, nowMs: number): Html {
  if (progress === null) return html`<p>Nothing at the moment.</p>`;
  const { work, startedAtMs, table, tablesDoneCount, tableCount, rowCount, expectedRowCount } = progress;
  const done = tableCount === null ? '' : `, ${countText(tablesDoneCount)} of ${plural(tableCount, 'table')}`;
  const bar =
    expectedRowCount > 0
      ? html`<progress
          max="${expectedRowCount}"
          value="${Math.min(rowCount, expectedRowCount)}"
          aria-label="Rows"
        ></progress>`
      : html`<progress aria-label="Under way"></progress>`;
  return html`<p>
      <b>${work}</b> for ${durationText(Math.max(0, nowMs - startedAtMs))}${done},
      ${plural(rowCount, 'row')}${table !== null && html`: <bdi>${table}</bdi>`}
    </p>
    ${bar}`;
}

function scheduleHtml({ jobs, lastByWork }: DaemonState, nowMs: number): Html {
  if (jobs.length === 0) return html`<p class="about">Nothing is scheduled.</p>`;
  return html`<div class="scroll" role="region" aria-label="Jobs" tabindex="0">
    ${tableHtml('', 'What is done when', {
      rows: jobs,
      columns: [
        { title: 'Work', cell: ({ id }) => html`<bdi>${id}</bdi>` },
        {
          title: 'Next',
          cell: ({ nextAtMs, isDue }) =>
            html`<span title="${stampFromMs(nextAtMs)}"
              >${isDue ? 'due now' : `in ${durationText(Math.max(0, nextAtMs - nowMs))}`}</span
            >`,
        },
        { title: 'Last', cell: ({ id }) => lastText(lastByWork, id, nowMs) },
      ],
    })}
  </div>`;
}

function lastText(lastByWork: DaemonState['lastByWork'], id: string, nowMs: number): string {
  const last = lastByWork.get(id);
  if (last === undefined) return '–';
  return `${last.outcome} ${ageText(stampFromMs(last.finishedAtMs), nowMs)}, took ${durationText(last.durationMs)}`;
}

export function answerWork(page: PageInput): AnswerChunks {
  const { reader, request } = page;
  const { state, work, formToken, nowMs } = request;
  const kinds = new Set(state.jobs.map(({ id }) => id.split(' ')[0]));
  const runs = reader.runs(RUNS_READ_MAX);
  const results = readRunResults(reader, RUNS_READ_MAX);
  // Rows that the origin refused, or that cannot be sent.
  const refusedCount = sumOf(reader.status(), (table) => table.refusedCount - table.inDoubtCount);
  const held = new Set(
    readBrowsedTables(reader).flatMap(({ id, name }) => (readHeldPush(reader, id) === null ? [] : [name])),
  );
  const body = html`<h1>Work</h1>
    <section class="card" aria-labelledby="now">
      <h2 id="now">Under way</h2>
      <div id="progress" aria-live="polite">${progressHtml(work.progress, nowMs)}</div>
      <div class="buttons">
        ${cycleForm(formToken, {}, ['Synchronise now', 'main'])}
        ${BUTTONS.filter((button) => kinds.has(button.work)).map(({ work: kind, label }) =>
          cycleForm(formToken, { work: kind }, [label]),
        )}
        ${
          refusedCount !== 0 &&
          decideForm(formToken, { kind: 'retry', ids: [] }, [`Send ${plural(refusedCount, 'refused row')} again`])
        }
      </div>
    </section>
    ${sectionHtml('schedule', 'Schedule', scheduleHtml(state, nowMs))}
    ${sectionHtml('done', 'Recent work', doneHtml({ runs, results, notes: work.notes, held }, nowMs))}`;
  const refreshSeconds = state.working === null ? 60 : 5;
  return framed(page, { title: 'Work · rowsync', place: 'Work', liveSeconds: 15, refreshSeconds }, body);
}

/** Lines at most: one a day for runs that only looked, and for each kind that moved rows; one for each failure. */
const LISTED_MAX = 40;
/** Runs that are read for the list; more do not keep what they did to each table. */
const RUNS_READ_MAX = 1_000;
/** Runs of a sum that are listed when it is opened. */
const OPENED_MAX = 50;

interface Piece {
  /** The kind of work, and the number of its run where it has one. */
  readonly name: string;
  readonly number: number | null;
  readonly at: string;
  readonly outcome: string;
  readonly took: string;
  readonly summary: string | null;
  readonly words: string | null;
  readonly hint: string | null;
  readonly tables: readonly TableResult[];
  readonly moved: MovedCounts;
  /** Requests to the origin, and how many of them it answered with "not modified". */
  readonly requestCount: number;
  readonly skippedCount: number;
  /** Whether it succeeded and changed nothing. */
  readonly isQuiet: boolean;
}

type MovedCounts = Pick<TableResult, 'inserted' | 'updated' | 'deleted'>;

function movedIn(counts: readonly MovedCounts[]): MovedCounts {
  return {
    inserted: sumOf(counts, ({ inserted }) => inserted),
    updated: sumOf(counts, ({ updated }) => updated),
    deleted: sumOf(counts, ({ deleted }) => deleted),
  };
}

export function doneHtml(
  done: {
    readonly runs: readonly RunRecord[];
    readonly results: ReadonlyMap<number, readonly TableResult[]>;
    readonly notes: readonly WorkNote[];
    /** Tables whose push a guard holds now. */
    readonly held: ReadonlySet<string>;
  },
  nowMs: number,
): Html {
  const runs = done.runs
    .filter(({ outcome }) => outcome !== 'running')
    .map((run) => pieceOfRun(run, done.results.get(run.id) ?? [], runAfter(run, done.runs)));
  const pieces = [...runs, ...done.notes.map(pieceOfNote)].toSorted((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
  if (pieces.length === 0) return html`<p class="about">Nothing has ended yet.</p>`;
  return html`<ol class="notes">
    ${inLines(pieces)
      .slice(0, LISTED_MAX)
      .map((line) => lineHtml(line, done.held, nowMs))}
  </ol>`;
}

/** Pieces that share a line, those with the newest first; never empty. */
function inLines(pieces: readonly Piece[]): readonly (readonly Piece[])[] {
  const lines = Map.groupBy<string | Piece, Piece>(pieces, (piece) => {
    const { name, at, outcome, words, tables, isQuiet } = piece;
    const isTroubled =
      outcome !== 'done' || words !== null || tables.some(({ problem, refused }) => problem !== null || refused > 0);
    const day = at.slice(0, 10);
    return isTroubled ? piece : isQuiet ? day : `${day} ${name}`;
  });
  return [...lines.values()];
}

function lineHtml(line: readonly Piece[], held: ReadonlySet<string>, nowMs: number): Html | null {
  const [newest, oldest] = [line[0], line.at(-1)];
  if (newest === undefined || oldest === undefined) return null;
  if (line.length === 1) return pieceHtml(newest, held, nowMs);
  const [to, from] = [ageText(newest.at, nowMs), ageText(oldest.at, nowMs)];
  const when = html`<time datetime="${newest.at}" title="${`${oldest.at} to ${newest.at}`}"
    >${to === from ? to : `from ${from} to ${to}`}</time
  >`;
  const done = html`<span class="state ok">done</span>`;
  if (newest.isQuiet)
    return html`<li class="quiet">
      <p>${done} ${plural(line.length, 'run')} in which nothing changed, ${when}${requestsText(line)}</p>
    </li>`;
  const sum = countsText(movedIn(line.map(({ moved }) => moved)));
  return html`<li>
    <details>
      <summary>
        ${done} <b>${newest.name}</b> ${countText(line.length)} times, ${when}${requestsText(line)}:
        ${sum === '' ? 'nothing changed' : sum}
      </summary>
      <ul>
        ${line.slice(0, OPENED_MAX).map((piece) => pieceHtml(piece, held, nowMs))}
        ${line.length > OPENED_MAX && html`<li class="none">${plural(line.length - OPENED_MAX, 'earlier run')}</li>`}
      </ul>
    </details>
  </li>`;
}

/** The requests of pieces of work, behind a comma; nothing without any. */
function requestsText(pieces: readonly Piece[]): string {
  const requestCount = sumOf(pieces, (piece) => piece.requestCount);
  const skippedCount = sumOf(pieces, (piece) => piece.skippedCount);
  return requestCount === 0 ? '' : `, ${plural(requestCount, 'request')} (${countText(skippedCount)} not modified)`;
}

/** The first finished run of the same kind after another; null for none. */
function runAfter({ id, kind }: RunRecord, runs: readonly RunRecord[]): number | null {
  const later = runs.filter((run) => run.kind === kind && run.id > id && run.outcome === 'done');
  return later.length === 0 ? null : Math.min(...later.map((run) => run.id));
}

function pieceOfRun(run: RunRecord, results: readonly TableResult[], nextId: number | null): Piece {
  const { id, kind, startedAt, finishedAt, outcome, tableCount, errorMessage } = run;
  const ofAll = results.find(({ table }) => table === null);
  const tables = results.filter(({ table }) => table !== null);
  const moved = { inserted: run.insertedCount, updated: run.updatedCount, deleted: run.deletedCount };
  const counts = countsText(moved);
  // Only sums are kept of old runs.
  const error = results.length === 0 ? errorMessage : null;
  const isQuiet = tables.length === 0 && ofAll === undefined && error === null;
  const continued = nextId === null ? 'the next run continues it' : `run ${nextId} continued it`;
  return {
    name: kind,
    number: id,
    at: finishedAt ?? startedAt,
    outcome,
    took: finishedAt === null ? '' : `took ${timeText(startedAt, finishedAt)}`,
    summary: isQuiet ? (outcome === 'interrupted' ? continued : counts || nothingText(tableCount)) : null,
    words: ofAll?.problem ?? error,
    hint: ofAll?.hint ?? null,
    tables,
    moved,
    requestCount: run.requestCount,
    skippedCount: run.notModifiedCount,
    isQuiet: isQuiet && counts === '' && outcome === 'done',
  };
}

function pieceOfNote({ work, finishedAtMs, durationMs, outcome, tables, tableCount, words, hint }: WorkNote): Piece {
  return {
    name: work,
    number: null,
    at: stampFromMs(finishedAtMs),
    outcome,
    took: `took ${durationText(durationMs)}`,
    summary: tables.length === 0 && words === null && tableCount > 0 ? nothingText(tableCount) : null,
    words,
    hint,
    tables,
    moved: movedIn(tables),
    requestCount: 0,
    skippedCount: 0,
    isQuiet: false,
  };
}

function nothingText(tableCount: number): string {
  return tableCount === 0 ? 'nothing to do' : 'nothing changed';
}

function pieceHtml(piece: Piece, held: ReadonlySet<string>, nowMs: number): Html {
  const { name, number, at, outcome, took, summary, words, hint, tables } = piece;
  return html`<li>
    <p>
      <span class="state ${toneOf(outcome)}">${outcome}</span>
      <b>${name}</b>${number === null ? '' : ` ${number}`},
      ${timeHtml(at, nowMs)}${took === '' ? '' : `, ${took}`}${requestsText([piece])}${summary === null ? '' : `; ${summary}`}
    </p>
    ${troubleHtml(words, hint)}
    ${
      tables.length !== 0 &&
      html`<ul>
        ${tables.map((table) => resultHtml(table, name === 'push' && outcome === 'held', held))}
      </ul>`
    }
  </li>`;
}

function troubleHtml(words: string | null, hint: string | null): Html | null {
  if (words === null) return null;
  return html`<p class="reason"><bdi>${words}</bdi></p>
    ${hint !== null && hint !== '' && html`<p class="hint">${hint}</p>`}`;
}

function resultHtml(result: TableResult, isHeldPush: boolean, held: ReadonlySet<string>): Html {
  const table = result.table ?? '';
  return html`<li>
    <a href="/browse/${pathPart(table)}"><bdi>${table}</bdi></a> ${countsText(result)}
    ${result.refused !== 0 && html`<a href="/#waiting">${countText(result.refused)} refused</a>`}
    ${troubleHtml(result.problem, isHeldPush ? null : result.hint)}
    ${isHeldPush && held.has(table) && html`<a href="/edits/${pathPart(table)}">See the edits</a>`}
  </li>`;
}

function countsText({ inserted, updated, deleted }: MovedCounts): string {
  return [
    inserted === 0 ? null : `${countText(inserted)} new`,
    updated === 0 ? null : `${countText(updated)} changed`,
    deleted === 0 ? null : `${countText(deleted)} deleted`,
  ]
    .filter((text) => text !== null)
    .join(', ');
}

function toneOf(outcome: string): 'ok' | 'warn' | 'bad' {
  if (outcome === 'done') return 'ok';
  return outcome === 'held' ? 'warn' : 'bad';
}

/** How long a run took; stamps have whole seconds. */
function timeText(startedAt: string, finishedAt: string): string {
  const ms = Date.parse(finishedAt) - Date.parse(startedAt);
  return ms < 1000 ? 'under 1 s' : durationText(ms);
}
