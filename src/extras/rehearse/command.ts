/**
 * `rowsync rehearse`: pushes what waits to a sandbox that is made from the replica, and says what became of it. It
 * works on a copy in a temporary folder, so that neither the replica nor the origin notices.
 */
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { must } from '../../base/assert.ts';
import { plural } from '../../base/text.ts';
import { pushExitCode, pushJson, pushText } from '../../cli/report/push-report.ts';
import { loadNamedConfig, printResult, withOrigin } from '../../cli/runtime/invocation.ts';
import type { Config } from '../../config/load.ts';
import { boundTo, pushSettings } from '../../config/settings.ts';
import type { Invocation, Runner } from '../../extra.ts';
import { push } from '../../push/push.ts';
import type { PushReport } from '../../push/report.ts';
import { readColumns } from '../../replica/bookkeeping/columns.ts';
import { readIdentity, storeIdentity } from '../../replica/bookkeeping/identity.ts';
import { readTables } from '../../replica/bookkeeping/tables.ts';
import type { Connection } from '../../replica/connection.ts';
import { openReplica } from '../../replica/database.ts';
import { type FailureLine, openReader } from '../../replica/reader.ts';
import { backUp } from '../backup/replica-copy.ts';
import { limitsText, startSandbox, titledText, type RunningSandbox } from '../shared/sandbox.ts';

const EXAMPLES = `
The sandbox knows your database as the replica knows it, and lists what it does not know. What colleagues changed since the last
pull is not in it.

Examples:
  rowsync rehearse              every table with push: true
  rowsync rehearse Customer     one table
  rowsync rehearse --json       what was accepted, refused and changed besides, for a program`;

interface RehearsalReport {
  readonly push: PushReport;
  readonly refused: readonly FailureLine[];
  /** Cells of rows that were pushed which the sandbox set by itself, counted by column. */
  readonly sideEffects: readonly { readonly table: string; readonly column: string; readonly rowCount: number }[];
}

export function addRehearseCommand(program: Command, runner: Runner): void {
  program
    .command('rehearse')
    .argument('[table...]', 'tables (default: all that are pushed)')
    .description('push to a sandbox made from the replica, and say what happens')
    .option('--confirm', 'push mass edits and mass deletes that a guard would hold')
    .addHelpText('after', EXAMPLES)
    .action(runner(rehearse));
}

async function rehearse(
  invocation: Invocation,
  tables: readonly string[],
  { confirm = false }: { readonly confirm?: boolean },
): Promise<number> {
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  openReader(config.replica.path).close(); // says so where there is none
  const { clock, stdout } = invocation.session;
  const folder = mkdtempSync(join(tmpdir(), 'rowsync-rehearsal-'));
  try {
    const path = await copyInto(folder, config.replica.path);
    await using sandbox = await startSandbox({ clock, replica: { path } });
    const report = await pushTo(sandbox, invocation, {
      config: configFor(sandbox, config, folder),
      options: { tables, confirm },
    });
    const exitCode = pushExitCode(report.push, false);
    const { unknown, rules } = sandbox;
    const { refused, sideEffects } = report;
    const json = { ...pushJson(report.push, false), exitCode, refused, sideEffects, unknown, rules };
    await printResult(invocation, json, reportText(report, stdout.width()) + limitsText(sandbox));
    return exitCode;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Copies the replica, after the count of its batches: with a later count the copy would look like an older file. */
async function copyInto(folder: string, replica: string): Promise<string> {
  const path = join(folder, 'replica.db');
  if (existsSync(`${replica}.sent`)) copyFileSync(`${replica}.sent`, `${path}.sent`);
  await backUp(replica, path);
  return path;
}

function configFor({ url, database, token }: RunningSandbox, config: Config, folder: string): Config {
  const origin = { ...config.origin, url, database, credentials: { kind: 'bearer', token } as const, route: {} };
  const replica = { ...config.replica, path: join(folder, 'replica.db'), files: join(folder, 'files'), shared: false };
  return { ...config, origin, replica };
}

/** Pushes as `rowsync push` does, but keeps no file that it uploads and runs nothing of other extras. */
async function pushTo(
  sandbox: RunningSandbox,
  invocation: Invocation,
  { config, options }: { readonly config: Config; readonly options: Parameters<typeof push>[1] },
): Promise<RehearsalReport> {
  const { clock } = invocation.session;
  const { path } = config.replica;
  const signal = invocation.session.stopSignal();
  using replica = openReplica(path, { clock, shared: false });
  const known = must(readIdentity(replica), 'a sandbox was made of it');
  const { email: userEmail } = sandbox.user;
  const caller = { ...known, url: sandbox.url, userEmail };
  await replica.write('Pointing the copy at the sandbox', (tx) => storeIdentity(tx, caller, { changed: false }));
  const settings = pushSettings(boundTo(replica, config));
  const refusedBefore = new Set(failuresOf(path).map(({ id }) => id));
  const report = await withOrigin(invocation, config, ({ origin, log }) =>
    push({ origin, replica, clock, log, signal, settings, files: { keep: undefined } }, options),
  );
  const refused = failuresOf(path).filter(({ id }) => !refusedBefore.has(id));
  return { push: report, refused, sideEffects: sideEffectsOf(report, replica) };
}

function failuresOf(path: string): readonly FailureLine[] {
  using reader = openReader(path);
  return reader.failures().filter(({ kind }) => kind !== 'read');
}

/** What new rows got by themselves: numbers, owners, stamps. A sandbox of a replica sets nothing else. */
function sideEffectsOf({ tables }: PushReport, replica: Connection): RehearsalReport['sideEffects'] {
  const tablesHere = readTables(replica);
  return tables.flatMap(({ table, insertedCount: rowCount }) => {
    const here = tablesHere.find(({ localName }) => localName === table);
    if (here === undefined || rowCount === 0) return [];
    const own = readColumns(replica, here.id).filter(
      ({ state, kind, type }) => state === 'live' && (type === 'Autonumber' || OWN_KINDS.has(kind ?? '')),
    );
    return own.map(({ localName: column }) => ({ table, column, rowCount }));
  });
}

const OWN_KINDS: ReadonlySet<string> = new Set([
  'RecordOwner',
  'CreatedBy',
  'DateCreated',
  'LastModifiedBy',
  'DateModified',
]);

function reportText({ push: report, refused, sideEffects }: RehearsalReport, width: number | null): string {
  const words = refused.map(({ table, rowId, column, reason }) => {
    return `${table}, row ${rowId}${column === null ? '' : `, ${column}`}: ${reason}`;
  });
  const effects = sideEffects.map(
    ({ table, column, rowCount }) => `${table}: ${column} in ${plural(rowCount, 'new row')}`,
  );
  return (
    `This was a rehearsal on a copy: neither the replica nor the origin was touched.\n\n${pushText(report, width)}` +
    titledText('Refused:', words) +
    titledText('Set by the database itself:', effects)
  );
}
