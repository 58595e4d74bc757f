/**
 * Decides what happens to each lost row: it is created, left alone because the origin has it, or cannot be put back,
 * with the reason. A reference to another lost row becomes a link, written once that row has its new key. Pure.
 */
import type { LostRow } from '../shared/linked-extra.ts';
import type { Stored } from '../../replica/connection.ts';
import type { ColumnType } from '../../wire/schema.ts';

/** A table as its rows can be written at the origin. */
export interface PlanTable {
  readonly id: number;
  readonly localName: string;
  /** The origin's id of the key column; null if it is not known. */
  readonly keyId: number | null;
  readonly allowsAdd: boolean;
  readonly matchId: number | null;
  readonly columns: readonly {
    readonly id: number;
    readonly localName: string;
    readonly type: ColumnType;
    readonly writable: boolean;
    readonly required: boolean;
    readonly automatic: boolean;
  }[];
}

/** A cell that gets the key of another row. `later`: only once both rows are there. */
export interface KeyLink {
  readonly columnId: number;
  readonly toId: number;
  readonly oldId: number;
  readonly oldKey: string;
  readonly later?: true;
}

export interface PlannedFile {
  readonly columnId: number;
  readonly name: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly path: string;
  /** Whether it is on its way, or there. Of a cell they go one by one, the oldest first. */
  readonly sent?: true;
}

export interface PlannedPutback {
  readonly tableId: number;
  readonly oldId: number;
  readonly oldKey: string | null;
  readonly fate: 'create' | 'there' | 'cannot';
  /** Why it is not created, or what is omitted from it; null for neither. */
  readonly reason: string | null;
  /** The existing row in its place. */
  readonly there: ThereRow | null;
  readonly cells: ReadonlyMap<number, Stored>;
  readonly links: readonly KeyLink[];
  readonly files: readonly PlannedFile[];
}

/** A row at the origin in the place of a lost one, and why it is taken for it. */
export interface ThereRow {
  readonly newId: number | null;
  readonly newKey: string | null;
  readonly reason: string;
}

export interface PlanFacts {
  readonly tables: ReadonlyMap<number, PlanTable>;
  readonly references: readonly {
    readonly tableId: number;
    readonly column: { readonly id: number };
    readonly toId: number;
  }[];
  readonly isLiveKey: (tableId: number, key: string) => boolean;
  /** Why a row is left alone: the origin has it, or it was put back before; null for neither. */
  readonly thereOf: (row: LostRow) => ThereRow | null;
  /** Rows that were put back earlier, by table and the key that they had. */
  readonly earlier: ReadonlyMap<string, number>;
  /** The id that a lost row with this key had, also one that is not put back now; null for none. */
  readonly lostIdOf: (tableId: number, key: string) => number | null;
  /** The files of a cell, the newest last; none if its content is not here. */
  readonly filesOf: (row: Pick<LostRow, 'tableId' | 'oldId' | 'values'>, columnId: number) => readonly PlannedFile[];
}

/** The name of a row, or of a row by its key, in maps. */
export function rowName(tableId: number, idOrKey: number | string): string {
  return `${tableId} ${idOrKey}`;
}

export function planPutback(rows: readonly LostRow[], facts: PlanFacts): readonly PlannedPutback[] {
  const oldIdByKey = new Map(facts.earlier);
  for (const row of rows) {
    const key = keyText(row, facts);
    if (key !== null) oldIdByKey.set(rowName(row.tableId, key), row.oldId);
  }
  const hopeless = new Set<string>();
  // Terminates: each round finds another hopeless row.
  for (;;) {
    const planned = rows.map((row) => planRow(row, { ...facts, oldIdByKey, hopeless }));
    const found = planned.filter(({ fate }) => fate === 'cannot').map(({ tableId, oldId }) => rowName(tableId, oldId));
    if (found.every((name) => hopeless.has(name))) return planned;
    for (const name of found) hopeless.add(name);
  }
}

interface RowPlanFacts extends PlanFacts {
  readonly oldIdByKey: ReadonlyMap<string, number>;
  readonly hopeless: ReadonlySet<string>;
}

function keyText({ tableId, values }: LostRow, { tables }: PlanFacts): string | null {
  const key = values.get(tables.get(tableId)?.keyId ?? -1) ?? null;
  return key === null ? null : String(key);
}

function planRow(row: LostRow, facts: RowPlanFacts): PlannedPutback {
  const { tableId, oldId, values } = row;
  const table = facts.tables.get(tableId);
  const plain = { tableId, oldId, oldKey: keyText(row, facts), there: null, cells: new Map(), links: [], files: [] };
  const there = facts.thereOf(row);
  if (there !== null) return { ...plain, fate: 'there', reason: there.reason, there };
  if (table === undefined) return { ...plain, fate: 'cannot', reason: 'its table cannot be written here' };
  if (!table.allowsAdd) return { ...plain, fate: 'cannot', reason: 'the calling user may not add rows' };
  const cells = new Map<number, Stored>();
  const links: KeyLink[] = [];
  const without: string[] = [];
  const files: PlannedFile[] = [];
  for (const { id, type, writable, localName } of table.columns) {
    const value = values.get(id) ?? null;
    if (value === null || !writable || type === 'Autonumber') continue;
    if (type === 'Attachment') {
      const found = facts.filesOf(row, id);
      if (found.length === 0) without.push(`the file in ${localName} is not here`);
      files.push(...found);
      continue;
    }
    const reference = facts.references.find((one) => one.tableId === tableId && one.column.id === id);
    const isKey = reference !== undefined && value !== '';
    const found = isKey ? parentOf(String(value), reference.toId, facts) : 'value';
    if (found === 'value') cells.set(id, value);
    else {
      if (found === 'gone' || found.later === true)
        without.push(`${localName} refers to a row that is gone and not put back`);
      if (found !== 'gone') links.push({ columnId: id, oldKey: String(value), ...found });
    }
  }
  const filled = (id: number): boolean =>
    (cells.get(id) ?? '') !== '' ||
    links.some(({ columnId, later }) => columnId === id && later !== true) ||
    files.some(({ columnId }) => columnId === id);
  const lacking = table.columns.find(
    ({ id, required, automatic }) => required && !automatic && id !== table.matchId && !filled(id),
  );
  if (lacking !== undefined) {
    const { localName, writable } = lacking;
    const why = writable ? 'has no value that can be put back' : 'may not be written';
    return { ...plain, fate: 'cannot', reason: `${localName} must have a value, and ${why}` };
  }
  return {
    ...plain,
    fate: 'create',
    reason: without.length === 0 ? null : `without: ${without.join('; ')}`,
    cells,
    links,
    files,
  };
}

/** The row that a key belongs to; `later` if it is not put back now, `value` if a row that is here has the key. */
function parentOf(
  key: string,
  toId: number,
  { isLiveKey, oldIdByKey, hopeless, lostIdOf }: RowPlanFacts,
): Pick<KeyLink, 'toId' | 'oldId' | 'later'> | 'value' | 'gone' {
  if (isLiveKey(toId, key)) return 'value';
  const oldId = oldIdByKey.get(rowName(toId, key));
  if (oldId !== undefined && !hopeless.has(rowName(toId, oldId))) return { toId, oldId };
  const lostId = lostIdOf(toId, key);
  return lostId === null ? 'gone' : { toId, oldId: lostId, later: true };
}

/**
 * The rows that can be created now: those whose links lead to existing rows. If there are none, rows refer to each
 * other in a cycle. Those that others wait for are then created without open links, if these may be empty.
 */
export function readyRows<T extends Pick<PlannedPutback, 'tableId' | 'oldId' | 'links'>>(
  waiting: readonly T[],
  isThere: (link: KeyLink) => boolean,
  isRequired: (tableId: number, columnId: number) => boolean,
): readonly T[] {
  const ready = waiting.filter(({ links }) => links.every(isThere));
  if (ready.length > 0) return ready;
  const names = new Set(waiting.map(({ tableId, oldId }) => rowName(tableId, oldId)));
  const awaited = new Set(waiting.flatMap(({ links }) => links.map(({ toId, oldId }) => rowName(toId, oldId))));
  return waiting.flatMap((row) => {
    if (!awaited.has(rowName(row.tableId, row.oldId))) return [];
    const open = row.links.filter((link) => !isThere(link));
    const isOfCircle = open.every(({ toId, oldId }) => names.has(rowName(toId, oldId)));
    if (!isOfCircle || open.some(({ columnId }) => isRequired(row.tableId, columnId))) return [];
    return [
      { ...row, links: row.links.map((link) => (open.includes(link) ? { ...link, later: true as const } : link)) },
    ];
  });
}
