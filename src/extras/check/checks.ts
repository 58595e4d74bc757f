/**
 * What `rowsync check` looks at, as things go wrong one after the other: connection, credentials, database and tables,
 * clocks and zones, the folder and the file of the replica. Reads only; nothing is stored.
 */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { asRowsyncError } from '../../base/errors.ts';
import { withBoundNames, type TableRule } from '../../config/table-patterns.ts';
import { bindTables, misnamedIn } from '../../reconcile/option-bindings.ts';
import { checkChoice, checkFiles, checkHistory, checkNames, checkRows } from './table-options.ts';
import type { Config } from '../../config/load.ts';
import { isPushed } from '../../config/table-options.ts';
import { FREE_BYTES_MIN } from '../../daemon/account-facts.ts';
import { maskKeyProblem } from '../../config/mask-key.ts';
import { systemCode } from '../../config/secrets.ts';
import { takesInserts } from '../../config/settings.ts';
import type { Origin } from '../../origin/client.ts';
import { areRightsUnknown, describeWithRights } from '../shared/described-rights.ts';
import { judgeMatch } from '../../reconcile/match-column.ts';
import { mayOthersWrite } from '../../reconcile/process-owner.ts';
import { readDescribed } from '../../replica/bookkeeping/described-tables.ts';
import { checkIntegrity } from '../../replica/integrity-check.ts';
import { openReader, type ReplicaReader } from '../../replica/reader.ts';
import { sql } from '../../base/sql.ts';
import { queryTexts } from '../../replica/query.ts';
import { sqliteVersion } from '../shared/sql-client.ts';
import {
  hasOption,
  isEditable,
  isWritable,
  type DatabaseDescriptor,
  type TableDescriptor,
  type TableSummary,
  type UserDescriptor,
} from '../../wire/schema.ts';
import { isZone } from '../../wire/time-zones.ts';
import { checkAnswers, type AnswerParts } from './paging-checks.ts';
import { fail, failed, ok, warn, ofSome, type CheckResult } from '../shared/linked-extra.ts';
import { probeOrigin } from './connection.ts';
import type { Session } from '../../cli/terminal/session.ts';
import { bytesText, durationText, plural, shellWord, someOf } from '../../base/text.ts';

const CERTIFICATE_DAYS_MIN = 14;
/** Clocks this far apart make stamps misleading. */
const CLOCK_SKEW_MS_MAX = 60_000;

/** The first version with STRICT tables, which the replica consists of. */
const SQLITE_MINOR_MIN = 37;
/** A shell that does not print its version within this time does not count. */
const SHELL_MS_MAX = 5_000;

/** Checks of this machine alone. */
export function checkReplica(config: Config): readonly CheckResult[] {
  const { path } = config.replica;
  return [
    checkFolder(path),
    checkSpace(path),
    ...checkFile(config),
    ...checkMode(config),
    ...checkConfiguration(config),
    ...checkSharing(config),
    ...checkMaskKey(config),
    checkSqlite(),
  ];
}

export async function* checkOrigin(origin: Origin, config: Config, session: Session): AsyncGenerator<CheckResult> {
  const probe = await probeOrigin(config.origin.url, session.clock, config.origin.route);
  const { host } = new URL(config.origin.url);
  if (!('failure' in probe)) {
    const where = probe.proxy === null ? `is ${probe.address} and` : `is reached through the proxy ${probe.proxy}, and`;
    yield ok('connection', `${host} ${where} answers in ${durationText(probe.durationMs)}`);
    yield checkTls({ tls: probe.tls, address: probe.address, nowMs: session.clock.nowMs() });
    yield checkClock(probe.clockSkewMs);
  }
  const signal = session.stopSignal();
  let user: UserDescriptor;
  try {
    user = (await origin.user({ signal })).value;
  } catch (thrown) {
    const error = asRowsyncError(thrown);
    const isLogin = error.kind === 'auth' && error.code !== 'origin.proxy';
    yield failed(isLogin ? 'credentials' : 'connection', error);
    return;
  }
  if ('failure' in probe) {
    yield warn(
      'connection',
      `${host} answers the API, but not a plain request (${probe.failure})`,
      'A proxy may be in between.',
    );
  }
  yield ok('credentials', `${user.email}, role ${user.role}`);
  yield checkPermissions(user, config);
  yield checkZone(user);
  using reader = openMatchingReader(config);
  yield* checkTables({ origin, config, clock: session.clock, signal, reader }, user.timezone);
}

/** The replica, where there is one of this database. */
function openMatchingReader({ replica: { path }, origin: { database } }: Config): ReplicaReader | null {
  try {
    const reader = openReader(path);
    if (!reader.isOlder() && reader.identity()?.database === database) return reader;
    reader.close();
    return null;
  } catch {
    return null; // missing or damaged, which was already reported
  }
}

/** Whether the way to the origin is encrypted, and for how long; clear text is fine only where it leaves no machine. */
export function checkTls(probe: {
  readonly tls: { readonly version: string; readonly validToMs: number } | null;
  readonly address: string;
  readonly nowMs: number;
}): CheckResult {
  const { tls, address, nowMs } = probe;
  if (tls === null && isLoopback(address)) return ok('tls', 'not used: origin.url begins with http:');
  if (tls === null) {
    const message = 'not used: the credentials and all rows travel in clear text';
    return warn('tls', message, 'Write https: in origin.url.');
  }
  const days = Math.floor((tls.validToMs - nowMs) / 86_400_000);
  const message = `${tls.version}, the certificate is valid for ${plural(days, 'more day')}`;
  return days >= CERTIFICATE_DAYS_MIN
    ? ok('tls', message)
    : warn('tls', message, 'It has to be renewed by then, or every request fails.');
}

function isLoopback(address: string): boolean {
  return address === '::1' || /^(?:::ffff:)?127\./.test(address);
}

function checkClock(skewMs: number | null): CheckResult {
  if (skewMs === null) return ok('clock', 'the origin sends no Date header');
  const apart = durationText(Math.abs(skewMs));
  return Math.abs(skewMs) <= CLOCK_SKEW_MS_MAX
    ? ok('clock', `at most ${apart} apart from the origin's`)
    : warn(
        'clock',
        `${apart} ${skewMs > 0 ? 'behind' : 'ahead of'} the origin's`,
        'Let NTP set the clock of this machine.',
      );
}

function checkPermissions({ admin }: UserDescriptor, config: Config): CheckResult {
  const suppressed = config.tables.rules.filter(({ options }) => options.workflow === 'suppress');
  if (suppressed.length > 0 && !hasOption(admin, 'ManageData')) {
    const patterns = suppressed.map(({ pattern }) => pattern);
    const message = `workflow: suppress (${someOf(patterns)}) needs the permission ManageData, which the user does not have`;
    return fail('rights', message, 'Give the user that permission, or set workflow: run.');
  }
  return admin.length > 0
    ? ok('rights', admin.join(', '))
    : warn('rights', 'no administrative rights', 'Rows and columns that this role hides will be missing here.');
}

function checkZone({ timezone }: UserDescriptor): CheckResult {
  return isZone(timezone)
    ? ok('time zone', `${timezone}; stored as UTC`)
    : warn(
        'time zone',
        `the origin names a zone that Node does not know: "${timezone}"; timestamps are sent with their offset`,
        'If the origin refuses them, choose another zone in the user profile, or a newer Node.',
      );
}

async function* checkTables(parts: AnswerParts, zone: string): AsyncGenerator<CheckResult> {
  const { origin, signal } = parts;
  let database: DatabaseDescriptor;
  try {
    database = (await origin.describeDatabase({ signal })).value;
  } catch (thrown) {
    yield failed('database', asRowsyncError(thrown));
    return;
  }
  yield ok('database', `${database.name}, ${plural(database.tables.length, 'table')}`);
  const names = database.tables.map(({ recordName }) => recordName);
  const { bindings } = bindTables(
    database.tables.map(({ id, recordName: name }) => ({ id, name })),
    {
      known: parts.reader === null ? [] : readDescribed(parts.reader),
      configured: parts.config.tables.byName,
      isConfirmed: () => false,
    },
  );
  const boundNames = new Map(bindings.map(({ name, boundName }) => [name, boundName ?? name]));
  const config = withBoundNames(parts.config, (name) => boundNames.get(name) ?? name);
  const chosen = database.tables.filter(({ recordName }) => config.tables.find(recordName) !== null);
  const left = names.filter((name) => config.tables.find(name) === null);
  const leftText = left.length === 0 ? '' : `; left alone: ${someOf(left)}`;
  yield chosen.length > 0
    ? ok('tables', `${plural(chosen.length, 'table')} to copy${leftText}`)
    : fail(
        'tables',
        `no table matches the patterns under tables; the database has ${someOf(names)}`,
        'Correct the patterns.',
      );
  const described = bindings.map((binding) => ({ ...binding, isDescribed: true }));
  for (const { sentence } of misnamedIn(config.tables.byName, described)) {
    yield warn('tables', sentence, 'Names are case-sensitive, and singular as at the origin.');
  }
  const ofTables = { ...parts, config, names: chosen.map(({ recordName }) => recordName) };
  const looks = await Promise.all(chosen.map((table) => checkTable(ofTables, table)));
  yield* looks.flatMap(({ problems }) => problems);
  const readable = looks.flatMap(({ descriptor }) => descriptor ?? []);
  if (readable.length > 0) yield ok('columns', columnsText(readable));
  const tables = looks.flatMap(({ descriptor, isAsked }) => (isAsked && descriptor !== null ? [descriptor] : []));
  if (tables.length > 0) yield* checkRights(tables);
  yield* checkFiles(readable, config, parts.reader);
  yield* checkAnswers(ofTables, { tables: readable, zone });
}

function columnsText(tables: readonly TableDescriptor[]): string {
  return someOf(
    tables.map(({ recordName, columns }) => {
      const writable = columns.filter(isEditable).length;
      return `${recordName} ${columns.length} (${writable === 0 ? 'none' : writable} writable)`;
    }),
  );
}

/** Tables whose description does not say what may be written: whether `*` did. */
function checkRights(tables: readonly TableDescriptor[]): readonly CheckResult[] {
  const names = (areUnknown: boolean): readonly string[] =>
    tables.flatMap((table) => (areRightsUnknown(table) === areUnknown ? [table.recordName] : []));
  return [
    ...ofSome(names(false), (known) =>
      ok('columns', `not described as writable or not; column=* says which are writable: ${known}`),
    ),
    ...ofSome(names(true), (unknown) =>
      warn(
        'columns',
        `the writable columns are not known, since column=* returns no row: ${unknown}`,
        'Such a table is read-only here until it has a row at the origin and was pulled again.',
      ),
    ),
  ];
}

/** A table as it is described; null where it cannot be. */
interface TableLook {
  readonly descriptor: TableDescriptor | null;
  /** Whether its description leaves open what may be written. */
  readonly isAsked: boolean;
  readonly problems: readonly CheckResult[];
}

async function checkTable(
  { origin, config, reader, signal, names: tables }: AnswerParts & { readonly names: readonly string[] },
  { recordName: name, alias }: TableSummary,
): Promise<TableLook> {
  try {
    const { descriptor: described, isAsked } = await describeWithRights(origin, { name, alias }, { signal });
    const rule = config.tables.find(name);
    const { descriptor, results } = checkChoice(described, { config, rule, reader });
    const pushed =
      rule !== null && isPushed(rule.options) && !areRightsUnknown(described)
        ? [
            ...checkWritable({ ...descriptor, allowAdd: descriptor.allowAdd || !takesInserts(rule.options) }),
            ...checkMatch(descriptor, rule),
            ...(rule.options.delete === 'purge'
              ? [ok('push', `${name}: rows that are deleted here are purged at the origin`)]
              : []),
          ]
        : [];
    const rows = await checkRows({ origin, signal }, descriptor, rule);
    const style = config.replica.names;
    const named = rule === null ? [] : checkNames(descriptor, described, { rule, tables, style });
    const problems = [...results, ...named, ...rows, ...pushed];
    return { descriptor: rows.some(({ outcome }) => outcome === 'fail') ? null : descriptor, isAsked, problems };
  } catch (thrown) {
    return { descriptor: null, isAsked: false, problems: [failed('columns', asRowsyncError(thrown))] };
  }
}

/** Whether the calling user may send what is edited in a pushed table; what it may do with one row is in `_allow`. */
function checkWritable({ recordName, columns, allowAdd }: TableDescriptor): readonly CheckResult[] {
  const give = 'Give the role of the user that right at the origin, or leave out push: true.';
  if (!columns.some(isWritable)) return [fail('push', `${recordName}: no column may be written by this user`, give)];
  return allowAdd ? [] : [warn('push', `${recordName}: this user may not add rows; inserts are refused here`, give)];
}

/** What identifies rows when they are pushed, and what is weaker without it. */
function checkMatch(descriptor: TableDescriptor, { options, pattern }: TableRule): readonly CheckResult[] {
  const wanted = options.match ?? null;
  const { problem, usable } = judgeMatch(descriptor, wanted);
  const others =
    usable.length === 0 ? 'none of its columns is unique and writable' : `these columns can be used: ${someOf(usable)}`;
  const name = descriptor.recordName;
  // A pattern is of other tables, too, which need not have such a column.
  const isOfOne = pattern === name.normalize('NFC');
  const add = isOfOne ? '' : `Add "${name}" under tables, with the options of "${pattern}". `;
  const option = `tables.${name}.match`;
  if (problem !== null) {
    const message = `${name}: the match column "${wanted ?? ''}" ${problem}`;
    return [fail('push', message, `${add}Correct ${option}: ${others}.`)];
  }
  if (wanted !== null || !takesInserts(options)) return [];
  return [
    warn(
      'push',
      `${name} is pushed without a match column: an insert whose answer gets lost may have to be settled by you`,
      usable.length === 0
        ? `None of its columns is unique and writable: add one at the origin first. ${add}Set ${option} to it.`
        : `${add}Set ${option} to a unique column (${others}).`,
    ),
  ];
}

function checkFolder(path: string): CheckResult {
  const folder = dirname(path);
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return ok('folder', `${folder} can be written`);
  } catch (thrown) {
    return fail(
      'folder',
      `${folder} cannot be written (${systemCode(thrown)})`,
      'Make it, and let this user write there.',
    );
  }
}

/** Reading all tables anew writes as much as the replica has, before the old pages are free again. */
export function judgeSpace(freeBytes: number, replicaBytes: number): CheckResult {
  const message = `${bytesText(freeBytes)} free, the replica has ${bytesText(replicaBytes)}`;
  if (freeBytes < FREE_BYTES_MIN) return fail('disk', message, 'Free some space; a pull would stop in the middle.');
  return freeBytes < replicaBytes
    ? warn('disk', message, 'Free some space: tables that are read anew may need as much as the replica has.')
    : ok('disk', message);
}

function checkSpace(path: string): CheckResult {
  const folder = dirname(path);
  try {
    const { bavail, bsize } = statfsSync(folder);
    return judgeSpace(bavail * bsize, statSync(path, { throwIfNoEntry: false })?.size ?? 0);
  } catch (thrown) {
    return fail(
      'disk',
      `the free space of ${folder} is not known (${systemCode(thrown)})`,
      'Check that the folder exists.',
    );
  }
}

function checkMode({ replica: { path, shared } }: Config): readonly CheckResult[] {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode;
  if (mode === undefined) return [];
  const text = `${path} has mode ${(mode & 0o777).toString(8)}`;
  if ((mode & 0o007) !== 0)
    return [warn('mode', `${text}: every user of this machine may use it`, `chmod o= ${shellWord(path)}`)];
  if (shared || (mode & 0o070) === 0) return [ok('mode', text)];
  return [
    warn('mode', `${text}: its group may use it`, `chmod g= ${shellWord(path)}, or say so with replica.shared: true.`),
  ];
}

/** Whether those who share a replica may also change the configuration, which says what rowsync runs. */
function checkConfiguration({ file, replica }: Config): readonly CheckResult[] {
  const sharing = statSync(dirname(replica.path), { throwIfNoEntry: false });
  if (!replica.shared || sharing === undefined) return [];
  const isOpen = (path: string): boolean => {
    const { mode, gid } = statSync(path);
    return (mode & 0o002) !== 0 || ((mode & 0o020) !== 0 && gid === sharing.gid);
  };
  const open = [file, dirname(file)].filter(isOpen);
  if (open.length === 0) return [];
  const message = `people who share the replica may also write ${open.join(' and ')}, and so decide what rowsync runs`;
  return [
    warn('config', message, 'Keep the configuration and the token in a folder that its owner alone may write to.'),
  ];
}

/** Root itself should not work in a folder into which others put files and links. */
function checkSharing({ replica: { path, shared } }: Config): readonly CheckResult[] {
  const folder = dirname(path);
  const found = statSync(folder, { throwIfNoEntry: false });
  if (!shared || found?.uid !== 0 || !mayOthersWrite(found)) return [];
  const message = `${folder} belongs to root, and others may write to it: root would follow what they put there`;
  return [warn('owner', message, 'Give the folder to a user of its own (chown), and let rowsync run as that user.')];
}

/** Whether the key of the masks is believed, and whether people who share the replica could exchange it. */
function checkMaskKey({ replica: { maskKeyFile }, tables }: Config): readonly CheckResult[] {
  const problem = maskKeyProblem(maskKeyFile);
  const hint =
    'Keep the key in a folder that others cannot write to, and name it in replica.maskKeyFile: docs/choose.md.';
  if (problem !== null) return [fail('masks', problem, hint)];
  const hasHashes = tables.rules.some(({ options }) => Object.values(options.mask ?? {}).includes('hash'));
  const folder = statSync(dirname(maskKeyFile), { throwIfNoEntry: false });
  if (!hasHashes || folder === undefined || !mayOthersWrite(folder)) return [];
  return [warn('masks', `others may remove or exchange ${maskKeyFile}; then masked tables wait`, hint)];
}

function checkSqlite(): CheckResult {
  const { stdout, error } = spawnSync('sqlite3', ['--version'], { encoding: 'utf8', timeout: SHELL_MS_MAX });
  const [, version = '', major = '0', minor = '0'] =
    /^((\d+)\.(\d+)\.\d+)/.exec(error === undefined ? stdout : '') ?? [];
  const ours = `rowsync has SQLite ${sqliteVersion()}`;
  if (version === '') return ok('sqlite', ours);
  const isOld = Number(major) === 3 && Number(minor) < SQLITE_MINOR_MIN;
  return isOld
    ? warn(
        'sqlite',
        `${ours}, but sqlite3 is ${version}`,
        `Install 3.${SQLITE_MINOR_MIN} or newer: older ones cannot open the replica.`,
      )
    : ok('sqlite', `${ours}, sqlite3 is ${version}`);
}

/** Reads the whole replica; no finding if SQLite finds it whole, or there is none yet. */
export async function checkDamage({ replica: { path } }: Config): Promise<readonly CheckResult[]> {
  if (!existsSync(path)) return [];
  try {
    await checkIntegrity(path);
    return [];
  } catch (thrown) {
    const error = asRowsyncError(thrown);
    return error.code === 'replica.damaged' ? [failed('replica', error)] : []; // anything else was said before
  }
}

function checkFile(config: Config): readonly CheckResult[] {
  const { origin, replica } = config;
  const { path } = replica;
  if (!existsSync(path)) return [ok('replica', `${path} will be made by the first pull`)];
  try {
    using reader = openReader(path);
    const identity = reader.identity();
    if (identity !== null && identity.database !== origin.database) {
      const message = `${path} holds database ${identity.database}, but the configuration names ${origin.database}`;
      return [fail('replica', message, 'Give each database a replica of its own (replica.path).')];
    }
    if (reader.isOlder())
      return [ok('replica', `${path} is of an earlier version; the next pull brings it up to date`)];
    const tables = reader.status();
    const found = ok('replica', `${path} has ${plural(tables.length, 'table')}`);
    return [found, ...checkTriggers(reader), ...checkHistory(reader, config)];
  } catch (thrown) {
    return [failed('replica', asRowsyncError(thrown))];
  }
}

/** Triggers of other clients on what rowsync keeps, which run in the midst of its own transactions. */
function checkTriggers(reader: ReplicaReader): readonly CheckResult[] {
  const text = sql`SELECT name || ' on ' || tbl_name FROM sqlite_schema
    WHERE type = 'trigger' AND name NOT GLOB '_rowsync_*'
      AND (tbl_name COLLATE NOCASE IN (SELECT local_name FROM _rowsync_tables) OR lower(tbl_name) GLOB '_rowsync_*' OR lower(tbl_name) GLOB 'sync_*')
    ORDER BY tbl_name, name`;
  const hint =
    "Drop those that are not wanted: SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' shows what they do.";
  return ofSome(queryTexts(reader, text), (names) =>
    warn('triggers', `other clients have made triggers that run when rowsync stores rows: ${names}`, hint),
  );
}
