/**
 * `rowsync push` and `rowsync plan`: carry edits to the origin, or say what would be carried. The plan looks at the
 * replica only, also while another process works on it.
 */
import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { asRowsyncError, EXIT } from '../../base/errors.ts';
import type { Config } from '../../config/load.ts';
import { boundTo, pushSettings } from '../../config/settings.ts';
import { brokenAmong, chooseTablesToPush, push, type PushOptions } from '../../push/push.ts';
import { previewPush, type TablePreview } from '../../push/plan-preview.ts';
import type { PushReport } from '../../push/report.ts';
import { type ConflictLine, readLostSince, readLastConflictId } from '../../replica/bookkeeping/conflicts.ts';
import { openForRehearsal, type Rehearsal } from '../../replica/database.ts';
import {
  writeWithAccount,
  loadNamedConfig,
  openExistingReplica,
  requireReplica,
  sayWaits,
  printJson,
  withResources,
} from '../runtime/invocation.ts';
import type { Flags, Invocation, Runner } from '../../extra.ts';
import { orLeaveConfirmation } from '../runtime/hand-over.ts';
import { leaveOutLastCompiler } from '../runtime/memory.ts';
import { lostText, planJson, planText, pushExitCode, pushJson, pushText } from '../report/push-report.ts';
import { writePaged } from '../terminal/pager.ts';
import { reviewText } from '../report/edit-review.ts';

const PUSH_EXAMPLES = `
Examples:
  rowsync plan                       what would be sent, row by row
  rowsync push                       every table with push: true
  rowsync push Customer --confirm    ... and let a mass edit through that a guard held

Rows that the origin refuses wait in sync_failures and hold up no other row. The exit code is 3 while a guard or a conflict
waits for you, with --strict also while a row does that was refused earlier. It is 1 if an edit of this push failed, and 75 if
it may pass by itself.`;

const PLAN_EXAMPLES = `
Every changed cell is shown whole, in the order in which a push sends them; on a terminal, $PAGER pages through it.

Examples:
  rowsync plan
  rowsync plan --summary
  rowsync plan Customer --json | jq '.tables[].rows[]'`;

/** Of every command that shows edits. */
export const SUMMARY =
  'the first rows of each table on a line each, with long values cut; of more than 40, how many change each column';

export function addPushCommands(program: Command, runner: Runner): void {
  program
    .command('plan')
    .argument('[table...]', 'tables (default: all that are pushed)')
    .description('show what a push would send, row by row')
    .option('--summary', SUMMARY)
    .addHelpText('after', PLAN_EXAMPLES)
    .action(runner(plan));
  program
    .command('push')
    .argument('[table...]', 'tables (default: all that are pushed)')
    .description('carry edits made here to the origin')
    .option('--dry-run', 'show what would be sent, as rowsync plan does')
    .option('--confirm', 'push mass edits and mass deletes that a guard would hold')
    .option('--strict', 'exit with 3 while a refused row waits')
    .addHelpText('after', PUSH_EXAMPLES)
    .action(runner(pushOrPlan));
}

type PushFlags = Flags<never, 'dryRun' | 'confirm' | 'strict'>;

async function pushOrPlan(
  invocation: Invocation,
  tables: readonly string[],
  { dryRun = false, confirm = false, strict = false }: PushFlags,
): Promise<number> {
  if (dryRun) return plan(invocation, tables, {});
  const flags = strict ? ['--strict'] : [];
  return orLeaveConfirmation(invocation, { confirm, works: ['push'], tables, flags }, () =>
    pushAndPrint(invocation, { tables, confirm }, strict),
  );
}

async function plan(
  invocation: Invocation,
  names: readonly string[],
  { summary: isShort = false }: { readonly summary?: boolean },
): Promise<number> {
  const previews = await runPlan(invocation, names);
  const { session } = invocation;
  if (invocation.isJson) await printJson(invocation, planJson(previews));
  else if (isShort) await session.stdout.write(planText(previews, session.stdout.width()));
  else await writePaged(session, reviewText(previews, session.stdout.width()));
  return EXIT.done;
}

export async function runPlan(invocation: Invocation, names: readonly string[]): Promise<readonly TablePreview[]> {
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  const { clock } = invocation.session;
  using replica = await openToRehearse(invocation, config);
  const settings = pushSettings(boundTo(replica, config));
  const tables = chooseTablesToPush({ replica, settings }, names);
  const [broken] = brokenAmong(replica, names);
  if (broken !== undefined) throw broken.error;
  return await previewPush({ ...settings, replica, clock }, tables);
}

/** A daemon keeps the replica for as long as it runs, and what a guard of it holds is to be looked at meanwhile. */
async function openToRehearse(invocation: Invocation, config: Config): Promise<Rehearsal> {
  try {
    return await openExistingReplica(invocation, config);
  } catch (thrown) {
    if (asRowsyncError(thrown).code !== 'replica.inUse') throw thrown;
    const { session } = invocation;
    const { path } = config.replica;
    return openForRehearsal(path, { clock: session.clock, onWait: sayWaits(session, path) });
  }
}

async function pushAndPrint(invocation: Invocation, options: PushOptions, isStrict: boolean): Promise<number> {
  leaveOutLastCompiler();
  const config = await loadNamedConfig(invocation, { needsCredentials: true });
  const { lost, ...report } = await runPush(invocation, config, options);
  const { stdout } = invocation.session;
  await writeWithAccount(invocation, config, {
    text: () => pushText(report, stdout.width()) + lostText(lost),
    json: () => ({ ...pushJson(report, isStrict), lost }),
  });
  return pushExitCode(report, isStrict);
}

export async function runPush(
  invocation: Invocation,
  config: Config,
  options: PushOptions,
): Promise<PushReport & { readonly lost: readonly ConflictLine[] }> {
  // Of a file that is damaged, opening it for writing says more.
  if (!existsSync(config.replica.path)) await requireReplica(config);
  return withResources(invocation, config, async ({ push: context }) => {
    const lastConflictId = readLastConflictId(context.replica);
    const report = await push(context, options);
    return { ...report, lost: readLostSince(context.replica, lastConflictId) };
  });
}
