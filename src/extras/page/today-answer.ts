/**
 * The first page after signing in, read from the replica. Counting changes reads whole tables, so it has a time limit,
 * and the page says which tables were not counted.
 */
import { statSync } from 'node:fs';
import { must } from '../../base/assert.ts';
import { stampFromMs } from '../../base/clock.ts';
import { troubledTables } from '../../reconcile/account.ts';
import { readBrowsedTables, type BrowsedTable } from '../shared/browse.ts';
import { readHistoryHours, readJournalled, readLastChanges, type HistoryHour } from './browse-history.ts';
import { editVersion } from '../../replica/bookkeeping/row-states.ts';
import type { ReplicaReader, TableStatus } from '../../replica/reader.ts';
import { readQuarters, readTries } from '../../replica/bookkeeping/runs.ts';
import { readSinkStatus } from '../../replica/bookkeeping/sinks.ts';
import { sinkSentence } from '../../replica/sink-text.ts';
import { readProblems } from '../../daemon/account.ts';
import { framed, stampColumns, type PageInput } from './context.ts';
import { openDecisionsHtml } from './decisions.ts';
import { headlineOf } from './headline.ts';
import { html, type Html } from './html.ts';
import { changesHtml } from './history.ts';
import { bottomHtml, headlineHtml } from './status.ts';
import type { AnswerChunks } from '../shared/child-process.ts';
import { faresOf, outagesOf } from './strip.ts';
import { dayHtml, freshnessHtml, HOURS, type DayView, type RunHour, type TableDay } from './today.ts';
import { ident, sql } from '../../base/sql.ts';
import type { Connection } from '../../replica/connection.ts';

/** Conflicts and failures on one page, each. */
const LISTED_MAX = 50;
/** Changes that are listed. */
const CHANGES_MAX = 15;
/** How long tables are counted. */
const COUNT_MS_MAX = 1_500;
const HOUR_MS = 3_600_000;

/** Reads and makes it. */
export function answerToday(desk: PageInput): AnswerChunks {
  const { request, reader } = desk;
  const { state, nowMs, said, formToken } = request;
  const around = must(request.around, 'the daemon sends it with the first page');
  const tables = reader.status();
  const identity = reader.identity();
  const path = request.replicaPath;
  const replica = { path, bytes: statSync(path, { throwIfNoEntry: false })?.size ?? 0 };
  const problems = readProblems(reader, around);
  const headline = headlineOf(problems, { state, tables, nowMs });
  const sum = (pick: (table: TableStatus) => number): number => tables.reduce((total, table) => total + pick(table), 0);
  const waiting = {
    conflicts: reader.conflicts({ all: false, limit: LISTED_MAX }),
    failures: reader.failures({ limit: LISTED_MAX }).map((line) => ({ ...line, seen: editVersion(reader, line) })),
    conflictCount: sum(({ conflictCount }) => conflictCount),
    failureCount: sum(({ refusedCount, unreadableCount }) => refusedCount + unreadableCount),
    formToken,
  };
  const outages = outagesOf(readTries(reader, stampFromMs(nowMs - HOURS * HOUR_MS)));
  const body = html`${said === null ? null : html`<p class="said" role="status">${said}</p>`}
    ${headlineHtml(headline, waiting)} ${openDecisionsHtml(waiting, nowMs)} ${dayHtml(readDay(reader, nowMs))}
    <section aria-labelledby="tables">
      <h2 id="tables">Freshness</h2>
      ${freshnessHtml(tables, faresOf(readQuarters(reader), { nowMs, lateAfterMs: around.lateAfterMs, outages }), { nowMs, wayByTable: state.wayByTable, troubled: troubledTables(problems) })}
      ${readSinkStatus(reader).map((sink) => html`<p>Sink <bdi>${sink.name}</bdi>: ${sinkSentence(sink)}</p>`)}
    </section>
    ${lastChangesHtml(desk)} ${bottomHtml({ replica, identity, state, nowMs })}`;
  const refreshSeconds = waiting.conflicts.length === 0 ? 60 : null;
  const title = `${headline.sentence} · ${identity === null ? 'rowsync' : `database ${identity.database}`}`;
  return framed(desk, { title, place: 'Today', refreshSeconds }, body);
}

/** The last changes of all rows, with authors and old values; nothing without a journal. */
function lastChangesHtml({ reader, request }: PageInput): Html | null {
  const lines = readJournalled(reader).size === 0 ? [] : readLastChanges(reader, CHANGES_MAX);
  if (lines.length === 0) return null;
  return html`<section aria-labelledby="changes">
    <h2 id="changes">Last changes</h2>
    ${changesHtml(lines, { of: 'many', stampsOf: stampColumns(readBrowsedTables(reader)), nowMs: request.nowMs })}
  </section>`;
}

function readDay(reader: ReplicaReader, nowMs: number): DayView {
  const firstHourMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS - (HOURS - 1) * HOUR_MS;
  const since = stampFromMs(firstHourMs);
  const deleted = readDeletedCounts(reader, since);
  const journalled = readJournalled(reader);
  const journal = journalled.size === 0 ? [] : readHistoryHours(reader, since);
  const startedAt = process.hrtime.bigint();
  let unreadCount = 0;
  let unstampedCount = 0;
  const all = readBrowsedTables(reader);
  const tables = all.flatMap((table): readonly TableDay[] => {
    const { name } = table;
    if (journalled.has(name)) return journalDay(journal, name, firstHourMs);
    if (Number(process.hrtime.bigint() - startedAt) / 1e6 > COUNT_MS_MAX) {
      unreadCount += 1;
      return [];
    }
    const hours = readStampedHours(reader, table, since);
    if (hours === null) unstampedCount += 1;
    const deletedCount = countOf(deleted.filter((line) => line.table === name));
    if ((hours ?? []).length === 0 && deletedCount === 0) return [];
    return [{ table: name, deletedCount, ...byHourAndPerson(hours ?? [], firstHourMs) }];
  });
  const sizeOf = ({ byHour, deletedCount }: TableDay): number =>
    byHour.reduce((sum, count) => sum + count, deletedCount);
  return {
    source: journalled.size === 0 ? 'stamps' : all.every(({ name }) => journalled.has(name)) ? 'journal' : 'both',
    tables: tables.toSorted((a, b) => sizeOf(b) - sizeOf(a)),
    runs: readRunHours(reader, since),
    unstampedCount,
    unreadCount,
  };
}

/** One table, from the journal; none if nothing changed. */
function journalDay(journal: readonly HistoryHour[], table: string, firstHourMs: number): readonly TableDay[] {
  const ofTable = journal.filter((line) => line.table === table);
  if (ofTable.length === 0) return [];
  const changed = ofTable.filter(({ kind }) => kind !== 'delete');
  const deletedCount = countOf(ofTable.filter(({ kind }) => kind === 'delete'));
  return [{ table, deletedCount, ...byHourAndPerson(changed, firstHourMs) }];
}

function countOf(lines: readonly { readonly count: number }[]): number {
  return lines.reduce((sum, { count }) => sum + count, 0);
}

/** Counts of single hours and people, summed both ways. */
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

/** How many rows of a table were changed in an hour, and by whom; null where the table does not show it. */
interface HourCount {
  /** `YYYY-MM-DDThh`, UTC. */
  readonly hour: string;
  readonly by: string | null;
  readonly count: number;
}

/** Rows by the stamp and the user that the origin shows as the last change; null for a table that shows no stamp. */
function readStampedHours(from: Connection, table: BrowsedTable, since: string): readonly HourCount[] | null {
  const stamp = table.columns.find(({ kind }) => kind === 'DateModified');
  if (stamp === undefined) return null;
  const user = table.columns.find(({ kind }) => kind === 'LastModifiedBy');
  const at = ident(stamp.name);
  const by = user === undefined ? sql`NULL` : ident(user.name);
  return from
    .prepare(
      sql`SELECT substr(${at}, 1, 13) AS hour, ${by} AS "by", count(*) AS count FROM ${ident(table.name)}
          WHERE ${at} >= ? GROUP BY 1, 2`,
    )
    .all(since) as HourCount[]; // the columns just listed
}

/** Every hour with runs since a moment. */
function readRunHours(from: Connection, since: string): readonly RunHour[] {
  return from
    .prepare(
      sql`SELECT substr(started_at, 1, 13) AS hour, kind, count(*) AS runCount, sum(outcome IN ('failed', 'interrupted')) AS failedCount,
            sum(inserted + updated + deleted) AS rowCount
          FROM sync_runs WHERE started_at >= ? GROUP BY 1, 2`,
    )
    .all(since) as RunHour[]; // the columns just listed
}

/** Rows deleted here since a moment, because the origin no longer has them, by table. */
function readDeletedCounts(
  from: Connection,
  since: string,
): readonly { readonly table: string; readonly hour: string; readonly count: number }[] {
  return from
    .prepare(
      sql`SELECT "table", substr(deleted_at, 1, 13) AS hour, count(*) AS count FROM sync_deleted WHERE deleted_at >= ? GROUP BY 1, 2`,
    )
    .all(since) as { table: string; hour: string; count: number }[]; // the columns just listed
}
