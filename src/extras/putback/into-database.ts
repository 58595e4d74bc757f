/**
 * Whole tables into another database, such as a test database or a rebuilt one: tables and columns are matched by name,
 * since their ids differ there. It makes only rows there. Afterwards every row is read back and compared.
 */
import type { LostRow } from '../shared/linked-extra.ts';
import { must } from '../../base/assert.ts';
import type { Config } from '../../config/load.ts';
import { findById } from '../../push/find-rows.ts';
import { isTakenAs } from '../../reconcile/merge.ts';
import { fileFromCell } from '../../reconcile/files.ts';
import { readColumns } from '../../replica/bookkeeping/columns.ts';
import { readTables, type TableRecord } from '../../replica/bookkeeping/tables.ts';
import { valueFromStored } from '../../replica/rows.ts';
import type { Row } from '../../wire/schema.ts';
import { fileFinder, nameThere } from './attached-files.ts';
import type { LostRows } from './lost-rows.ts';
import { knownMatch, planRows, uniqueColumn, type PutbackPlan } from './make-plan.ts';
import { rowName } from './lost-row-outcome.ts';
import { describeTables, keyColumnOf, openLookUp, type PutbackPlace, type PutbackTable } from './putback-file.ts';
import { readCells, readRecords, type LineCells, type PutbackRecord } from './putback-records.ts';
import { referencesOf } from './references.ts';

interface SharedTable {
  readonly here: TableRecord;
  readonly there: TableRecord;
  /** Ids of columns there, by those here. */
  readonly columnIds: ReadonlyMap<number, number>;
}

/** Plans all rows of the named tables, or of all. @throws RowsyncError `usage.invalid`, or of the other origin. */
export async function planInto(
  place: PutbackPlace,
  source: LostRows,
  given: {
    readonly revisions: boolean;
    readonly names: readonly string[];
    readonly config: Config;
    readonly into: Config;
    readonly folders: readonly string[];
  },
): Promise<PutbackPlan> {
  const { names, config, into, folders, revisions } = given;
  const unread = names.length === 0 ? source.unread : [];
  const missing = unread.map(({ localName }) => `the table ${localName}, which was not read here yet`);
  const wanted = names.length === 0 ? source.tables : names.map((name) => source.table(name));
  const shared = await shareTables(place, wanted, { source, into, missing });
  const sharedById = new Map(shared.map((table) => [table.here.id, table]));
  const references = shared.flatMap(({ here, there, columnIds }) =>
    referencesOf(source, here, config.tables).flatMap((reference) => {
      const columnId = columnIds.get(reference.column.id);
      const to = sharedById.get(reference.toId)?.there;
      if (columnId !== undefined && to !== undefined)
        return [{ ...reference, tableId: there.id, column: { ...reference.column, id: columnId }, toId: to.id }];
      if (columnId !== undefined) missing.push(`rows that ${here.localName}.${reference.column.localName} refers to`);
      return [];
    }),
  );
  const sharedThere = new Map(shared.map((table) => [table.there.id, table]));
  const find = fileFinder(source.readers(), folders, { revisions });
  const { planned, unwritable } = await planRows(
    place,
    shared.flatMap((table) => source.rows(table.here.id).map((row) => translated(row, table))),
    {
      references,
      isLiveKey: () => false,
      lostIdOf: () => null,
      filesOf: ({ tableId, oldId, values }, columnId) => {
        const { here, columnIds } = must(sharedThere.get(tableId), 'a planned row is of a shared table');
        const [own = 0] = [...columnIds].find(([, to]) => to === columnId) ?? [];
        const row = { tableId: here.id, oldId, values: new Map([[own, values.get(columnId) ?? null]]) };
        return find(row, own).map((file) => ({ ...file, columnId }));
      },
    },
  );
  return {
    rows: planned,
    orphans: [],
    guessed: references.filter(({ isConfigured }) => !isConfigured),
    unwritable,
    missing,
    nameOf: (tableId) => sharedThere.get(tableId)?.there.localName ?? String(tableId),
  };
}

function translated({ oldId, values }: LostRow, { there, columnIds }: SharedTable): LostRow {
  const moved = [...values].flatMap(([id, value]) => {
    const to = columnIds.get(id);
    return to === undefined ? [] : [[to, value] as const];
  });
  return { tableId: there.id, oldId, values: new Map(moved), deletedAt: null };
}

/** Describes the tables that are there, too; what is not is added to `missing`. */
async function shareTables(
  place: PutbackPlace,
  wanted: readonly TableRecord[],
  { source, into, missing }: { readonly source: LostRows; readonly into: Config; readonly missing: string[] },
): Promise<readonly SharedTable[]> {
  const { pull: pulling, push } = place;
  const file = push.replica;
  const { value: database } = await pulling.origin.describeDatabase({ signal: pulling.signal });
  const present = wanted.flatMap((here) => {
    const name = database.tables.find(({ recordName }) => isSameName(recordName, here.name))?.recordName;
    if (name !== undefined && pulling.settings.tableOptions(name) !== null) return [{ here, name }];
    missing.push(`the table ${here.name}${name === undefined ? '' : ', which the configuration there leaves out'}`);
    return [];
  });
  const matches = new Map(present.map(({ name }) => [name, knownMatch(file, name, into.tables)]));
  const described = (): readonly PutbackTable[] => [...matches].map(([name, match]) => ({ name, match }));
  if (present.length > 0) await describeTables(place, described());
  const shared = present.map(({ here, name }): SharedTable => {
    const there = must(
      readTables(file).find((table) => table.name === name),
      'a table that was described is known',
    );
    const others = readColumns(file, there.id).filter(({ state }) => state === 'live');
    const pairs = readColumns(source.main, here.id).flatMap(({ id, name: own, state, writable, mask }) => {
      if (state !== 'live') return [];
      const other = others.find((column) => isSameName(column.name, own));
      if (other !== undefined && mask === null) return [[id, other.id] as const];
      if (mask !== null) missing.push(`values of ${here.name}.${own}, which are masked here`);
      else if (writable) missing.push(`the column ${here.name}.${own}`);
      return [];
    });
    return { here, there, columnIds: new Map(pairs) };
  });
  for (const table of shared) {
    const rows = source.rows(table.here.id).map((row) => translated(row, table));
    const unique = uniqueColumn(readColumns(file, table.there.id), keyColumnOf(place, table.there.id), rows);
    matches.set(table.there.name, matches.get(table.there.name) ?? unique);
  }
  if ([...matches.values()].some((match) => match !== null)) await describeTables(place, described());
  return shared;
}

function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

/** Reads back every row that was put there, and returns how many were compared and what differs, in words. */
export async function verifyInto(
  place: PutbackPlace,
): Promise<{ readonly comparedCount: number; readonly differences: readonly string[] }> {
  const file = place.push.replica;
  const records = readRecords(file).filter(({ kind }) => kind === 'row');
  const done = records.filter(({ state }) => state === 'done');
  const keys = new Map(records.map(({ tableId, oldId, newKey }) => [rowName(tableId, oldId), newKey]));
  const differences: string[] = [];
  for (const [tableId, own] of Map.groupBy(done, (record) => record.tableId)) {
    const run = openLookUp(place, tableId);
    const ids = own.flatMap(({ newId }) => newId ?? []);
    const { byId } = await findById(run, ids);
    const cells = readCells(file, own);
    for (const record of own) {
      const row = byId.get(record.newId ?? 0);
      const values = new Map(cells.get(record.id));
      for (const { columnId, toId, oldId } of record.links)
        values.set(columnId, keys.get(rowName(toId, oldId)) ?? null);
      const differing = row === undefined ? null : differingColumns(run.table.columns, row, { values, record });
      const name = `${record.table} ${record.oldId}, now ${record.newId}`;
      if (differing === null) differences.push(`${name}: is not there any more, or cannot be read`);
      else if (differing.length > 0) differences.push(`${name}: ${differing.join(', ')}`);
    }
  }
  return { comparedCount: done.length, differences };
}

function differingColumns(
  columns: ReturnType<typeof openLookUp>['table']['columns'],
  row: Row,
  { values, record }: { readonly values: LineCells; readonly record: PutbackRecord },
): readonly string[] {
  return columns.flatMap(({ id, type, localName }, index) => {
    const there = row.values[index] ?? null;
    const file = record.files.findLast(({ columnId }) => columnId === id);
    const isSame =
      file !== undefined
        ? fileFromCell(String(there))?.name === nameThere(file.name)
        : !values.has(id) || isTakenAs(type, valueFromStored(values.get(id) ?? null, type), there);
    return isSame ? [] : [localName];
  });
}
