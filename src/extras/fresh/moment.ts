/**
 * Proves that all tables are here as they were at one moment: after a pull, every table is asked again what moved
 * since. Tables that moved are read, and all are asked once more. It sends only requests that pulls send, too.
 */
import { stampFromMs } from '../../base/clock.ts';
import { RowsyncError } from '../../base/errors.ts';
import type { ExtraWork } from '../../daemon/work-kinds.ts';
import { finishPushes } from '../../push/push.ts';
import type { PullContext } from '../../pull/context.ts';
import { pull } from '../../pull/pull.ts';
import type { PullReport, TablePullReport } from '../../pull/report.ts';
import { movesUnstamped, stampColumn } from '../../reconcile/follow.ts';
import { judgeMoment, type AskingAgain } from '../shared/freshness.ts';
import { readColumns } from '../../replica/bookkeeping/columns.ts';
import { readTableDescriptor } from '../../replica/bookkeeping/descriptors.ts';
import { readTables } from '../../replica/bookkeeping/tables.ts';
import { readRefiltered } from '../shared/fresh-tables.ts';
import { type ProvenMoment, storeMoment } from '../../replica/bookkeeping/changed-rows.ts';

/** Asks after a pull until nothing moved, and stores the moment. @throws RowsyncError `fresh.moved` for busy tables. */
export async function proveMoment(around: PullContext, before: PullReport): Promise<ProvenMoment> {
  const { replica, clock } = around;
  const context = { ...around, settings: { ...around.settings, compares: false } };
  const { tables, notCovered } = coverageOf(context);
  if (tables.length === 0) throw noMoment({ kind: 'moved', tables: [] });
  let last = before;
  for (let round = 1; ; round += 1) {
    if (last.error !== null) throw last.error;
    const at = stampFromMs(clock.nowMs());
    const names = tables.map(({ localName }) => localName);
    last = await pull(context, { tables: names, confirm: false, follow: true });
    const judged = judgeMoment({ round, tables: names, found: last.tables.map(findingOf) });
    if (judged.kind === 'askAgain') continue; // ends: the decision gives up after some rounds
    if (judged.kind !== 'moment') throw noMoment(judged);
    const refiltered = readRefiltered(replica);
    const others = tables.flatMap(({ localName }) => (refiltered.has(localName) ? [localName] : []));
    if (others.length > 0)
      throw noMoment({ kind: 'failed', tables: others, why: 'its rows are not all chosen by the new filter yet' });
    const moment = { at, tables: names, notCovered };
    await replica.write('Storing a moment', (tx) => storeMoment(tx, moment));
    return moment;
  }
}

/** Both directions, of a daemon or a command. */
type BothDirections = Pick<Parameters<ExtraWork>[0], 'pull' | 'push'>;

/** Reads tables that are too old for a question, by their names here; returns what went wrong. */
export async function readTablesNow(
  { pull: context, push }: BothDirections,
  wanted: readonly string[],
): Promise<RowsyncError | null> {
  await finishPushes(push);
  const settings = { ...context.settings, compares: false };
  const report = await pull({ ...context, settings }, { tables: wanted, confirm: false, follow: true });
  return report.error ?? report.tables.find(({ error }) => error !== null)?.error ?? null;
}

/** The work of `schedule.moment`: a whole pull, and the proof. @throws RowsyncError `fresh.moved`, as `proveMoment`. */
export async function proveOnSchedule({ pull: context, push }: BothDirections): ReturnType<ExtraWork> {
  await finishPushes(push);
  const report = await pull(context, { tables: [], confirm: false });
  const { tables } = await proveMoment(context, report);
  return { own: null, facts: { tableCount: tables.length } };
}

function findingOf(report: TablePullReport): AskingAgain['found'][number] {
  const { table, insertedCount, updatedCount, deletedCount, filteredCount, error, held, unreadableCount } = report;
  const unreadable = unreadableCount === 0 ? null : 'rows of it cannot be read';
  const failure = error?.message ?? held?.message ?? unreadable;
  return { table, changeCount: insertedCount + updatedCount + deletedCount + filteredCount, failure };
}

function noMoment(
  judged: Extract<ReturnType<typeof judgeMoment>, { readonly tables: readonly string[] }>,
): RowsyncError {
  const names = judged.tables.join(', ');
  const failure = (message: string, hint: string): RowsyncError =>
    new RowsyncError('originDown', 'fresh.moved', { message: `No moment: ${message}`, hint });
  if (names === '')
    return failure('no table shows when its rows changed', 'Let the role of the user see Date Modified.');
  return judged.kind === 'moved'
    ? failure(
        `${names} changed each time while the tables were asked`,
        'Try when fewer people work, for example at night (schedule.moment), or name fewer tables in the configuration.',
      )
    : failure(`${names} could not be asked (${judged.why})`, 'rowsync status says what is wrong with the table.');
}

/** Tables whose changes have a stamp, and what may change without one: whole tables, and single columns of others. */
function coverageOf({ replica, settings }: PullContext): {
  readonly tables: readonly { readonly name: string; readonly localName: string }[];
  readonly notCovered: readonly string[];
} {
  const known = readTables(replica).filter(
    ({ state, name }) => state !== 'gone' && settings.tableOptions(name) !== null,
  );
  const coverages = known.map((table) => {
    const leftOut = new Set(table.leftOut.map(({ id }) => id));
    const all = readTableDescriptor(replica, table.id)?.descriptor.columns ?? [];
    const columns = all.filter(({ id }) => !leftOut.has(id));
    const live = readColumns(replica, table.id).filter(({ state }) => state === 'live');
    const namesHere = new Map(live.map(({ id, localName }) => [id, localName]));
    const unstamped = columns.filter(movesUnstamped).map(({ id, name }) => namesHere.get(id) ?? name);
    return { table, isStamped: stampColumn(columns) !== null, unstamped };
  });
  return {
    tables: coverages.filter(({ isStamped }) => isStamped).map(({ table }) => table),
    notCovered: coverages.flatMap(({ table, isStamped, unstamped }) =>
      isStamped ? unstamped.map((name) => `${table.localName}.${name}`) : [table.localName],
    ),
  };
}
