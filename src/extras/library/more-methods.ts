/**
 * Methods of the Records API that rowsync itself does not use, for callers of the library. They are Select on a view,
 * Updated, and rows by key (origin facts 1.1 and 1.3). Also what Deleted says beside ids.
 */
import { methodPath, recordBatches, segment, selectPath, type Address } from '../../origin/address.ts';
import type { Origin } from '../../origin/client.ts';
import type { ReadMethod } from '../../origin/requests.ts';
import { answeringPage, spanQuery, type ChangeSpan } from '../../origin/rows.ts';
import { WIRE_FORMATS } from '../../wire/format.ts';
import { unexpected } from '../../wire/json.ts';
import { TOP_MAX, type SelectParameters } from '../../wire/request-paths.ts';
import type { ColumnShape, RowPage, Value } from '../../wire/schema.ts';

/** What `selectView` takes. The view has its own columns and order; its filter holds besides the given one. */
export interface SelectViewRequest {
  readonly table: Address;
  readonly view: Address;
  readonly columns: readonly ColumnShape[];
  readonly query: Pick<SelectParameters, 'filter' | 'top' | 'skip'>;
}

/** What `updated` takes. */
export type UpdatedRequest = ChangeSpan;

/** A row that was created or changed in the range; times are UTC and may have a fraction of a second. */
export interface UpdatedRow {
  readonly id: number;
  readonly key: string | null;
  readonly createdAt: string | null;
  readonly modifiedAt: string;
}

/** What `deleted` takes; `columns` are those of the table's record picker that are to be read. */
export interface DeletedRequest extends ChangeSpan {
  readonly columns: readonly ColumnShape[];
}

/** A row in the recycle bin. */
export interface DeletedRow {
  readonly id: number;
  /** `Name <email>`. */
  readonly deletedBy: string | null;
  /** UTC, with milliseconds. */
  readonly deletedAt: string;
  /** In the order of the columns. */
  readonly values: readonly Value[];
}

/** The methods. */
export interface MoreMethods {
  /** One page of a view, without its rows of totals. */
  readonly selectView: ReadMethod<[request: SelectViewRequest], RowPage>;
  /** Rows that were created or changed in a range of time, the last one first, however many there are. */
  readonly updated: ReadMethod<[request: UpdatedRequest], readonly UpdatedRow[]>;
  /** Rows in the recycle bin that were deleted in a range of time, the last one first; see `deletedIds` for which. */
  readonly deleted: ReadMethod<[request: DeletedRequest], readonly DeletedRow[]>;
  /** Cuts keys, as `idBatches` ids. */
  keyBatches(keys: readonly string[], names?: readonly string[]): readonly (readonly string[])[];
}

const UPDATED_COLUMNS = [
  { name: 'key', type: 'Text' },
  { name: 'created', type: 'Timestamp' },
  { name: 'modified', type: 'Timestamp' },
] as const;

const DELETED_COLUMNS = [
  { name: 'deletedby', type: 'User' },
  { name: 'deleted', type: 'Timestamp' },
] as const;

/** Makes the methods; `maskKey` is asked for where a column is hashed. */
export function moreMethods(origin: Origin, maskKey: (() => string) | undefined): MoreMethods {
  const extension = origin.format;
  const format = WIRE_FORMATS[extension];
  const keyOf = (columns: readonly ColumnShape[]): string | null =>
    columns.some(({ mask }) => mask?.kind === 'hash') ? (maskKey?.() ?? null) : null;
  return {
    selectView: ({ table, view, columns, query }, options) => {
      const key = keyOf(columns);
      const countMax = query.top ?? TOP_MAX;
      const read = (text: string, what: string): RowPage =>
        answeringPage(format.readRows(text, columns, what, key), { countMax }, what);
      const own = { ...query, columns: [], sort: [] };
      const path = selectPath(extension, table, own, `${segment(view)}/select`);
      return origin.run({ method: 'select', table: table.name, path, read }, options);
    },
    updated: ({ table, ...span }, options) => {
      const read = (text: string, what: string): readonly UpdatedRow[] =>
        completeRows(format.readRows(text, UPDATED_COLUMNS, what), what).map(
          ({ id, values: [key, created, modified] }) => ({
            id,
            key: textOrNull(key),
            createdAt: textOrNull(created),
            modifiedAt: textOf(modified, what, 'modified'),
          }),
        );
      const path = methodPath(extension, table, 'updated', spanQuery(span));
      return origin.run({ method: 'updated', table: table.name, path, read }, options);
    },
    deleted: ({ table, columns, ...span }, options) => {
      const key = keyOf(columns);
      const read = (text: string, what: string): readonly DeletedRow[] =>
        completeRows(format.readRows(text, [...DELETED_COLUMNS, ...columns], what, key), what).map(
          ({ id, values: [by, at, ...values] }) => ({
            id,
            deletedBy: textOrNull(by),
            deletedAt: textOf(at, what, 'deleted'),
            values,
          }),
        );
      const path = methodPath(extension, table, 'deleted', spanQuery(span));
      return origin.run({ method: 'deleted', table: table.name, path, read }, options);
    },
    keyBatches: (keys, names = []) => recordBatches('key', names, keys),
  };
}

/** Lists of ids must be complete: an omitted row would be an unnoticed change. */
function completeRows({ rows, unreadable }: RowPage, what: string): RowPage['rows'] {
  const [first] = unreadable;
  if (first === undefined) return rows;
  throw unexpected(what, `the field "${first.column}" has ${first.reason}`);
}

function textOrNull(value: Value | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

function textOf(value: Value | undefined, what: string, field: string): string {
  if (typeof value === 'string') return value;
  throw unexpected(what, `the field "${field}" has no value`);
}
