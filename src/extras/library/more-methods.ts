/**
 * Methods of the Records API that rowsync itself does not use, for callers of the library: Select on a view, and Updated (origin facts 1.1 and 1.3).
 */
import { methodPath, segment, selectPath, type Address } from '../../origin/address.ts';
import type { Origin } from '../../origin/client.ts';
import type { ReadMethod } from '../../origin/requests.ts';
import { answeringPage, completeRows, spanQuery, textOf, textOrNull, type ChangeSpan } from '../../origin/rows.ts';
import { WIRE_FORMATS } from '../../wire/format.ts';
import { TOP_MAX, type SelectParameters } from '../../wire/request-paths.ts';
import type { ColumnShape, RowPage } from '../../wire/schema.ts';

/** What `selectView` takes; the view has columns and an order of its own, and its filter holds besides the one given. */
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

/** The methods. */
export interface MoreMethods {
  /** One page of a view, without its rows of totals. */
  readonly selectView: ReadMethod<[request: SelectViewRequest], RowPage>;
  /** Rows that were created or changed in a range of time, the last one first, however many there are. */
  readonly updated: ReadMethod<[request: UpdatedRequest], readonly UpdatedRow[]>;
}

const UPDATED_COLUMNS = [
  { name: 'key', type: 'Text' },
  { name: 'created', type: 'Timestamp' },
  { name: 'modified', type: 'Timestamp' },
] as const;

/** Makes the methods; `maskKey` is asked for where a column is hashed. */
export function moreMethods(origin: Origin, maskKey: (() => string) | undefined): MoreMethods {
  const extension = origin.format;
  const format = WIRE_FORMATS[extension];
  return {
    selectView: ({ table, view, columns, query }, options) => {
      const key = columns.some(({ mask }) => mask?.kind === 'hash') ? (maskKey?.() ?? null) : null;
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
  };
}
