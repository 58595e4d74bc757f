/**
 * What tables are called here, and which of them another name is due: by the configuration, or by the names that the origin has now.
 */
import { foldName, isNameOf, planTableNames, type NameRules, type Naming } from '../reconcile/naming.ts';
import type { Connection, Tx } from '../replica/connection.ts';
import { readNameStyle } from '../replica/bookkeeping/identity.ts';
import { findTable, type TableRecord, readTables } from '../replica/bookkeeping/tables.ts';
import { isNamed } from '../replica/schema-objects.ts';
import { isMade, isUnmade, readTakenNames } from '../replica/user-tables.ts';
import type { TableSummary } from '../wire/schema.ts';
import type { PullSettings, TableSettings } from './context.ts';

/** Whether a table has its place, under the name that the origin has now. */
export function isInPlace(tx: Tx, { id, recordName, alias }: TableSummary, { names }: Placing): boolean {
  const known = findTable(tx, id);
  if (known === null || known.state === 'gone' || known.name !== recordName || known.alias !== alias) return false;
  if (isUnmade(tx, known) ? isNamed(tx, known.localName) : !isMade(tx, known)) return false;
  return isNameOf(known.localName, { ...names, scope: 'table' }, { id, name: recordName });
}

interface Move {
  readonly table: TableRecord;
  readonly to: string;
}

export interface Placing {
  readonly at: string;
  readonly names: NameRules;
}

export function tableNames(from: Connection, { ownNameOf }: Pick<PullSettings, 'ownNameOf'>): NameRules {
  return { style: readNameStyle(from), given: ownNameOf };
}

export function columnNaming(from: Connection, { columnNames }: Pick<TableSettings, 'columnNames'>): Naming {
  return { scope: 'column', style: readNameStyle(from), given: (name) => columnNames?.get(name) };
}

export function namesOf(
  from: Connection,
  tables: readonly TableSummary[],
  placing: Placing,
): ReadonlyMap<number, string> {
  const tablesHere = readTables(from);
  const known = tablesHere.map(({ id, name, localName, state }) => ({ id, name, localName, isGone: state === 'gone' }));
  // A table that is noted or was dropped does not hold its name against what another client made under it.
  const ours = new Set(tablesHere.filter((one) => isMade(from, one)).map(({ localName }) => foldName(localName)));
  const taken = new Set(
    readTakenNames(from)
      .map(foldName)
      .filter((name) => !ours.has(name)),
  );
  const described = tables.map(({ id, recordName: name }) => ({ id, name }));
  return planTableNames(known, described, { ...placing.names, taken, day: placing.at.slice(0, 10) });
}

/** Tables that another name is due, be it to make room for one that the origin still shows. */
export function movesOf(from: Connection, tables: readonly TableSummary[], placing: Placing): readonly Move[] {
  const names = namesOf(from, tables, placing);
  return readTables(from).flatMap((table) => {
    const to = names.get(table.id) ?? table.localName;
    return to === table.localName ? [] : [{ table, to }];
  });
}
