/**
 * The first page after signing in: the state, waiting decisions, changes since yesterday by table and by person, and
 * the freshness of each table over the day.
 */
import { ageText, countText, plural } from '../../base/text.ts';
import type { TableStatus } from '../../replica/reader.ts';
import type { Fare } from './strip.ts';
import { pathPart } from './address.ts';
import { html, type Html } from './html.ts';
import { shortName } from './values.ts';

/** Rows that runs brought, sent or took away, by hour. */
export interface RunHour {
  readonly hour: string;
  readonly kind: string;
  readonly runCount: number;
  readonly failedCount: number;
  readonly rowCount: number;
}

/** What changed in one table in the last day. */
export interface TableDay {
  readonly table: string;
  /** Of 24 hours, the oldest first. */
  readonly byHour: readonly number[];
  readonly people: readonly { readonly name: string | null; readonly count: number }[];
  readonly deletedCount: number;
}

/** Where the counts come from. */
export type DaySource =
  /** The journal of the replica. */
  | 'journal'
  /** The stamps that the origin puts on rows: the last change of each row only. */
  | 'stamps'
  /** The journal for the tables that have one, stamps for the others. */
  | 'both';

/** What changed. */
export interface DayView {
  readonly source: DaySource;
  /** Tables with changes, the most first. */
  readonly tables: readonly TableDay[];
  readonly runs: readonly RunHour[];
  /** Tables without a stamp, and those beyond the time limit. */
  readonly unstampedCount: number;
  readonly unreadCount: number;
}

/** Hours of the day that is shown. */
export const HOURS = 24;
const PEOPLE_MAX = 6;

/** What changed since yesterday, by table and by person. */
export function dayHtml(day: DayView): Html {
  const total = day.tables.reduce((sum, { byHour, deletedCount }) => sum + sumOf(byHour) + deletedCount, 0);
  const max = Math.max(1, ...day.tables.flatMap(({ byHour }) => byHour));
  return html`<section aria-labelledby="day">
    <h2 id="day">${total === 0 ? 'Nothing changed in the last 24 hours' : 'Changed in the last 24 hours'}</h2>
    <p class="about">${sourceText(day)}</p>
    ${
      total === 0
        ? null
        : html`<table class="tables day">
            <caption class="unseen">
              Changes by table and person
            </caption>
            <thead>
              <tr>
                <th scope="col">Table</th>
                <th scope="col" class="number">${day.source === 'stamps' ? 'Rows' : 'Changes'}</th>
                <th scope="col">By hour</th>
                <th scope="col">By whom</th>
              </tr>
            </thead>
            <tbody>
              ${day.tables.map((table) => tableDayHtml(table, max))}
            </tbody>
          </table>`
    }
    ${runsText(day.runs)}
  </section>`;
}

const SOURCES: Readonly<Record<DaySource, string>> = {
  journal: 'From the history: every change that rowsync saw.',
  stamps:
    'From the stamps of the origin: the last change of each row. With history: true every change is kept, with old and new values.',
  both: 'From the history where a table has one; otherwise from the stamps of the origin, the last change of each row.',
};

function sourceText({ source, unstampedCount, unreadCount }: DayView): string {
  const parts = [
    SOURCES[source],
    ...(unstampedCount === 0 ? [] : [`${plural(unstampedCount, 'table')} without a Date Modified cannot be counted.`]),
    ...(unreadCount === 0 ? [] : [`${plural(unreadCount, 'table')} could not be counted in time.`]),
  ];
  return parts.join(' ');
}

function tableDayHtml({ table, byHour, people, deletedCount }: TableDay, max: number): Html {
  const changed = sumOf(byHour);
  const named = people.slice(0, PEOPLE_MAX);
  const rest = people.slice(PEOPLE_MAX).reduce((sum, { count }) => sum + count, 0);
  return html`<tr>
    <th scope="row">
      <a href="/browse/${pathPart(table)}"><bdi>${table}</bdi></a>
    </th>
    <td class="number" data-label="Changed">
      ${countText(changed)}${deletedCount === 0 ? null : html` <small class="gone">${countText(deletedCount)} deleted</small>`}
    </td>
    <td data-label="By hour">${sparkHtml(byHour, max)}</td>
    <td data-label="By whom">
      ${named.map(
        ({ name, count }) =>
          html`<span class="person"
            ><bdi>${name === null ? 'not shown' : shortName(name)}</bdi> <b>${countText(count)}</b></span
          > `,
      )}${rest === 0 ? null : html`<span class="person">others <b>${countText(rest)}</b></span>`}
    </td>
  </tr>`;
}

const BAR = 6;
const GAP = 2;
const TALL = 24;

/** A bar for each hour, on one scale for all tables; every hour with a change has a visible bar. */
function sparkHtml(byHour: readonly number[], max: number): Html {
  const busiest = byHour.indexOf(Math.max(...byHour));
  const words = `${countText(sumOf(byHour))} in 24 hours, most ${HOURS - busiest} hours ago`;
  return html`<svg
    class="spark"
    viewBox="0 0 ${HOURS * (BAR + GAP)} ${TALL}"
    role="img"
    aria-label="${words}"
    preserveAspectRatio="none"
  >
    ${byHour.map((count, index) => {
      const tall = count === 0 ? 1 : Math.max(3, Math.round(Math.sqrt(count / max) * TALL));
      return html`<rect
        class="${count === 0 ? 'nil' : 'read'}"
        x="${index * (BAR + GAP)}"
        y="${TALL - tall}"
        width="${BAR}"
        height="${tall}"
        ><title>${countText(count)}, ${HOURS - index} h ago</title></rect
      >`;
    })}
  </svg>`;
}

function runsText(runs: readonly RunHour[]): Html | null {
  const of = (kind: string): readonly RunHour[] => runs.filter((run) => run.kind === kind);
  const rows = (kind: string): number => sumOf(of(kind).map(({ rowCount }) => rowCount));
  const count = sumOf(runs.map(({ runCount }) => runCount));
  const failed = sumOf(runs.map(({ failedCount }) => failedCount));
  if (count === 0) return null;
  return html`<p class="more">
    ${plural(count, 'run')} brought ${plural(rows('pull') + rows('follow'), 'changed row')}
    here${rows('push') === 0 ? '' : ` and sent ${plural(rows('push'), 'row')} to the origin`}${failed === 0 ? '' : `; ${countText(failed)} failed`}.
    <a href="/work">See them</a>
  </p>`;
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** What each colour of a strip means. */
const FARES: Readonly<Record<Fare, string>> = {
  fresh: 'read whole',
  followed: 'followed',
  late: 'late',
  failed: 'failed or held',
  calm: 'nothing due',
  unknown: 'not known',
};

const TABLES_MAX = 500;

/** One line per table: its state, and its freshness over the last day. */
export function freshnessHtml(
  tables: readonly TableStatus[],
  fares: ReadonlyMap<string, readonly Fare[]>,
  {
    nowMs,
    wayByTable,
    troubled,
  }: {
    readonly nowMs: number;
    readonly wayByTable: ReadonlyMap<string, string>;
    readonly troubled: ReadonlySet<string>;
  },
): Html {
  if (tables.length === 0)
    return html`<p class="about">Tables are listed here as soon as the first pull has begun.</p>`;
  const ordered = tables.toSorted((a, b) => Number(troubled.has(b.table)) - Number(troubled.has(a.table)));
  return html`<table class="tables fresh">
      <caption class="unseen">
        Tables with their state
      </caption>
      <thead>
        <tr>
          <th scope="col">Table</th>
          <th scope="col">State</th>
          <th scope="col" class="number">Rows</th>
          <th scope="col" class="number">Checked</th>
          <th scope="col">Last 24 hours</th>
          <th scope="col" class="number">Waiting</th>
        </tr>
      </thead>
      <tbody>
        ${ordered.slice(0, TABLES_MAX).map((table) => freshLineHtml(table, { fares: fares.get(table.table) ?? [], way: wayByTable.get(table.table) ?? '', nowMs }))}
      </tbody>
    </table>
    <p class="legend">
      ${(['fresh', 'followed', 'late', 'failed', 'calm', 'unknown'] as const).map(
        (fare) => html`<span class="key ${fare}">${FARES[fare]}</span> `,
      )}
    </p>`;
}

/** The tone of a table's state. */
const TONES: Readonly<Record<string, string>> = { steady: 'ok', loading: 'busy', held: 'warn', failed: 'bad' };

function freshLineHtml(
  table: TableStatus,
  { fares, way, nowMs }: { readonly fares: readonly Fare[]; readonly way: string; readonly nowMs: number },
): Html {
  const { state, mode, rowCount, freshSince, pendingCount, parkedCount } = table;
  const waiting = [
    pendingCount === 0 ? null : `${countText(pendingCount)} to push`,
    parkedCount === 0 ? null : `${countText(parkedCount)} parked`,
  ].filter((text) => text !== null);
  return html`<tr>
    <th scope="row">
      <a href="/browse/${pathPart(table.table)}"><bdi>${table.table}</bdi></a
      >${mode === 'mirror' ? null : html` <small class="mode">${mode}</small>`}
    </th>
    <td data-label="State"><span class="state ${TONES[state] ?? 'warn'}" title="${way}">${state}</span></td>
    <td class="number" data-label="Rows">${countText(rowCount)}</td>
    <td class="number" data-label="Checked">
      ${freshSince === null ? 'never' : html`<time datetime="${freshSince}" title="${freshSince}">${ageText(freshSince, nowMs)}</time>`}
    </td>
    <td data-label="Last 24 hours">${stripHtml(fares)}</td>
    <td class="number ${waiting.length === 0 ? 'zero' : 'some'}" data-label="Waiting">
      ${waiting.length === 0 ? '–' : waiting.join(', ')}
    </td>
  </tr>`;
}

/** Neighbours of one kind are one rectangle. */
function stripHtml(fares: readonly Fare[]): Html {
  if (fares.length === 0) return html`<span class="zero">–</span>`;
  const pieces: { readonly fare: Fare; readonly from: number; length: number }[] = [];
  for (const [index, fare] of fares.entries()) {
    const last = pieces.at(-1);
    if (last?.fare === fare) last.length += 1;
    else pieces.push({ fare, from: index, length: 1 });
  }
  const counts = new Map<Fare, number>();
  for (const fare of fares) counts.set(fare, (counts.get(fare) ?? 0) + 1);
  const words = [...counts].map(([fare, count]) => `${FARES[fare]} ${countText(count)} of ${fares.length}`).join(', ');
  return html`<svg
    class="strip"
    viewBox="0 0 ${fares.length} 10"
    preserveAspectRatio="none"
    role="img"
    aria-label="Quarters of an hour: ${words}"
  >
    ${pieces.map(({ fare, from, length }) => html`<rect class="${fare}" x="${from}" y="0" width="${length}" height="10" />`)}
  </svg>`;
}
