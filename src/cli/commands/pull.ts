/**
 * `rowsync pull` and `sync`: read what changed at the origin, rows and files; and one whole cycle, which also carries
 * edits there. Both first finish what an interrupted push left behind.
 */
import type { Command } from 'commander';
import { asRowsyncError, EXIT, exitCodeOf, RowsyncError } from '../../base/errors.ts';
import type { Config } from '../../config/load.ts';
import { isEnd, pullFilesAfter } from '../../daemon/work-kinds.ts';
import type { FilesReport } from '../../files/context.ts';
import type { PullReport } from '../../pull/report.ts';
import type { PullOptions } from '../../pull/context.ts';
import { pull } from '../../pull/pull.ts';
import { finishPushes, push, pushedAmong } from '../../push/push.ts';
import type { PushContext } from '../../push/context.ts';
import type { PushReport } from '../../push/report.ts';
import type { ConfirmationKind } from '../../replica/bookkeeping/table-errors.ts';
import { type ConflictLine, readLostSince, readLastConflictId } from '../../replica/bookkeeping/conflicts.ts';
import { countText, printable, someOf } from '../../base/text.ts';
import type { ProvenMoment } from '../../replica/bookkeeping/changed-rows.ts';
import { orLeaveConfirmation } from '../runtime/hand-over.ts';
import { writeWithAccount, loadNamedConfig, withResources } from '../runtime/invocation.ts';
import type { Flags, Invocation, Runner } from '../../extra.ts';
import { lostText, pushExitCode, pushJson, pushText } from '../report/push-report.ts';
import { failuresOf, filesText, problemsText, pullText } from '../report/pull-report.ts';

const examples = (name: string): string => `
Examples:
  rowsync ${name}                      every table that the configuration names
  rowsync ${name} Customer "Order"     these tables only
  rowsync ${name} Customer --confirm   ... and let deletes through that a guard held

Tables are named as the origin names them. A table that fails does not hold up the others; the exit code is then 1, or 75
if all that failed may work later. 3 means that a guard held something: look at rowsync status, then --confirm.`;

export function addPullCommands(program: Command, runner: Runner): void {
  define(program.command('pull'), runner, ['pull'])
    .option(
      '--follow',
      'read only rows that were changed since the last pull; tables that do not say when are read as always',
    )
    .description('read what changed at the origin into the replica');
  define(program.command('sync'), runner, ['pull', 'push'])
    .option('--strict', 'exit with 3 while a refused row waits')
    .description('pull, then push: one whole cycle, for a scheduler');
}

type RunOptions = PullOptions & {
  readonly isStrict: boolean;
  /** Whether edits are pushed after the rows. */
  readonly pushes: boolean;
  /** An option of an extra: prove that all tables are as they were at one moment. */
  readonly moment?: boolean | undefined;
};

/** Flags of what only a process that holds the replica can do. */
function flagsOf({ follow, discard, moment, isStrict }: RunOptions): readonly string[] {
  const flags = { '--follow': follow, '--discard': discard, '--moment': moment, '--strict': isStrict };
  return Object.entries(flags).flatMap(([flag, isGiven]) => (isGiven === true ? [flag] : []));
}

type RunFlags = Flags<never, 'confirm' | 'discard' | 'follow' | 'strict' | 'moment'>;

function define(command: Command, runner: Runner, works: readonly ConfirmationKind[]): Command {
  return command
    .argument('[table...]', 'tables of the origin (default: all that the configuration names)')
    .option('--confirm', 'let through deletes, schema changes and mass edits that a guard would hold')
    .option('--discard', 'give up edits of tables that are no longer to be pushed; sync_conflicts keeps them')
    .addHelpText('after', examples(command.name()))
    .action(
      runner((invocation, tables: string[], { confirm = false, discard, follow, strict = false, moment }: RunFlags) => {
        const options = { tables, confirm, discard, follow, moment, isStrict: strict, pushes: works.includes('push') };
        return orLeaveConfirmation(invocation, { works, tables, confirm, flags: flagsOf(options) }, async () => {
          const config = await loadNamedConfig(invocation, { needsCredentials: true });
          return printCycle(invocation, await runCycle(invocation, config, options), { config, isStrict: strict });
        });
      }),
    );
}

/** What one run did to rows, at the origin, and to files; null for what it did not get to. */
export interface CycleReport {
  readonly rows: PullReport;
  /** Null also where no table is pushed. */
  readonly pushed: PushReport | null;
  readonly files: FilesReport | null;
  /** The moment that was proven; null where none was asked for. */
  readonly moment: ProvenMoment | null;
  /** Why none could be proven. */
  readonly unproven: RowsyncError | null;
  /** Edits that lost to a change at the origin, in whichever part of the run. */
  readonly lost: readonly ConflictLine[];
}

async function printCycle(
  invocation: Invocation,
  cycle: CycleReport,
  { config, isStrict }: Pick<RunOptions, 'isStrict'> & { readonly config: Config },
): Promise<number> {
  const { stdout } = invocation.session;
  await writeWithAccount(invocation, config, {
    text: () => cycleText(cycle, stdout.width()),
    json: () => cycleJson(cycle, isStrict),
  });
  return cycleExitCode(cycle, isStrict);
}

function cycleExitCode(cycle: CycleReport, isStrict: boolean): number {
  const { rows, pushed } = cycle;
  // A configuration that is wrong for all tables: nothing was done.
  const code = rows.error?.kind === 'config' ? rows.error.exitCode : exitCodeOf(cycleFailures(cycle));
  return code === EXIT.done && pushed !== null ? pushExitCode(pushed, isStrict) : code;
}

export function cycleFailures({ rows, pushed, files, unproven }: CycleReport): readonly RowsyncError[] {
  const ofMoment = unproven === null ? [] : [unproven];
  return [...[rows, pushed, files].flatMap((part) => failuresOf(part)), ...ofMoment];
}

export function cycleText(cycle: CycleReport, width: number | null): string {
  const { rows, pushed, files, lost } = cycle;
  const pushedText = pushed === null ? '' : `\n${pushText(pushed, width)}`;
  return pullText(rows, width) + pushedText + lostText(lost) + filesText(files) + momentText(cycle);
}

function momentText({ moment, unproven }: CycleReport): string {
  if (moment === null) return unproven === null ? '' : problemsText([{ what: 'failed', error: unproven }]);
  const { at, tables, notCovered } = moment;
  const rest = notCovered.length === 0 ? '' : `; not covered: ${someOf(notCovered)}`;
  const all =
    tables.length === 1 ? 'The table is as it was' : `All ${countText(tables.length)} tables are as they were`;
  return `${printable(`${all} at ${at}${rest}`)}\n`;
}

export function cycleJson(cycle: CycleReport, isStrict: boolean): object {
  const { rows, pushed, files, lost, moment, unproven } = cycle;
  const ofPush = pushed === null ? null : pushJson(pushed, isStrict);
  const ofMoment = moment === null && unproven === null ? {} : { moment, unproven };
  return { exitCode: cycleExitCode(cycle, isStrict), ...rows, lost, ...ofMoment, push: ofPush, files };
}

export async function runCycle(
  invocation: Invocation,
  config: Config,
  options: PullOptions & Partial<Pick<RunOptions, 'moment' | 'pushes'>>,
): Promise<CycleReport> {
  return withResources(invocation, config, async (contexts) => {
    const lastConflictId = readLastConflictId(contexts.push.replica);
    await finishPushes(contexts.push);
    const settings = {
      ...contexts.pull.settings,
      follows: options.follow === true ? 'all' : contexts.pull.settings.follows,
    };
    const rows = await pull({ ...contexts.pull, settings }, options);
    // A name that no table has is no result of a run.
    if (rows.error?.kind === 'usage') throw rows.error;
    const pushed = options.pushes === true ? await pushAfter(contexts.push, rows, options) : null;
    const lost = readLostSince(contexts.push.replica, lastConflictId);
    const files = await pullFilesAfter(contexts.files, rows);
    const [prove] = invocation.extras.flatMap((extra) => extra.proveMoment ?? []);
    const wantsMoment = options.moment === true && prove !== undefined && rows.error === null;
    const proof = wantsMoment ? await prove(contexts.pull, rows).catch(asRowsyncError) : null;
    const [moment, unproven] = proof instanceof RowsyncError ? [null, proof] : [proof, null];
    return { rows, pushed, lost, files, moment, unproven };
  });
}

/** The push of a whole cycle; null where no table is pushed, or the pull ended early. */
async function pushAfter(
  context: PushContext,
  rows: PullReport,
  { tables, confirm }: PullOptions,
): Promise<PushReport | null> {
  const chosen = pushedAmong(context, tables);
  return chosen.length === 0 || isEnd(rows.error) ? null : push(context, { tables: chosen, confirm });
}
