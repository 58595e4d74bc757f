/**
 * `rowsync proposals`: what agents proposed (`rowsync mcp`), for a person who applies or drops it.
 */
import type { Command } from 'commander';
import { EXIT, usageError } from '../../base/errors.ts';
import { countText, plural, printable } from '../../base/text.ts';
import type { Config } from '../../config/load.ts';
import { refusedEdit, type TableUndo } from '../history/undo.ts';
import { dropProposal, findProposal, listProposals, moveProposal, type FoundProposal } from './proposal-files.ts';
import { proposalsFolder } from './proposal-names.ts';
import type { Proposal, StoredEdit } from './proposal.ts';
import { type ClientConnection, workAsClient, readExactCells } from '../shared/sql-client.ts';
import { editJson, previewOf, refusalLines } from '../history/edit-report.ts';
import { loadNamedConfig, printJson, printResult } from '../../cli/runtime/invocation.ts';
import type { Invocation, Runner } from '../../extra.ts';
import { writePaged } from '../../cli/terminal/pager.ts';
import { isAgreed } from '../shared/prompts.ts';
import { planText } from '../../cli/report/push-report.ts';
import { reviewText } from '../../cli/report/edit-review.ts';
import { SUMMARY } from '../../cli/commands/push.ts';
import { findBrowsedTable, type BrowsedTable } from '../shared/rows-page.ts';
import type { Connection } from '../../replica/connection.ts';
import { exactFromText, exactText, type Exact } from '../../replica/history-cells.ts';
import type { Inverse, InverseCell, InverseEdit, UndoRefusal } from '../history/undo-plan.ts';
import { reasonNotEdited, reasonNotWritten, writableOf } from './check-edits.ts';

const EXAMPLES = `
An agent (rowsync mcp) changes nothing: what it proposes waits here. "show" says what would be edited today, and edits nothing. It shows every cell
whole; on a terminal, $PAGER pages through it. "apply" says how many rows it edits and deletes, asks on a terminal, and makes the
edits, all of them or none: where a cell or a row changed since, it says which, and the exit code is 3. They are ordinary edits then: rowsync
plan shows them, rowsync push carries them under all its guards, and a daemon pushes them by itself.

Examples:
  rowsync proposals
  rowsync proposals show fix-phones
  rowsync proposals apply fix-phones
  rowsync proposals drop fix-phones`;

export function addProposalCommands(program: Command, runner: Runner): void {
  const proposals = program
    .command('proposals')
    .description('look at what agents proposed, apply it, or drop it')
    .addHelpText('after', EXAMPLES);
  proposals
    .command('list', { isDefault: true })
    .description('list what waits, and what was applied')
    .action(runner(list));
  const one = (
    name: string,
    description: string,
    work: (invocation: Invocation, place: ProposalFolder, found: FoundProposal) => Promise<number>,
  ): Command =>
    proposals
      .command(name)
      .argument('<name>', 'name of the proposal')
      .description(description)
      .action(
        runner(async (invocation, proposal: string, options: { summary?: boolean; yes?: boolean }) => {
          const place = await placeOf(invocation);
          return work(invocation, { ...place, ...options }, findProposal(place.folder, proposal));
        }),
      );
  one('show', 'show what a proposal would edit today; nothing is edited', show).option('--summary', SUMMARY);
  one('apply', 'make the edits of a proposal, which the next push carries', apply)
    .option('--summary', SUMMARY)
    .option('--yes', 'do not ask on a terminal');
  one('drop', 'forget a proposal', drop);
}

/** What came of the edits of one table. */
type AppliedTable = Pick<TableUndo, 'table' | 'edits' | 'refusals'>;

interface ProposalFolder {
  readonly replica: Config['replica'];
  readonly folder: string;
  readonly summary?: boolean;
  readonly yes?: boolean;
}

async function placeOf(invocation: Invocation): Promise<ProposalFolder> {
  const { replica } = await loadNamedConfig(invocation, { needsCredentials: false });
  return { replica, folder: proposalsFolder(replica.path) };
}

async function list(invocation: Invocation): Promise<number> {
  const { folder } = await placeOf(invocation);
  const found = listProposals(folder);
  const text = found.length === 0 ? 'No proposals\n' : found.map(lineText).join('');
  await printResult(invocation, { proposals: found }, text);
  return EXIT.done;
}

const STATE_WORDS = {
  waiting: 'waits',
  interrupted: 'was being applied when that was cut short: look at rowsync plan, then drop it',
  applied: 'applied',
} as const;

function lineText({ name, state, proposal }: FoundProposal): string {
  if (proposal === null) return `${name}  cannot be read; drop it\n`;
  const { proposedAt, edits, note } = proposal;
  const why = note === '' ? '' : `  ${printable(note)}\n`;
  return `${name}  ${plural(edits.length, 'edit')}, proposed ${printable(proposedAt)}: ${STATE_WORDS[state]}\n${why}`;
}

/** A proposal that can be looked at or applied. @throws RowsyncError where it cannot. */
function waiting({ name, state, proposal }: FoundProposal): Proposal {
  if (proposal === null) throw usageError(`The proposal ${name} cannot be read`, 'Drop it.');
  if (state === 'waiting') return proposal;
  const what = state === 'applied' ? 'was applied already' : STATE_WORDS[state];
  throw usageError(`The proposal ${name} ${what}`, `rowsync proposals drop ${name} forgets it.`);
}

async function show(
  invocation: Invocation,
  { replica, summary }: ProposalFolder,
  found: FoundProposal,
): Promise<number> {
  const proposal = waiting(found);
  const tables = workAsClient(replica.path, (from) => applyEdits(from, proposal), { isKept: false });
  await report(invocation, { found, tables, isApplied: false, isShort: summary === true });
  return hasRefusals(tables) ? EXIT.needsPerson : EXIT.done;
}

async function apply(
  invocation: Invocation,
  { replica, folder, summary, yes }: ProposalFolder,
  found: FoundProposal,
): Promise<number> {
  const proposal = waiting(found);
  if (yes !== true && !(await mayApply(invocation, proposal))) {
    await invocation.session.stdout.write('Nothing was edited\n');
    return EXIT.needsPerson;
  }
  moveProposal(folder, found.name, ['waiting', 'interrupted']);
  let tables: readonly AppliedTable[];
  let isApplied = false;
  try {
    tables = workAsClient(replica.path, (from) => applyEdits(from, proposal), { isKept: (done) => !hasRefusals(done) });
    isApplied = !hasRefusals(tables);
  } finally {
    if (!isApplied) moveProposal(folder, found.name, ['interrupted', 'waiting']);
  }
  if (isApplied) moveProposal(folder, found.name, ['interrupted', 'applied']);
  await report(invocation, { found, tables, isApplied, isShort: summary === true });
  return isApplied ? EXIT.done : EXIT.needsPerson;
}

/** Asks a person at a terminal; a program that runs the command has decided. */
async function mayApply({ session, isJson }: Invocation, { edits }: Proposal): Promise<boolean> {
  if (isJson || session.stdin.isTTY !== true || !session.stdout.isTerminal) return true;
  return await isAgreed(session, `${countsText(edits)}. Make these edits?`);
}

function countsText(edits: Proposal['edits']): string {
  const tables = [...Map.groupBy(edits, ({ table }) => table)].map(([table, ofTable]) => {
    const counts = (['delete', 'update', 'insert'] as const).flatMap((kind) => {
      const count = ofTable.filter((edit) => edit.kind === kind).length;
      return count === 0 ? [] : [plural(count, kind)];
    });
    return `${printable(table)}: ${counts.join(', ')}`;
  });
  return tables.join('; ');
}

async function drop(invocation: Invocation, { folder }: ProposalFolder, found: FoundProposal): Promise<number> {
  dropProposal(folder, found);
  await printResult(invocation, { dropped: found.name }, [`${found.name} is dropped`]);
  return EXIT.done;
}

function hasRefusals(tables: readonly AppliedTable[]): boolean {
  return tables.some(({ refusals }) => refusals.length > 0);
}

async function report(
  invocation: Invocation,
  {
    found: { name, proposal },
    tables,
    isApplied,
    isShort,
  }: {
    readonly found: FoundProposal;
    readonly tables: readonly AppliedTable[];
    readonly isApplied: boolean;
    readonly isShort: boolean;
  },
): Promise<void> {
  if (invocation.isJson) {
    const shown = tables.map(({ table, edits, refusals }) => ({ table, rows: edits.map(editJson), refused: refusals }));
    return printJson(invocation, { name, note: proposal?.note ?? '', applied: isApplied, tables: shown });
  }
  const note = proposal?.note ?? '';
  const busy = tables.filter(({ edits }) => edits.length > 0);
  const refused = refusalLines(tables);
  const rowCount = tables.reduce((sum, { edits }) => sum + edits.length, 0);
  const deletedCount = busy.flatMap(({ edits }) => edits).filter(({ kind }) => kind === 'delete').length;
  const deletedText = deletedCount === 0 ? '' : `, ${countText(deletedCount)} of them deleted`;
  const end = isApplied
    ? `${plural(rowCount, 'row')} edited here${deletedText}; rowsync push carries it\n`
    : refused.length > 0
      ? `Nothing was changed. These edits cannot be made:\n${refused.join('')}`
      : `nothing was edited; rowsync proposals apply ${name} does it\n`;
  const { session } = invocation;
  const previews = busy.map(previewOf);
  const plan = (isShort ? planText : reviewText)(previews, session.stdout.width());
  const text = `${note === '' ? '' : `${printable(note)}\n`}${busy.length === 0 ? '' : plan}${end}`;
  return isApplied ? session.stdout.write(text) : writePaged(session, text);
}

/** Writes the edits of a proposal by table, except where cells changed since or a value is refused. */
function applyEdits(from: ClientConnection, { edits }: Proposal): readonly AppliedTable[] {
  const byTable = new Map<string, { readonly edits: InverseEdit[]; readonly refusals: UndoRefusal[] }>();
  for (const edit of edits) {
    const group = byTable.get(edit.table) ?? { edits: [], refusals: [] };
    byTable.set(edit.table, group);
    const found = editIfUnchanged(from, edit);
    group.refusals.push(...found.refusals);
    if (found.edit === null) continue;
    const why = refusedEdit(from, edit.table, found.edit);
    if (why === null) group.edits.push(found.edit);
    else group.refusals.push({ rowId: edit.rowId ?? 0, column: null, why });
  }
  return [...byTable].map(([table, group]) => ({ table, ...group }));
}

/** An edit as it can be made today, or why it cannot: a cell, a column or the row has changed since. */
function editIfUnchanged(from: Connection, edit: StoredEdit): Inverse {
  const rowId = edit.rowId ?? 0;
  const refused = (why: string, column: string | null = null): Inverse => ({
    edit: null,
    refusals: [{ rowId, column, why }],
  });
  const table = findBrowsedTable(from, edit.table);
  if (table === null) return refused('there is no such table any more');
  const reason = reasonNotEdited(table, edit.kind);
  if (reason !== null) return refused(reason);
  const named = edit.cells.map(({ column }) => column);
  const columns = edit.kind === 'delete' ? [...new Set([...named, ...writableOf(table)])] : named;
  const written = edit.kind === 'delete' ? [] : named;
  for (const name of columns) {
    const column = table.columns.find((each) => each.name === name);
    const why =
      column === undefined
        ? 'there is no such column any more'
        : written.includes(name)
          ? reasonNotWritten(column)
          : null;
    if (why !== null) return refused(why, name);
  }
  if (edit.rowId === null) {
    return { edit: { rowId, kind: 'insert', cells: edit.cells.map((cell) => editedCell(cell, null)) }, refusals: [] };
  }
  return rowEditIfUnchanged(from, table, { ...edit, rowId: edit.rowId }, columns);
}

function rowEditIfUnchanged(
  from: Connection,
  table: BrowsedTable,
  { rowId, kind, cells }: StoredEdit & { readonly rowId: number },
  columns: readonly string[],
): Inverse {
  const today = readExactCells(from, table.name, { id: rowId, columns });
  if (today === null) return { edit: null, refusals: [{ rowId, column: null, why: 'the row was deleted since' }] };
  const wasOf = new Map(cells.map(({ column, was }) => [column, was]));
  const moved = columns.filter((column, index) => exactText(today[index] ?? null) !== (wasOf.get(column) ?? 'null'));
  if (moved.length > 0) {
    return { edit: null, refusals: moved.map((column) => ({ rowId, column, why: 'changed since' })) };
  }
  const edited = cells.map((cell, index) => editedCell(cell, today[index] ?? null));
  return { edit: { rowId, kind, cells: edited }, refusals: [] };
}

function editedCell({ column, value }: StoredEdit['cells'][number], today: Exact): InverseCell {
  return { column, today, edited: value === null ? null : exactFromText(value) };
}
