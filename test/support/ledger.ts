/**
 * Who wrote what, so that afterwards the invariants of the design can be checked exactly. What SQL clients write stands
 * in a table of theirs in the replica, in the same transaction as the write. What ever stood at the origin is recorded
 * by triggers in the sandbox's store. Every value, row and file is told by a token that is used once in all.
 *
 *    prepareLedger(replicaPath); recordHistory(storePath, TABLES);
 *    … edits of edits.ts, a daemon, faults, kills …
 *    expect(ledgerProblems({ replicaPath, storePath, tables: TABLES, origin: readOrigin(sandbox), confirmed
 *    })).toEqual([]);
 */
import Database from 'better-sqlite3';
import { quoted, readReplica, withDatabase, type Tables } from './compare.ts';

/** A table whose rows are followed: `Tag` is given at birth and never changed, `cells` are edited. */
export interface FollowedTable {
  readonly name: string;
  readonly cells: readonly string[];
}

/** What is looked at when everything is at rest. */
export interface Rest {
  readonly replicaPath: string;
  readonly storePath: string;
  readonly tables: readonly FollowedTable[];
  /** Every row at the origin now, as `readOrigin` gives it. */
  readonly origin: Tables;
  /** Tokens of transactions that a client saw committed. */
  readonly confirmed: ReadonlySet<string>;
}

/**
 * `v` and `t` are values and tags that SQL clients wrote, `p` their files; `w` and `c` are those of colleagues, `i` the
 * first ones.
 */
export type TokenKind = 'v' | 't' | 'p' | 'k' | 'w' | 'c' | 'i';

const TOKEN = /[a-z]\d{8}/g;
/** What only a SQL client can have written. */
const LOCAL = /^[vtp]/;
/** Problems told of one kind; more of the same say no more. */
const TOLD_MAX = 10;

/** A token; fixed in length, so that none is part of another. */
export function token(kind: TokenKind, serial: number): string {
  return `${kind}${String(serial).padStart(8, '0')}`;
}

/** Makes the SQL clients' table in the replica. */
export function prepareLedger(replicaPath: string): void {
  const db = new Database(replicaPath, { timeout: 10_000 });
  db.exec(`CREATE TABLE IF NOT EXISTS ledger (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, "table" TEXT, tag TEXT, op TEXT, col TEXT, value TEXT)`);
  db.close();
}

/**
 * Makes the triggers that record every value and row that ever stands in the store of a sandbox, from its first rows
 * on.
 */
export function recordHistory(storePath: string, tables: readonly FollowedTable[]): void {
  const db = new Database(storePath, { timeout: 10_000 });
  db.exec(`CREATE TABLE history (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, "table" TEXT, tag TEXT, op TEXT, value TEXT)`);
  for (const { name, cells } of tables) {
    const table = quoted(name);
    const note = (row: string, op: string, value: string): string =>
      `INSERT INTO history ("table", tag, op, value) VALUES ('${name}', ${row}."Tag", '${op}', ${value});`;
    const notes = cells.map((cell) => note('NEW', 'cell', `NEW.${quoted(cell)}`));
    for (const cell of ['Tag', ...cells]) {
      db.exec(
        `INSERT INTO history ("table", tag, op, value) SELECT '${name}', "Tag", 'cell', ${quoted(cell)} FROM ${table}`,
      );
    }
    db.exec(`INSERT INTO history ("table", tag, op) SELECT '${name}', "Tag", 'insert' FROM ${table}`);
    db.exec(`CREATE TRIGGER ${quoted(`${name} born`)} AFTER INSERT ON ${table} BEGIN
      ${note('NEW', 'insert', 'NULL')} ${notes.join(' ')} END`);
    db.exec(`CREATE TRIGGER ${quoted(`${name} gone`)} AFTER DELETE ON ${table} BEGIN
      ${note(
        'OLD',
        'delete',
        `(SELECT deleted_by FROM _sandbox_deleted d JOIN _sandbox_tables t ON t.id = d.table_id
        WHERE t.name = '${name}' AND d.row_id = OLD._sandbox_row)`,
      )} END`);
    for (const [index, cell] of cells.entries()) {
      db.exec(`CREATE TRIGGER ${quoted(`${name} ${cell}`)} AFTER UPDATE OF ${quoted(cell)} ON ${table} BEGIN
        ${notes[index]} END`);
    }
  }
  db.close();
}

/** Everything that contradicts I1 to I5, or was invented, in words; empty if nothing does. */
export function ledgerProblems(rest: Rest): readonly string[] {
  const written = readLedger(rest.replicaPath);
  const happened = readHistory(rest.storePath);
  const kept = readKeptTables(rest.replicaPath);
  const problems = [
    sideProblems(rest),
    confirmedProblems(rest, written),
    valueProblems(rest, { written, happened, kept }),
    deleteProblems(rest, { written, happened, kept }),
    birthProblems(happened),
    inventedProblems(written, happened),
  ];
  return problems.flatMap((found) => [
    ...found.slice(0, TOLD_MAX),
    ...(found.length > TOLD_MAX ? [`… and ${found.length - TOLD_MAX} more like it`] : []),
  ]);
}

/** Rows that are not at rest yet: edits that are still to be sent or whose answer is not known. */
export function pendingCount(replicaPath: string): number {
  return withDatabase(replicaPath, (db) =>
    Number(db.prepare<[], number>('SELECT coalesce(sum(pending), 0) FROM sync_status').pluck().get()),
  );
}

interface LedgerLine {
  readonly table: string;
  readonly tag: string;
  readonly op: 'insert' | 'set' | 'delete';
  readonly col: string | null;
  readonly value: string | null;
}

interface HistoryLine {
  readonly table: string;
  readonly tag: string;
  readonly op: 'insert' | 'cell' | 'delete';
  /** The value of a cell; who deleted a row, as the origin names people. */
  readonly value: string | null;
}

interface Evidence {
  readonly written: readonly LedgerLine[];
  readonly happened: readonly HistoryLine[];
  readonly kept: ReadonlySet<string>;
}

function readLedger(path: string): readonly LedgerLine[] {
  return withDatabase(path, (db) => db.prepare<[], LedgerLine>('SELECT * FROM ledger ORDER BY seq').all());
}

function readHistory(path: string): readonly HistoryLine[] {
  return withDatabase(path, (db) => db.prepare<[], HistoryLine>('SELECT * FROM history ORDER BY seq').all());
}

/** Tokens of everything that is kept about losers and about rows that wait. */
function readKeptTables(path: string): ReadonlySet<string> {
  return withDatabase(path, (db) => {
    const views = ['sync_conflicts', 'sync_failures', 'sync_changes', 'sync_deleted'];
    return tokensOf(views.map((view) => JSON.stringify(db.prepare(`SELECT * FROM ${view}`).all())).join('\n'));
  });
}

function tokensOf(text: string | null): ReadonlySet<string> {
  return new Set((text ?? '').match(TOKEN));
}

/** I1: rows that do not wait for a person are the same on both sides, cell by cell. */
function sideProblems({ replicaPath, tables, origin }: Rest): readonly string[] {
  const replica = readReplica(replicaPath);
  return Object.keys(origin).flatMap((name) => {
    const isFollowed = tables.some((table) => table.name === name);
    const waiting = isFollowed ? waitingIds(replicaPath, name) : new Set<bigint>();
    const texts = (rows: Tables[string] | undefined): ReadonlySet<string> =>
      new Set((rows ?? []).filter(({ _id }) => !waiting.has(BigInt(Number(_id)))).map(textFromRow));
    const [here, there] = [texts(replica[name]), texts(origin[name])];
    return [
      ...[...here].filter((row) => !there.has(row)).map((row) => `I1: ${name}: only here: ${row}`),
      ...[...there].filter((row) => !here.has(row)).map((row) => `I1: ${name}: only there: ${row}`),
    ];
  });
}

function textFromRow(row: Tables[string][number]): string {
  return JSON.stringify(
    Object.entries(row).toSorted(([one], [other]) => one.localeCompare(other)),
    (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value),
  );
}

/** Tables, by the names that they have at the origin, of which rows wait: what is there is not what the origin has. */
export function waitingTables(replicaPath: string): ReadonlySet<string> {
  return withDatabase(replicaPath, (db) => {
    const query = 'SELECT DISTINCT t.name FROM _rowsync_rows r JOIN _rowsync_tables t ON t.id = r.table_id';
    return new Set(db.prepare<[], string>(query).pluck().all());
  });
}

function waitingIds(path: string, name: string): ReadonlySet<bigint> {
  return withDatabase(path, (db) => {
    const query = `SELECT r.row_id FROM _rowsync_rows r JOIN _rowsync_tables t ON t.id = r.table_id WHERE t.name = ?`;
    return new Set(db.prepare<[string], bigint>(query).pluck().safeIntegers().all(name));
  });
}

/** What a client saw committed stands in the file permanently. */
function confirmedProblems({ confirmed }: Rest, written: readonly LedgerLine[]): readonly string[] {
  const known = new Set(written.flatMap(({ tag, value }) => [tag, ...tokensOf(value)]));
  return [...confirmed].filter((one) => !known.has(one)).map((one) => `a committed transaction is gone: ${one}`);
}

/** I2: the last value of every cell, and every row, reached the origin or is kept. */
function valueProblems({ tables }: Rest, { written, happened, kept }: Evidence): readonly string[] {
  const reached = new Set(happened.flatMap(({ tag, op, value }) => [tag, ...(op === 'cell' ? tokensOf(value) : [])]));
  const last = new Map<string, string>();
  for (const { table, tag, op, col, value } of written) {
    if (op === 'set') last.set(`${table} ${tag} ${col}`, value ?? '');
    else if (op === 'insert') last.set(`${table} ${tag} row`, tag);
    else for (const cell of ['row', ...cellsOf(tables, table)]) last.delete(`${table} ${tag} ${cell}`);
  }
  return [...last].flatMap(([cell, value]) => {
    const isSafe = [...tokensOf(value)].every((one) => reached.has(one) || kept.has(one));
    return isSafe ? [] : [`I2: ${cell} = ${value.slice(0, 40)} is lost`];
  });
}

function cellsOf(tables: readonly FollowedTable[], name: string): readonly string[] {
  return tables.find((table) => table.name === name)?.cells ?? [];
}

/** I3: a row that was deleted here is gone there, or kept. I5: one that is gone there was deleted by someone. */
function deleteProblems(rest: Rest, { written, happened, kept }: Evidence): readonly string[] {
  const deletedHere = new Set<string>();
  const everDeletedHere = new Set<string>();
  for (const { table, tag, op } of written) {
    if (op !== 'delete') deletedHere.delete(`${table} ${tag}`);
    else for (const set of [deletedHere, everDeletedHere]) set.add(`${table} ${tag}`);
  }
  const live = new Map<string, number>();
  const problems: string[] = [];
  for (const { table, tag, op, value } of happened) {
    const row = `${table} ${tag}`;
    if (op === 'insert') live.set(row, (live.get(row) ?? 0) + 1);
    if (op !== 'delete') continue;
    live.set(row, (live.get(row) ?? 0) - 1);
    const isTheirs = value !== null && value.includes(COLLEAGUE);
    if (!isTheirs && !everDeletedHere.has(row)) problems.push(`I5: ${row} was deleted at the origin by nobody`);
  }
  for (const row of deletedHere) {
    const [table = '', tag = ''] = row.split(' ');
    if ((live.get(row) ?? 0) > 0 && !kept.has(tag) && !isWaiting(rest, table, tag))
      problems.push(`I3: ${row} was deleted here and is still there`);
  }
  return problems;
}

/** Whether the row with this tag waits for a person. */
function isWaiting({ replicaPath, origin }: Rest, table: string, tag: string): boolean {
  const waiting = waitingIds(replicaPath, table);
  return (origin[table] ?? []).some((row) => row['Tag'] === tag && waiting.has(BigInt(Number(row['_id']))));
}

/** Part of the address of the user whom the origin names as the author of what colleagues do. */
export const COLLEAGUE = 'colleague@';

/** I4: no row stands at the origin twice at the same time. */
function birthProblems(happened: readonly HistoryLine[]): readonly string[] {
  const live = new Map<string, number>();
  const twice = new Set<string>();
  for (const { table, tag, op } of happened) {
    if (op === 'cell') continue;
    const row = `${table} ${tag}`;
    const count = (live.get(row) ?? 0) + (op === 'insert' ? 1 : -1);
    live.set(row, count);
    if (count > 1) twice.add(row);
  }
  return [...twice].map((row) => `I4: ${row} stood at the origin twice`);
}

/** What stood at the origin and looks like a client's own was committed by a client. */
function inventedProblems(written: readonly LedgerLine[], happened: readonly HistoryLine[]): readonly string[] {
  const known = new Set(written.flatMap(({ tag, value }) => [tag, ...tokensOf(value)]));
  const seen = new Set(happened.flatMap(({ tag, op, value }) => [tag, ...(op === 'cell' ? tokensOf(value) : [])]));
  return [...seen].filter((one) => LOCAL.test(one) && !known.has(one)).map((one) => `invented: ${one}`);
}
