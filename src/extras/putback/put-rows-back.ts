/**
 * Puts rows back in rounds: each round writes the rows whose parents exist into the file and pushes them. Afterwards,
 * references that had to wait are filled in, if they are empty or still hold the old key.
 */
import { rm } from 'node:fs/promises';
import type { LostRow } from '../shared/linked-extra.ts';
import { stampFromMs } from '../../base/clock.ts';
import { must } from '../../base/assert.ts';
import { applyOutcome, applyEvent, readRowFacts } from '../../capture/writer/apply-outcome.ts';
import { discardEdits } from '../../capture/resolve-conflict.ts';
import type { TwoWayTable } from '../../capture/two-way-table.ts';
import { storeRemoteRows } from '../../capture/writer/store-origin-rows.ts';
import { REVISIONS_MAX } from '../../reconcile/files.ts';
import type { RowOutcome } from '../../reconcile/row-outcome.ts';
import { decideCell, decideMadeAgain, writtenRow } from '../../reconcile/row-outcome.ts';
import { findById, findByMatch } from '../../push/find-rows.ts';
import { readReasons } from '../../replica/bookkeeping/refusals.ts';
import { readRowStates, takeLocalId } from '../../replica/bookkeeping/row-states.ts';
import { blocks } from '../../replica/query.ts';
import { readRowsById, valueFromStored } from '../../replica/rows.ts';
import type { Row, Value } from '../../wire/schema.ts';
import { stageFile } from './attached-files.ts';
import {
  readyRows,
  rowName,
  type KeyLink,
  type PlannedFile,
  type PlannedPutback,
  type ThereRow,
} from './lost-row-outcome.ts';
import { keyColumnOf, openLookUp, pushStaged, stagedTable, type PutbackPlace } from './putback-file.ts';
import {
  addRecords,
  changeRecords,
  isUnfinished,
  keyOf,
  lacksKey,
  needsPerson,
  readCells,
  readRecords,
  type PutbackRecord,
} from './putback-records.ts';

/** Rounds of one run: no chain of references is longer, and the rest waits for `--resume`. */
const ROUNDS_MAX = 200;

/** What a run concerned. Earlier runs left their lines in the same file. */
export interface PutbackRun {
  /** Lines of its plan, lines that it changed, and all that still wait. */
  readonly concerned: readonly PutbackRecord[];
  /** Those without rows that were put back before. */
  readonly news: readonly PutbackRecord[];
}

/** Notes a plan, if there is a new one, and puts back what waits. @throws RowsyncError what stopped a push. */
export async function carryOut(
  place: PutbackPlace,
  plan: { readonly rows: readonly PlannedPutback[]; readonly orphans: readonly PlannedPutback[] } | null,
  options: { readonly again: boolean },
): Promise<PutbackRun> {
  const { replica } = place.push;
  const before = new Map(readRecords(replica).map((record) => [record.id, JSON.stringify(record)]));
  if (plan !== null) {
    await replica.writeDurably('Noting what is put back', (tx) => {
      addRecords(tx, 'row', plan.rows);
      addRecords(tx, 'link', plan.orphans);
    });
  }
  const isOpen = readRecords(replica).some(
    (record) => record.state === 'waiting' || record.state === 'sent' || isUnfinished(record),
  );
  if (isOpen || plan === null) await runPutback(place, options);
  const records = readRecords(replica);
  const isChanged = (record: PutbackRecord): boolean => before.get(record.id) !== JSON.stringify(record);
  const planned = [...(plan?.rows ?? []), ...(plan?.orphans ?? [])];
  const names = new Set(planned.map(({ tableId, oldId }) => rowName(tableId, oldId)));
  const concerned = records.filter(
    (record) => names.has(rowName(record.tableId, record.oldId)) || isChanged(record) || isWaiting(record),
  );
  return { concerned, news: concerned.filter((record) => record.state !== 'done' || isChanged(record)) };
}

function isWaiting(record: PutbackRecord): boolean {
  return record.state === 'waiting' || record.state === 'sent' || needsPerson(record);
}

/** Puts back what waits. `again`: also rows in doubt, since a person has looked. @throws RowsyncError of a push. */
async function runPutback(place: PutbackPlace, { again }: { readonly again: boolean }): Promise<void> {
  await retryParked(place, again);
  await pushStaged(place);
  for (let round = 1; round <= ROUNDS_MAX; round += 1) {
    const records = readRecords(place.push.replica);
    const done = doneRows(records);
    const waiting = records.filter(({ state }) => state === 'waiting');
    const ready = readyRows(
      waiting,
      (link) => link.later === true || done.has(rowName(link.toId, link.oldId)),
      (tableId, columnId) => stagedTable(place, tableId).columns.find(({ id }) => id === columnId)?.required === true,
    );
    if (ready.length === 0) break;
    const left = await leaveThere(place, ready);
    if (left.length === 0) continue;
    await stageRows(place, left, done);
    await pushStaged(place);
  }
  await finishRows(place);
  const isOpen = readRecords(place.push.replica).some(
    ({ stagedId, state }) => (stagedId !== null && state !== 'given up') || state === 'refused' || state === 'inDoubt',
  );
  if (!isOpen) await rm(filesFolder(place), { recursive: true, force: true });
}

/** Where files lie under their own names while their rows are on their way. */
function filesFolder({ push: { replica } }: PutbackPlace): string {
  return `${replica.path}.files`;
}

function doneRows(records: readonly PutbackRecord[]): ReadonlyMap<string, PutbackRecord> {
  const done = records.filter(
    (record) => record.kind === 'row' && (record.newId !== null || record.state === 'there') && !lacksKey(record),
  );
  return new Map(done.map((record) => [rowName(record.tableId, record.oldId), record]));
}

async function retryParked({ push: { replica, clock } }: PutbackPlace, again: boolean): Promise<void> {
  const isParked = (state: string | undefined): boolean => state === 'refused' || (again && state === 'inDoubt');
  await replica.write('Trying rows again', (tx) => {
    for (const [tableId, records] of Map.groupBy(readRecords(tx), (record) => record.tableId)) {
      const known = records.flatMap((record) => {
        const id = record.stagedId ?? record.newId;
        return id === null ? [] : [{ record, id }];
      });
      const knownIds = known.map(({ id }) => id);
      const states = readRowStates(tx, tableId, knownIds);
      const parked = known.filter(({ id }) => isParked(states.get(id)));
      const ids = parked.map(({ id }) => id);
      applyEvent(tx, tableId, ids, { event: 'retried', at: stampFromMs(clock.nowMs()) });
      changeRecords(
        tx,
        parked.map(
          ({ record }) => [record, { state: record.stagedId === null ? 'done' : 'sent', reason: null }] as const,
        ),
      );
    }
  });
}

/** Rows that the origin has, by their old ids or match values; by table and old id. */
export async function findThere(
  place: PutbackPlace,
  rows: readonly Pick<LostRow, 'tableId' | 'oldId' | 'values'>[],
): Promise<ReadonlyMap<string, ThereRow>> {
  const there = new Map<string, ThereRow>();
  for (const [tableId, own] of Map.groupBy(rows, (row) => row.tableId)) {
    const run = openLookUp(place, tableId);
    const { table } = run;
    const note = (oldId: number, row: Row, reason: string): void => {
      const newKey = keyOf(table, keyColumnOf(place, tableId), row);
      there.set(rowName(tableId, oldId), { newId: row.id, newKey, reason });
    };
    const { byId } = await findById(run, place.isElsewhere ? [] : own.map(({ oldId }) => oldId));
    for (const row of byId.values()) note(row.id, row, 'the origin has it again');
    const match = table.columns.find(({ name }) => name === table.matchColumn);
    if (match === undefined) continue;
    const others = own.flatMap(({ oldId, values }) => {
      const matchValue = valueFromStored(values.get(match.id) ?? null, match.type);
      const isSought = !byId.has(oldId) && matchValue !== null && matchValue !== '';
      return isSought ? [{ oldId, matchValue }] : [];
    });
    for (const block of blocks(others)) {
      const wanted = block.map(({ matchValue }) => matchValue);
      const holders = await findByMatch(run, wanted, false);
      for (const { oldId, matchValue } of block) {
        const holder = holders.get(matchValue);
        if (typeof holder === 'object') note(oldId, holder, `row ${holder.id} at the origin has its ${match.name}`);
      }
    }
  }
  return there;
}

/** Leaves rows alone that are at the origin by now, right before the others are created. */
async function leaveThere(place: PutbackPlace, ready: readonly PutbackRecord[]): Promise<readonly PutbackRecord[]> {
  const { replica } = place.push;
  const cells = readCells(replica, ready);
  const there = await findThere(
    place,
    ready.map(({ id, tableId, oldId }) => ({ tableId, oldId, values: cells.get(id) ?? new Map() })),
  );
  const found = ready.flatMap((record) => {
    const change = there.get(rowName(record.tableId, record.oldId));
    return change === undefined ? [] : [[record, { ...change, state: 'there' }] as const];
  });
  if (found.length > 0) await replica.write('Noting rows that are there', (tx) => changeRecords(tx, found));
  return ready.filter(({ tableId, oldId }) => !there.has(rowName(tableId, oldId)));
}

/** Writes rows into the file as new ones, and notes that they are on their way: in one transaction. */
async function stageRows(
  place: PutbackPlace,
  ready: readonly PutbackRecord[],
  done: ReadonlyMap<string, PutbackRecord>,
): Promise<void> {
  const { replica, clock } = place.push;
  const cells = readCells(replica, ready);
  const values = new Map<string, string>();
  const first = new Map(ready.map(({ id, files }) => [id, nextFiles(files)]));
  for (const [id, files] of first) {
    for (const file of files) values.set(`${id} ${file.columnId}`, await stageFile(filesFolder(place), file, id));
  }
  await replica.writeDurably('Preparing rows to put back', (tx) => {
    for (const [tableId, records] of Map.groupBy(ready, (record) => record.tableId)) {
      const table = stagedTable(place, tableId);
      const staged = records.map((record) => ({ record, id: takeLocalId(tx, tableId) }));
      const outcomes = staged.map(({ record, id }): RowOutcome => {
        const cellsHere = table.columns.map((column): Value => {
          const link = record.links.find(({ columnId, later }) => columnId === column.id && later !== true);
          const own = values.get(`${record.id} ${column.id}`) ?? cells.get(record.id)?.get(column.id) ?? null;
          const stored = link === undefined ? own : keyOfLink(link, done);
          return valueFromStored(stored, column.type);
        });
        return decideMadeAgain({ id, base: null, local: null, state: 'edited', questions: [] }, id, cellsHere);
      });
      applyOutcome(tx, table, { outcomes, nowMs: clock.nowMs() });
      changeRecords(
        tx,
        staged.map(({ record, id }) => [
          record,
          { state: 'sent', stagedId: id, files: withSent(record.files, first.get(record.id) ?? []) },
        ]),
      );
    }
  });
}

function keyOfLink({ toId, oldId }: KeyLink, done: ReadonlyMap<string, PutbackRecord>): string | null {
  return must(done.get(rowName(toId, oldId)), 'a link that is written leads to a row that is there').newKey;
}

/** Of each cell the file that is attached next. */
function nextFiles(files: readonly PlannedFile[]): readonly PlannedFile[] {
  const open = files.filter(({ sent }) => sent !== true);
  return open.filter((file) => open.find(({ columnId }) => columnId === file.columnId) === file);
}

function withSent(files: readonly PlannedFile[], sent: readonly PlannedFile[]): readonly PlannedFile[] {
  return files.map((file) => (sent.includes(file) ? { ...file, sent: true } : file));
}

/** Fills in references to rows that are there by now, and attaches newer revisions of files. */
async function finishRows(place: PutbackPlace): Promise<void> {
  for (let round = 1; round <= REVISIONS_MAX; round += 1) {
    const records = readRecords(place.push.replica);
    const done = doneRows(records);
    const open = records.filter((record) => {
      const isOpen = record.links.some((link) => link.later === true && done.has(rowName(link.toId, link.oldId)));
      const isTried = round > 1 && record.state !== 'done';
      return isUnfinished(record) && !isTried && (isOpen || nextFiles(record.files).length > 0);
    });
    if (open.length === 0) return;
    for (const [tableId, own] of Map.groupBy(open, (record) => record.tableId)) {
      const ids = own.flatMap(({ newId }) => newId ?? []);
      const states = readRowStates(place.push.replica, tableId, ids);
      // A later push settles what is on its way.
      const free = ids.filter((id) => states.get(id) !== 'sending');
      const { byId } = await findById(openLookUp(place, tableId), free);
      await stageCells(place, { records: own, rows: [...byId.values()], done });
    }
    await pushStaged(place);
    await noteCells(place, open, done);
  }
}

/** Stores rows as the origin has them, then edits open references and attaches the next files. */
async function stageCells(
  place: PutbackPlace,
  given: {
    readonly records: readonly PutbackRecord[];
    readonly rows: readonly Row[];
    readonly done: ReadonlyMap<string, PutbackRecord>;
  },
): Promise<void> {
  const { records, rows, done } = given;
  const { replica, clock } = place.push;
  const nowMs = clock.nowMs();
  const uploads = new Map<PlannedFile, string>();
  for (const { id, files } of records)
    for (const file of nextFiles(files)) uploads.set(file, await stageFile(filesFolder(place), file, id));
  await replica.writeDurably('Preparing cells', (tx) => {
    const table = stagedTable(place, must(records[0], 'there is a record').tableId);
    const rowIds = rows.map(({ id }) => id);
    const order = { at: stampFromMs(nowMs), offPage: rowIds };
    storeRemoteRows(tx, { target: table, twoWay: { table, policy: 'origin' } }, rows, order);
    const facts = readRowFacts(tx, table, rowIds);
    const outcomes = facts.flatMap(({ local, ...known }) => {
      const record = records.find(({ newId }) => newId === known.id);
      if (local === null || known.state !== 'clean' || record === undefined) return [];
      const files = nextFiles(record.files);
      const cells = [
        ...openCells(table, { record, row: local, done }).map(({ column, newKey }) => ({ column, stored: newKey })),
        ...files.map((file) => ({
          column: table.columns.findIndex(({ id }) => id === file.columnId),
          stored: uploads.get(file) ?? null,
        })),
      ];
      changeRecords(tx, [[record, { files: withSent(record.files, files) }]]);
      let edited: RowOutcome | null = null;
      for (const { column, stored } of cells.filter(({ column: at }) => at >= 0)) {
        const value = valueFromStored(stored, table.columns[column]?.type ?? 'Text');
        const before: Row = writtenRow(edited?.local ?? null) ?? local;
        edited = { ...decideCell({ ...known, local: before }, { column, value, overwrites: false }), state: 'edited' };
      }
      return edited === null ? [] : [edited];
    });
    applyOutcome(tx, table, { outcomes, nowMs });
  });
}

/** Cells that are to get a key, since they are empty or hold the old one: the index of the column, and the key. */
function openCells(
  { columns }: TwoWayTable,
  given: { readonly record: PutbackRecord; readonly row: Row; readonly done: ReadonlyMap<string, PutbackRecord> },
): readonly { readonly column: number; readonly newKey: string | null }[] {
  const { record, row, done } = given;
  return record.links.flatMap((link) => {
    const column = columns.findIndex(({ id }) => id === link.columnId);
    const newKey = done.get(rowName(link.toId, link.oldId))?.newKey ?? null;
    const here = String(row.values[column] ?? '');
    const isFree = here === '' || (here === link.oldKey && newKey !== link.oldKey);
    return link.later === true && newKey !== null && column >= 0 && isFree ? [{ column, newKey }] : [];
  });
}

/** Closes links that were filled in, also by others. A cell that the origin did not take is tried again later. */
async function noteCells(
  place: PutbackPlace,
  open: readonly PutbackRecord[],
  done: ReadonlyMap<string, PutbackRecord>,
): Promise<void> {
  const { replica, clock } = place.push;
  await replica.write('Noting cells', (tx) => {
    const now = new Map(readRecords(tx).map((record) => [record.id, record]));
    for (const [tableId, records] of Map.groupBy(open, (record) => record.tableId)) {
      const table = stagedTable(place, tableId);
      const ids = records.flatMap(({ newId }) => newId ?? []);
      const states = new Map(readRowFacts(tx, table, ids).map(({ id, state }) => [id, state]));
      const rows = readRowsById(tx, table, ids);
      const reasons = readReasons(tx, tableId);
      const changes = records.flatMap((record): Parameters<typeof changeRecords>[1] => {
        const row = rows.get(record.newId ?? 0);
        const { files } = now.get(record.id) ?? record;
        if (row === undefined) return [[record, { files, reason: 'the origin does not have the row any more' }]];
        const waits = states.get(row.id) ?? 'clean';
        const [left] = openCells(table, { record, row, done });
        const name = left === undefined ? undefined : table.columns[left.column]?.localName;
        if (waits !== 'clean' || name !== undefined) {
          const isLost = waits === 'sending';
          const why = isLost ? 'the answer was lost' : `the origin did not take ${name ?? 'its reference'}`;
          const reason = reasons.get(row.id)?.reason ?? why;
          const isInDoubt = waits === 'inDoubt';
          // What is refused stays in the line, and is tried again from the row as it is then.
          discardEdits(tx, table, row.id, stampFromMs(clock.nowMs()));
          const state = isInDoubt ? 'inDoubt' : 'refused';
          return [[record, { state, reason, files: isInDoubt || isLost ? files : record.files }]];
        }
        const links = record.links.filter((link) => link.later === true && !done.has(rowName(link.toId, link.oldId)));
        return [[record, { links, files, state: 'done', reason: record.state === 'done' ? record.reason : null }]];
      });
      changeRecords(tx, changes);
    }
  });
}
