/**
 * The small replica in which rows are put back: `<replica>.putback`, with empty two-way tables as the origin describes
 * them now. Its rows are the ones that are put back, so an ordinary push sends them, with its intents, look-ups and
 * parking. It does so also where the table is a mirror in the replica.
 */
import { RowsyncError, usageError } from '../../base/errors.ts';
import { findTwoWayTable, type TwoWayTable } from '../../capture/two-way-table.ts';
import { withResources } from '../../cli/runtime/invocation.ts';
import type { Config } from '../../config/load.ts';
import { boundTo, pullSettings } from '../../config/settings.ts';
import type { Invocation } from '../../extra.ts';
import type { PullContext } from '../../pull/context.ts';
import { pull } from '../../pull/pull.ts';
import type { PushContext, TablePush } from '../../push/context.ts';
import { columnNames } from '../../reconcile/column-selection.ts';
import type { PushTableOptions } from '../../reconcile/push-plan.ts';
import { findById } from '../../push/find-rows.ts';
import { openUnasked } from '../../push/push-table.ts';
import { finishPushes, push } from '../../push/push.ts';
import type { PushReport } from '../../push/report.ts';
import { readTableDescriptor } from '../../replica/bookkeeping/descriptors.ts';
import { findTable, readTables } from '../../replica/bookkeeping/tables.ts';
import type { Connection } from '../../replica/connection.ts';
import { hasOption } from '../../wire/schema.ts';
import { changeRecords, createRecords, keyOf, lacksKey, noteSent, readRecords } from './putback-records.ts';

/** A filter that no row satisfies: the tables are described, and stay empty. */
const NO_ROWS = 'false';

const HISTORY = { keepDays: 36_500, bytesMax: 2_000_000_000 };

/** A table by its name at the origin, and the column that finds its rows again if an answer is lost. */
export interface PutbackTable {
  readonly name: string;
  readonly match: string | null;
}

export interface PutbackPlace {
  readonly pull: PullContext;
  readonly push: PushContext;
  readonly workflow: 'run' | 'suppress';
  /** Whether it is another database, in which the ids of lost rows belong to other rows. */
  readonly isElsewhere: boolean;
}

export function putbackPath({ replica }: Config, into: Config | null): string {
  return into === null ? `${replica.path}.putback` : `${replica.path}.putback-${into.origin.database}`;
}

/** Opens the file and the origin for the time of `work`. What an earlier run left on its way is settled first. */
export async function withPutback<T>(
  invocation: Invocation,
  { config, into }: { readonly config: Config; readonly into: Config | null },
  { main, workflow }: { readonly main: Connection; readonly workflow: 'run' | 'suppress' | null },
  work: (place: PutbackPlace) => Promise<T>,
): Promise<T> {
  const bound = into ?? boundTo(main, config);
  const beside = { ...bound, replica: { ...bound.replica, path: putbackPath(config, into) } };
  return withResources({ ...invocation, extras: [] }, beside, async ({ pull: pulling, push: pushing }) => {
    const contexts = { pull: { ...pulling, settings: pullSettings(bound) }, push: pushing };
    return work(await makePlace(contexts, { workflow, isElsewhere: into !== null }));
  });
}

/** Makes the place from both sides of the small replica. What an earlier run left on its way is settled first. */
export async function makePlace(
  { pull: pulling, push: pushing }: Pick<PutbackPlace, 'pull' | 'push'>,
  { workflow, isElsewhere }: { readonly workflow: 'run' | 'suppress' | null; readonly isElsewhere: boolean },
): Promise<PutbackPlace> {
  const { replica, settings } = pulling;
  const caller = (await pulling.origin.user({ signal: pulling.signal })).value;
  const chosen = workflow ?? (hasOption(caller.admin, 'ManageData') ? 'suppress' : 'run');
  const options: PushTableOptions = { conflict: 'origin', workflow: chosen };
  const place: PutbackPlace = {
    workflow: chosen,
    isElsewhere,
    pull: {
      ...pulling,
      settings: {
        ...settings,
        configured: undefined,
        tableOptions: (name) => {
          const known = settings.tableOptions(name);
          const editing = { ...options, match: matchColumnOf(replica, name) };
          return known === null ? null : { ...known, editing, rows: NO_ROWS, history: HISTORY };
        },
      },
    },
    // Files go back into a store that belongs to the replica; the next pull of files finds them there.
    push: { ...pushing, files: undefined, settings: { ...pushing.settings, tableOptions: () => options } },
  };
  await replica.write('Opening what is put back', createRecords);
  await finishPushes(place.push);
  await noteSentRows(place);
  return place;
}

/** The match column that a table of the file has, by the table's name at the origin; null for none. */
export function matchColumnOf(file: Connection, name: string): string | null {
  return readTables(file).find((known) => known.name === name)?.matchColumn ?? null;
}

/** Describes the tables of rows that were begun again. @throws RowsyncError `usage.invalid` if there are none. */
export async function describeAgain(place: PutbackPlace): Promise<void> {
  const { replica } = place.push;
  const ids = new Set(readRecords(replica).map(({ tableId }) => tableId));
  if (ids.size === 0) throw usageError('Nothing was begun', 'rowsync putback --help has examples.');
  const tables = readTables(replica).filter(({ id, state }) => ids.has(id) && state !== 'gone');
  const described = tables.map(({ name, matchColumn }) => ({ name, match: matchColumn }));
  await describeTables(place, described);
}

/** Brings tables to the shape that the origin describes now. @throws RowsyncError what keeps one from it. */
export async function describeTables({ pull: context }: PutbackPlace, tables: readonly PutbackTable[]): Promise<void> {
  const { settings } = context;
  const matches = new Map(tables.map(({ name, match }) => [name, match]));
  const tableOptions: typeof settings.tableOptions = (name) => {
    const known = matches.has(name) ? settings.tableOptions(name) : null;
    const editing = known?.editing ?? null;
    return known === null || editing === null
      ? null
      : { ...known, editing: { ...editing, match: matches.get(name) ?? null } };
  };
  const report = await pull(
    { ...context, onProgress: undefined, settings: { ...settings, tableOptions } },
    { tables: [], confirm: true },
  );
  const problems = [report.error, report.stop, ...report.tables.map(({ error, held }) => error ?? held)];
  const failed = problems.find((problem) => problem !== null);
  if (failed !== undefined && failed !== null) throw failed;
}

/** A table of the file. @throws RowsyncError `replica.schema` if it could not be made. */
export function stagedTable(place: PutbackPlace, tableId: number): TwoWayTable {
  const { replica } = place.push;
  const table = findTable(replica, tableId) === null ? null : findTwoWayTable(replica, tableId);
  if (table !== null) return table;
  throw new RowsyncError('replica', 'replica.schema', {
    message: `Table ${tableId} could not be prepared in ${replica.path}`,
    hint: 'Run the command again; rowsync check tells what is wrong with the origin.',
  });
}

/** The origin's id of the key column of a table; null if it is not known. */
export function keyColumnOf({ pull: { replica } }: PutbackPlace, tableId: number): number | null {
  const descriptor = readTableDescriptor(replica, tableId)?.descriptor;
  return descriptor?.columns.find(({ name }) => name === descriptor.key)?.id ?? null;
}

export function requiredColumnsOf({ pull: { replica } }: PutbackPlace, tableId: number): ReadonlySet<number> {
  const columns = readTableDescriptor(replica, tableId)?.descriptor.columns ?? [];
  return new Set(columns.filter(({ dataOptions }) => hasOption(dataOptions, 'Required')).map(({ id }) => id));
}

/** Notes what became of sent rows, and asks for keys that are still unknown. @throws RowsyncError of the origin. */
async function noteSentRows(place: PutbackPlace): Promise<void> {
  const { replica } = place.push;
  await replica.write('Noting what was put back', (tx) => {
    noteSent(tx, (tableId) => keyColumnOf(place, tableId));
  });
  const unknown = readRecords(replica).filter((record) => lacksKey(record));
  for (const [tableId, records] of Map.groupBy(unknown, (record) => record.tableId)) {
    const run = openLookUp(place, tableId);
    const { byId } = await findById(
      run,
      records.flatMap(({ newId }) => newId ?? []),
    );
    const changes = records.flatMap((record): Parameters<typeof changeRecords>[1] => {
      const newKey = keyOf(run.table, keyColumnOf(place, tableId), byId.get(record.newId ?? 0));
      return newKey === null ? [] : [[record, { newKey }]];
    });
    await replica.write('Noting keys', (tx) => changeRecords(tx, changes));
  }
}

/** Sends what is edited in the file, and notes what became of it. @throws RowsyncError what stopped the push. */
export async function pushStaged(place: PutbackPlace): Promise<PushReport> {
  const report = await push(place.push, { tables: [], confirm: true });
  await noteSentRows(place);
  const failed = report.error ?? report.stop;
  if (failed !== null) throw failed;
  return report;
}

/** Opens a table for the look-ups of a push. */
export function openLookUp(place: PutbackPlace, tableId: number): TablePush {
  const { replica, settings } = place.push;
  const run = openUnasked(place.push, stagedTable(place, tableId));
  const descriptor = readTableDescriptor(replica, tableId)?.descriptor;
  const asksByName = descriptor?.asksByName === true || (settings.columns?.(run.table.name) ?? null) !== null;
  // The names of a thousand columns do not fit into a request.
  return descriptor === undefined || asksByName ? run : { ...run, names: columnNames(descriptor) };
}
