/**
 * `rowsync pull` and `rowsync sync`: read what changed at the origin, rows and files; and one whole cycle, which also carries edits there. Both
 * first finish what an interrupted push left behind.
 */
import type { Command } from 'commander';
import { EXIT, type RowsyncError } from '../../base/errors.ts';
import { pullFilesAfter } from '../../daemon/cycle.ts';
import type { FilesReport } from '../../files/context.ts';
import type { PullReport } from '../../pull/report.ts';
import type { PullOptions } from '../../pull/context.ts';
import { pull } from '../../pull/pull.ts';
import { finishPushes, push, pushedAmong } from '../../push/push.ts';
import type { PushReport } from '../../push/report.ts';
import { type ConflictLine, readLostSince, readLastConflictId } from '../../replica/bookkeeping/conflicts.ts';
import { orLeaveConsent } from '../runtime/confirmation.ts';
import { writeWithAccount, exitCodeOf, loadNamedConfig, withSides } from '../runtime/invocation.ts';
import type { Invocation, Runner } from '../../extra.ts';
import { filesFailures, filesJson, filesText } from '../report/files-report.ts';
import { lostText, pushExitCode, pushFailures, pushJson, pushText } from '../report/push-report.ts';
import { failuresOf, pullJson, pullText } from '../report/pull-report.ts';

const examples = (name: string): string => `
Examples:
  rowsync ${name}                      every table that the configuration names
  rowsync ${name} Customer "Order"     these tables only
  rowsync ${name} Customer --confirm   ... and let deletes through that a guard held

Tables are named as the origin names them. A table that fails does not hold up the others; the exit code is then 1, or 75
if all that failed may work later. 3 means that a guard held something: look at rowsync status, then --confirm.`;

/** Adds both commands. */
export function addPullCommands(program: Command, runner: Runner): void {
  define(program.command('pull'), (command, options) =>
    runner(command, (invocation) =>
      orLeaveConsent(invocation, { ...options, kinds: ['pull'] }, () => pullAndPrint(invocation, options)),
    ),
  )
    .option(
      '--follow',
      'read only rows that were changed since the last pull; tables that do not say when are read as always',
    )
    .description('read what changed at the origin into the replica');
  define(program.command('sync'), (command, options) =>
    runner(command, (invocation) =>
      orLeaveConsent(invocation, { ...options, kinds: ['pull', 'push'] }, () => syncAndPrint(invocation, options)),
    ),
  )
    .option('--strict', 'exit with 3 while a refused row waits')
    .description('pull, then push: one whole cycle, for a scheduler');
}

/** What a user may say of one run. */
type RunOptions = PullOptions & { readonly isStrict: boolean };

function define(command: Command, action: (command: Command, options: RunOptions) => Promise<void>): Command {
  return command
    .argument('[table...]', 'tables of the origin (default: all that the configuration names)')
    .option('--confirm', 'let through deletes, schema changes and mass edits that a guard would hold')
    .option('--discard', 'give up edits of tables that are no longer to be pushed; sync_conflicts keeps them')
    .addHelpText('after', examples(command.name()))
    .action((tables: string[], options: { confirm?: boolean; discard?: boolean; follow?: boolean; strict?: boolean }) =>
      action(command, {
        tables,
        confirm: options.confirm === true,
        discard: options.discard === true,
        follow: options.follow === true,
        isStrict: options.strict === true,
      }),
    );
}

/** What one run did to rows, at the origin, and to files; null for what it did not get to. */
export interface CycleReport {
  readonly rows: PullReport;
  /** Null also where no table is pushed. */
  readonly pushed: PushReport | null;
  readonly files: FilesReport | null;
  /** Edits that lost to a change at the origin, in whichever part of the run. */
  readonly lost: readonly ConflictLine[];
}

async function pullAndPrint(invocation: Invocation, options: RunOptions): Promise<number> {
  return printCycle(invocation, await runPull(invocation, options), options);
}

async function syncAndPrint(invocation: Invocation, options: RunOptions): Promise<number> {
  return printCycle(invocation, await runSync(invocation, options), options);
}

async function printCycle(invocation: Invocation, cycle: CycleReport, { isStrict }: RunOptions): Promise<number> {
  const { rows, pushed } = cycle;
  const { stdout } = invocation.session;
  // A configuration that is wrong for all tables: nothing was done.
  const code = rows.error?.kind === 'config' ? rows.error.exitCode : exitCodeOf(cycleFailures(cycle));
  const exitCode = code === EXIT.done && pushed !== null ? pushExitCode(pushed, isStrict) : code;
  await writeWithAccount(invocation, {
    text: () => cycleText(cycle, stdout.width()),
    json: () => ({ ...cycleJson(cycle, isStrict), exitCode }),
  });
  return exitCode;
}

/** What went wrong, wherever it was. */
export function cycleFailures({ rows, pushed, files }: CycleReport): readonly RowsyncError[] {
  return [...failuresOf(rows), ...(pushed === null ? [] : pushFailures(pushed)), ...filesFailures(files)];
}

/** A cycle for people. */
export function cycleText({ rows, pushed, files, lost }: CycleReport, width: number | null): string {
  const pushedText = pushed === null ? '' : `\n${pushText(pushed, width)}`;
  return pullText(rows, width) + pushedText + lostText(lost) + filesText(files);
}

/** A cycle for a program to read. */
export function cycleJson(
  { rows, pushed, files, lost }: CycleReport,
  isStrict: boolean,
): Readonly<Record<string, unknown>> {
  return {
    ...pullJson(rows),
    lost,
    push: pushed === null ? null : pushJson(pushed, isStrict),
    files: filesJson(files),
  };
}

/** One pull of the configured database, with progress on stderr. */
export async function runPull(invocation: Invocation, options: PullOptions): Promise<CycleReport> {
  const config = await loadNamedConfig(invocation, { needsCredentials: true });
  return withSides(invocation, config, async (sides) => {
    const lastConflictId = readLastConflictId(sides.push.replica);
    await finishPushes(sides.push);
    const settings = {
      ...sides.pull.settings,
      follows: options.follow === true ? 'all' : sides.pull.settings.follows,
    };
    const rows = await pull({ ...sides.pull, settings }, options);
    const lost = readLostSince(sides.push.replica, lastConflictId);
    return { rows, pushed: null, lost, files: await pullFilesAfter(sides.files, rows) };
  });
}

async function runSync(invocation: Invocation, options: PullOptions): Promise<CycleReport> {
  const config = await loadNamedConfig(invocation, { needsCredentials: true });
  return withSides(invocation, config, async (sides) => {
    const lastConflictId = readLastConflictId(sides.push.replica);
    await finishPushes(sides.push);
    const rows = await pull(sides.pull, options);
    const chosen = pushedAmong(sides.push, options.tables);
    const isOver = chosen.length === 0 || (rows.error !== null && rows.error.kind !== 'needsPerson');
    const pushed = isOver ? null : await push(sides.push, { tables: chosen, confirm: options.confirm });
    const lost = readLostSince(sides.push.replica, lastConflictId);
    return { rows, pushed, lost, files: await pullFilesAfter(sides.files, rows) };
  });
}
