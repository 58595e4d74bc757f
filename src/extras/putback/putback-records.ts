/**
 * The table `sync_putback` of the putback file: each lost row, its new row, and its progress. A row has a local id
 * until the push brings the origin's id; the history of the file maps one to the other, also after a crash.
 */
import { sql } from '../../base/sql.ts';
import type { ForgottenRow } from '../shared/linked-extra.ts';
import type { Connection, Stored, Tx } from '../../replica/connection.ts';
import { readReasons } from '../../replica/bookkeeping/refusals.ts';
import { readRowStates } from '../../replica/bookkeeping/row-states.ts';
import { findTable } from '../../replica/bookkeeping/tables.ts';
import { queryAll, queryRows } from '../../replica/query.ts';
import { openReader } from '../../replica/reader.ts';
import { hasTable } from '../../replica/schema-objects.ts';
import { objectText, readRowsById } from '../../replica/rows.ts';
import { findTwoWayTable, type TwoWayTable } from '../../capture/two-way-table.ts';
import type { Row } from '../../wire/schema.ts';
import { rowName, type KeyLink, type PlannedFile, type PlannedPutback } from './lost-row-outcome.ts';

/**
 *    kind       row: to be created · link: a row of the origin whose reference is mended
 *    state      waiting · sent (or about to be) · refused · inDoubt · done · there (left alone) · given up · cannot
 *    staged_id  `_id` in this file while it is on its way
 *    cells      JSON of values by the origin's ids of columns; links, files: JSON of lost-row-outcome.ts
 */
const TABLE = sql`
  CREATE TABLE IF NOT EXISTS sync_putback (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, "table" TEXT NOT NULL, table_id INTEGER NOT NULL, old_id INTEGER NOT NULL, old_key TEXT,
    new_id INTEGER, new_key TEXT, state TEXT NOT NULL, reason TEXT, staged_id INTEGER,
    cells TEXT NOT NULL DEFAULT '{}', links TEXT NOT NULL DEFAULT '[]', files TEXT NOT NULL DEFAULT '[]',
    UNIQUE (kind, table_id, old_id)
  ) STRICT`;

export type PutbackState = 'waiting' | 'sent' | 'refused' | 'inDoubt' | 'done' | 'there' | 'given up' | 'cannot';

/** A line of `sync_putback`, without the values. */
export interface PutbackRecord {
  readonly id: number;
  readonly kind: 'row' | 'link';
  readonly table: string;
  readonly tableId: number;
  readonly oldId: number;
  readonly oldKey: string | null;
  readonly newId: number | null;
  readonly newKey: string | null;
  readonly state: PutbackState;
  readonly reason: string | null;
  readonly stagedId: number | null;
  readonly links: readonly KeyLink[];
  readonly files: readonly PlannedFile[];
}

export function createRecords(tx: Tx): void {
  tx.prepare(TABLE).run();
}

/** Whether the file of what is put back has something of a row, by the ids that it had. */
export function hasRecordOf(path: string, { tableId, ids }: Pick<ForgottenRow, 'tableId' | 'ids'>): boolean {
  const records = readRecordsOf(path).filter((record) => record.tableId === tableId);
  return records.some(({ oldId, newId }) => ids.includes(oldId) || (newId !== null && ids.includes(newId)));
}

export function readRecordsOf(path: string): readonly PutbackRecord[] {
  using reader = openReader(path);
  return hasTable(reader, 'sync_putback') ? readRecords(reader) : [];
}

/** Every line, in the order in which they were planned. */
export function readRecords(from: Connection): readonly PutbackRecord[] {
  const text = sql`SELECT id, kind, "table", table_id AS tableId, old_id AS oldId, old_key AS oldKey, new_id AS newId, new_key AS newKey, state,
        reason, staged_id AS stagedId, links, files
      FROM sync_putback ORDER BY id`;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the columns just listed
  const rows = queryAll(from, text) as (Omit<PutbackRecord, 'links' | 'files'> & Record<'links' | 'files', string>)[];
  return rows.map(({ links, files, ...record }) => ({
    ...record,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as addRecords wrote them
    links: JSON.parse(links) as KeyLink[],
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as addRecords wrote them
    files: JSON.parse(files) as PlannedFile[],
  }));
}

/** Whether a row is at the origin, and its key there is not known yet. */
export function lacksKey({ kind, oldKey, newId, newKey }: PutbackRecord): boolean {
  return kind === 'row' && oldKey !== null && newId !== null && newKey === null;
}

/** Whether references of a row that is there are still to be filled in, or files to be attached. */
export function isUnfinished({ state, newId, links, files }: PutbackRecord): boolean {
  const isThere = newId !== null && ['done', 'refused', 'inDoubt'].includes(state);
  return isThere && (links.some(({ later }) => later === true) || files.some(({ sent }) => sent !== true));
}

/** Whether the origin refused a row or one of its references, or it is in doubt. */
export function needsPerson({ state }: PutbackRecord): boolean {
  return state === 'refused' || state === 'inDoubt';
}

export type LineCells = ReadonlyMap<number, Stored>;

/** The values of lines, by their ids and the columns. */
export function readCells(from: Connection, lines: readonly PutbackRecord[]): ReadonlyMap<number, LineCells> {
  const ids = JSON.stringify(lines.map(({ id }) => id));
  const cells = new Map<number, Map<number, Stored>>();
  const text = sql`SELECT p.id, j.key, j.value FROM sync_putback p, json_each(p.cells) j WHERE p.id IN (SELECT value FROM json_each(?))`;
  for (const [id, columnId, value = null] of queryRows(from, text, [ids])) {
    const own = cells.get(Number(id)) ?? new Map<number, Stored>();
    cells.set(Number(id), own.set(Number(columnId), value));
  }
  return cells;
}

/** Stores planned rows; one that was planned before keeps its line, unless nothing came of it. */
export function addRecords(tx: Tx, kind: 'row' | 'link', planned: readonly PlannedPutback[]): void {
  const insert = tx.prepare(
    sql`INSERT INTO sync_putback (kind, "table", table_id, old_id, old_key, new_id, new_key, state, reason, cells, links, files)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET state = excluded.state, reason = excluded.reason, cells = excluded.cells,
          links = CASE kind WHEN 'row' THEN excluded.links ELSE (SELECT json_group_array(json(value)) FROM
            (SELECT value FROM json_each(links) UNION SELECT value FROM json_each(excluded.links))) END,
          files = excluded.files, new_id = excluded.new_id, new_key = excluded.new_key
        WHERE kind = 'link' OR state IN ('cannot', 'given up')`,
  );
  for (const { tableId, oldId, oldKey, fate, reason, there, cells, links, files } of planned) {
    const name = findTable(tx, tableId)?.localName ?? String(tableId);
    const state: PutbackState = fate === 'create' ? (kind === 'row' ? 'waiting' : 'done') : fate;
    const json = objectText([...cells].map(([id, value]) => [String(id), value]));
    const newId = kind === 'link' ? oldId : (there?.newId ?? null);
    const texts = [json, JSON.stringify(links), JSON.stringify(files)];
    insert.run(kind, name, tableId, oldId, oldKey, newId, there?.newKey ?? null, state, reason, ...texts);
  }
}

type RecordChange = Partial<
  Pick<PutbackRecord, 'newId' | 'newKey' | 'state' | 'reason' | 'stagedId' | 'links' | 'files'>
>;

export function changeRecords(
  tx: Tx,
  changes: readonly (readonly [record: PutbackRecord, change: RecordChange])[],
): void {
  const update = tx.prepare(
    sql`UPDATE sync_putback SET new_id = ?, new_key = ?, state = ?, reason = ?, staged_id = ?, links = ?, files = ? WHERE id = ?`,
  );
  for (const [record, change] of changes) {
    const { id, newId, newKey, state, reason, stagedId, links, files } = { ...record, ...change };
    update.run(newId, newKey, state, reason, stagedId, JSON.stringify(links), JSON.stringify(files), id);
  }
}

/**
 * Notes what became of the rows that were sent: their new ids and keys, or why they wait. Of rows that are there, notes
 * that their file or reference was refused. Called after each push.
 */
export function noteSent(tx: Tx, keyColumnOf: (tableId: number) => number | null): void {
  const isOpen = ({ kind, state, newId }: PutbackRecord): boolean =>
    newId === null ? kind === 'row' && ['sent', 'refused', 'inDoubt'].includes(state) : state === 'done';
  const moved = sql`SELECT table_id, was_id, row_id FROM _rowsync_history WHERE was_id < 0 ORDER BY seq`;
  const idNow = new Map(
    queryRows(tx, moved, []).map(([tableId, was, now]) => [rowName(Number(tableId), Number(was)), Number(now)]),
  );
  for (const [tableId, records] of Map.groupBy(readRecords(tx).filter(isOpen), (record) => record.tableId)) {
    const table = findTwoWayTable(tx, tableId);
    if (table === null) continue;
    const idOf = ({ newId, stagedId }: PutbackRecord): number =>
      newId ?? idNow.get(rowName(tableId, stagedId ?? 0)) ?? stagedId ?? 0;
    const states = readRowStates(tx, tableId, records.map(idOf));
    const sentIds = records.filter(({ newId }) => newId === null).map(idOf);
    const rows = readRowsById(tx, table, sentIds);
    const reasons = readReasons(tx, tableId);
    const changes = records.flatMap((record): readonly (readonly [PutbackRecord, RecordChange])[] => {
      const id = idOf(record);
      // What is omitted from a row stays its reason; that of a refusal ends with it.
      const reason = record.state === 'sent' ? record.reason : null;
      if (record.newId === null && id > 0) {
        // The row may not have been read back: its key is unknown then.
        const newKey = keyOf(table, keyColumnOf(tableId), rows.get(id));
        return [[record, { state: 'done', reason, newId: id, newKey, stagedId: null }]];
      }
      const state = states.get(id);
      if (state === 'refused' || state === 'inDoubt')
        return [[record, { state, reason: reasons.get(id)?.reason ?? null }]];
      return record.newId === null ? [[record, { state: rows.has(id) ? 'sent' : 'given up', reason }]] : [];
    });
    changeRecords(tx, changes);
  }
}

/** The key of a row; null if it is not known. */
export function keyOf({ columns }: TwoWayTable, keyId: number | null, row: Row | undefined): string | null {
  const value = row?.values[columns.findIndex(({ id }) => id === keyId)] ?? null;
  return value === null ? null : String(value);
}
