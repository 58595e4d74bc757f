/**
 * The HTML of the headline (headline.ts), of how each table fared over the last day, and of the lines at the bottom of
 * the first page (today.ts). Every text is escaped (html.ts).
 */
import { stampFromMs } from '../../base/clock.ts';
import { bytesText, durationText } from '../../base/text.ts';
import type { Problem } from '../../reconcile/account/account.ts';
import type { ProblemCode } from '../../reconcile/account/problems.ts';
import type { ReplicaIdentity } from '../../replica/reader.ts';
import type { readLastMoment } from '../shared/fresh-tables.ts';
import type { DaemonState } from '../../daemon/state.ts';
import type { OpenDecisions } from './decisions.ts';
import type { Headline } from './headline.ts';
import { pathPart } from './address.ts';
import { html, type Html } from './html.ts';
import { confirmForm, cycleForm } from './layout.ts';
import { QUARTERS_KEPT } from '../../replica/bookkeeping/runs.ts';
import type { Quarter, Try } from './run-facts.ts';

const LISTED_MAX = 500;

export function headlineHtml({ tone, sentence, note, problems }: Headline, decisions: OpenDecisions): Html {
  return html`<section class="verdict ${tone}">
    <h1>${sentence}</h1>
    <p>${note}</p>
    ${
      problems.length !== 0 &&
      html`<ul class="todos">
        ${problems.slice(0, LISTED_MAX).map((problem) => problemHtml(problem, decisions))}
      </ul>`
    }
    ${cycleForm(decisions.formToken, {}, ['Synchronise now'])}
  </section>`;
}

/** The part of the page where rows of a problem are decided. */
const PARTS: Partial<Readonly<Record<ProblemCode, string>>> = {
  'rows.conflicts': 'conflicts',
  'rows.inDoubt': 'waiting',
  'rows.lost': 'lost',
  'rows.refused': 'waiting',
  'rows.unreadable': 'waiting',
  'rows.unsendable': 'waiting',
};

function problemHtml({ code, table, sentence, hint }: Problem, decisions: OpenDecisions): Html {
  const part = PARTS[code];
  const isHeldPush = code === 'table.held' && table !== null && decisions.heldPushes.has(table);
  return html`<li>
    ${
      table !== null &&
      html`<b><bdi>${table}</bdi></b
        >${' '}`
    }
    ${part === undefined ? html`<span>${sentence}</span>` : html`<a href="#${part}">${sentence}</a>`}
    ${hint !== '' && part === undefined && !isHeldPush && html`<span class="hint">${hint}</span>`}
    ${isHeldPush && html`<a href="/edits/${pathPart(table)}">See the edits, then let them through or discard them</a>`}
    ${
      (code === 'table.held' || code === 'run.held') &&
      !isHeldPush &&
      confirmForm(
        'Let it through…',
        'It is done with the next cycle, which begins now. Nothing takes it back by itself.',
        [decisions.formToken, { kind: 'confirm', table, shown: sentence }, ['Yes, let it through', 'main']],
      )
    }
  </li>`;
}

export function bottomHtml(given: {
  readonly replica: { readonly path: string; readonly bytes: number };
  /** Null before the first pull. */
  readonly identity: ReplicaIdentity | null;
  readonly state: DaemonState;
  readonly lastMoment: ReturnType<typeof readLastMoment>;
  readonly nowMs: number;
}): Html {
  const { replica, identity, state, lastMoment, nowMs } = given;
  return html`<footer class="bottom">
    <p><code>${replica.path}</code>, ${bytesText(replica.bytes)}</p>
    ${
      identity !== null &&
      html`<p>as <bdi>${identity.userEmail}</bdi>, <bdi>${identity.role}</bdi>, ${identity.timeZone}</p>`
    }
    ${
      lastMoment !== null &&
      html`<p>moment: ${lastMoment.at}, ${lastMoment.holds ? 'unchanged since' : 'rows have changed since'}</p>`
    }
    ${state.notes.map((note) => html`<p>${note.replace(/ {2,}/, ': ')}</p>`)}
    <p>
      running for ${durationText(nowMs - state.startedAtMs)} · shown at ${stampFromMs(nowMs)} ·
      <a href="/status">status as JSON</a> · <a href="/metrics">metrics</a>
    </p>
  </footer>`;
}

/**
 * `calm` where nothing was due. Where something was: `late` if it was not tried, `failed` if the last try failed.
 * `unknown` before anything is known of the table.
 */
export type Fare = 'fresh' | 'followed' | 'failed' | 'late' | 'calm' | 'unknown';

/** A time in which nothing could be read of any table; `toMs` is Infinity while it lasts. */
export interface OutagePeriod {
  readonly fromMs: number;
  readonly toMs: number;
}

const QUARTER_MS = 900_000;

/** What all strips go by; tables are late after the milliseconds given for them, the others never. */
interface FreshnessInput {
  readonly nowMs: number;
  readonly lateAfterMs: ReadonlyMap<string, number>;
  readonly outages: readonly OutagePeriod[];
}

/** The last day of every table, the oldest quarter first. */
export function faresOf(
  quartersByTable: ReadonlyMap<string, readonly Quarter[]>,
  { nowMs, lateAfterMs, outages }: FreshnessInput,
): ReadonlyMap<string, readonly Fare[]> {
  return new Map(
    [...quartersByTable].map(([table, quarters]) => [
      table,
      dayOf(quarters, { nowMs, lateAfterMs: lateAfterMs.get(table) ?? Infinity, outages }),
    ]),
  );
}

/** From a try that failed altogether to the next that did not. While the origin is only probed, no run is recorded. */
export function outagesOf(tries: readonly Try[]): readonly OutagePeriod[] {
  const outages: OutagePeriod[] = [];
  let fromMs: number | null = null;
  for (const { startedAt, finishedAt, allFailed } of tries) {
    if (allFailed) fromMs ??= Date.parse(finishedAt);
    else if (fromMs !== null) {
      outages.push({ fromMs, toMs: Date.parse(startedAt) });
      fromMs = null;
    }
  }
  return fromMs === null ? outages : [...outages, { fromMs, toMs: Infinity }];
}

function dayOf(
  quarters: readonly Quarter[],
  { nowMs, lateAfterMs, outages }: Omit<FreshnessInput, 'lateAfterMs'> & { readonly lateAfterMs: number },
): readonly Fare[] {
  const last = Math.floor(nowMs / QUARTER_MS);
  const known = new Map(quarters.map((quarter) => [quarter.quarter, quarter]));
  const first = quarters[0]?.quarter ?? Infinity;
  let successEndMs = -Infinity;
  let hasFailed = false;
  const note = ({ quarter, wentWell }: Quarter): void => {
    hasFailed = !wentWell;
    // All that is known of a success is its quarter.
    if (wentWell) successEndMs = (quarter + 1) * QUARTER_MS;
  };
  for (const quarter of quarters) if (quarter.quarter <= last - QUARTERS_KEPT) note(quarter);
  return Array.from({ length: QUARTERS_KEPT }, (_, index) => {
    const quarter = last - QUARTERS_KEPT + 1 + index;
    const pulled = known.get(quarter);
    if (pulled !== undefined) {
      note(pulled);
      return pulled.fare;
    }
    if (quarter < first) return 'unknown';
    const endMs = Math.min(nowMs, (quarter + 1) * QUARTER_MS);
    if (endMs - successEndMs <= lateAfterMs) return 'calm';
    return hasFailed || outages.some(({ fromMs, toMs }) => fromMs <= endMs && endMs < toMs) ? 'failed' : 'late';
  });
}
