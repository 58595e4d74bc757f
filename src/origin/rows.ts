/**
 * The methods that read rows: Select on a table or a view, Retrieve, Updated and Deleted (specification 4.4 and 4.5;
 * origin facts 1.1, 1.3 and 1.4). Rows come in the order of the origin, values in that of the request's columns.
 */
import { RowsyncError } from '../base/errors.ts';
import type { DocumentReader, WireFormat } from '../wire/format.ts';
import { unexpected } from '../wire/json.ts';
import { queryFromPairs, retrieveQuery, TOP_MAX, type Records, type SelectParameters } from '../wire/request-paths.ts';
import type { ColumnShape, Rollup, RowPage, Value } from '../wire/schema.ts';
import { methodPath, selectPath, type Address } from './address.ts';
import type { Answer, Etag } from './answers.ts';
import type { ReadMethod, ReadOptions, Requests } from './requests.ts';

/** What `select` takes. */
export interface SelectRequest {
  readonly table: Address;
  readonly columns: readonly ColumnShape[];
  readonly query: SelectParameters;
}

/** What `retrieve` takes: rows by id or by key. */
export type RetrieveRequest = Records & {
  readonly table: Address;
  readonly columns: readonly ColumnShape[];
  /** Column parameters, as in `SelectParameters.columns`. */
  readonly names: readonly string[];
};

/** What `count` takes. */
export interface CountRequest {
  readonly table: Address;
  /** A column that has a value in every row, such as the key. */
  readonly column: string;
  readonly filter?: string | undefined;
}

/** What `aggregate` takes: one page of groups. */
export interface AggregateRequest {
  readonly table: Address;
  /** How rows are grouped: the column, the suffix of the group such as `DD`, and the type of a group's value. */
  readonly group: ColumnShape & { readonly suffix: string };
  /** With their suffixes, such as `Id//COUNT`, and the types that they have. */
  readonly columns: readonly ColumnShape[];
  readonly filter?: string | undefined;
  readonly top?: number | undefined;
  readonly skip?: number | undefined;
}

/** Some groups of rows, in order. */
export interface AggregatePage {
  readonly groups: readonly { readonly group: Value; readonly values: readonly Value[] }[];
  /** Whether there are certainly no more groups. */
  readonly isLast: boolean;
}

/** The time span in which rows changed. */
export interface ChangeSpan {
  readonly table: Address;
  /** UTC, `YYYY-MM-DDThh:mm:ssZ`; from the beginning where it is left out. */
  readonly from?: string | undefined;
  /** UTC; until now where it is left out. */
  readonly to?: string | undefined;
}

/** The methods that read rows. */
export interface RowMethods {
  /** One page of rows (4.4); `columns` says which values each row has, in order, and how they are read. */
  readonly select: ReadMethod<[request: SelectRequest], RowPage>;
  /** Rows by id or key, in any order, without those that do not exist (4.5); at most one of `idBatches`. */
  readonly retrieve: ReadMethod<[request: RetrieveRequest], RowPage>;
  /** The names that `column=*` stands for, from one row whose values are not read; null if no row is visible. */
  updateableColumns(table: Address, options?: Pick<ReadOptions, 'signal'>): Promise<ReadonlySet<string> | null>;
  /** How many rows the caller can see (origin facts 1.2); null if the origin refuses to count. */
  count(request: CountRequest, options?: Pick<ReadOptions, 'signal'>): Promise<number | null>;
  /** Aggregates of groups of rows (origin facts 1.2), without the grand total; null if the origin refuses. */
  aggregate(request: AggregateRequest, options?: Pick<ReadOptions, 'signal'>): Promise<AggregatePage | null>;
  /**
   * Ids of rows in the recycle bin that were deleted in a time span, the latest first. Some deleted rows are missing:
   * purged and expired ones, and, for users without ManageData, those that others deleted.
   */
  readonly deletedIds: ReadMethod<[span: ChangeSpan], readonly number[]>;
}

/** Makes the methods; `maskKey` is called only if a column is hashed. */
export function rowMethods(requests: Requests, format: WireFormat, maskKey: () => string): RowMethods {
  const { extension } = format;
  const run = <T, E extends Etag>(
    [method, table, path]: readonly [method: string, table: Address, path: string],
    read: DocumentReader<T>,
    options: ReadOptions<E> = {},
  ): Promise<Answer<T, E>> => requests.run({ method, table: table.name, path, read }, options);
  const ask = async <T>(table: Address, path: string, read: DocumentReader<T>, signal?: AbortSignal): Promise<T> =>
    (await run<T, undefined>(['select', table, path], read, { signal })).value;
  const pageOf = (columns: readonly ColumnShape[]): DocumentReader<RowPage> => {
    const key = columns.some(({ mask }) => mask?.kind === 'hash') ? maskKey() : null;
    return (text, what) => format.readRows(text, columns, what, key);
  };
  const answerTo =
    (columns: readonly ColumnShape[], expected: ExpectedRows) =>
    (text: string, what: string): RowPage =>
      answeringPage(pageOf(columns)(text, what), expected, what);
  return {
    select: ({ table, columns, query }, options) => {
      const path = selectPath(extension, table, query);
      return run(['select', table, path], answerTo(columns, { countMax: query.top ?? TOP_MAX }), options);
    },
    retrieve: (request, options) => {
      const { table, columns, names } = request;
      const expected =
        'ids' in request
          ? { countMax: request.ids.length, ids: new Set(request.ids) }
          : { countMax: request.keys.length };
      const path = methodPath(extension, table, 'retrieve', retrieveQuery(names, request));
      return run(['retrieve', table, path], answerTo(columns, expected), options);
    },
    updateableColumns: (table, { signal } = {}) => {
      const path = selectPath(extension, table, { columns: ['*'], sort: [], top: 1 });
      return ask(table, path, format.readColumnNames, signal);
    },
    count: ({ table, column, filter }, { signal } = {}) => {
      const shape = { name: `${column}//COUNT`, type: 'Numeric' } as const;
      const path = selectPath(extension, table, { columns: [shape.name], sort: [], filter, top: 1 });
      const read = (text: string, what: string): number => countIn(format.readRollups(text, [shape], what), what);
      return unlessRefused(ask(table, path, read, signal));
    },
    aggregate: ({ table, group, columns, ...query }, { signal } = {}) => {
      const grouped = `${group.name}//${group.suffix}`;
      const names = [grouped, ...columns.map(({ name }) => name)];
      const path = selectPath(extension, table, { columns: names, sort: [{ column: group.name }], ...query });
      const shapes = [{ name: group.name, otherName: grouped, type: group.type }, ...columns];
      const read = (text: string, what: string): AggregatePage =>
        groupsOf(format.readRollups(text, shapes, what), query.top ?? TOP_MAX);
      return unlessRefused(ask(table, path, read, signal));
    },
    deletedIds: ({ table, ...span }, options) => {
      const read: DocumentReader<readonly number[]> = (text, what) => format.readRows(text, [], what).ids;
      return run(['deleted', table, methodPath(extension, table, 'deleted', spanQuery(span))], read, options);
    },
  };
}

/** The query string of Updated and Deleted; the bounds are UTC stamps that name their zone. */
export function spanQuery({ from, to }: Pick<ChangeSpan, 'from' | 'to'>): string {
  return queryFromPairs([
    ['from', from],
    ['to', to],
  ]);
}

/** The rows that an answer may contain. */
interface ExpectedRows {
  /** Rows that were asked for, at most. */
  readonly countMax: number;
  /** The only ids that were asked for. */
  readonly ids?: ReadonlySet<number> | undefined;
}

/** Checks that a page answers its request: with rows of another answer, rows missing from it would be deleted here. */
export function answeringPage(page: RowPage, { countMax, ids: expected }: ExpectedRows, what: string): RowPage {
  const { ids } = page;
  if (ids.length > countMax) throw unexpected(what, `${countMax} rows were asked for, ${ids.length} came`);
  if (ids.some((id) => id < 1)) throw unexpected(what, 'a row has an id below 1');
  if (new Set(ids).size < ids.length) throw unexpected(what, 'a row came twice in one answer');
  if (expected !== undefined && ids.some((id) => !expected.has(id)))
    throw unexpected(what, 'a row came that was not asked for');
  return page;
}

function groupsOf(rollups: readonly Rollup[], top: number): AggregatePage {
  const groups = rollups
    .filter(({ type }) => type === null)
    .map(({ values: [group = null, ...values] }) => ({ group, values }));
  // The grand total may be one of the `top` rows.
  return { groups, isLast: groups.length === 0 || rollups.length < top };
}

async function unlessRefused<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (thrown) {
    if (isUnsupported(thrown)) return null;
    throw thrown;
  }
}

/** Whether an origin refused a feature beyond the specification, in any form, such as a page of its web server. */
export function isUnsupported(thrown: unknown): boolean {
  return thrown instanceof RowsyncError && (thrown.kind === 'originRefused' || thrown.code === 'origin.notApi');
}

/** Without groups there is one row, and perhaps the same again as the grand total. */
function countIn(rollups: readonly Rollup[], what: string): number {
  const [first, ...others] = rollups.map(({ values }) => values[0] ?? null);
  if (typeof first === 'number' && Number.isInteger(first) && others.every((other) => other === first)) return first;
  throw unexpected(what, 'a number of rows was expected');
}
