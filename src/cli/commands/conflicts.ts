/**
 * `rowsync conflicts`, `resolve` and `discard`: what was changed on both sides, and what a person decides about it. They work on the
 * replica alone; the next run carries the result to the origin.
 */
import type { Command } from 'commander';
import { stampFromMs } from '../../base/clock.ts';
import { EXIT, RowsyncError } from '../../base/errors.ts';
import { captureChanges } from '../../capture/changes.ts';
import { discardAll, discardRow, resolveConflict, type Decision } from '../../capture/resolve.ts';
import { readTwoWayTables, type TwoWayTable } from '../../capture/table.ts';
import type { Tx } from '../../replica/database.ts';
import { openReader, type ConflictLine } from '../../replica/reader.ts';
import { loadNamedConfig, openExistingReplica, printJson, type Invocation, type Runner } from '../invocation.ts';
import { boxTable } from '../output.ts';
import { plural, printable } from '../../base/text.ts';

const LIST_EXAMPLES = `
Open conflicts wait for you and hold up their row only; the others were decided by the policy of the table, and any version of
them can still be taken. The exit code is 3 while one is open.

Examples:
  rowsync conflicts
  rowsync conflicts --all --json`;

const RESOLVE_EXAMPLES = `
VERSION is local, remote or base, NULL, or a value of its own (=local for the text "local").

Examples:
  rowsync resolve 12 --take local
  rowsync resolve 12 --take 'Main Street 5'
  UPDATE sync_conflicts SET resolution = 'remote' WHERE id = 12    the same in SQL, carried out by the next run`;

const DISCARD_EXAMPLES = `
What is given up stays in sync_conflicts, where "rowsync resolve" can take it again.

Examples:
  rowsync discard Customer 17
  rowsync discard Customer --all`;

/** Adds the three commands. */
export function addConflictCommands(program: Command, runner: Runner): void {
  program
    .command('conflicts')
    .description('list what was changed both here and at the origin')
    .option('--all', 'also those that are decided')
    .addHelpText('after', LIST_EXAMPLES)
    .action((options: { all?: boolean }, command: Command) =>
      runner(command, (invocation) => list(invocation, options.all === true)),
    );
  program
    .command('resolve')
    .argument('<id>', 'number of the conflict')
    .requiredOption('--take <version>', 'local, remote, base, or a value')
    .description('decide a conflict')
    .addHelpText('after', RESOLVE_EXAMPLES)
    .action((id: string, options: { take: string }, command: Command) =>
      runner(command, (invocation) =>
        change(invocation, `Resolved conflict ${id}`, (tx, at) =>
          resolveConflict(tx, wholeNumber(id, 'conflict'), decisionFrom(options.take), at),
        ),
      ),
    );
  program
    .command('discard')
    .argument('<table>', 'name of the table')
    .argument('[id]', '_id of the row; behind -- if it is negative')
    .option('--all', 'every edited row of the table')
    .description('put an edited row back to what the origin last confirmed')
    .addHelpText('after', DISCARD_EXAMPLES)
    .action((table: string, id: string | undefined, options: { all?: boolean }, command: Command) =>
      runner(command, (invocation) => {
        if ((id === undefined) === (options.all !== true)) throw needsOneOf();
        return id === undefined ? discardEvery(invocation, table) : discardOne(invocation, table, id);
      }),
    );
}

async function list(invocation: Invocation, isAll: boolean): Promise<number> {
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  const reader = openReader(config.replica.path);
  try {
    const conflicts = reader.conflicts({ all: isAll });
    const { stdout } = invocation.session;
    await (invocation.isJson
      ? printJson(invocation, { conflicts })
      : stdout.write(listText(conflicts, stdout.width())));
    return conflicts.some(({ state }) => state === 'open') ? EXIT.needsPerson : EXIT.done;
  } finally {
    reader.close();
  }
}

function listText(conflicts: readonly ConflictLine[], width: number | null): string {
  if (conflicts.length === 0) return 'No conflicts\n';
  const titles = ['id', 'table', 'row', 'what', 'base', 'local', 'remote', 'winner', 'state'];
  const cells = conflicts.map((line) => [
    String(line.id),
    printable(line.table),
    String(line.rowId),
    printable(line.column ?? line.kind),
    ...[line.base, line.local, line.remote].map((value) => (value === null ? 'NULL' : printable(String(value)))),
    line.winner,
    line.problem === null ? line.state : `${line.state}: ${printable(line.problem)}`,
  ]);
  const box = boxTable(
    titles.map((title) => ({ title })),
    cells,
    width,
  );
  return `${box}${plural(conflicts.length, 'conflict')}; decide one with: rowsync resolve ID --take local|remote|base|VALUE\n`;
}

/** Changes the replica; a problem in words is an error of usage. */
async function change(
  invocation: Invocation,
  done: string | (() => string),
  work: (tx: Tx, at: string) => string | null,
): Promise<number> {
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  const replica = await openExistingReplica(invocation, config);
  try {
    const at = stampFromMs(invocation.session.clock.nowMs());
    const problem = await replica.write('Carrying out a decision', (tx) => work(tx, at));
    if (problem !== null) {
      throw new RowsyncError('usage', 'usage.invalid', {
        message: `Nothing was changed: ${problem}`,
        hint: '`rowsync conflicts --all` lists conflicts, SELECT * FROM sync_changes edits.',
      });
    }
    await (invocation.isJson
      ? printJson(invocation, { done: true })
      : invocation.session.stdout.write(`${printable(typeof done === 'string' ? done : done())}\n`));
    return EXIT.done;
  } finally {
    replica.close();
  }
}

function discardOne(invocation: Invocation, name: string, id: string): Promise<number> {
  return change(invocation, `Put row ${id} of ${name} back`, (tx, at) => {
    const table = capturedTable(tx, name, at);
    return typeof table === 'string' ? table : discardRow(tx, table, wholeNumber(id, 'row'), at);
  });
}

function discardEvery(invocation: Invocation, name: string): Promise<number> {
  let done = '';
  return change(
    invocation,
    () => done,
    (tx, at) => {
      const table = capturedTable(tx, name, at);
      if (typeof table === 'string') return table;
      const { discardedCount, waitingCount } = discardAll(tx, table, at);
      const rest = waitingCount === 0 ? '' : `; ${plural(waitingCount, 'row')} sent before wait for an answer`;
      done = `Put ${plural(discardedCount, 'row')} of ${name} back${rest}`;
      return null;
    },
  );
}

/** A two-way table whose marks are true, or why there is none. */
function capturedTable(tx: Tx, name: string, at: string): TwoWayTable | string {
  const isNamed = (known: string): boolean => known.toLowerCase() === name.toLowerCase();
  const table = readTwoWayTables(tx).find((known) => isNamed(known.localName) || isNamed(known.name));
  if (table === undefined) return `no two-way table is called "${name}"`;
  captureChanges(tx, table, at);
  return table;
}

function needsOneOf(): RowsyncError {
  return new RowsyncError('usage', 'usage.invalid', {
    message: 'discard takes either the _id of a row or --all',
    hint: '`rowsync plan` lists edited rows with their _id.',
  });
}

function decisionFrom(text: string): Decision {
  if (text === 'local' || text === 'remote' || text === 'base') return { take: text, value: null };
  return { take: 'value', value: text === 'NULL' ? null : text.replace(/^=/, '') };
}

function wholeNumber(text: string, what: string): number {
  const number = Number(text);
  if (/^-?\d+$/.test(text) && Number.isSafeInteger(number)) return number;
  throw new RowsyncError('usage', 'usage.invalid', {
    message: `The number of a ${what} is a whole number`,
    hint: '`rowsync conflicts` lists conflicts with their numbers, SELECT * FROM sync_changes edited rows.',
  });
}
