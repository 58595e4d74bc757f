/**
 * Checks following: which tables can be followed, whether the origin filters and counts, and how many requests an hour
 * following and full pulls cost by the schedules.
 */
import { asRowsyncError } from '../../base/errors.ts';
import { bytesText, countText, plural, printable, someOf } from '../../base/text.ts';
import type { Schedule } from '../../config/schedule.ts';
import { jobsOf } from '../../daemon/jobs.ts';
import { stampColumn } from '../../reconcile/follow.ts';
import { createdColumn } from '../../reconcile/windows.ts';
import { readTables } from '../../replica/bookkeeping/tables.ts';
import { countPages } from '../../replica/bookkeeping/pages.ts';
import { columnReference, timestampLiteral } from '../../wire/formula.ts';
import { columnType, type TableDescriptor } from '../../wire/schema.ts';
import { type AnswerParts, addressOf } from './answer-parts.ts';
import { ok, warn, type CheckResult } from '../../cli/runtime/check-result.ts';
import { readFollowing } from '../../replica/bookkeeping/following.ts';

/** Tables whose costs are listed, the largest first. */
const LISTED_MAX = 3;
/** Runs whose bytes are averaged. */
const RUNS_MAX = 50;
/** Requests of a follow that finds nothing new. */
const FOLLOW_REQUESTS = 2;

const SHOW_STAMPS =
  'Show Date Modified to the role of the calling user. If the origin does not tell which columns are its own, it must have that name.';

/** Tables that are read as one window, because they show no time of creation. */
export function checkWindows(tables: readonly TableDescriptor[]): readonly CheckResult[] {
  const names = tables.filter(({ columns }) => createdColumn(columns) === null).map(({ recordName }) => recordName);
  return names.length === 0 ? [] : [ok('windows', `none, since no Date Created is shown: ${someOf(names)}`)];
}

/** Whether changed rows can be asked for: the columns of every table, and what the origin answers for one of them. */
export async function checkFollow(parts: AnswerParts, tables: readonly TableDescriptor[]): Promise<CheckResult> {
  const { origin, config, signal } = parts;
  const stamped = tables.flatMap((table) => {
    const column = stampColumn(table.columns);
    return column === null ? [] : [{ table, column }];
  });
  const [first] = stamped;
  const isAsked = config.schedule.follow !== 'auto' && config.schedule.follow !== false;
  const say = isAsked ? warn : (name: string, message: string) => ok(name, message);
  if (first === undefined) return say('follow', 'no table says when a row was changed', SHOW_STAMPS);
  const { table, column } = first;
  const filter = `${columnReference(column.name)} >= ${timestampLiteral('1970-01-01T00:00:00Z')}`;
  const columns = [{ name: column.name, type: columnType(column.type) }];
  const query = { columns: [column.name], sort: [{ column: column.name, descending: true }], filter, top: 1 };
  try {
    await origin.select({ table: addressOf(parts, table), columns, query }, { signal });
  } catch (thrown) {
    const error = asRowsyncError(thrown);
    if (error.kind !== 'originRefused') throw error;
    return say('follow', `the origin refuses to look for changed rows: ${error.message}`, error.hint);
  }
  const count = await origin.count({ table: addressOf(parts, table), column: table.key }, { signal });
  const tablesText = `${plural(tables.length, 'table')}, of which ${stamped.length} can be followed`;
  const costText = costsText(parts);
  if (count === null)
    return say(
      'follow',
      `${tablesText}; the origin does not count rows`,
      'Deletes are found by the next full pull only.',
    );
  return ok('follow', `${tablesText}: ${costText}`);
}

/** What the tables cost an hour, in words. */
function costsText({ config, clock, reader }: AnswerParts): string {
  if (reader === null) return 'without changes, two requests each';
  const jobs = jobsOf(config);
  const perHour = (kind: 'pull' | 'follow', name: string): number => {
    const schedule = jobs.find(kind, name)?.schedule;
    return schedule === undefined ? 0 : ticksOfDay(schedule, clock.nowMs()) / 24;
  };
  const costs = readTables(reader)
    .filter(({ state }) => state !== 'gone')
    .map(({ id, name, localName }) => {
      const { watermark } = readFollowing(reader, id);
      const following = watermark === null ? 0 : perHour('follow', name) * FOLLOW_REQUESTS;
      return { localName, following, sweeping: perHour('pull', name) * countPages(reader, id) };
    })
    .toSorted((one, other) => other.sweeping - one.sweeping);
  const listed = costs.slice(0, LISTED_MAX).map(({ localName, following, sweeping }) => {
    const follow = following === 0 ? 'not followed' : `${requests(following)} for following`;
    return `${printable(localName)} ${follow}, ${requests(sweeping)} for sweeps`;
  });
  const { length } = costs;
  const rest = length > LISTED_MAX ? `; ${plural(length - LISTED_MAX, 'more table')} less` : '';
  return `an hour, ${listed.join('; ')}${rest}${bytesOfRuns(reader)}`;
}

function requests(count: number): string {
  return `${countText(Math.round(count))} requests`;
}

/** How often a schedule is due within a day from now on. */
function ticksOfDay(schedule: Schedule, nowMs: number): number {
  const endMs = nowMs + 86_400_000;
  let count = 0;
  for (let at = schedule.nextMs(nowMs); at <= endMs; at = schedule.nextMs(at)) count += 1; // at most one a minute
  return count;
}

/** What the last pulls received on average; empty before the first. */
function bytesOfRuns(reader: NonNullable<AnswerParts['reader']>): string {
  const runs = reader.runs(RUNS_MAX).filter(({ kind, outcome }) => kind === 'pull' && outcome === 'done');
  if (runs.length === 0) return '';
  const sum = runs.reduce((total, { receivedBytes }) => total + receivedBytes, 0);
  return `; the last ${plural(runs.length, 'pull')} received ${bytesText(sum / runs.length)} on average`;
}
