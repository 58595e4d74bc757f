/**
 * Follows one table: requests the rows that changed since the watermark, and applies them like rows of a page. It
 * starts from a table that a sweep proved whole, and says whether that was enough, or why a sweep is needed. Its loops
 * of requests are bounded:
 *
 *    pages of a round   as many as the table has, or FOLLOW_PAGES_MAX
 *    rounds             ROUNDS_MAX: the second tells a delete from rows that came meanwhile, later ones read windows
 *    changed windows    as fingerprint.ts says, when rows are missing, and when it is time to compare
 *    a short window     found by halving, once a round
 *
 * Rows that follow stores are on no page yet. So they are suspects until a page shows them: no ETag vouches for them
 * (I6). The number of rows shows that some are missing; a look by id or a sweep says which (I5).
 */
import { stampFromMs } from '../base/clock.ts';
import { must } from '../base/assert.ts';
import { asRowsyncError } from '../base/errors.ts';
import { isUnsupported } from '../origin/rows.ts';
import {
  cursorAt,
  firstCursor,
  firstUnread,
  FIRST_STAMP,
  FOLLOW_PAGES_MAX,
  isCompareDue,
  judgeChangedPage,
  laterStamp,
  mayFollow,
  readAtOrigin,
  readBehindOf,
  type ChangedPage,
  type FollowCursor,
  type Seconds,
  stampColumn,
} from '../reconcile/follow.ts';
import { createdColumn, NO_STAMP_WINDOW, windowFilter, secondOf } from '../reconcile/windows.ts';
import { isSameShape } from '../reconcile/renamed-columns.ts';
import { readTable } from '../replica/bookkeeping/tables.ts';
import { findHistory } from '../replica/bookkeeping/history.ts';
import { storeFollowed } from '../replica/bookkeeping/sweeps.ts';
import {
  countBySecond,
  countExpected,
  countPages,
  countStampedFrom,
  readLatestStamp,
  readPagedWindows,
} from '../replica/bookkeeping/pages.ts';
import type { Tx } from '../replica/connection.ts';
import { readRowsById, type RowChanges } from '../replica/rows.ts';
import { columnReference, timestampLiteral } from '../wire/formula.ts';
import { TOP_MAX } from '../wire/request-paths.ts';
import type { RowPage } from '../wire/schema.ts';
import type { LocalShape, PreparedTable, TablePull, TableReading, TableTurn } from './context.ts';
import { describeTable, storedDescription } from './table-description.ts';
import { findChangedWindows, orNone, readChangedWindows } from './fingerprint.ts';
import { applySchema } from './apply-schema.ts';
import { NO_PERMISSION } from './column-selection.ts';
import { isMassDelete, proveDeletes } from './suspected-deletes.ts';
import { sweepWindows } from './sweep.ts';
import { differingRows } from '../reconcile/merge.ts';
import { confirmedRows, storeAnswer } from '../capture/writer/store-origin-rows.ts';
import { shrinkPages } from './windows.ts';

/** Why not followed: no beginning · filter · missing rows · stamps or answers do not hold · columns · page size. */
export type WhySwept = 'begin' | 'filter' | 'count' | 'stamps' | 'unreadable' | 'moving' | 'many' | 'shape' | 'large';

const ROUNDS_MAX = 5;

/** Up to so many windows with differing days are read; beyond, the window with missing rows is found by counting. */
const CHANGED_WINDOWS_MAX = 8;

/** Rows of the origin's list of deleted rows that are requested. */
const HINTS_MAX = 10_000;

/** The stamp of the last changed row, asked before a sweep: later changes have no earlier one. Null if not followed. */
export async function readNewestStamp({ context, table }: TableReading): Promise<string | null> {
  const { origin, signal } = context;
  const stamps = stampsOf(table);
  if (stamps === null) return null;
  const { shape } = stamps;
  const query = { columns: [shape.name], sort: [{ column: shape.name, descending: true }], top: 1 };
  const { value: page } = await origin.select({ table: table.address, columns: [shape], query }, { signal });
  if (page.unreadable.length > 0) return null;
  const stamp = page.rows[0]?.values[0] ?? null;
  return typeof stamp === 'string' ? secondOf(stamp) : FIRST_STAMP;
}

/** Follows by the last description; null if that sufficed. Rows under other names are suspects, for a sweep to read. */
export async function followKnown(turn: TableTurn): Promise<WhySwept | null> {
  const { context, summary, known, tableOptions, discard, counts } = turn;
  const stored = storedDescription(context, summary.id);
  if (stored === null || (known?.sweptAt ?? null) === null) return 'begin';
  const table = await applySchema(context, stored, { ...tableOptions, permission: NO_PERMISSION, discard });
  const run = { context, table, counts };
  const readBefore = counts.pagesReadCount;
  let why: WhySwept | null;
  try {
    why = await followTable(run);
  } catch (thrown) {
    const { code, kind } = asRowsyncError(thrown);
    if (code === 'origin.moving') return 'moving';
    if (await shrinkPages(run, thrown)) return 'large';
    // The origin refuses the former name of a renamed column, or leaves it out of the answer.
    const mayBeShape = kind === 'originRefused' || kind === 'wireFormat';
    if (!mayBeShape || isSameShape(stored, await describeTable(context, summary))) throw thrown;
    return 'shape';
  }
  if (why === null && table.twoWay === null && counts.pagesReadCount > readBefore) {
    const described = await describeTable(context, summary);
    if (!isSameShape(stored, described)) return 'shape';
  }
  if (why === null && table.problem !== null) throw table.problem;
  return why;
}

/** The facts for following a table; null if it lacks the columns. */
export interface Stamps {
  readonly shape: LocalShape;
  readonly index: number;
  readonly key: string;
}

/** The stamp columns of a table; null if it lacks them. */
export function stampsOf({ descriptor, shapes }: PreparedTable): Stamps | null {
  const column = stampColumn(descriptor.columns);
  const index = shapes.findIndex(({ name }) => name === column?.name);
  const shape = shapes[index];
  const key = descriptor.columns.find(({ name }) => name === descriptor.key)?.name;
  return shape === undefined || key === undefined ? null : { shape, index, key };
}

/** A table that is followed, and from where its changes are read. */
interface Following extends TablePull {
  readonly stamps: Stamps;
  readonly watermark: string;
  /** Whether the changes were more rows than a page the last time, and when that was, in seconds since 1970. */
  readonly wasLarge: boolean;
  readonly readAt: number | null;
}

/** Brings the changed rows; says why a sweep has to look, or null. @throws RowsyncError. */
async function followTable(run: TablePull): Promise<WhySwept | null> {
  const { context, table } = run;
  const { origin, replica, clock, signal, settings } = context;
  const { id, localName } = table.target;
  const stamps = stampsOf(table);
  const record = readTable(replica, id);
  const before = record.watermark;
  if (stamps === null || before === null || !mayFollow(record)) return 'begin';
  const at = stampFromMs(clock.nowMs());
  if (record.rowsFilter !== (table.address.rows ?? null)) return 'filter';
  const following = { ...run, stamps, watermark: before, wasLarge: record.hasLargeTail, readAt: record.readAt };
  let read: Changes | { readonly why: WhySwept } = { newest: null, isLarge: false };
  let isCounted = false;
  for (let round = 1; round <= ROUNDS_MAX; round += 1) {
    // Counted before the changes are read: rows that were added before are among the changes, and cannot hide a delete.
    const there = await origin.count({ table: table.address, column: stamps.key }, { signal });
    isCounted = there !== null;
    // Without a count no deletes are seen, which does not suffice for a caller who waits for the table.
    if (!isCounted && settings.compares === false) return 'count';
    read = await readChanges(following);
    if ('why' in read) return read.why;
    const missing = there === null ? 0 : countExpected(replica, confirmedRows(table)) - there;
    // All of them at once, before any goes: a few in each round would pass the guard.
    if (missing > 0 && (isMassDelete(run, missing) || !(await findDeleted(following)))) return 'count';
    if (there === null || there === countExpected(replica, confirmedRows(table))) break;
    if (round === 1) continue;
    if (round === ROUNDS_MAX || !(await readShortWindows(following, round))) return 'count';
  }
  const watermark = await nextWatermark(following, read.newest);
  if (watermark === null) return 'stamps';
  const { isLarge } = read;
  const compares = settings.compares !== false && isCompareDue(record.comparedAt, clock.nowMs());
  await replica.write(`Noting what was followed of ${localName}`, (tx) => {
    // Noted first: an origin that fails to answer is not asked again the next minute.
    storeFollowed(tx, id, { watermark, at: isCounted ? at : null, isLarge, comparedAt: compares ? at : null });
  });
  const found = compares ? await findChangedWindows(run) : null;
  return found === null || (await readChangedWindows(run, found)) ? null : 'count';
}

/** Reads windows with missing rows, named by days in round 2, later found by halving; false if a sweep has to look. */
async function readShortWindows(following: Following, round: number): Promise<boolean> {
  const { context, table, stamps } = following;
  const { origin, replica, signal } = context;
  const found = round === 2 ? await findChangedWindows(following) : null;
  if (found !== null && found.windows.length > 0 && found.windows.length <= CHANGED_WINDOWS_MAX)
    return await readChangedWindows(following, found);
  const created = createdColumn(table.descriptor.columns);
  const column = table.shapes.find(({ name }) => name === created?.name)?.localName;
  if (created === null || column === undefined) return false;
  const windows = readPagedWindows(replica, table.target.id);
  if (windows.length < 2) return false;
  const short = await lastWhere(
    windows.filter((window) => window !== NO_STAMP_WINDOW),
    async (window) => {
      const filter = windowFilter(window, created.name);
      const there = await origin.count({ table: table.address, column: stamps.key, filter }, { signal });
      return there !== countStampedFrom(replica, confirmedRows(table), { column, stamp: window });
    },
  );
  return await sweepWindows(following, [short]);
}

/** The last item with a property. The first item has it without being asked, and no item after one without it. */
async function lastWhere<T>(items: readonly T[], holds: (item: T) => Promise<boolean>): Promise<T> {
  let low = 0;
  let high = items.length;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (await holds(must(items[middle], 'it lies between'))) low = middle;
    else high = middle;
  }
  return must(items[low], 'there is a first one');
}

/** Compares rows by second of change. Gives the second to read from (null: none), or null if the counts do not hold. */
async function findUnread(
  following: Following,
  after: string,
): Promise<{ readonly there: Seconds; readonly second: string | null } | null> {
  const { context, table, stamps, readAt } = following;
  const { replica, origin, clock } = context;
  const there = await countSeconds(following, after);
  if (there === null) return null;
  const { clockAheadMs } = origin.counters();
  const readAtMs = readAtOrigin(readAt, { nowMs: clock.nowMs(), clockAheadMs });
  const known = { column: stamps.shape.localName, stamp: after };
  const unreadBehind = (readBehind: string | null): string | null =>
    firstUnread({ there, here: countBySecond(replica, confirmedRows(table), known), readAtMs, readBehind });
  const second = unreadBehind(null);
  if (second === null) return { there, second };
  const newest = await readChangedPage(following, { after, skip: 0, descending: true });
  return { there, second: unreadBehind(readBehindOf(newest)) };
}

/** How many rows the origin has changed in each second from the given one on; null if it does not say. */
async function countSeconds({ context, table, stamps }: Following, after: string): Promise<Seconds | null> {
  const { origin, signal } = context;
  const { address } = table;
  const { shape, key } = stamps;
  if (shape.name.includes('//') || key.includes('//')) return null;
  const filter = `${columnReference(shape.name)} >= ${timestampLiteral(after)}`;
  const group = { name: shape.name, suffix: 'SS', type: 'Timestamp' } as const;
  const columns = [{ name: `${key}//COUNT`, type: 'Numeric' }] as const;
  const answer = await orNone(origin.aggregate({ table: address, group, columns, filter, top: TOP_MAX }, { signal }));
  if (answer?.isLast !== true) return null;
  const seconds = new Map<string, number>();
  for (const { group: second, values } of answer.groups) {
    if (typeof second !== 'string' || secondOf(second) < after || seconds.has(secondOf(second))) return null;
    seconds.set(secondOf(second), Number(values[0] ?? 0));
  }
  return seconds;
}

/** Asks for rows listed as deleted or, under a filter, changed last; deletes those that are gone, or says false. */
async function findDeleted(following: Following): Promise<boolean> {
  const { context, table } = following;
  const { rows = null } = table.address;
  const listed = await listDeleted(following);
  const changed = rows === null ? [] : await listChanged(following);
  const ids = [...new Set([...listed, ...changed])].slice(0, HINTS_MAX);
  const here = [...readRowsById(context.replica, confirmedRows(table), ids).keys()];
  return here.length === 0 || (await proveDeletes(following, here));
}

/** Rows that the origin lists as deleted; none without such a list. */
async function listDeleted({ context, table, watermark }: Following): Promise<readonly number[]> {
  const { origin, signal } = context;
  const from = firstCursor(watermark).after;
  try {
    return (await origin.deletedIds({ table: table.address, from }, { signal })).value;
  } catch (thrown) {
    if (isUnsupported(thrown)) return [];
    throw thrown;
  }
}

/** The last changed rows, inside or outside of the table's filter; at most a page. */
async function listChanged({ context, table, stamps, watermark }: Following): Promise<readonly number[]> {
  const { origin, signal } = context;
  const { shape } = stamps;
  const filter = `${columnReference(shape.name)} >= ${timestampLiteral(firstCursor(watermark).after)}`;
  const query = { columns: [shape.name], sort: [{ column: shape.name, descending: true }], filter, top: TOP_MAX };
  const everyRow = { ...table.address, rows: null };
  return (await origin.select({ table: everyRow, columns: [shape], query }, { signal })).value.ids;
}

/** The stamp of the last changed row; null if stamps went back: the row with the watermark is here and did not come. */
async function nextWatermark(following: Following, newest: string | null): Promise<string | null> {
  const { context, table, stamps, watermark: before } = following;
  if (before === FIRST_STAMP) return newest ?? before;
  if (newest !== null && newest >= before) return newest;
  if ((readLatestStamp(context.replica, confirmedRows(table), stamps.shape.localName) ?? '') >= before) return null;
  return newest ?? (await readNewestStamp(following));
}

interface Changes {
  /** The stamp of the last changed row; null for none. */
  readonly newest: string | null;
  /** Whether these are more rows than a page. */
  readonly isLarge: boolean;
}

/** Reads what was changed. If that is more than a page, seconds are compared, and rows of equal ones are not read. */
async function readChanges(following: Following): Promise<Changes | { readonly why: WhySwept }> {
  const { context, table, counts, wasLarge } = following;
  let newest: string | null = null;
  let cursor = firstCursor(following.watermark);
  let isLarge = false;
  let compares = wasLarge;
  const pagesMax = Math.max(FOLLOW_PAGES_MAX, countPages(context.replica, table.target.id));
  for (let count = 0; count < pagesMax; count += 1) {
    const unread = compares ? await findUnread(following, cursor.after) : null;
    if (unread !== null) {
      const { there, second } = unread;
      newest = laterStamp(newest, there.keys());
      isLarge ||= there.values().reduce((sum, rowCount) => sum + rowCount, 0) >= table.pageRows;
      if (second === null) return { newest, isLarge };
      cursor = cursorAt(second);
    }
    const readBefore = counts.pagesReadCount;
    const page = await readChangedPage(following, cursor);
    newest = laterStamp(newest, page.stampById.values());
    const step = judgeChangedPage(cursor, page);
    if (step.kind === 'sweep') return { why: step.why };
    if (step.kind === 'done') return { newest, isLarge };
    // A full page without news: all of them may be known.
    compares = count === 0 && !wasLarge && counts.pagesReadCount === readBefore;
    isLarge = true;
    ({ cursor } = step);
  }
  return { why: 'many' };
}

async function readChangedPage(
  following: Following,
  { after, skip, descending = false }: Pick<FollowCursor, 'after' | 'skip'> & { readonly descending?: boolean },
): Promise<ChangedPage> {
  const { context, table, stamps } = following;
  const { origin, signal } = context;
  const { shape, index, key } = stamps;
  const top = table.pageRows;
  const filter = `${columnReference(shape.name)} >= ${timestampLiteral(after)}`;
  const sort = [shape.name, key].map((column) => ({ column, descending }));
  const query = { columns: table.selection.columns, sort, filter, top, skip };
  const { value: page } = await origin.select({ table: table.address, columns: table.shapes, query }, { signal });
  const { rows, ids, unreadable } = page;
  const stampById = new Map(
    [...rows, ...unreadable.flatMap(({ rest }) => rest ?? [])].flatMap(({ id, values }) => {
      const stamp = values[index] ?? null;
      return typeof stamp === 'string' ? [[id, stamp] as const] : [];
    }),
  );
  await storeChanges(following, page, stampById);
  return { ids, stampById, top };
}

/** Stamps that a report has of one table, to say how late rows came. */
const STAMPS_MAX = 1_000;

/** Applies rows that differ from those here; most rows of the overlap do not. */
async function storeChanges(
  { context, table, counts }: TablePull,
  page: RowPage,
  stampById: ReadonlyMap<number, string>,
): Promise<void> {
  const { replica, clock } = context;
  const { target } = table;
  const news = differingRows(page.rows, readRowsById(replica, confirmedRows(table), page.ids));
  if (news.length === 0 && page.unreadable.length === 0) return;
  const ids = [...news, ...page.unreadable].map(({ id }) => id);
  const what = `Storing what changed in ${target.localName}`;
  // A history would keep what came under the names of other columns.
  if (table.twoWay !== null || findHistory(replica, target.id) !== null) await table.requireShape();
  const store = (tx: Tx): RowChanges => {
    const at = stampFromMs(clock.nowMs());
    return storeAnswer(tx, table, { rows: news, unreadable: page.unreadable, ids }, { at, offPage: ids });
  };
  const stored = await replica.write(what, store, context.signal);
  counts.insertedCount += stored.insertedCount;
  counts.updatedCount += stored.updatedCount;
  counts.pagesReadCount += 1;
  const stamps = [...(counts.stamps ?? []), ...news.flatMap(({ id }) => stampById.get(id) ?? [])];
  counts.stamps = stamps.slice(0, STAMPS_MAX);
  context.onProgress?.({ kind: 'page', table: target.localName, rowCount: news.length });
}
