/**
 * What `rowsync check` looks at, in the order in which things can go wrong: the way to the origin, the credentials, the
 * database and its tables, clocks and zones, the folder and the file of the replica. Reads only; nothing is stored.
 */
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { asRowsyncError, type RowsyncError } from '../base/errors.ts';
import type { Config } from '../config/load.ts';
import { systemCode } from '../config/secrets.ts';
import type { Origin } from '../origin/client.ts';
import { judgeMatch } from '../reconcile/match.ts';
import { planSelection } from '../reconcile/selection.ts';
import { openReader } from '../replica/reader.ts';
import type { DatabaseDescriptor, TableDescriptor, TableSummary, UserDescriptor } from '../wire/schema.ts';
import { isZone } from '../wire/zone.ts';
import { findFileFacts } from './file-checks.ts';
import { valueOf } from './answers.ts';
import { probeOrigin } from './probe.ts';
import type { Session } from './session.ts';
import { bytesText, durationText, plural } from './text.ts';

/** The outcome of one check. */
export interface CheckResult {
  readonly name: string;
  readonly outcome: 'ok' | 'warn' | 'fail';
  /** What was found. */
  readonly message: string;
  /** What to do; empty where all is well. */
  readonly hint: string;
}

/** A certificate that ends sooner than this is worth a word. */
const CERTIFICATE_DAYS_MIN = 14;
/** Clocks this far apart make stamps misleading. */
const CLOCK_SKEW_MS_MAX = 60_000;
/** Free space below which a replica cannot grow, and below which it may soon not. */
const FREE_BYTES_FAIL = 50 * 1024 ** 2;
const FREE_BYTES_WARN = 1024 ** 3;
/** Tables named in one message. */
const NAMES_MAX = 8;

const ok = (name: string, message: string): CheckResult => ({ name, outcome: 'ok', message, hint: '' });
const warn = (name: string, message: string, hint: string): CheckResult => ({ name, outcome: 'warn', message, hint });
const fail = (name: string, message: string, hint: string): CheckResult => ({ name, outcome: 'fail', message, hint });
const failed = (name: string, { message, hint }: RowsyncError): CheckResult => fail(name, message, hint);

/** Checks of this machine alone. */
export function checkReplica(config: Config): readonly CheckResult[] {
  return [checkFolder(config.replica.path), checkSpace(config.replica.path), ...checkFile(config)];
}

/** Checks of the way to the origin, then, if there is one, of what the credentials may see there. */
export async function* checkOrigin(origin: Origin, config: Config, session: Session): AsyncGenerator<CheckResult> {
  const probe = await probeOrigin(config.origin.url, session.clock);
  const { host } = new URL(config.origin.url);
  if (!('failure' in probe)) {
    yield ok('connection', `${host} is ${probe.address} and answers in ${durationText(probe.durationMs)}`);
    yield checkTls({ tls: probe.tls, address: probe.address, nowMs: session.clock.nowMs() });
    yield checkClock(probe.clockSkewMs);
  }
  const signal = session.stopSignal();
  let user: UserDescriptor;
  try {
    user = valueOf(await origin.user({ signal }));
  } catch (thrown) {
    const error = asRowsyncError(thrown);
    yield failed(error.kind === 'auth' ? 'credentials' : 'connection', error);
    return;
  }
  if ('failure' in probe) {
    yield warn(
      'connection',
      `${host} answers the API, but not a plain request (${probe.failure})`,
      'A proxy may stand between.',
    );
  }
  yield ok('credentials', `${user.email}, role ${user.role}`);
  yield checkRights(user);
  yield checkZone(user);
  yield* checkTables(origin, config, signal);
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
  if (skewMs === null) return ok('clock', 'the origin does not tell its time');
  const apart = durationText(Math.abs(skewMs));
  return Math.abs(skewMs) <= CLOCK_SKEW_MS_MAX
    ? ok('clock', `at most ${apart} apart from the origin's`)
    : warn(
        'clock',
        `${apart} ${skewMs > 0 ? 'behind' : 'ahead of'} the origin's`,
        'Let NTP set the clock of this machine.',
      );
}

function checkRights({ admin }: UserDescriptor): CheckResult {
  return admin.length > 0
    ? ok('rights', admin.join(', '))
    : warn('rights', 'no administrative rights', 'Rows and columns that this role hides will be missing here.');
}

function checkZone({ timezone }: UserDescriptor): CheckResult {
  return isZone(timezone)
    ? ok('time zone', `${timezone}; stored as UTC`)
    : fail(
        'time zone',
        `the origin names a zone that Node does not know: "${timezone}"`,
        'Choose another zone in the user profile, or a newer Node.',
      );
}

async function* checkTables(origin: Origin, config: Config, signal: AbortSignal): AsyncGenerator<CheckResult> {
  let database: DatabaseDescriptor;
  try {
    database = valueOf(await origin.describeDatabase({ signal }));
  } catch (thrown) {
    yield failed('database', asRowsyncError(thrown));
    return;
  }
  yield ok('database', `${database.name}, ${plural(database.tables.length, 'table')}`);
  const names = database.tables.map(({ recordName }) => recordName);
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
  const unused = config.tables.patterns.filter(
    (pattern) => pattern !== '*' && !names.some((name) => config.tables.matches(pattern, name)),
  );
  if (unused.length > 0) {
    yield warn(
      'tables',
      `nothing matches ${someOf(unused)}`,
      'Names are case-sensitive, and singular as at the origin.',
    );
  }
  const problems = (await Promise.all(chosen.map((table) => checkTable(origin, config, table, signal)))).flat();
  yield* problems;
  if (chosen.length > 0 && problems.length === 0) yield ok('columns', 'every table can be described');
}

async function checkTable(
  origin: Origin,
  config: Config,
  table: TableSummary,
  signal: AbortSignal,
): Promise<readonly CheckResult[]> {
  const name = table.recordName;
  try {
    const descriptor = valueOf(await origin.describeTable({ name, alias: table.alias }, { signal }));
    const rule = config.tables.find(name);
    const { unknownSort } = planSelection(descriptor, rule?.options.sort ?? null);
    const pushed = rule?.options.push === true ? checkMatch(descriptor, rule.options.match ?? null, rule.pattern) : [];
    if (unknownSort.length === 0) return pushed;
    const message = `${name}: sort names columns that do not exist: ${someOf(unknownSort)}`;
    return [fail('columns', message, `Correct tables.${rule?.pattern ?? name}.sort.`), ...pushed];
  } catch (thrown) {
    return [failed('columns', asRowsyncError(thrown))];
  }
}

/** What identifies rows when they are pushed, and what is weaker without it. */
function checkMatch(descriptor: TableDescriptor, wished: string | null, pattern: string): readonly CheckResult[] {
  const { problem, usable } = judgeMatch(descriptor, wished);
  const others = usable.length === 0 ? 'none of its columns is unique and writable' : `possible are ${someOf(usable)}`;
  const name = descriptor.recordName;
  if (problem !== null) {
    return [
      fail(
        'push',
        `${name}: the match column "${wished ?? ''}" ${problem}`,
        `Correct tables.${pattern}.match: ${others}.`,
      ),
    ];
  }
  if (wished !== null) return [];
  return [
    warn(
      'push',
      `${name} is pushed without a match column: an insert whose answer gets lost may have to be settled by you`,
      `Set tables.${pattern}.match to a unique column (${others}).`,
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

function checkSpace(path: string): CheckResult {
  const folder = dirname(path);
  try {
    const { bavail, bsize } = statfsSync(folder);
    const free = bavail * bsize;
    const size = existsSync(path) ? statSync(path).size : 0;
    const message = `${bytesText(free)} free, the replica has ${bytesText(size)}`;
    if (free < FREE_BYTES_FAIL) return fail('disk', message, 'Free some space; a pull would stop in the middle.');
    return free < Math.max(FREE_BYTES_WARN, size)
      ? warn('disk', message, 'A table that is read anew needs room beside the old pages.')
      : ok('disk', message);
  } catch (thrown) {
    return fail(
      'disk',
      `the free space of ${folder} is not known (${systemCode(thrown)})`,
      'Check that the folder exists.',
    );
  }
}

function checkFile(config: Config): readonly CheckResult[] {
  const { origin, replica } = config;
  const { path } = replica;
  if (!existsSync(path)) return [ok('replica', `${path} will be made by the first pull`)];
  try {
    const reader = openReader(path);
    try {
      const identity = reader.identity();
      if (identity !== null && identity.database !== origin.database) {
        const message = `${path} holds database ${identity.database}, the configuration names ${origin.database}`;
        return [fail('replica', message, 'Give each database a replica of its own (replica.path).')];
      }
      const tables = reader.status();
      const troubled = tables.filter(({ problem }) => problem !== null).map(({ table }) => table);
      const found = ok('replica', `${path} has ${plural(tables.length, 'table')}`);
      const files = findFileFacts(reader, config).map(({ message, hint }) =>
        hint === '' ? ok('files', message) : warn('files', message, hint),
      );
      if (troubled.length === 0) return [found, ...files];
      return [
        found,
        ...files,
        warn('replica', `something is wrong with ${someOf(troubled)}`, '`rowsync status` says what.'),
      ];
    } finally {
      reader.close();
    }
  } catch (thrown) {
    return [failed('replica', asRowsyncError(thrown))];
  }
}

function someOf(names: readonly string[]): string {
  const rest = names.length - NAMES_MAX;
  return rest > 0 ? `${names.slice(0, NAMES_MAX).join(', ')} and ${rest} more` : names.join(', ');
}
