/**
 * The first page after signing in: the state, waiting decisions, changes since yesterday by table and by person, and
 * the freshness of each table over the day.
 */
import { statSync } from 'node:fs';
import { ageText, countText, plural } from '../../base/text.ts';
import type { TableStatus, ReplicaReader } from '../../replica/reader.ts';
import { queryAll, queryRows } from '../../replica/query.ts';
import { readLastMoment } from '../shared/fresh-tables.ts';
import { type Fare, faresOf, outagesOf, bottomHtml, headlineHtml } from './today-html.ts';
import { pathPart } from './address.ts';
import { html, type Html } from './html.ts';
import { shortName, timeHtml, waitingText } from './values.ts';
import { must } from '../../base/assert.ts';
import { stampFromMs } from '../../base/clock.ts';
import { sumOf } from '../../base/sum.ts';
import { troubledTables } from '../../reconcile/account/account.ts';
import { readBrowsedTables, type BrowsedColumn, type BrowsedTable } from '../shared/rows-page.ts';
import { readIdAtOrigin, readNewestEntries, type HistoryEntry } from '../history/entries.ts';
import { readHistoryHours, readJournalled, type HistoryHour, type HourCount, changesHtml, shownAt } from './history.ts';
import { readQuarters, readTries } from './run-facts.ts';
import { readSinkStatus } from '../shared/sinks.ts';
import { sinkSentence } from '../shared/sink-text.ts';
import { readAccount } from '../../daemon/account-facts.ts';
import { framed, type PageInput } from './context.ts';
import { openDecisionsHtml, readDecisions } from './decisions.ts';
import { headlineOf } from './headline.ts';
import { sectionHtml, tableHtml, type PageColumn } from './layout.ts';
import type { AnswerChunks } from '../shared/child-process.ts';
import { ident, sql } from '../../base/sql.ts';
import type { Connection } from '../../replica/connection.ts';

export interface TableDay {
  readonly table: string;
  /** Of 24 hours, the oldest first. */
  readonly byHour: readonly number[];
  readonly people: readonly { readonly name: string | null; readonly count: number }[];
  readonly deletedCount: number;
}

export type DaySource =
  /** The history of the replica. */
  | 'history'
  /** The stamps that the origin puts on rows: the last change of each row only. */
  | 'stamps'
  /** The history for the tables that have one, stamps for the others. */
  | 'both';

type DayView = ReturnType<typeof readDay>;

const HOURS = 24;
const PEOPLE_MAX = 6;

function dayHtml(day: DayView): Html {
  const total = sumOf(day.tables, sizeOf);
  const max = Math.max(1, ...day.tables.flatMap(({ byHour }) => byHour));
  return html`<section aria-labelledby="day">
    <h2 id="day">${total === 0 ? 'Nothing changed in the last 24 hours' : 'Changed in the last 24 hours'}</h2>
    <p class="about">${sourceText(day)}</p>
    ${
      total !== 0 &&
      tableHtml('tables day', 'Changes by table and person', { columns: dayColumns(day, max), rows: day.tables })
    }
  </section>`;
}

const SOURCES: Readonly<Record<DaySource, string>> = {
  history: 'From the history: every change that rowsync saw.',
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

function dayColumns({ source }: DayView, max: number): readonly PageColumn<TableDay>[] {
  return [
    { title: 'Table', cell: ({ table }) => html`<a href="/browse/${pathPart(table)}"><bdi>${table}</bdi></a>` },
    {
      title: source === 'stamps' ? 'Rows' : 'Changes',
      isNumber: true,
      cell: (day) =>
        html`${countText(changesIn(day))}${day.deletedCount !== 0 && html` <small class="gone">${countText(day.deletedCount)} deleted</small>`}`,
    },
    { title: 'By hour', cell: ({ byHour }) => sparkHtml(byHour, max) },
    { title: 'By whom', cell: ({ people }) => peopleHtml(people) },
  ];
}

function peopleHtml(people: TableDay['people']): readonly Html[] {
  const rest = sumOf(people.slice(PEOPLE_MAX), ({ count }) => count);
  const shown = people
    .slice(0, PEOPLE_MAX)
    .map(({ name, count }) => ({ who: name === null ? 'not known' : shortName(name), count }));
  return [...shown, ...(rest === 0 ? [] : [{ who: 'others', count: rest }])].map(
    ({ who, count }) => html`<span class="person"><bdi>${who}</bdi> <b>${countText(count)}</b></span> `,
  );
}

const BAR = 6;
const GAP = 2;
const TALL = 24;

/** A bar for each hour, on one scale for all tables; every hour with a change has a visible bar. */
function sparkHtml(byHour: readonly number[], max: number): Html {
  const sum = changesIn({ byHour });
  const busiest = byHour.indexOf(Math.max(...byHour));
  const words =
    sum === 0 ? 'none in 24 hours' : `${countText(sum)} in 24 hours, most ${plural(HOURS - busiest, 'hour')} ago`;
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

function changesIn({ byHour }: Pick<TableDay, 'byHour'>): number {
  return sumOf(byHour, (count) => count);
}

function sizeOf(day: TableDay): number {
  return changesIn(day) + day.deletedCount;
}

const FARES: Readonly<Record<Fare, string>> = {
  fresh: 'read whole',
  followed: 'followed',
  late: 'late',
  failed: 'failed or held',
  calm: 'nothing due',
  unknown: 'not known',
};

const TABLES_MAX = 500;

function freshnessHtml(
  tables: readonly TableStatus[],
  fares: ReadonlyMap<string, readonly Fare[]>,
  given: {
    readonly nowMs: number;
    readonly refreshByTable: ReadonlyMap<string, string>;
    readonly troubled: ReadonlySet<string>;
  },
): Html {
  const { nowMs, refreshByTable, troubled } = given;
  if (tables.length === 0)
    return html`<p class="about">Tables are listed here as soon as the first pull has begun.</p>`;
  const ordered = tables.toSorted((a, b) => Number(troubled.has(b.table)) - Number(troubled.has(a.table)));
  return html`${tableHtml('tables fresh', 'Tables with their state', {
      rows: ordered.slice(0, TABLES_MAX),
      columns: freshColumns(fares, refreshByTable, nowMs),
    })}
    <p class="legend">
      ${(['fresh', 'followed', 'late', 'failed', 'calm', 'unknown'] as const).map(
        (fare) => html`<span class="key ${fare}">${FARES[fare]}</span> `,
      )}
    </p>`;
}

const TONES: Readonly<Record<string, string>> = { steady: 'ok', loading: 'busy', held: 'warn', failed: 'bad' };

function freshColumns(
  fares: ReadonlyMap<string, readonly Fare[]>,
  refreshByTable: ReadonlyMap<string, string>,
  nowMs: number,
): readonly PageColumn<TableStatus>[] {
  return [
    {
      title: 'Table',
      cell: ({ table, mode }) =>
        html`<a href="/browse/${pathPart(table)}"><bdi>${table}</bdi></a
          >${mode !== 'mirror' && html` <small class="mode">${mode}</small>`}`,
    },
    {
      title: 'State',
      cell: ({ table, state }) =>
        html`<span class="state ${TONES[state] ?? 'warn'}" title="${refreshByTable.get(table) ?? ''}">${state}</span>`,
    },
    { title: 'Rows', isNumber: true, cell: ({ rowCount }) => countText(rowCount) },
    {
      title: 'Checked',
      isNumber: true,
      cell: ({ freshSince, followedAt }) =>
        html`${freshSince === null ? 'never' : timeHtml(freshSince, nowMs)}
        ${followedAt !== null && followedAt > (freshSince ?? '') && html`<small>followed ${ageText(followedAt, nowMs)}</small>`}`,
    },
    { title: 'Last 24 hours', cell: ({ table }) => stripHtml(fares.get(table) ?? []) },
    {
      title: 'Waiting',
      isNumber: true,
      look: (table) => (waitingText(table) === '' ? 'zero' : 'some'),
      cell: (table) => waitingText(table) || '–',
    },
  ];
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

const CHANGES_MAX = 15;
/** How long tables are counted. */
const COUNT_MS_MAX = 1_500;
const HOUR_MS = 3_600_000;

export function answerToday(page: PageInput): AnswerChunks {
  const { request, reader } = page;
  const { state, nowMs } = request;
  const around = must(request.around, 'the daemon sends it with the first page');
  const tables = reader.status();
  const identity = reader.identity();
  const path = request.replicaPath;
  const replica = { path, bytes: statSync(path, { throwIfNoEntry: false })?.size ?? 0 };
  const problems = readAccount(reader, around);
  const headline = headlineOf(problems, { state, tables, nowMs });
  const waiting = readDecisions(reader, { ...request, problems });
  const outages = outagesOf(readTries(reader, stampFromMs(nowMs - HOURS * HOUR_MS)));
  const body = html`${headlineHtml(headline, waiting)} ${openDecisionsHtml(waiting, nowMs)}
    ${dayHtml(readDay(reader, nowMs))}
    <section aria-labelledby="tables">
      <h2 id="tables">Freshness</h2>
      ${freshnessHtml(tables, faresOf(readQuarters(reader), { nowMs, lateAfterMs: around.lateAfterMs, outages }), { nowMs, refreshByTable: state.refreshByTable, troubled: troubledTables(problems) })}
      ${readSinkStatus(reader).map((sink) => html`<p>Sink <bdi>${sink.name}</bdi>: ${sinkSentence(sink)}</p>`)}
    </section>
    ${lastChangesHtml(page)} ${bottomHtml({ replica, identity, state, lastMoment: readLastMoment(reader), nowMs })}`;
  const refreshSeconds = waiting.conflicts.length === 0 ? 60 : null;
  const title = `${headline.sentence} · ${identity === null ? 'rowsync' : `database ${identity.database}`}`;
  return framed(page, { title, place: 'Today', liveSeconds: 15, refreshSeconds }, body);
}

function lastChangesHtml({ reader, request }: PageInput): Html | null {
  const lines = readJournalled(reader).size === 0 ? [] : readNewestEntries(reader, null, CHANGES_MAX);
  if (lines.length === 0) return null;
  const columns = new Map(readBrowsedTables(reader).map((table) => [table.name, table.columns]));
  const columnsOf = (table: string): readonly BrowsedColumn[] => columns.get(table) ?? [];
  const numbered = ({ table, rowId }: HistoryEntry): number | null =>
    rowId === null || rowId > 0 ? rowId : (readIdAtOrigin(reader, table ?? '', rowId) ?? rowId);
  const shown = lines.map((line) => ({ ...line, rowId: numbered(line) }));
  const sorted = shown.toSorted((a, b) => (shownAt(a) < shownAt(b) ? 1 : shownAt(a) > shownAt(b) ? -1 : 0));
  return sectionHtml('changes', 'Last changes', changesHtml(sorted, { of: 'many', columnsOf, nowMs: request.nowMs }));
}

function readDay(reader: ReplicaReader, nowMs: number) {
  const firstHourMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS - (HOURS - 1) * HOUR_MS;
  const since = stampFromMs(firstHourMs);
  const deleted = readDeletedCounts(reader, since);
  const journalled = readJournalled(reader);
  const history = journalled.size === 0 ? [] : readHistoryHours(reader, since);
  const startedAt = process.hrtime.bigint();
  let unreadCount = 0;
  let unstampedCount = 0;
  const all = readBrowsedTables(reader);
  const tables = all.flatMap((table): readonly TableDay[] => {
    const { name } = table;
    if (journalled.has(name)) return historyDay(history, name, firstHourMs);
    if (Number(process.hrtime.bigint() - startedAt) / 1e6 > COUNT_MS_MAX) {
      unreadCount += 1;
      return [];
    }
    const hours = readStampedHours(reader, table, since);
    if (hours === null) unstampedCount += 1;
    const deletedCount = deleted.get(name) ?? 0;
    if ((hours ?? []).length === 0 && deletedCount === 0) return [];
    return [{ table: name, deletedCount, ...byHourAndPerson(hours ?? [], firstHourMs) }];
  });
  const source: DaySource =
    journalled.size === 0 ? 'stamps' : all.every(({ name }) => journalled.has(name)) ? 'history' : 'both';
  return {
    source,
    /** Those with changes, the most first. */
    tables: tables.toSorted((a, b) => sizeOf(b) - sizeOf(a)),
    /** Tables without a stamp, and those beyond the time limit. */
    unstampedCount,
    unreadCount,
  };
}

/** One table, from the history; none if nothing changed. */
function historyDay(history: readonly HistoryHour[], table: string, firstHourMs: number): readonly TableDay[] {
  const ofTable = history.filter((line) => line.table === table);
  if (ofTable.length === 0) return [];
  const changed = ofTable.filter(({ kind }) => kind !== 'delete');
  const deletedCount = sumOf(ofTable, ({ kind, count }) => (kind === 'delete' ? count : 0));
  return [{ table, deletedCount, ...byHourAndPerson(changed, firstHourMs) }];
}

function byHourAndPerson(counts: readonly HourCount[], firstHourMs: number): Pick<TableDay, 'byHour' | 'people'> {
  const byHour = Array.from({ length: HOURS }, () => 0);
  const byPerson = new Map<string | null, number>();
  for (const { hour, by, count } of counts) {
    const index = Math.round((Date.parse(`${hour}:00:00Z`) - firstHourMs) / HOUR_MS);
    // If the origin's clock is ahead, its time counts as now.
    const place = Math.min(Math.max(Number.isNaN(index) ? 0 : index, 0), HOURS - 1);
    byHour[place] = (byHour[place] ?? 0) + count;
    byPerson.set(by, (byPerson.get(by) ?? 0) + count);
  }
  const people = [...byPerson].map(([name, count]) => ({ name, count })).toSorted((a, b) => b.count - a.count);
  return { byHour, people };
}

/** Rows by the stamp and the user that the origin shows as the last change; null for a table that shows no stamp. */
function readStampedHours(from: Connection, table: BrowsedTable, since: string): readonly HourCount[] | null {
  const stamp = table.columns.find(({ kind }) => kind === 'DateModified');
  if (stamp === undefined) return null;
  const user = table.columns.find(({ kind }) => kind === 'LastModifiedBy');
  const at = ident(stamp.name);
  const by = user === undefined ? sql`NULL` : ident(user.name);
  const text = sql`SELECT substr(${at}, 1, 13) AS hour, ${by} AS "by", count(*) AS count FROM ${ident(table.name)}
      WHERE ${at} >= ? GROUP BY 1, 2`;
  return queryAll(from, text, [since]) as HourCount[]; // the columns just listed
}

/** How many rows of each table were deleted here since a moment, because the origin no longer has them. */
function readDeletedCounts(from: Connection, since: string): ReadonlyMap<string, number> {
  const text = sql`SELECT "table", count(*) FROM sync_deleted WHERE deleted_at >= ? GROUP BY 1`;
  return new Map(queryRows(from, text, [since]).map(([table, count]) => [String(table), Number(count)]));
}
