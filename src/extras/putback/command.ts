/**
 * `rowsync putback`: plans how lost rows return to the origin, and puts them back once a person agrees.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { stampFromMs } from '../../base/clock.ts';
import { EXIT, type RowsyncError, usageError } from '../../base/errors.ts';
import { sql } from '../../base/sql.ts';
import { loadNamedConfig, numberArgument, printResult } from '../../cli/runtime/invocation.ts';
import type { Config } from '../../config/load.ts';
import type { Flags, Invocation, Runner } from '../../extra.ts';
import { filesBeside } from '../shared/stored-content.ts';
import { queryRows } from '../../replica/query.ts';
import { openReader, type ReplicaReader } from '../../replica/reader.ts';
import { momentOf, MOMENT_FORMS } from '../history/time-argument.ts';
import { planInto, verifyInto } from './into-database.ts';
import { LostRows, type LostSource } from './lost-rows.ts';
import { chooseRows, makePlan, type PutbackPlan, type PutbackChoice } from './make-plan.ts';
import { describeAgain, putbackPath, withPutback, type PutbackPlace } from './putback-file.ts';
import {
  putbackPlanJson,
  putbackPlanText,
  putbackRunText,
  putbackStatusText,
  statusJson,
  type Verified,
} from './putback-text.ts';
import { needsPerson, readRecordsOf } from './putback-records.ts';
import { carryOut } from './put-rows-back.ts';

const EXAMPLES = `
Rows come back with new ids, and with new keys where the origin numbers them; references to them are rewritten. A row that is at the origin
again is left alone. Everything is noted in the table sync_putback of the file REPLICA.putback, and a second run sends nothing twice.

Times: ${MOMENT_FORMS}.

Examples:
  rowsync putback Customer 17 42 --with Order,'Order Line'        the plan: nothing is sent
  rowsync putback Customer 17 42 --with Order,'Order Line' --confirm
  rowsync putback Order --deleted-since yesterday
  rowsync putback Customer 17 --from backup.db                    last values from a backup
  rowsync putback --into test.yaml                                all rows into another database, whose tables exist
  rowsync putback --status
  rowsync putback --resume                                        after a crash, or once a refused row may pass`;

type PutbackOptions = Flags<
  'with' | 'into' | 'at' | 'deletedSince' | 'run',
  'plan' | 'confirm' | 'status' | 'resume' | 'again' | 'revisions'
> & { readonly from: string; readonly workflow?: 'run' | 'suppress' };

export function addPutbackCommand(program: Command, runner: Runner): void {
  program
    .command('putback')
    .argument('[table]', 'table of the rows')
    .argument(
      '[id...]',
      '_id that each row had (default: all lost rows that the options choose); with --into more tables',
    )
    .description('create lost rows at the origin again, with their children')
    .option('--with <tables>', 'tables whose rows come along if they refer to one of the rows; separated by commas')
    .option('--from <source>', 'deleted, or the file of a backup', 'deleted')
    .option('--into <config>', 'put whole tables, or all of them, into the database of another configuration')
    .option('--at <time>', 'take rows and values as they were then, from the history')
    .option('--deleted-since <time>', 'only rows that were lost since then')
    .option('--run <number>', 'only rows that were lost in this run')
    .option('--revisions', 'attach older revisions of files, too, the oldest first, where they are here')
    .addOption(
      new Option(
        '--workflow <how>',
        "whether the origin's workflow runs (default: suppress, with the right to manage data)",
      ).choices(['run', 'suppress']),
    )
    .addOption(
      new Option('--plan', 'show what would be done, and send nothing (default)').conflicts(['confirm', 'resume']),
    )
    .option('--confirm', 'put the rows back; safety.maxPushRows does not hold them')
    .addOption(
      new Option('--status', 'show what was put back, and what waits').conflicts(['confirm', 'plan', 'resume']),
    )
    .option('--resume', 'continue what was begun, and try refused rows again')
    .option('--again', 'with --resume: send rows in doubt once more, since they are not at the origin')
    .addHelpText('after', EXAMPLES)
    .action(runner(putback));
}

interface PutbackArguments {
  readonly table: string | undefined;
  readonly ids: readonly string[];
  readonly options: PutbackOptions;
}

async function putback(
  invocation: Invocation,
  table: string | undefined,
  ids: readonly string[],
  options: PutbackOptions,
): Promise<number> {
  const given = { table, ids, options };
  const isResume = options.resume === true;
  const isStatus = options.status === true;
  const isAlone = isResume || isStatus;
  const isNamed = table !== undefined || (options.into !== undefined && !isAlone);
  if (isAlone === isNamed) throw usage('Name the table of the rows, or --resume or --status alone');
  if (options.again === true && !isResume) throw usage('--again needs --resume');
  const { workflow = null } = options;
  const configs = await loadConfigs(invocation, options);
  const path = putbackPath(configs.config, configs.into);
  if (isStatus) return showStatus(invocation, path, { verified: null, text: null });
  using main = openReader(configs.config.replica.path);
  return await withPutback(invocation, configs, { main, workflow }, async (place) => {
    const plan = isResume ? null : await planOf(invocation, configs, { main, place, given });
    if (plan === null) await describeAgain(place);
    else if (options.confirm !== true) {
      await printResult(invocation, putbackPlanJson(plan), putbackPlanText(plan, place));
      return EXIT.done;
    }
    const run = await carryOut(place, plan, { again: options.again === true });
    const verified = place.isElsewhere ? await verifyInto(place) : null;
    const text = plan === null ? null : putbackRunText(run, { plan, place, verified });
    return showStatus(invocation, path, { verified, text });
  });
}

/** The configurations of the replica and of the other database, whose credentials are used then. */
async function loadConfigs(
  invocation: Invocation,
  { into, status }: PutbackOptions,
): Promise<{ readonly config: Config; readonly into: Config | null }> {
  const needsCredentials = status !== true;
  if (into === undefined) return { config: await loadNamedConfig(invocation, { needsCredentials }), into: null };
  const other = await loadNamedConfig({ ...invocation, configPath: into }, { needsCredentials });
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  if (config.origin.url === other.origin.url && config.origin.database === other.origin.database)
    throw usage(`${into} is of the same database`);
  return { config, into: other };
}

async function planOf(
  { session }: Invocation,
  { config, into }: { readonly config: Config; readonly into: Config | null },
  input: { readonly main: ReplicaReader; readonly place: PutbackPlace; readonly given: PutbackArguments },
): Promise<PutbackPlan> {
  const { main, place, given } = input;
  const { options, ids, table = '' } = given;
  const revisions = options.revisions === true;
  const nowMs = session.clock.nowMs();
  const backupPath = resolve(session.folder, options.from);
  using backup = options.from === 'deleted' ? null : openReader(existing(backupPath));
  const folders = [config.replica.files, ...(backup === null ? [] : [filesBeside(backupPath)])];
  if (into !== null) {
    if (options.at ?? options.deletedSince ?? options.run ?? options.with ?? null)
      throw usage('--into takes all rows that are here, or in the backup --from');
    const source = new LostRows(backup ?? main, { kind: 'all' });
    const names = table === '' ? [] : [table, ...ids];
    return await planInto(place, source, { names, config, into, folders, revisions });
  }
  const lost = new LostRows(main, sourceOf(options, backup, nowMs));
  const choice = choiceOf(main, given, nowMs);
  return await makePlan(place, lost, { ...chooseRows(lost, choice, config), config, folders, revisions });
}

function choiceOf(main: ReplicaReader, { options, ids, table = '' }: PutbackArguments, nowMs: number): PutbackChoice {
  const { deletedSince } = options;
  const since =
    deletedSince === undefined ? '' : stampFromMs(momentOf(deletedSince, { name: '--deleted-since', nowMs }) * 1000);
  const run = options.run === undefined ? null : runSpan(main, options.run);
  return {
    table,
    ids: ids.map((id) => numberArgument(id, 'number of a row')),
    with: (options.with ?? '')
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== ''),
    from: [since, run?.from ?? ''].toSorted().at(-1) ?? '',
    until: run?.until ?? '9999',
  };
}

function sourceOf({ at, deletedSince, run }: PutbackOptions, backup: ReplicaReader | null, nowMs: number): LostSource {
  if (at === undefined && backup === null) return { kind: 'deleted' };
  if (deletedSince !== undefined || run !== undefined || (at !== undefined && backup !== null))
    throw usage('--deleted-since and --run choose among deleted rows; --from FILE and --at go without them');
  return backup === null
    ? { kind: 'moment', moment: momentOf(at ?? '', { name: '--at', nowMs }), nowMs }
    : { kind: 'backup', reader: backup };
}

function existing(path: string): string {
  if (existsSync(path)) return path;
  throw usageError(
    `There is no backup ${path}`,
    'Name the file of a backup, or leave --from out for rows that were deleted here.',
  );
}

function runSpan(main: ReplicaReader, run: string): { readonly from: string; readonly until: string } {
  const text = sql`SELECT started_at, coalesce(finished_at, started_at) FROM sync_runs WHERE id = ?`;
  const [found] = queryRows(main, text, [numberArgument(run, 'number of a run')]);
  if (found === undefined) throw usage(`No run ${run} is known`);
  return { from: String(found[0]), until: String(found[1]) };
}

function usage(message: string): RowsyncError {
  return usageError(message, 'rowsync putback --help has examples.');
}

async function showStatus(
  invocation: Invocation,
  path: string,
  { verified, text: ofRun }: { readonly verified: Verified | null; readonly text: string | null },
): Promise<number> {
  const records = existsSync(path) ? readRecordsOf(path) : [];
  const text = ofRun ?? putbackStatusText(records, { path, verified });
  await printResult(invocation, { ...statusJson(records), verified }, text);
  const isBad = records.some((record) => needsPerson(record));
  return isBad || (verified?.differences.length ?? 0) > 0 ? EXIT.needsPerson : EXIT.done;
}
