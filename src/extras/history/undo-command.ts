/**
 * `rowsync undo`: takes the changes of a run, or since a moment, back as edits of two-way tables.
 */
import { Option, type Command } from 'commander';
import { EXIT, usageError } from '../../base/errors.ts';
import { plural, printable, someOf } from '../../base/text.ts';
import { undoTable, type RowsBack, type TableUndo, type UndoSelection } from './undo.ts';
import { workAsClient } from '../shared/sql-client.ts';
import { editsOfPushSince } from './entries.ts';
import {
  checkKnown,
  chooseKnownTables,
  lastSeqAt,
  readKnownTables,
  type KnownTable,
  requireKept,
} from './known-since.ts';
import { readTables } from '../../replica/bookkeeping/tables.ts';
import { openReader } from '../../replica/reader.ts';
import { editJson, previewOf, refusalLines } from './edit-report.ts';
import { loadNamedConfig, numberArgument, printResult } from '../../cli/runtime/invocation.ts';
import type { Config } from '../../config/load.ts';
import type { Flags, Invocation, Runner } from '../../extra.ts';
import type { LinkedExtra, LostRow, PutBackAnswer, RowEdits } from '../shared/linked-extra.ts';
import { momentOf, MOMENT_FORMS } from './time-argument.ts';
import { planText } from '../../cli/report/push-report.ts';

const EXAMPLES = `
A cell that changed after the run is listed and never overwritten; the exit code is then 3. --since takes back all changes since then,
also a colleague's, and names whose they are. The edits are ordinary ones: rowsync plan shows
them, rowsync push carries them under all its guards. In a mirror nothing is written: the list says what to change at the
origin. A row that is deleted at the origin, too, is put back there as rowsync putback does it, from mirrors as well: the plan is
shown, and --confirm carries it out.

Times: ${MOMENT_FORMS}.

Examples:
  rowsync undo 512 --dry-run                     what would be taken back of run 512; rowsync log lists runs
  rowsync undo 512
  rowsync undo 512 --confirm                     also puts its deleted rows back at the origin
  rowsync undo --since 2h --table Order --row 42`;

type UndoOptions = Flags<'since' | 'table' | 'row', 'dryRun' | 'confirm'>;

export function addUndoCommand(program: Command, runner: Runner): void {
  program
    .command('undo')
    .argument('[run]', 'number of the run')
    .description('take changes back, as edits that the next push carries')
    .option('--since <time>', 'all changes since then, instead of those of a run')
    .option('--table <name>', 'only of this table')
    .option('--row <id>', 'only of the row with this _id')
    .option('--dry-run', 'show what would be edited, without editing')
    .addOption(new Option('--confirm', 'put deleted rows back at the origin').conflicts('dryRun'))
    .addHelpText('after', EXAMPLES)
    .action(runner(undo));
}

async function undo(invocation: Invocation, run: string | undefined, options: UndoOptions): Promise<number> {
  if ((run === undefined) === (options.since === undefined)) {
    throw usageError(
      'undo takes either the number of a run or --since',
      'rowsync log lists runs, with what each changed.',
    );
  }
  if (options.row !== undefined && options.table === undefined)
    throw usageError('--row needs --table', 'Name the table of the row.');
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  const { path } = config.replica;
  const { tables, selection, editsSince, withoutHistory } = readUndoSelection(invocation, path, { run, options });
  const isKept = options.dryRun !== true;
  const work = (kept: boolean, known: RowsBack): readonly TableUndo[] =>
    workAsClient(path, (from) => tables.map((table) => undoTable(from, table, selection, known)), { isKept: kept });
  const first = work(false, { goneKeys: new Map(), hereAgain: new Set() });
  const deleted = first.flatMap((table) => table.deleted);
  const cells = new Map(first.flatMap((table) => [...table.cells]));
  const back = await putBack(invocation, deleted, { isConfirmed: options.confirm === true, edits: cells });
  const sameRows = first.flatMap((table) => table.same);
  const same = await keysOfSame(invocation, config, sameRows);
  const known = { goneKeys: new Map([...same, ...(back?.goneKeys ?? [])]), hereAgain: back?.hereAgain ?? new Set() };
  const undone = work(isKept, known).filter(({ changeCount, refusals }) => changeCount + refusals.length > 0);
  const ofPush = editsSince === null ? null : ofPushText(editsSince);
  if (undone.length === 0 && run !== undefined)
    throw usageError(`No change of run ${run} is known`, ofPush ?? 'rowsync log lists runs.');
  await printResult(
    invocation,
    { ...undoJson(undone, isKept), putback: back?.json ?? null, withoutHistory },
    undoText(undone, back, isKept) +
      (run === undefined ? ofOriginText(undone) : '') +
      (ofPush === null ? computedText(undone) : `${ofPush}\n`) +
      unseenText(withoutHistory),
  );
  const isOpen = undone.some(({ isTwoWay, edits, refusals }) => refusals.length > 0 || (!isTwoWay && edits.length > 0));
  const isLeft = isOpen || (isKept && back?.needsPerson === true);
  return isLeft ? EXIT.needsPerson : EXIT.done;
}

/** Cells that would refer to rows which are here under another key, and that key. */
async function keysOfSame(
  { extras }: Invocation,
  config: Config,
  same: TableUndo['same'],
): Promise<RowsBack['goneKeys']> {
  const [find] = extras.flatMap((extra: LinkedExtra) => extra.referringCells ?? []);
  if (same.length === 0 || find === undefined) return new Map();
  using reader = openReader(config.replica.path);
  const rows = same.map(({ row }) => row);
  const cells = await find(reader, config, rows);
  const keys = new Map(same.map(({ row, newKey }) => [`${row.tableId} ${row.oldId}`, newKey]));
  return new Map([...cells].map(([cell, name]) => [cell, keys.get(name) ?? null]));
}

/** Plans how deleted rows come back at the origin, or puts them back; null for none. @throws RowsyncError. */
async function putBack(
  invocation: Invocation,
  deleted: readonly LostRow[],
  how: { readonly isConfirmed: boolean; readonly edits: RowEdits },
): Promise<PutBackAnswer | null> {
  const [engine] = invocation.extras.flatMap((extra: LinkedExtra) => extra.putBack ?? []);
  if (deleted.length === 0) return null;
  if (engine !== undefined) return engine(invocation, deleted, how);
  const text = `${plural(deleted.length, 'deleted row')}: cannot be put back by this rowsync\n`;
  return { text, json: {}, needsPerson: true, goneKeys: new Map(), hereAgain: new Set() };
}

/** The changes to take back, by table. @throws RowsyncError `usage.invalid`, `history.unknown`. */
function readUndoSelection(
  { session }: Invocation,
  path: string,
  { run, options }: { readonly run: string | undefined; readonly options: UndoOptions },
): {
  readonly tables: readonly KnownTable[];
  readonly selection: UndoSelection;
  /** Since when the edits that the run sent are known; null if it is no push. */
  readonly editsSince: string | null;
  /** Tables of which nothing is known, where all are meant. */
  readonly withoutHistory: readonly string[];
} {
  const rowId = options.row === undefined ? null : numberArgument(options.row, '_id of a row');
  using reader = openReader(path);
  const tables = chooseKnownTables(readKnownTables(reader), options.table);
  const others = readTables(reader).filter(({ id }) => !tables.some((table) => table.id === id));
  const withoutHistory = options.table === undefined ? others.map(({ localName }) => localName) : [];
  if (run !== undefined) {
    for (const table of tables) requireKept(table);
    const runId = numberArgument(run, 'number of a run');
    const editsSince = editsOfPushSince(reader, runId);
    return { tables, selection: { which: { runId }, rowId }, editsSince, withoutHistory };
  }
  const nowMs = session.clock.nowMs();
  const moment = momentOf(options.since ?? '', { name: '--since', nowMs });
  for (const table of tables) checkKnown(reader, table, { moment, nowMs });
  return {
    tables,
    selection: { which: { afterSeq: lastSeqAt(reader, moment - 1), sinceMs: moment * 1_000 }, rowId },
    editsSince: null,
    withoutHistory,
  };
}

function undoJson(undone: readonly TableUndo[], isKept: boolean): object {
  return {
    tables: undone.map(({ table, isTwoWay, edits, computedCount, ofOrigin, withdrawn, refusals }) => ({
      table,
      written: isTwoWay && isKept,
      rows: edits.map(editJson),
      computed: computedCount,
      ofOrigin,
      withdrawn,
      refused: refusals,
    })),
  };
}

function unseenText(tables: readonly string[]): string {
  return tables.length === 0 ? '' : `Not looked at, since no history is kept of them: ${someOf(tables)}\n`;
}

/** Rows with nothing to take back; of a push, these are stamps that the origin added to edits. */
function computedText(undone: readonly TableUndo[]): string {
  return undone
    .filter(({ computedCount }) => computedCount > 0)
    .map(({ table, computedCount }) => {
      const rows = `${printable(table)}: ${plural(computedCount, 'row')}`;
      return `${rows} changed only in computed or read-only columns, which no edit can take back\n`;
    })
    .join('');
}

/** Where the edits are that a push sent. */
function ofPushText(editsSince: string): string {
  return `The edits that a push sent are older than its run: rowsync undo --since ${editsSince} --dry-run shows these edits, with all changes since.`;
}

/** Whose changes at the origin are taken back with those made here. */
function ofOriginText(undone: readonly TableUndo[]): string {
  const rows = undone.flatMap(({ table, ofOrigin }) =>
    ofOrigin.flatMap(({ rowId, by }) => by.map((name) => ({ name, row: `${table} ${rowId}` }))),
  );
  return [...Map.groupBy(rows, ({ name }) => name)]
    .map(([name, own]) => {
      const who = name === '' ? '' : ` by ${printable(name)}`;
      return `also takes back what was changed at the origin${who}: ${someOf(own.map(({ row }) => printable(row)))}\n`;
    })
    .join('');
}

function undoText(undone: readonly TableUndo[], back: PutBackAnswer | null, isKept: boolean): string {
  const busy = undone.filter(({ edits }) => edits.length > 0);
  const lines: string[] = [];
  const withdrawn = undone.filter((table) => table.withdrawn.length > 0);
  if (busy.length === 0 && withdrawn.length === 0 && back === null) lines.push('Nothing to take back\n');
  for (const [isTwoWay, end] of [
    [true, isKept ? 'edited here; rowsync push carries it\n' : 'nothing was edited\n'],
    [false, 'of mirrors, where nothing is written: change it at the origin\n'],
  ] as const) {
    const those = busy.filter((table) => table.isTwoWay === isTwoWay);
    if (those.length === 0) continue;
    const rowCount = those.reduce((sum, { edits }) => sum + edits.length, 0);
    lines.push(planText(those.map(previewOf), null), `${plural(rowCount, 'row')}: ${end}`);
  }
  for (const { table, withdrawn: ids } of withdrawn) {
    const what = isKept ? (ids.length === 1 ? 'is withdrawn' : 'are withdrawn') : 'would be withdrawn';
    lines.push(
      `${printable(table)}: ${plural(ids.length, 'delete')} ${what}, nothing of it was sent: ${someOf(ids.map(String))}\n`,
    );
  }
  if (back !== null) lines.push('deleted rows, back at the origin:\n', back.text);
  const refused = refusalLines(undone);
  if (refused.length > 0) lines.push('not taken back:\n', ...refused);
  return lines.join('');
}
