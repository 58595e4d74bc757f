/**
 * Finds changed windows of a table by comparing totals of each day with those of the origin. It needs a table that a
 * sweep proved whole. Evidence only: equal days are not noted as fresh. Requests: at most FINGERPRINT_PAGES_MAX, and
 * none for a table that is read as one window.
 */
import { RowsyncError } from '../base/errors.ts';
import {
  compareDays,
  DayTally,
  FINGERPRINT_PAGES_MAX,
  NO_DAY,
  planMeasures,
  readMeasures,
  uselessMeasures,
  windowsOfDays,
  type DayMeasures,
  type Days,
  type MeasurePlan,
} from '../reconcile/fingerprint.ts';
import type { AggregatePage } from '../origin/rows.ts';
import { readIdentity } from '../replica/bookkeeping/identity.ts';
import { readMeasured } from '../replica/rows.ts';
import { readPagedWindows } from '../replica/bookkeeping/pages.ts';
import { TOP_MAX } from '../wire/request-paths.ts';
import { isZone } from '../wire/time-zones.ts';
import type { TablePull, TableReading } from './context.ts';
import { sweepWindows } from './sweep.ts';
import { confirmedRows } from '../capture/writer/store-origin-rows.ts';
import { storeFacts, readTable } from '../replica/bookkeeping/tables.ts';

/** Rows that are summed at once, in some milliseconds; other work is done in between. */
const BLOCK_ROWS = 5_000;

/** The result of a comparison. */
export interface ChangedWindows {
  /** Windows with rows of days that differ, in order; none if all days are equal. */
  readonly windows: readonly string[];
  readonly plan: MeasurePlan;
  readonly zone: string;
  readonly there: Days;
  readonly here: Days;
}

/** Reads the windows that were found; false if a sweep has to look. @throws RowsyncError as `sweepPages`. */
export async function readChangedWindows(run: TablePull, found: ChangedWindows): Promise<boolean> {
  const { windows } = found;
  if (windows.length === 0) return true;
  run.context.log.info('windows.differ', { table: run.table.target.localName, windowCount: windows.length });
  const isSettled = await sweepWindows(run, windows);
  if (isSettled) await noteUselessMeasures(run, found);
  return isSettled;
}

/** The windows that differ; null if the origin does not say, or there is only one. @throws RowsyncError. */
export async function findChangedWindows(reading: TableReading): Promise<ChangedWindows | null> {
  const { table } = reading;
  const { replica } = reading.context;
  const plan = planMeasures(table.descriptor);
  const zone = readIdentity(replica)?.timeZone ?? '';
  const windows = readPagedWindows(replica, table.target.id);
  if (plan === null || windows.length < 2 || !isZone(zone)) return null;
  const there = await readDays(reading, plan);
  if (there === null) return null;
  const here = await addUpRows(reading, { plan, zone });
  const { ignoredMeasures } = readTable(replica, table.target.id);
  const differing = compareDays(plan.measures, { there, here }, ignoredMeasures).map(({ day }) => day);
  return { windows: windowsOfDays(differing, windows, zone), plan, zone, there, here };
}

/** Compares again. A measure that still differs is ignored until the next whole sweep. Returns all ignored ones. */
export async function noteUselessMeasures(
  reading: TableReading,
  { plan, zone, there, here: before }: ChangedWindows,
): Promise<readonly string[]> {
  const { replica } = reading.context;
  const { id, localName } = reading.table.target;
  const here = await addUpRows(reading, { plan, zone });
  const known = readTable(replica, id).ignoredMeasures;
  const ignored = [...new Set([...known, ...uselessMeasures(plan.measures, { there, before, here })])];
  if (ignored.length > known.length)
    await replica.write(`Noting measures of ${localName}`, (tx) => storeFacts(tx, id, { ignored_measures: ignored }));
  return ignored;
}

/** The days of the origin; null without an answer. */
async function readDays(
  { context: { origin, signal }, table: { address } }: TableReading,
  { created, measures }: MeasurePlan,
): Promise<Days | null> {
  const days = new Map<string, DayMeasures>();
  const group = { name: created, suffix: 'DD', type: 'Date' } as const;
  const columns = measures.map(({ shape }) => shape);
  let skip = 0;
  for (let page = 0; page < FINGERPRINT_PAGES_MAX; page += 1) {
    const answer = await orNone(origin.aggregate({ table: address, group, columns, top: TOP_MAX, skip }, { signal }));
    if (answer === null) return null;
    for (const { group: day, values } of answer.groups)
      days.set(typeof day === 'string' ? day : NO_DAY, readMeasures(measures, values));
    if (answer.isLast) return days;
    skip += answer.groups.length;
  }
  return null;
}

/** What groups of rows add up to; an answer in an unknown form counts as none. */
export async function orNone(answer: Promise<AggregatePage | null>): Promise<AggregatePage | null> {
  try {
    return await answer;
  } catch (thrown) {
    if (!(thrown instanceof RowsyncError && thrown.code === 'origin.unexpected')) throw thrown;
    return null;
  }
}

/** The days of the rows here that the origin confirmed. */
async function addUpRows(
  { context: { replica, clock, signal }, table }: TableReading,
  { plan, zone }: Pick<ChangedWindows, 'plan' | 'zone'>,
): Promise<Days> {
  const target = confirmedRows(table);
  const localNameOf = (name: string): string => table.shapes.find((shape) => shape.name === name)?.localName ?? '_id';
  const columns = [plan.created, ...plan.measures.map(({ column }) => column)].map(localNameOf);
  const tally = new DayTally(plan.measures, zone);
  let after = Number.MIN_SAFE_INTEGER;
  for (;;) {
    const rows = readMeasured(replica, target, { columns, after, count: BLOCK_ROWS });
    for (const [id, created, ...values] of rows) {
      tally.add(created, values);
      after = id;
    }
    if (rows.length < BLOCK_ROWS) return tally.days; // ends: ids only grow
    await clock.sleep(0, signal);
  }
}
