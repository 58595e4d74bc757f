/**
 * Compares two descriptions of the tables and puts the differences into words: what changed, and whether the origin,
 * the configuration or another program changed it. Pure.
 */
import { printable } from '../base/text.ts';
import type { ColumnRecord } from '../replica/bookkeeping/columns.ts';
import type { DescribedTable } from '../replica/bookkeeping/described-tables.ts';
import type { SchemaChange } from '../replica/bookkeeping/schema-changes.ts';
import { columnType, type ColumnDescriptor } from '../wire/schema.ts';

type SeenTable = Pick<DescribedTable, 'id' | 'name' | 'isDescribed'>;

/** What became of tables; nothing at the first look. */
export function tableChanges(known: readonly SeenTable[], described: readonly SeenTable[]): readonly SchemaChange[] {
  if (known.length === 0) return [];
  const knownById = new Map(known.map((table) => [table.id, table]));
  const ids = new Set(described.map(({ id }) => id));
  const came = described.flatMap(({ id, name }): readonly SchemaChange[] => {
    const before = knownById.get(id);
    if (before === undefined) return [changeOf('tableNew', name)];
    const back = before.isDescribed ? [] : [changeOf('tableBack', name)];
    return before.name === name
      ? back
      : [...back, { ...changeOf('tableRenamed', name), former: before.name, now: name }];
  });
  const went = known.filter(({ id, isDescribed }) => isDescribed && !ids.has(id));
  return [...came, ...went.map(({ name }) => changeOf('tableGone', name))];
}

/** What became of the columns of a table, some of them left out until now; nothing for a table without any. */
export function columnChanges(
  table: string,
  known: readonly Pick<ColumnRecord, 'id' | 'name' | 'type' | 'state'>[],
  described: readonly Pick<ColumnDescriptor, 'id' | 'name' | 'type' | 'mask'>[],
  leftOutIds: ReadonlySet<number>,
): readonly SchemaChange[] {
  const knownById = new Map(known.filter(({ state }) => state !== 'aside').map((column) => [column.id, column]));
  if (knownById.size === 0) return [];
  const ids = new Set(described.map(({ id }) => id));
  const changed = described.flatMap(({ id, name, type, mask }): readonly SchemaChange[] => {
    const before = knownById.get(id);
    const included = { ...changeOf('columnIncluded', table, name), now: mask?.kind ?? null };
    if (before === undefined) return [leftOutIds.has(id) ? included : changeOf('columnNew', table, name)];
    const of = (kind: SchemaChange['kind'], former: string, now: string): SchemaChange => {
      return { kind, table, column: name, former, now };
    };
    return [
      ...(before.state === 'live' ? [] : [changeOf('columnBack', table, name)]),
      ...(before.name === name ? [] : [of('columnRenamed', before.name, name)]),
      ...(before.type === columnType(type) ? [] : [of('columnType', before.type, columnType(type))]),
    ];
  });
  const went = [...knownById.values()].filter(({ id, state }) => state === 'live' && !ids.has(id));
  return [...changed, ...went.map(({ name }) => changeOf('columnGone', table, name))];
}

export function changeOf(kind: SchemaChange['kind'], table: string, column: string | null = null): SchemaChange {
  return { kind, table, column, former: null, now: null };
}

const LEFT_OUT_WORDS: Readonly<Record<string, string>> = { '': 'leaves the column out', none: 'masks it no more' };

const WORDS: Readonly<Record<SchemaChange['kind'], (now: string, former: string) => string>> = {
  tableNew: () => 'a new table of the origin',
  tableRenamed: (_, former) => `the origin renamed the table, which was called ${former}`,
  tableGone: () => 'the origin no longer shows the table',
  tableBack: () => 'the origin shows the table again',
  columnNew: () => 'a new column of the origin',
  columnRenamed: (_, former) => `the origin renamed the column, which was called ${former}`,
  columnGone: () => 'the origin no longer shows the column',
  columnBack: () => 'the origin shows the column again',
  columnType: (now, former) => `the origin changed the type of the column from ${former} to ${now}`,
  columnLeftOut: (mask) =>
    `the configuration now ${LEFT_OUT_WORDS[mask] ?? `masks it as ${mask}`}; its values here were removed`,
  columnIncluded: (mask) => `the configuration now includes ${mask === '' ? 'its values' : `it, masked (${mask})`}`,
  tableRemade: (now) => `the table was dropped or renamed here, and recreated; edits that went with it: ${now}`,
  guardsRemade: () => 'the guards of the table were removed in this file, and recreated',
  columnRemade: () => 'the column was dropped or renamed in this file, and recreated',
};

export function schemaChangeText({ kind, table, column, former, now }: SchemaChange): string {
  const subject = column === null ? table : `${table}.${column}`;
  return printable(`${subject}: ${WORDS[kind](now ?? '', former ?? '')}`);
}
