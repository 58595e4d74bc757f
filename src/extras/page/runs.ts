/**
 * The last runs on the page: a chart of what each one read or skipped and how long it took, and the same as a table.
 */
import { ageText, countText, durationText, plural } from '../../base/text.ts';
import type { RunRecord } from '../../replica/reader.ts';
import { html, type Html } from './html.ts';

/** Bars of the chart; a run every five minutes makes four hours. */
const RUNS_SHOWN_MAX = 48;
/** Lines of the table. */
const LINES_MAX = 20;

/** Units of the drawing: a run is this wide, bars of answers grow up from the middle, those of durations hang below. */
const STEP = 10;
const BAR = 7;
const UP = 60;
const DOWN = 30;
const MIDDLE = 64;
const HEIGHT = MIDDLE + 4 + DOWN;

/** The whole part. */
export function runsHtml(runs: readonly RunRecord[], nowMs: number): Html {
  if (runs.length === 0) return html`<p class="about">No run has been recorded yet.</p>`;
  const shown = runs.slice(0, RUNS_SHOWN_MAX).toReversed();
  const requestsMax = Math.max(1, ...shown.map(({ requestCount }) => requestCount));
  const durationMax = Math.max(1, ...shown.map((run) => secondsOf(run) ?? 0));
  // A few runs must not become a few walls.
  const width = Math.max(shown.length, RUNS_SHOWN_MAX) * STEP;
  const offset = width - shown.length * STEP;
  const bars = shown.map((run, index) =>
    barHtml(run, { x: offset + index * STEP + (STEP - BAR) / 2, requestsMax, durationMax }),
  );
  const first = shown[0]?.startedAt ?? '';
  return html`<figure class="chart">
      <p class="scale"><span>up to ${plural(requestsMax, 'request')}</span></p>
      <svg viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-labelledby="chart-title">
        <title id="chart-title">The last ${plural(shown.length, 'run')}: requests upwards, duration downwards</title>
        <line class="axis" x1="0" x2="${width}" y1="${MIDDLE + 2}" y2="${MIDDLE + 2}" />
        ${bars}
      </svg>
      <p class="scale"><span>up to ${durationText(durationMax * 1000)}</span></p>
      <p class="ends"><span>${ageText(first, nowMs)}</span><span>now</span></p>
      <figcaption>
        <span class="key read">read</span><span class="key skipped">not modified, skipped</span
        ><span class="key sent">of a push</span><span class="key failed">failed or stopped</span
        ><span class="key time">duration</span>
      </figcaption>
    </figure>
    <details>
      <summary>The last ${plural(Math.min(runs.length, LINES_MAX), 'run')} as a table</summary>
      ${tableHtml(runs.slice(0, LINES_MAX), nowMs)}
    </details>`;
}

function barHtml(
  run: RunRecord,
  { x, requestsMax, durationMax }: { readonly x: number; readonly requestsMax: number; readonly durationMax: number },
): Html {
  const height = (count: number): number => Math.round((count / requestsMax) * UP * 10) / 10;
  const skipped = height(run.notModifiedCount);
  const read = height(run.requestCount - run.notModifiedCount);
  const time = Math.max(1, Math.round(((secondsOf(run) ?? 0) / durationMax) * DOWN * 10) / 10);
  const box = (name: string, y: number, tall: number): Html | null =>
    tall <= 0 ? null : html`<rect class="${name}" x="${x}" y="${y}" width="${BAR}" height="${tall}" />`;
  return html`<g>
    <title>${sentenceOf(run)}</title>
    <rect class="hit" x="${x - (STEP - BAR) / 2}" y="0" width="${STEP}" height="${HEIGHT}" />
    ${box('skipped', MIDDLE - skipped, skipped)}
    ${box(run.kind === 'push' ? 'sent' : 'read', MIDDLE - skipped - read, read)}
    ${toneOf(run) !== 'bad' ? null : box('failed', Math.max(0, MIDDLE - skipped - read - 4), 4)}
    ${box('time', MIDDLE + 4, time)}
  </g>`;
}

/** How serious an outcome is. */
export function toneOf({ outcome }: { readonly outcome: string }): 'ok' | 'busy' | 'warn' | 'bad' {
  if (outcome === 'done') return 'ok';
  if (outcome === 'running') return 'busy';
  return outcome === 'held' ? 'warn' : 'bad';
}

/** Stamps have whole seconds. */
function secondsOf({ startedAt, finishedAt }: RunRecord): number | null {
  return finishedAt === null ? null : Math.max(0, (Date.parse(finishedAt) - Date.parse(startedAt)) / 1000);
}

/** How long a run took, in words. */
export function timeText(run: RunRecord): string {
  const seconds = secondsOf(run);
  if (seconds === null) return 'under way';
  return seconds < 1 ? 'under 1 s' : durationText(seconds * 1000);
}

function sentenceOf(run: RunRecord): string {
  const { kind, startedAt, outcome, requestCount, notModifiedCount } = run;
  return `${startedAt} ${kind}, ${outcome}: ${plural(requestCount, 'request')}, ${countText(notModifiedCount)} not modified, ${timeText(run)}`;
}

function tableHtml(runs: readonly RunRecord[], nowMs: number): Html {
  return html`<div class="scroll" role="region" aria-label="Recent runs" tabindex="0">
    <table class="wide">
      <caption class="unseen">
        Recent runs
      </caption>
      <thead>
        <tr>
          <th scope="col">Run</th>
          <th scope="col">Began</th>
          <th scope="col">Outcome</th>
          <th scope="col" class="number">Took</th>
          <th scope="col" class="number">Read</th>
          <th scope="col" class="number">Skipped</th>
          <th scope="col" class="number">New</th>
          <th scope="col" class="number">Changed</th>
          <th scope="col" class="number">Deleted</th>
        </tr>
      </thead>
      <tbody>
        ${runs.map(
          (run) =>
            html`<tr>
              <th scope="row">${run.id} ${run.kind}</th>
              <td title="${run.startedAt}">${ageText(run.startedAt, nowMs)}</td>
              <td>
                <span class="state ${toneOf(run)}">${run.outcome}</span>
                ${run.errorMessage === null ? null : html`<span class="reason">${run.errorMessage}</span>`}
              </td>
              <td class="number">${timeText(run)}</td>
              <td class="number">${countText(run.requestCount - run.notModifiedCount)}</td>
              <td class="number">${countText(run.notModifiedCount)}</td>
              <td class="number">${countText(run.insertedCount)}</td>
              <td class="number">${countText(run.updatedCount)}</td>
              <td class="number">${countText(run.deletedCount)}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
