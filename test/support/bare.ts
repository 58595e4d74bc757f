/**
 * A replica without an origin, with tables that a test describes: for what is kept of tables and rows, where no pull is
 * needed.
 *
 *    await using bare = await openBare([described('Title'), described('Count', 'Numeric')]);   // the table Note, with
 *                                                                                              origin id 1
 *    await bare.write((tx) => …);
 *    bare.execute(`INSERT INTO "Note" …`);  bare.rows('SELECT …');                            // as another SQL client
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { systemClock, type Clock } from '../../src/base/clock.ts';
import { readColumns } from '../../src/replica/bookkeeping/columns.ts';
import { storeFacts } from '../../src/replica/bookkeeping/tables.ts';
import type { ChangeCause, Tx } from '../../src/replica/connection.ts';
import { openReplica, type Replica } from '../../src/replica/database.ts';
import type { RowTarget } from '../../src/replica/rows.ts';
import { addColumns, createBase, enterTable } from '../../src/replica/user-tables.ts';
import type { ColumnDescriptor } from '../../src/wire/schema.ts';
import { describedColumn } from './described.ts';
import { temporaryFolder } from './replica.ts';
import { AT } from './two-way.ts';

/** An open replica, and another client of its file. */
export interface Bare extends AsyncDisposable {
  readonly path: string;
  readonly replica: Replica;
  write<T>(change: (tx: Tx) => T, cause?: ChangeCause): Promise<T>;
  rows(query: string): unknown[];
  /** The same rows, each as an array of its values. */
  lines(query: string): unknown[];
  /** Runs SQL with no trigger in the way, since none is made here. */
  execute(statements: string): void;
  /** Makes a table with these columns; their ids count from 1. */
  makeTable(id: number, name: string, columns: readonly ColumnDescriptor[]): Promise<void>;
  /** A table as rows are written to it, with its live columns. */
  target(id?: number): RowTarget;
}

export function described(
  name: string,
  type: ColumnDescriptor['type'] = 'Text',
  change: Partial<ColumnDescriptor> = {},
): ColumnDescriptor {
  return describedColumn(name, { type, ...change });
}

/** Opens one with the table Note; with `isTwoWay` it has a base, and counts as two-way. */
export async function openBare(
  columns: readonly ColumnDescriptor[] = [described('Title')],
  { isTwoWay = false, clock = systemClock }: { readonly isTwoWay?: boolean; readonly clock?: Clock } = {},
): Promise<Bare> {
  const folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  const replica = openReplica(path, { clock });
  const other = new Database(path);
  const names = new Map<number, string>();
  const bare: Bare = {
    path,
    replica,
    write: (change, cause = { cause: 'pull', runId: null }) => replica.because(cause).write('Testing', change),
    rows: (query) => other.prepare(query).all(),
    lines: (query) => other.prepare(query).raw().all(),
    execute: (statements) => void other.exec(statements),
    makeTable: (id, name, descriptors) => {
      names.set(id, name);
      return replica.write('Making a table', (tx) => {
        enterTable(tx, { id, name, alias: name, localName: name }, AT);
        const added = descriptors.map((descriptor, position) => ({
          descriptor: { ...descriptor, id: position + 1 },
          localName: descriptor.name,
          position,
        }));
        addColumns(tx, { id, localName: name }, added, AT);
      });
    },
    target: (id = 1) => {
      const live = readColumns(replica, id).filter(({ state }) => state === 'live');
      return { id, localName: names.get(id) ?? '', columns: live };
    },
    [Symbol.asyncDispose]: async () => {
      other.close();
      replica.close();
      folder[Symbol.dispose]();
    },
  };
  await bare.makeTable(1, 'Note', columns);
  if (isTwoWay) {
    await bare.write((tx) => {
      createBase(tx, { id: 1, localName: 'Note' });
      storeFacts(tx, 1, { push: 'on' });
    });
  }
  return bare;
}
