/**
 * What a push asks the origin: rows by id or by match value, what it has of a block of edited rows, and who is calling.
 * A user that lost rights since sees fewer rows, and a hidden row is not gone (I5). Reads only. Every loop over
 * requests is bounded by the rows of one batch, or by twice as many if values are halved.
 */
import { stampFromMs } from '../base/clock.ts';
import { asRowsyncError, RowsyncError } from '../base/errors.ts';
import { shellWord } from '../base/text.ts';
import { identityOf } from '../reconcile/guards.ts';
import { isOtherCaller } from '../replica/bookkeeping/identity.ts';
import { baseTarget } from '../replica/base-comparison.ts';
import { readHighestId, readRowsById } from '../replica/rows.ts';
import { readTable } from '../replica/bookkeeping/tables.ts';
import { TOP_MAX } from '../wire/request-paths.ts';
import type { ColumnType, Row, UnreadableRow, UserDescriptor, Value } from '../wire/schema.ts';
import { type PushContext, type TablePush, step, type IdBlock } from './context.ts';
import { isSameValue } from '../reconcile/merge.ts';
import { filterOfValue, filterRoom, isSameAtOrigin, joinClauses } from '../reconcile/match-column.ts';
import { uploadName } from '../reconcile/files.ts';

export interface FoundRows {
  readonly byId: ReadonlyMap<number, Row>;
  /** Requested rows that exist but cannot be read: nothing can be decided about them now. */
  readonly unreadable: ReadonlyMap<number, UnreadableRow>;
}

/** Requests rows by id; rows in neither part of the answer do not exist, or are hidden from the calling user. */
export async function findById(run: TablePush, ids: readonly number[]): Promise<FoundRows> {
  const { context, address, names, pageRows = TOP_MAX } = run;
  const byId = new Map<number, Row>();
  const unreadable = new Map<number, UnreadableRow>();
  try {
    for (const batch of context.origin.idBatches(ids, names, pageRows)) {
      const request = { table: address, columns: run.table.columns, names, ids: batch };
      const { value: page } = await context.origin.retrieve(request, { signal: context.signal });
      for (const row of page.rows) byId.set(row.id, row);
      for (const row of page.unreadable) unreadable.set(row.id, row);
    }
  } catch (thrown) {
    // They may be the largest rows of the table, whose pages fit. Each time half as many: ends at one.
    if (pageRows === 1 || asRowsyncError(thrown).code !== 'origin.tooLarge') throw thrown;
    return findById({ ...run, pageRows: Math.ceil(pageRows / 2) }, ids);
  }
  return { byId, unreadable };
}

/** How far the origin's clock may lie behind ours. */
const CLOCKS_APART_MS = 5 * 60_000;

/** Whether the origin lists a row as deleted since then that is newer than all known ones; it lists no purged ones. */
export async function wasUnknownRowDeleted({ context, table, address }: TablePush, sentAt: string): Promise<boolean> {
  const { origin, replica, signal } = context;
  const from = stampFromMs(Date.parse(sentAt) - CLOCKS_APART_MS);
  try {
    const { value: ids } = await origin.deletedIds({ table: address, from }, { signal });
    const highestId = readHighestId(replica, baseTarget(table));
    return ids.some((id) => id > highestId);
  } catch (thrown) {
    if (asRowsyncError(thrown).kind === 'originRefused') return false;
    throw thrown;
  }
}

/** The row with a match value; `refused`: so is the request · `unclear`: it is unreadable, or has another value. */
export type Holder = Row | 'refused' | 'unclear';

/** Looks up rows by match value, alone if the origin may equate two. `isOfLost`: was sent, so it needs an answer. */
export async function findByMatch(
  run: TablePush,
  values: readonly Value[],
  isOfLost: boolean,
): Promise<ReadonlyMap<Value, Holder>> {
  const column = run.planned.match;
  const shape = column === null ? undefined : run.table.columns[column];
  if (column === null || shape === undefined || values.length === 0) return new Map();
  const clauses = values.flatMap((value) => filterOfValue(shape, value) ?? []);
  const found = await selectClauses(run, clauses, isOfLost);
  const holders = found?.isComplete === true ? holdersOf(found.rows, values, { column, type: shape.type }) : null;
  if (holders !== null) return holders;
  if (values.length === 1) return new Map([[values[0] ?? null, found === null ? 'refused' : 'unclear']]);
  // Each half alone: a problem with one value must not hold up other rows.
  const middle = Math.ceil(values.length / 2);
  const one = await findByMatch(run, values.slice(0, middle), isOfLost);
  const other = await findByMatch(run, values.slice(middle), isOfLost);
  return new Map([...one, ...other]);
}

/** The row of each value. Null if unclear: a row that spells its value differently needs a request for that alone. */
function holdersOf(
  rows: readonly Row[],
  values: readonly Value[],
  { column, type }: { readonly column: number; readonly type: ColumnType },
): ReadonlyMap<Value, Holder> | null {
  const holders = new Map<Value, Row>();
  const isOneOfOne = rows.length === 1 && values.length === 1;
  for (const row of rows) {
    const there = row.values[column] ?? null;
    const [value, ...others] = values.filter((wanted) => isSameAtOrigin(type, there, wanted));
    if (value === undefined || others.length > 0 || !(isOneOfOne || isSameValue(type, there, value))) return null;
    holders.set(value, row);
  }
  return holders;
}

/** The rows that satisfy a clause, each once; null if the origin refuses the filter, or the answer is too large. */
async function selectClauses(
  { context, table, address, names, requireShape }: TablePush,
  clauses: readonly string[],
  isOfLost: boolean,
): Promise<{ readonly rows: readonly Row[]; readonly isComplete: boolean } | null> {
  try {
    const pages = await Promise.all(
      joinClauses(clauses, filterRoom(names)).map(async (filter) => {
        const query = { columns: names, sort: [], filter, top: TOP_MAX };
        return (
          await context.origin.select({ table: address, columns: table.columns, query }, { signal: context.signal })
        ).value;
      }),
    );
    const rows = new Map(pages.flatMap((page) => page.rows.map((row) => [row.id, row] as const)));
    return { rows: [...rows.values()], isComplete: pages.every(({ unreadable }) => unreadable.length === 0) };
  } catch (thrown) {
    const { code, refusal } = asRowsyncError(thrown);
    // Refused because a column has another name by now? A lost answer is looked for all the same.
    if (refusal?.status === 400 && !isOfLost) await requireShape();
    if (refusal?.status === 400 || code === 'origin.tooLarge') return null;
    if (code !== 'origin.notApi' || isOfLost) throw thrown;
    // A firewall may dislike one of the values; if it lets nothing through, this question fails too.
    await context.origin.user({ signal: context.signal });
    return null;
  }
}

/** Edited rows of one kind, in the order in which they leave, and what the origin has of them. */
export interface FoundBlock extends IdBlock {
  readonly found: FoundRows;
  /** The match values of inserts that were looked up, by the insert's id here, and what has them. */
  readonly lookUps: ReadonlyMap<number, { readonly value: Value; readonly holder: Holder | undefined }>;
  /** Whether a row attaches a file. */
  readonly attaches: boolean;
  /** Whether its rows may be recorded before earlier ones arrive: if they never leave, the origin can prove it. */
  readonly mayGoAhead: boolean;
}

/** Reads the rows of a block. @throws RowsyncError of the origin. */
export async function readBlock(run: TablePush, { kind, ids }: IdBlock): Promise<FoundBlock> {
  await step(run, 'reread');
  const { match } = run.planned;
  const looksUp = kind === 'insert' && match !== null;
  const isLocalAsked = looksUp || (kind !== 'delete' && mayAttach(run));
  if (isLocalAsked) await run.context.origin.requestsLeave(); // the batch before, before reading keeps the event loop busy
  const locals = readRowsById(run.context.replica, run.table, isLocalAsked ? ids : []);
  const attaches = locals.values().some((row) => isAttaching(run, row));
  const valueById = new Map<number, Value>();
  if (looksUp) {
    for (const [id, { values }] of locals) {
      const value = values[match] ?? null;
      if (value !== null && value !== '') valueById.set(id, value);
    }
  }
  const [found, holders] = await Promise.all([
    findById(run, kind === 'insert' ? [] : ids),
    findByMatch(run, [...new Set(valueById.values())], false),
  ]);
  const isFree =
    kind !== 'insert' || (holders.size === 0 && ids.every((id) => isIdentified(run, valueById.get(id) ?? null)));
  const lookUps = new Map([...valueById].map(([id, value]) => [id, { value, holder: holders.get(value) }]));
  return { kind, ids, found, lookUps, attaches, mayGoAhead: !attaches && isFree };
}

function mayAttach({ table }: TablePush): boolean {
  return table.columns.some(({ type, writable }) => writable && type === 'Attachment');
}

function isAttaching({ table }: TablePush, { values }: Row): boolean {
  return table.columns.some(
    ({ type, writable }, index) => writable && uploadName(type, values[index] ?? null) !== null,
  );
}

/** Whether a new row can be looked up if its answer gets lost: by its match value, or by one that is made up. */
function isIdentified({ planned: { match, columns } }: TablePush, value: Value): boolean {
  const column = match === null ? undefined : columns[match];
  return column !== undefined && (value === null ? column.type === 'Text' : filterOfValue(column, value) !== null);
}

/** Asks for the calling user; another one may see other rows. @throws RowsyncError `push.identity`, … */
export async function readCallingUser({ origin, replica, signal }: PushContext): Promise<UserDescriptor> {
  const { value: caller } = await origin.user({ signal });
  if (isOtherCaller(replica, identityOf(origin, caller))) {
    throw new RowsyncError('needsPerson', 'push.identity', {
      message:
        'The calling user, its role, permissions or time zone, or the address of the origin changed since the last pull; nothing was sent',
      hint: 'Run rowsync pull first: it reads the tables again as the present user sees them. The changes wait here.',
    });
  }
  return caller;
}

/** Whether missing rows are gone, not hidden: the caller also read the table. @throws RowsyncError `push.identity`. */
export async function isSameCaller({ context, table }: TablePush): Promise<boolean> {
  await readCallingUser(context);
  return readTable(context.replica, table.id).identityChecked;
}

/** The same before anything is sent. @throws RowsyncError `push.identity`, `guard.deletes`. */
export async function requireSameCaller(run: TablePush): Promise<void> {
  if (await isSameCaller(run)) return;
  const { table } = run;
  throw new RowsyncError('needsPerson', 'guard.deletes', {
    message: `${table.localName}: the origin does not return some of the rows to push, and the calling user or its role changed since they were read`,
    hint: `Check the rights of the calling user, then run rowsync pull ${shellWord(table.localName)}; --confirm if rows are really gone.`,
  });
}
