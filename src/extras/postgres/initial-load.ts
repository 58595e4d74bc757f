/**
 * Loads a whole table in parts, beside the table of the target. Each part is a transaction that also stores the
 * progress, so a load continues after any break. Rows that change meanwhile are sent when the load replaces the table.
 */
import { joinSql, sql } from '../../base/sql.ts';
import type { Connection } from '../../replica/connection.ts';
import { blockReader, readHead, type SourceRow } from '../shared/confirmed-rows.ts';
import type { PgConnection } from './connection.ts';
import { copyRowsText, listReplaced, type ReplacedCell, type CopyTarget } from './copy-rows.ts';
import { columnNames, createSql, type SentTable } from './shape-tables.ts';
import { dropSide, sideName, type TablePlace } from './bookkeeping.ts';

/** Rows of one part; a second or so. */
const PART_ROWS = 50_000;
/** Rows read at once, before other work has its turn. More rows would outlive a garbage collection, and make the heap grow. */
const BLOCK_ROWS = 200;

/** Begins a load, and removes the rest of an earlier one. */
export async function beginLoad(sending: CopyTarget, from: Connection, table: SentTable): Promise<void> {
  const { session, target } = sending;
  await dropSide(session, target, table.id);
  await session.query(createSql(target, table, sending));
  await listReplaced(sending, table, null, []);
  await session.query(
    sql`INSERT INTO ${target.tables} (table_id, name, load_seq, load_id, load_done, load_shape) VALUES ($1, $2, $3, 0, false, $4)
        ON CONFLICT (table_id) DO UPDATE SET load_seq = excluded.load_seq, load_id = 0, load_done = false, load_shape = excluded.load_shape`,
    [table.id, table.name, readHead(from), table.shape],
  );
}

/** Loads the next part; returns its number of rows. Fails if another writer took over, or the load was begun anew. */
export async function loadPart(
  sending: CopyTarget & { readonly session: PgConnection },
  from: Connection,
  table: SentTable,
  load: NonNullable<TablePlace['load']>,
): Promise<number> {
  const { session, target } = sending;
  const replaced: ReplacedCell[] = [];
  const part = new LoadPart(blockReader(from, table.source), BigInt(load.lastId));
  await session.transact(async () => {
    const text = sql`COPY ${target.of(sideName(table.id))} (${joinSql(columnNames(table))}) FROM STDIN`;
    await session.copy(
      text,
      part.pieces((rows) => copyRowsText(table, rows, replaced)),
    );
    if (replaced.length > 0) await listReplaced(sending, table, [], replaced);
    const moved = await session.change(
      sql`UPDATE ${target.tables} SET load_id = $1, load_done = $2 WHERE table_id = $3 AND load_seq = $4 AND load_id = $5`,
      [part.lastId.toString(), part.isLast, table.id, load.seq, load.lastId],
    );
    if (moved !== 1) throw new LoadMoved();
  });
  return part.rowCount;
}

/** Another process continued the load; the state of the target is read again. */
export class LoadMoved extends Error {}

class LoadPart {
  readonly #read: (after: bigint, limit: number) => readonly SourceRow[];
  lastId: bigint;
  rowCount = 0;
  isLast = false;

  constructor(read: (after: bigint, limit: number) => readonly SourceRow[], lastId: bigint) {
    this.#read = read;
    this.lastId = lastId;
  }

  *pieces(write: (rows: readonly SourceRow[]) => string): Iterable<string> {
    while (this.rowCount < PART_ROWS) {
      const rows = this.#read(this.lastId, BLOCK_ROWS);
      this.lastId = rows.at(-1)?.[0] ?? this.lastId;
      this.rowCount += rows.length;
      yield write(rows);
      if (rows.length === BLOCK_ROWS) continue;
      this.isLast = true;
      return;
    }
  }
}
