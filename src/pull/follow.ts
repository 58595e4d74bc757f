/**
 * Follows one table: asks for the rows that were changed since the watermark and applies them like rows of a page. Input: a table that a
 * sweep proved whole. Output: whether that sufficed, or why a sweep has to look. Loops that send requests, and their bounds:
 *
 *    pages of a round   FOLLOW_PAGES_MAX
 *    rounds             two: what came while rows were counted is told from a delete by the second
 *
 * What follow stores stands on no page yet, so the rows come under suspicion until a page shows them: no ETag vouches for what
 * it did not bring (I6). Deletes are not seen here. The number of rows tells that some are missing, and the sweep says which (I5).
 */
import { stampFromMs } from '../base/clock.ts';
import {
  firstCursor,
  FOLLOW_PAGES_MAX,
  judgeChangedPage,
  laterStamp,
  mayFollow,
  secondOf,
  stampColumn,
} from '../reconcile/follow.ts';
import { isSameRow } from '../reconcile/diff.ts';
import { baseTarget } from '../replica/compare.ts';
import { readTable, storeFollowed } from '../replica/ledger.ts';
import { countExpected, storeUnreadable, suspectPushedRows } from '../replica/pages.ts';
import { readRowsById, type RowTarget } from '../replica/rows.ts';
import { columnReference, timestampLiteral } from '../wire/formula.ts';
import type { ColumnShape, RowPage } from '../wire/schema.ts';
import type { PreparedTable, PullContext } from './context.ts';
import { writeInShape } from './describe.ts';
import { storeRows } from './store.ts';
import type { SweepCounts } from './sweep.ts';

/** Why a table was not followed: nothing to begin from · rows are missing · the origin's stamps, or its answers, do not hold. */
export type WhySwept = 'begin' | 'count' | 'stamps' | 'unreadable' | 'moving' | 'many';

/** The stamp of a table in which no row was ever changed. */
const FIRST_STAMP = '1970-01-01T00:00:00Z';

/** What following a table needs to know of it; null where it has not the columns for it. */
interface Stamps {
  readonly shape: ColumnShape;
  readonly index: number;
  readonly key: string;
}

function stampsOf({ descriptor, shapes }: PreparedTable): Stamps | null {
  const column = stampColumn(descriptor.columns);
  const index = shapes.findIndex(({ name }) => name === column?.name);
  const shape = shapes[index];
  const key = descriptor.columns.find(({ name }) => name === descriptor.key)?.name;
  return shape === undefined || key === undefined ? null : { shape, index, key };
}

/**
 * The stamp of the row that was changed last, asked for before a sweep begins: whatever is changed after that has no earlier
 * one. Null for a table that cannot be followed. @throws RowsyncError of the origin.
 */
export async function readNewestStamp({ origin, signal }: PullContext, table: PreparedTable): Promise<string | null> {
  const stamps = stampsOf(table);
  if (stamps === null) return null;
  const { shape } = stamps;
  const query = { columns: [shape.name], sort: [{ column: shape.name, descending: true }], top: 1 };
  const answer = await origin.select({ table: table.address, columns: [shape], query }, { signal });
  if (answer.kind === 'notModified') return null; // cannot be: no ETag was sent
  const [newest] = answer.value.rows;
  const stamp = newest?.values[0] ?? null;
  if (answer.value.unreadable.length > 0) return null;
  return typeof stamp === 'string' ? secondOf(stamp) : FIRST_STAMP;
}

/** Brings what was changed. @returns null where that sufficed. @throws RowsyncError of the origin or the replica. */
export async function followTable(
  context: PullContext,
  table: PreparedTable,
  counts: SweepCounts,
): Promise<WhySwept | null> {
  const { origin, replica, clock, signal } = context;
  const { id, localName } = table.target;
  const stamps = stampsOf(table);
  const ledger = readTable(replica, id);
  if (stamps === null || ledger.watermark === null || !mayFollow(ledger)) return 'begin';
  const at = stampFromMs(clock.nowMs());
  let { watermark } = ledger;
  for (let round = 1; round <= 2; round += 1) {
    // Before the changes are read: whatever was added until now is among them, and cannot hide a delete.
    const there = await origin.count({ table: table.address, column: stamps.key }, { signal });
    const read = await readChanges(context, table, { stamps, watermark, counts });
    if ('why' in read) return read.why;
    ({ watermark } = read);
    if (there !== null && there !== countExpected(replica, confirmedRows(table))) continue;
    await replica.write(`Noting what was followed of ${localName}`, (tx) => storeFollowed(tx, id, { watermark, at }));
    return null;
  }
  return 'count';
}

/** Where rows stand as the origin confirmed them last. */
function confirmedRows({ target, twoWay }: PreparedTable): RowTarget {
  return twoWay === null ? target : baseTarget(target);
}

async function readChanges(
  context: PullContext,
  table: PreparedTable,
  from: { readonly stamps: Stamps; readonly watermark: string; readonly counts: SweepCounts },
): Promise<{ readonly watermark: string } | { readonly why: WhySwept }> {
  const { origin, settings, signal } = context;
  const { shape, index, key } = from.stamps;
  const top = settings.pageRows;
  let { watermark } = from;
  let cursor = firstCursor(watermark);
  for (let page = 0; page < FOLLOW_PAGES_MAX; page += 1) {
    const filter = `${columnReference(shape.name)} >= ${timestampLiteral(cursor.after)}`;
    const sort = [shape.name, key].map((column) => ({ column }));
    const query = { columns: table.selection.columns, sort, filter, top, skip: cursor.skip };
    const answer = await origin.select({ table: table.address, columns: table.shapes, query }, { signal });
    if (answer.kind === 'notModified') return { why: 'stamps' }; // cannot be: no ETag was sent
    const { rows, ids } = answer.value;
    const stampById = new Map(
      rows.flatMap(({ id, values }) => {
        const stamp = values[index] ?? null;
        return typeof stamp === 'string' ? [[id, stamp] as const] : [];
      }),
    );
    await storeChanges(context, table, answer.value, from.counts);
    watermark = laterStamp(watermark, stampById.values());
    const step = judgeChangedPage(cursor, { ids, stampById, top });
    if (step.kind === 'sweep') return { why: step.why };
    if (step.kind === 'done') return { watermark };
    ({ cursor } = step);
  }
  return { why: 'many' };
}

/** Applies what is not here as it came; rows of the overlap mostly are. */
async function storeChanges(
  context: PullContext,
  table: PreparedTable,
  page: RowPage,
  counts: SweepCounts,
): Promise<void> {
  const { replica, clock } = context;
  const { target } = table;
  const known = new Map(readRowsById(replica, confirmedRows(table), page.ids).map((row) => [row.id, row]));
  const news = page.rows.filter((row) => {
    const before = known.get(row.id);
    return before === undefined || !isSameRow(row, before);
  });
  if (news.length === 0 && page.unreadable.length === 0) return;
  const ids = [...news, ...page.unreadable].map(({ id }) => id);
  const what = `Storing what changed in ${target.localName}`;
  const stored = await writeInShape(context, table, { what, answer: page }, (tx) => {
    const at = stampFromMs(clock.nowMs());
    const changes = storeRows(tx, table, news, at);
    storeUnreadable(tx, target.id, { ids, unreadable: page.unreadable }, at);
    suspectPushedRows(tx, target.id, ids);
    return changes;
  });
  counts.insertedCount += stored.insertedCount;
  counts.updatedCount += stored.updatedCount;
  counts.pagesReadCount += 1;
  context.onProgress?.({ kind: 'page', table: target.localName, rowCount: news.length, notModified: false });
}
