/**
 * The page about the daemon's work: current and next work with buttons to begin it now, then recent work with what it
 * did to which table.
 */
import { stampFromMs } from '../../base/clock.ts';
import { ageText, countText, durationText, plural } from '../../base/text.ts';
import type { RunRecord } from '../../replica/reader.ts';
import { type TableResult, readRunResults } from '../../replica/bookkeeping/runs.ts';
import type { WorkKind } from '../../daemon/jobs.ts';
import type { DaemonState } from '../../daemon/state.ts';
import type { WorkProgress, WorkSnapshot } from '../../daemon/work-book.ts';
import { doneHtml, RUNS_READ_MAX } from './recent-work.ts';
import { buttonForm } from './layout.ts';
import { html, type Html } from './html.ts';
import { runsHtml } from './runs.ts';
import { framed, type PageInput } from './context.ts';
import type { AnswerChunks } from '../shared/child-process.ts';

/** What the page shows. */
export interface WorkView {
  readonly state: DaemonState;
  readonly work: WorkSnapshot;
  /** The newest first. */
  readonly runs: readonly RunRecord[];
  /** What runs did to each table, by their ids. */
  readonly results: ReadonlyMap<number, readonly TableResult[]>;
  /** Rows that the origin refused, or that cannot be sent. */
  readonly refusedCount: number;
  readonly formToken: string;
  readonly nowMs: number;
}

/** Work that a button begins, and its words. */
const BUTTONS: readonly { readonly work: WorkKind; readonly label: string }[] = [
  { work: 'pull', label: 'Pull now' },
  { work: 'follow', label: 'Follow now' },
  { work: 'push', label: 'Push now' },
  { work: 'files', label: 'Fetch files now' },
  { work: 'verify', label: 'Compare now' },
  { work: 'backup', label: 'Back up now' },
];

/** The whole part. */
function workHtml({ state, work, runs, results, refusedCount, formToken, nowMs }: WorkView): Html {
  const kinds = new Set(state.jobs.map(({ id }) => id.split(' ')[0]));
  return html`<h1>Work</h1>
    <section class="card" aria-labelledby="now">
      <h2 id="now">Under way</h2>
      <div id="progress" aria-live="polite">${progressHtml(work.progress, nowMs)}</div>
      <div class="buttons">
        ${buttonForm({ action: 'cycle', fields: {}, label: 'Synchronise now', formToken, look: 'main' })}
        ${BUTTONS.filter((button) => kinds.has(button.work)).map(({ work: kind, label }) =>
          buttonForm({ action: 'cycle', fields: { work: kind }, label, formToken }),
        )}
        ${
          refusedCount === 0
            ? null
            : buttonForm({
                action: 'decide',
                fields: { kind: 'retryAll' },
                label: `Send ${plural(refusedCount, 'refused row')} again`,
                formToken,
              })
        }
      </div>
    </section>
    <section aria-labelledby="schedule">
      <h2 id="schedule">Schedule</h2>
      ${scheduleHtml(state, nowMs)}
    </section>
    <section aria-labelledby="done">
      <h2 id="done">Done lately</h2>
      ${doneHtml({ runs, results, notes: work.notes }, nowMs)}
    </section>
    <section aria-labelledby="runs">
      <h2 id="runs">Recorded runs</h2>
      ${runsHtml(runs, nowMs)}
    </section>`;
}

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
      ${plural(rowCount, 'row')}${table === null ? null : html`: <bdi>${table}</bdi>`}
    </p>
    ${bar}`;
}

/** What is done when. */
function scheduleHtml({ jobs, lastByWork }: DaemonState, nowMs: number): Html {
  if (jobs.length === 0) return html`<p class="about">Nothing is scheduled.</p>`;
  return html`<div class="scroll" role="region" aria-label="Jobs" tabindex="0">
    <table>
      <caption class="unseen">
        What is done when
      </caption>
      <thead>
        <tr>
          <th scope="col">Work</th>
          <th scope="col">Next</th>
          <th scope="col">Last</th>
        </tr>
      </thead>
      <tbody>
        ${jobs.map(({ id, nextAtMs, isDue }) => {
          const last = [...lastByWork].find(([kind]) => kind === id)?.[1];
          const next = isDue ? 'due now' : `in ${durationText(Math.max(0, nextAtMs - nowMs))}`;
          return html`<tr>
            <th scope="row"><bdi>${id}</bdi></th>
            <td title="${stampFromMs(nextAtMs)}">${next}</td>
            <td>
              ${
                last === undefined
                  ? '–'
                  : `${last.outcome} ${ageText(stampFromMs(last.finishedAtMs), nowMs)}, took ${durationText(last.durationMs)}`
              }
            </td>
          </tr>`;
        })}
      </tbody>
    </table>
  </div>`;
}

/** Reads and makes it. */
export function answerWork(desk: PageInput): AnswerChunks {
  const { reader, request } = desk;
  const { state, work, formToken, nowMs, said } = request;
  const refusedCount = reader.status().reduce((sum, table) => sum + table.refusedCount - table.inDoubtCount, 0);
  const body = html`${said === null ? null : html`<p class="said" role="status">${said}</p>`}
  ${workHtml({ state, work, refusedCount, runs: reader.runs(RUNS_READ_MAX), results: readRunResults(reader, RUNS_READ_MAX), formToken, nowMs })}`;
  const refreshSeconds = state.working === null ? 60 : 5;
  return framed(desk, { title: 'Work · rowsync', place: 'Work', refreshSeconds }, body);
}
