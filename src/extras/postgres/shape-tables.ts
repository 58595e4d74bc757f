/**
 * The shape of the tables in PostgreSQL, which follows that of the replica: names, columns, comments.
 * extras/shared/pg-columns.ts decides what must be done. A table or column that rowsync did not make is never touched;
 * the table that needs its name is held.
 */
import { RowsyncError } from '../../base/errors.ts';
import { ident, joinSql, literal, sql, type Sql } from '../../base/sql.ts';
import { pgName, pgType, planPgTable, type PgColumn } from '../shared/pg-columns.ts';
import type { ColumnRecord } from '../../replica/bookkeeping/columns.ts';
import type { SinkSource } from '../shared/confirmed-rows.ts';
import type { PgConnection } from './connection.ts';
import type { SinkSettings } from './context.ts';
import {
  keyName,
  readOwnColumns,
  readRelations,
  storeOwnColumns,
  TYPE_SQL,
  type Relation,
  type PgSchema,
} from './bookkeeping.ts';

/** A table as it is sent: the source, and its columns there in the same order. */
export interface SentTable {
  readonly id: number;
  readonly name: string;
  readonly source: SinkSource;
  readonly columns: readonly PgColumn[];
  /** Identifies the columns. */
  readonly shape: string;
}

export function sentTable(source: SinkSource): SentTable {
  const columns = source.columns.map((column) => ({
    seq: column.seq,
    originId: column.id,
    name: pgName(column.localName, column.seq, 'column'),
    type: pgType(column.type),
  }));
  const name = pgName(source.table.localName, source.table.id, 'table');
  return {
    id: source.table.id,
    name,
    source,
    columns,
    shape: JSON.stringify(columns.map(({ name: own, type }) => [own, type])),
  };
}

export function sentColumnNames({ columns }: Pick<SentTable, 'columns'>): readonly Sql[] {
  return [sql`_id`, sql`_allow`, ...columns.map(({ name }) => ident(name))];
}

/** The result for the tables: which have their shape, and why others do not. */
export interface ShapeOutcome {
  /** Tables in the target, by id. */
  readonly standing: ReadonlySet<number>;
  readonly problems: ReadonlyMap<number, RowsyncError>;
}

/**
 * Gives all tables of the target the names and columns that they have here; called in a transaction. Tables may swap
 * their names, so all names are considered together.
 */
export async function followShapes(
  session: PgConnection,
  target: PgSchema,
  given: {
    readonly tables: readonly SentTable[];
    readonly deletes: SinkSettings['deletes'];
    readonly except: ReadonlyMap<number, RowsyncError>;
  },
): Promise<ShapeOutcome> {
  const { tables, deletes, except } = given;
  const relations = await readRelations(session, target);
  const known = await readOwnColumns(session, target);
  const byId = new Map(
    relations.flatMap((relation) => (relation.tableId === null ? [] : [[relation.tableId, relation]])),
  );
  const problems = new Map<number, RowsyncError>(except);
  const followed = tables.filter(({ id }) => !problems.has(id));
  await followNames(session, target, { relations, byId, tables: followed, problems });
  for (const table of followed) {
    const relation = byId.get(table.id);
    if (relation === undefined || problems.has(table.id)) continue;
    const problem = await followColumns(session, target, {
      table,
      relation,
      known: known.get(table.id) ?? [],
      deletes,
    });
    if (problem !== null) problems.set(table.id, problem);
  }
  return { standing: new Set([...byId.keys()].filter((id) => !problems.has(id))), problems };
}

async function followNames(
  session: PgConnection,
  target: PgSchema,
  world: {
    readonly relations: readonly Relation[];
    readonly byId: ReadonlyMap<number, Relation>;
    readonly tables: readonly SentTable[];
    readonly problems: Map<number, RowsyncError>;
  },
): Promise<void> {
  const { relations, byId, tables, problems } = world;
  const wanted = new Map(tables.map(({ id, name }) => [name, id]));
  const isOurs = (relation: Relation): boolean => relation.tableId !== null;
  for (const relation of relations) {
    const id = wanted.get(relation.name);
    if (id !== undefined && !isOurs(relation)) problems.set(id, foreignError(target, relation.name));
  }
  const rename = async (id: number, from: string, to: string): Promise<void> => {
    await session.query(sql`ALTER TABLE ${target.of(from)} RENAME TO ${ident(to)}`);
    await session.query(sql`UPDATE ${target.tables} SET name = $2 WHERE table_id = $1`, [id, to]);
    await session.query(sql`UPDATE ${target.replaced} SET "table" = $2 WHERE table_id = $1`, [id, to]);
  };
  // Also tables that are yet to be made.
  const misplaced = tables.filter(({ id, name }) => byId.get(id)?.name !== name && !problems.has(id));
  const moving = misplaced.filter(({ id }) => byId.has(id));
  for (const { name } of misplaced) {
    const holder = relations.find((relation) => relation.name === name)?.tableId ?? null;
    // A table that is no longer sent keeps its rows under another name.
    if (holder !== null && !moving.some(({ id }) => id === holder))
      await rename(holder, name, pgName(`${name}~old${holder}`, holder, 'table'));
  }
  for (const { id } of moving) await rename(id, byId.get(id)?.name ?? '', `_rowsync_moving_${id}`);
  for (const { id, name } of moving) await rename(id, `_rowsync_moving_${id}`, name);
}

/** A relation that rowsync did not make has the name of a table. */
function foreignError({ schema }: PgSchema, name: string): RowsyncError {
  return new RowsyncError('needsPerson', 'sink.foreign', {
    message: `${schema}.${name} was not made by rowsync, and is not touched; the table is not sent`,
    hint: 'Rename or drop it, or give the sink a schema of its own.',
  });
}

async function followColumns(
  session: PgConnection,
  target: PgSchema,
  given: {
    readonly table: SentTable;
    readonly relation: Relation;
    readonly known: readonly PgColumn[];
    readonly deletes: SinkSettings['deletes'];
  },
): Promise<RowsyncError | null> {
  const { table, relation, known, deletes } = given;
  const here = target.of(table.name);
  const plan = planPgTable(table.columns, known, relation.columns);
  if (plan.kind === 'hold') {
    return new RowsyncError('needsPerson', 'sink.foreign', {
      message: `${target.schema}.${table.name} has a column "${plan.name}" that rowsync did not add; the table is not sent`,
      hint: 'Rename or drop that column there.',
    });
  }
  const { renames, added } = plan;
  const rename = (from: string, to: string): Promise<unknown> =>
    session.query(sql`ALTER TABLE ${here} RENAME COLUMN ${ident(from)} TO ${ident(to)}`);
  for (const [index, { from }] of renames.entries()) await rename(from, `_rowsync_moving_${index}`);
  for (const [index, { to }] of renames.entries()) await rename(`_rowsync_moving_${index}`, to);
  const additions = added.map(({ name, type }) => sql`ADD COLUMN ${ident(name)} ${TYPE_SQL[type]}`);
  if (deletes === 'keep' && !relation.columns.includes('_deleted_at'))
    additions.push(sql`ADD COLUMN _deleted_at timestamptz`);
  if (additions.length > 0) await session.query(sql`ALTER TABLE ${here} ${joinSql(additions)}`);
  const nameOf = ({ name }: PgColumn): string => renames.find(({ from }) => from === name)?.to ?? name;
  const names = new Set(table.columns.map(({ name }) => name));
  const seqs = new Set(table.columns.map(({ seq }) => seq));
  const left = known
    .map((column) => ({ ...column, name: nameOf(column) }))
    .filter(({ name, seq }) => !names.has(name) && !seqs.has(seq));
  // Their values must be removed everywhere; a negative number marks the column as removed.
  const emptied = left.filter((column) => column.seq > 0 && isTakenOut(table, column));
  if (emptied.length > 0) {
    const cells = emptied.map(({ name }) => sql`${ident(name)} = NULL`);
    await session.query(sql`UPDATE ${here} SET ${joinSql(cells)}`);
  }
  const now = [
    ...table.columns,
    ...left.map((column) => (emptied.includes(column) ? { ...column, seq: -column.seq } : column)),
  ];
  if (renames.length > 0 || added.length > 0 || JSON.stringify(now) !== JSON.stringify(known)) {
    await storeOwnColumns(session, target, table.id, now);
    await describeTable(session, target, table);
  }
  return null;
}

/** Whether the configuration leaves out a column that was sent before, or masks its replacement. */
function isTakenOut({ source }: SentTable, { originId }: PgColumn): boolean {
  return (
    source.table.leftOut.some(({ id }) => id === originId) ||
    source.columns.some(({ id, mask }) => id === originId && mask !== null)
  );
}

async function describeTable(
  session: PgConnection,
  target: PgSchema,
  { name, source, columns }: SentTable,
): Promise<void> {
  const { table } = source;
  const here = target.of(name);
  await session.query(
    sql`COMMENT ON TABLE ${here} IS ${literal(`Table "${table.name}" of the origin (id ${table.id}), written by rowsync. Edits here are lost.`)}`,
  );
  for (const [index, column] of columns.entries()) {
    const record = source.columns[index];
    if (record === undefined) continue;
    await session.query(sql`COMMENT ON COLUMN ${here}.${ident(column.name)} IS ${literal(wordsFor(record))}`);
  }
}

function wordsFor({ name, type, state, kind, mask }: ColumnRecord): string {
  const what = type === 'Duration' ? 'Duration, in seconds' : type;
  const ending = { live: '', removed: '; no longer at the origin', aside: '; as it was before its type changed' }[
    state
  ];
  const masked = mask === null ? '' : `, masked (${mask.kind})`;
  return `Column "${name}" of the origin: ${what}${kind === null ? '' : ` (${kind})`}${masked}${ending}`;
}

/** Makes a table, empty. Its primary key marks it as ours. */
export async function makeTable(
  session: PgConnection,
  target: PgSchema,
  { table, deletes }: { readonly table: SentTable; readonly deletes: SinkSettings['deletes'] },
): Promise<void> {
  const types = table.columns.map(({ name, type }) => sql`${ident(name)} ${TYPE_SQL[type]}`);
  const kept = deletes === 'keep' ? [sql`_deleted_at timestamptz`] : [];
  const key = sql`CONSTRAINT ${ident(keyName(table.id))} PRIMARY KEY (_id)`;
  const all = joinSql([sql`_id bigint`, sql`_allow text`, ...types, ...kept, key]);
  await session.query(sql`CREATE TABLE ${target.of(table.name)} (${all})`);
  await storeOwnColumns(session, target, table.id, table.columns);
  await describeTable(session, target, table);
}
