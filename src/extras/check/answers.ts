/**
 * Checks what every pull relies on: rows come in the same order twice, an ETag is honoured, and "not modified" is
 * true.
 *
 * It reads a bounded number of pages: the first page of a few tables, and a sample of the stored pages. Changes by
 * people meanwhile do not count: a page that looks wrong is requested again with its ETag.
 */
import { asRowsyncError } from '../../base/errors.ts';
import type { Clock } from '../../base/clock.ts';
import type { Answer, Etag } from '../../origin/answers.ts';
import type { SelectRequest } from '../../origin/rows.ts';
import { changedIndexes } from '../../reconcile/diff.ts';
import { pageSkip } from '../../reconcile/pages.ts';
import { planSelection } from '../../reconcile/selection.ts';
import { readColumns } from '../../replica/bookkeeping/columns.ts';
import { baseTarget } from '../../replica/compare.ts';
import { readTables } from '../../replica/bookkeeping/tables.ts';
import { readPages } from '../../replica/bookkeeping/pages.ts';
import type { ReplicaReader } from '../../replica/reader.ts';
import { readRowsById, type RowTarget } from '../../replica/rows.ts';
import { hasBase } from '../../replica/tables.ts';
import { columnType, type ColumnShape, type RowPage, type TableDescriptor } from '../../wire/schema.ts';
import { checkAggregates } from './aggregate.ts';
import { addressOf, type AnswerParts } from './answer-parts.ts';
import { checkFollow, checkWindows } from './following.ts';
import { fail, failed, ok, warn, type CheckResult } from '../../cli/runtime/check-result.ts';
import { plural, shellWord, someOf } from '../../base/text.ts';
import { readSweep } from '../../replica/bookkeeping/sweeps.ts';

/** Tables whose first page is asked for three times. */
const TABLES_MAX = 3;
/** The part of the stored pages that is read again, and how many pages that are at most. */
const SAMPLE_PART = 0.01;
const SAMPLE_PAGES_MAX = 20;

/** Everything that can be found out about the answers for the tables that are copied; `zone` is the calling user's. */
export async function* checkAnswers(
  parts: AnswerParts,
  { tables, zone }: { readonly tables: readonly TableDescriptor[]; readonly zone: string },
): AsyncGenerator<CheckResult> {
  if (tables.length === 0) return;
  try {
    yield* await checkFirstPages(parts, tables.slice(0, TABLES_MAX));
    if (parts.reader !== null) yield* await checkStoredPages(parts, parts.reader, tables);
    yield* checkWindows(tables);
    yield await checkFollow(parts, tables);
    yield await checkAggregates(parts, tables, zone);
  } catch (thrown) {
    yield failed('etags', asRowsyncError(thrown));
  }
}

async function checkFirstPages(
  parts: AnswerParts,
  tables: readonly TableDescriptor[],
): Promise<readonly CheckResult[]> {
  const names = {
    unstable: [] as string[],
    without: [] as string[],
    ignored: [] as string[],
    honoured: [] as string[],
  };
  for (const table of tables) {
    const name = table.recordName;
    const first = await ask(parts, table);
    const second = await ask(parts, table);
    if (isOtherOrder(first.value.ids, second.value.ids)) names.unstable.push(name);
    if (second.etag === null) names.without.push(name);
    else if ((await ask(parts, table, { etag: second.etag })).kind === 'notModified') names.honoured.push(name);
    // A row may have changed in between, but hardly twice in a row at this moment.
    else if ((await askTwice(parts, table)) === 'honoured') names.honoured.push(name);
    else names.ignored.push(name);
  }
  const { unstable, without, ignored, honoured } = names;
  return [
    unstable.length === 0
      ? ok('order', 'rows come in the same order twice')
      : warn(
          'order',
          `the same rows came in another order the second time: ${someOf(unstable)}`,
          'Set sort for these tables to columns whose order never changes, such as the key.',
        ),
    ...(honoured.length === 0 ? [] : [ok('etags', `honoured: ${someOf(honoured)}`)]),
    ...(without.length === 0
      ? []
      : [
          warn(
            'etags',
            `rows come without an ETag: ${someOf(without)}`,
            'Every pull reads these tables whole. A proxy that strips the header is likely.',
          ),
        ]),
    ...(ignored.length === 0
      ? []
      : [
          warn(
            'etags',
            `rows come again although their ETag was sent: ${someOf(ignored)}`,
            'Every pull reads these tables whole. A column whose formula depends on the time is likely, or a proxy.',
          ),
        ]),
  ];
}

async function askTwice(parts: AnswerParts, table: TableDescriptor): Promise<'honoured' | 'ignored'> {
  const { etag } = await ask(parts, table);
  return etag !== null && (await ask(parts, table, { etag })).kind === 'notModified' ? 'honoured' : 'ignored';
}

/** The same rows in another order; other rows are someone's work. */
function isOtherOrder(one: readonly number[], other: readonly number[]): boolean {
  const isSameSet = one.length === other.length && new Set([...one, ...other]).size === one.length;
  return isSameSet && one.some((id, index) => other[index] !== id);
}

interface StoredPage {
  readonly table: TableDescriptor;
  readonly stored: RowTarget;
  /** In the order of the stored values. */
  readonly columns: readonly ColumnShape[];
  readonly page: number;
  readonly etag: string;
}

async function checkStoredPages(
  parts: AnswerParts,
  reader: ReplicaReader,
  tables: readonly TableDescriptor[],
): Promise<readonly CheckResult[]> {
  const all = tables.flatMap((table) => storedPages(parts, reader, table));
  const sample = draw(all, Math.min(SAMPLE_PAGES_MAX, Math.ceil(all.length * SAMPLE_PART)), parts.clock);
  const wrong: string[] = [];
  for (const page of sample) if (await isLie(parts, reader, page)) wrong.push(page.table.recordName);
  if (sample.length === 0) return [];
  if (wrong.length === 0) {
    return [
      ok('honesty', `${plural(sample.length, 'stored page')} of ${all.length} read again: "not modified" is true`),
    ];
  }
  const names = [...new Set(wrong)];
  return [
    fail(
      'honesty',
      `the origin says "not modified" of pages whose rows differ from the replica: ${someOf(names)}`,
      `Run rowsync resync ${names.map(shellWord).join(' ')} and rowsync pull, then rowsync verify; look for a cache between.`,
    ),
  ];
}

/** The pages of a table that would be asked for with an ETag, as the replica has them. */
function storedPages(parts: AnswerParts, reader: ReplicaReader, table: TableDescriptor): readonly StoredPage[] {
  const known = readTables(reader).find(({ id }) => id === table.id);
  if (known === undefined || readSweep(reader, known.id).isDistrusted) return [];
  const live = readColumns(reader, known.id).filter(({ state }) => state === 'live');
  if (live.length !== table.columns.length) return []; // the next pull changes its shape
  const target = { id: known.id, localName: known.localName, columns: live };
  const stored = known.push !== 'off' && hasBase(reader, known.id) ? baseTarget(target) : target;
  const columns = live.map(({ name, type, mask }) => ({ name, type, mask }));
  return readPages(reader, known.id).flatMap(({ page, etag, url }) =>
    etag !== null && url === pageUrl(parts, table, page) ? [{ table, stored, columns, page, etag }] : [],
  );
}

/** Whether "not modified" was said of a page that is not as it is stored. */
async function isLie(parts: AnswerParts, reader: ReplicaReader, known: StoredPage): Promise<boolean> {
  const { table, page, etag, stored, columns } = known;
  if ((await ask(parts, table, { page, etag })).kind === 'ok') return false; // it changed since the last pull
  const { value: now } = await ask(parts, table, { page, columns });
  return isDifferent(reader, stored, now) && (await ask(parts, table, { page, etag })).kind === 'notModified';
}

function isDifferent(reader: ReplicaReader, stored: RowTarget, { rows }: RowPage): boolean {
  const ids = rows.map(({ id }) => id);
  const rowById = new Map(readRowsById(reader, stored, ids).map((row) => [row.id, row]));
  return rows.some((row) => {
    const here = rowById.get(row.id);
    return here === undefined || here.allow !== row.allow || changedIndexes(row.values, here.values).length > 0;
  });
}

/** Some of a list, each with the same chance. */
function draw<T>(items: readonly T[], count: number, clock: Clock): readonly T[] {
  return items
    .map((item) => ({ item, at: clock.random() }))
    .toSorted((a, b) => a.at - b.at)
    .slice(0, count)
    .map(({ item }) => item);
}

function queryOf({ config }: AnswerParts, table: TableDescriptor, page: number): SelectRequest['query'] {
  const { pageRows } = config.limits;
  const { selection } = planSelection(table, config.tables.find(table.recordName)?.options.sort ?? null);
  const sort = selection.sort.map((column) => ({ column }));
  return { columns: selection.columns, sort, top: pageRows, skip: pageSkip(page, pageRows) };
}

function pageUrl(parts: AnswerParts, table: TableDescriptor, page: number): string {
  return parts.origin.selectUrl(addressOf(parts, table), queryOf(parts, table, page));
}

/** A page as the origin has it now. */
async function ask<E extends Etag = undefined>(
  parts: AnswerParts,
  table: TableDescriptor,
  { page = 0, etag, columns = shapesOf(table) }: PageReadOptions<E> = {},
): Promise<Answer<RowPage, E>> {
  const request = { table: addressOf(parts, table), columns, query: queryOf(parts, table, page) };
  return await parts.origin.select(request, { etag, signal: parts.signal });
}

interface PageReadOptions<E extends Etag> {
  readonly page?: number;
  readonly etag?: E;
  readonly columns?: readonly ColumnShape[];
}

function shapesOf({ columns }: TableDescriptor): readonly ColumnShape[] {
  return columns.map(({ name, type, mask }) => ({ name, type: columnType(type), mask }));
}
