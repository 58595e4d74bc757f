/**
 * The status page: one document, rendered for every request, that works without scripts. Input: the daemon's state, the tables, the last runs, and
 * after signing in what waits for a decision. Output: HTML, in which every text is escaped (html.ts). Pure.
 */
import { stampFromMs } from '../../base/clock.ts';
import { ageText, bytesText, countText, durationText, plural } from '../../base/text.ts';
import { troubledTables, type Problem } from '../../reconcile/account.ts';
import type { ProblemCode } from '../../reconcile/problems.ts';
import type { ReplicaIdentity, RunRecord, TableStatus } from '../../replica/reader.ts';
import type { SinkStatus } from '../../replica/sink-book.ts';
import { sinkSentence } from '../../sink/text.ts';
import type { DaemonState } from '../state.ts';
import { deskHtml, type Desk } from './decide.ts';
import { headlineOf, type Headline } from './headline.ts';
import { documentHtml, topHtml } from './frame.ts';
import { html, type Html } from './html.ts';
import { runsHtml } from './runs.ts';
import { scheduleHtml } from './work.ts';

/** What the page shows. */
export interface PageView {
  readonly state: DaemonState;
  readonly replica: { readonly path: string; readonly bytes: number };
  /** Null before the first pull. */
  readonly identity: ReplicaIdentity | null;
  readonly problems: readonly Problem[];
  readonly tables: readonly TableStatus[];
  /** The sinks of the replica; none if none is configured. */
  readonly sinks?: readonly SinkStatus[] | undefined;
  /** The newest first. */
  readonly runs: readonly RunRecord[];
  /** Values of rows and buttons; null before signing in. */
  readonly desk: Desk | null;
  /** The file of the key for signing in. */
  readonly keyPath: string;
  /** The result of the last decision; null for none. */
  readonly said: string | null;
  readonly nowMs: number;
}

/** Tables in the list; those that need attention come first. */
const TABLES_MAX = 500;

/** The whole page. */
export function pageHtml(view: PageView): string {
  const { state, problems, tables, sinks = [], runs, identity, desk, said, nowMs } = view;
  const headline = headlineOf(problems, { state, tables, nowMs });
  const name = identity === null ? 'rowsync' : `database ${identity.database}`;
  // Without scripts, a reload would lose what a person types. So only a page without fields reloads.
  const isWaiting = tables.some((table) => table.conflictCount + table.refusedCount + table.unreadableCount > 0);
  const hasFields = desk === null || desk.conflicts.length > 0;
  return documentHtml(
    `${headline.sentence} · ${name}`,
    html`${topHtml({ identity, formToken: desk?.formToken ?? null, place: 'Today' })}
      <main data-refresh>
        ${said === null ? null : html`<p class="said" role="status">${said}</p>`} ${headlineHtml(headline, desk)}
        ${desk === null ? (isWaiting ? signInHtml(view) : null) : deskHtml(desk, nowMs)}
        <section aria-labelledby="tables">
          <h2 id="tables">${plural(tables.length, 'table')}</h2>
          ${tablesHtml(tables, troubledTables(problems), nowMs)}
          ${sinks.map((sink) => html`<p>Sink ${sink.name}: ${sinkSentence(sink)}</p>`)}
        </section>
        <section aria-labelledby="runs">
          <h2 id="runs">Last runs</h2>
          ${runsHtml(runs, nowMs)}
        </section>
        <section aria-labelledby="schedule">
          <h2 id="schedule">Schedule</h2>
          ${scheduleHtml(state, nowMs)}
        </section>
        ${desk === null && !isWaiting ? signInHtml(view) : null}
      </main>
      ${bottomHtml(view)}`,
    html`${hasFields ? null : html`<noscript><meta http-equiv="refresh" content="60" /></noscript>`}
      <script src="/page.js" defer></script>`,
  );
}

/** The sentence at the top, with things to do. */
export function headlineHtml({ tone, sentence, note, problems }: Headline, desk: Desk | null): Html {
  return html`<section class="verdict ${tone}">
    <h1>${sentence}</h1>
    <p>${note}</p>
    ${
      problems.length === 0
        ? null
        : html`<ul class="todos">
            ${problems.slice(0, TABLES_MAX).map((problem) => problemHtml(problem, desk))}
          </ul>`
    }
    ${
      desk === null
        ? null
        : html`<form method="post" action="/cycle">
            <input type="hidden" name="token" value="${desk.formToken}" />
            <button>Synchronise now</button>
          </form>`
    }
  </section>`;
}

/** The part of the page where rows of a problem are decided. */
const PARTS: Partial<Readonly<Record<ProblemCode, string>>> = {
  'rows.conflicts': 'conflicts',
  'rows.inDoubt': 'waiting',
  'rows.refused': 'waiting',
  'rows.unreadable': 'waiting',
  'rows.unsendable': 'waiting',
};

function problemHtml({ code, table, sentence, todo }: Problem, desk: Desk | null): Html {
  const part = PARTS[code];
  const target = desk !== null ? part : 'sign-in';
  return html`<li>
    ${
      table === null
        ? null
        : html`<b><bdi>${table}</bdi></b
            >${' '}`
    }
    ${part === undefined ? html`<span>${sentence}</span>` : html`<a href="#${target ?? ''}">${sentence}</a>`}
    ${todo === '' ? null : html`<span class="hint">${todo}</span>`}
    ${
      desk === null || table === null || code !== 'table.held'
        ? null
        : html`<form method="post" action="/decide">
            <input type="hidden" name="token" value="${desk.formToken}" /><input
              type="hidden"
              name="kind"
              value="confirm"
            /><input type="hidden" name="table" value="${encodeURIComponent(table.toWellFormed())}" />
            <input type="hidden" name="shown" value="${encodeURIComponent(sentence.toWellFormed())}" />
            <button>Let it through</button>
          </form>`
    }
  </li>`;
}

function signInHtml({ tables, keyPath }: PageView): Html {
  const sum = (pick: (table: TableStatus) => number): number => tables.reduce((total, table) => total + pick(table), 0);
  const conflictCount = sum((table) => table.conflictCount);
  const rowCount = sum((table) => table.refusedCount + table.unreadableCount);
  const waiting = [
    conflictCount === 0 ? null : plural(conflictCount, 'conflict'),
    rowCount === 0 ? null : `${plural(rowCount, 'row')} refused, in doubt or unreadable`,
  ].filter((text) => text !== null);
  return html`<section aria-labelledby="sign-in">
    <h2 id="sign-in">Sign in to see values and to decide</h2>
    <p class="about">
      ${waiting.length === 0 ? 'Nothing waits at the moment. ' : `${waiting.join(' and ')} can be looked at here. `}Values
      of rows are shown to whoever may read the replica: the key stands in <code>${keyPath}</code>.
    </p>
    <form method="post" action="/sign-in" class="sign-in">
      <input name="user" autocomplete="username" value="rowsync" hidden />
      <label for="key">Key</label>
      <input id="key" name="key" type="password" autocomplete="current-password" required />
      <button class="main">Sign in</button>
    </form>
  </section>`;
}

function tablesHtml(tables: readonly TableStatus[], troubled: ReadonlySet<string>, nowMs: number): Html {
  if (tables.length === 0) return html`<p class="about">They are listed here as soon as the first pull has begun.</p>`;
  const ordered = tables.toSorted((a, b) => Number(troubled.has(b.table)) - Number(troubled.has(a.table)));
  const rest = tables.length - TABLES_MAX;
  return html`<table class="tables">
      <caption class="unseen">
        Tables with their state
      </caption>
      <thead>
        <tr>
          <th scope="col">Table</th>
          <th scope="col">State</th>
          <th scope="col" class="number">Rows</th>
          <th scope="col" class="number">As of</th>
          <th scope="col" class="number">To push</th>
          <th scope="col" class="number">Parked</th>
          <th scope="col" class="number">Conflicts</th>
        </tr>
      </thead>
      <tbody>
        ${ordered.slice(0, TABLES_MAX).map((table) => tableHtml(table, nowMs))}
      </tbody>
    </table>
    ${rest <= 0 ? null : html`<p class="more">and ${countText(rest)} more: <code>rowsync status</code> lists all</p>`}`;
}

/** The tone of a table's state. */
const TONES: Readonly<Record<string, string>> = { steady: 'ok', loading: 'busy', held: 'warn', failed: 'bad' };

function tableHtml(table: TableStatus, nowMs: number): Html {
  const { state, mode, rowCount, freshSince, isFiltered, pendingCount, parkedCount, conflictCount } = table;
  const count = (label: string, value: number): Html => {
    // In a mirror nothing can wait; that differs from 0 waiting.
    const text = mode === 'mirror' && value === 0 ? '–' : countText(value);
    return html`<td class="number ${value === 0 ? 'zero' : 'some'}" data-label="${label}">${text}</td>`;
  };
  return html`<tr>
    <th scope="row">
      <bdi>${table.table}</bdi>${mode === 'mirror' ? null : html` <small class="mode">${mode}</small>`}
      ${isFiltered ? html`<small class="mode">filtered</small>` : null}
    </th>
    <td data-label="State"><span class="state ${TONES[state] ?? 'warn'}">${state}</span></td>
    <td class="number" data-label="Rows">${countText(rowCount)}</td>
    <td class="number" data-label="As of">
      ${freshSince === null ? 'never' : html`<time datetime="${freshSince}" title="${freshSince}">${ageText(freshSince, nowMs)}</time>`}
    </td>
    ${count('To push', pendingCount)} ${count('Parked', parkedCount)} ${count('Conflicts', conflictCount)}
  </tr>`;
}

/** The replica, the calling user, and the addresses for programs. */
export function bottomHtml({
  replica,
  identity,
  state,
  nowMs,
}: Pick<PageView, 'replica' | 'identity' | 'state' | 'nowMs'>): Html {
  return html`<footer class="bottom">
    <p><code>${replica.path}</code>, ${bytesText(replica.bytes)}</p>
    ${
      identity === null
        ? null
        : html`<p>as <bdi>${identity.userEmail}</bdi>, <bdi>${identity.role}</bdi>, ${identity.timeZone}</p>`
    }
    <p>
      running for ${durationText(nowMs - state.startedAtMs)} · shown at ${stampFromMs(nowMs)} ·
      <a href="/status">status as JSON</a> · <a href="/metrics">metrics</a>
    </p>
  </footer>`;
}
