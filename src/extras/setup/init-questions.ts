/**
 * The questions of `rowsync init`, for what no option gave, with suggestions from the origin. Writes nothing.
 */
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { asRowsyncError, RowsyncError, usageError } from '../../base/errors.ts';
import { createLogger } from '../../base/log.ts';
import { matchesPattern } from '../../base/name-pattern.ts';
import { origin as originOptions } from '../../config/origin-options.ts';
import { processEnvironment, readNamedSecret, SecretSources } from '../../config/secrets.ts';
import { readOriginRoute } from '../../config/proxy.ts';
import { openOrigin, type Origin } from '../../origin/client.ts';
import { areRightsUnknown, describeWithRights } from '../shared/described-rights.ts';
import { ORIGIN_LIMITS } from '../../origin/limits.ts';
import type { OriginRoute } from '../../origin/proxy.ts';
import { guessText } from '../../reconcile/option-bindings.ts';
import { judgeMatch, matchError } from '../../reconcile/match-column.ts';
import type { DatabaseDescriptor, TableSummary } from '../../wire/schema.ts';
import { readAddress, type Answers, type PushedTable } from './init-config.ts';
import type { Flags, Invocation } from '../../extra.ts';
import type { Prompter } from '../shared/prompts.ts';
import { plural, someOf } from '../../base/text.ts';

export type InitOptions = Flags<
  'url' | 'database' | 'tokenFile' | 'proxy' | 'proxyUser' | 'proxyPasswordFile' | 'caFile' | 'replica',
  never,
  'table' | 'push'
>;

export interface FirstFiles {
  readonly answers: Answers;
  readonly token: string | null;
}

type KnownAnswers = Omit<InitOptions, 'push'> & {
  /** Where the configuration will be; the token goes beside it. */
  readonly file: string;
  readonly pushed: readonly PushedTable[] | undefined;
};

/** Checks answers of options at the origin before anything is written. @throws RowsyncError also as `requirePushed`. */
export async function checkAnswers(
  { session }: Invocation,
  options: InitOptions,
  answers: Answers,
): Promise<readonly PushedTable[]> {
  const token = readToken(resolve(session.folder, answers.tokenFile));
  const origin = openAt(session, options, { address: answers, token });
  try {
    const signal = session.stopSignal();
    await origin.user({ signal });
    const { value } = await origin.describeDatabase({ signal });
    return await requirePushed(origin, value.tables, answers.pushed);
  } finally {
    await origin.close();
  }
}

const NAMES_MAX = 40;

/** Asks for what the options leave open. @throws RowsyncError of the origin, and where the input ends early. */
export async function askAnswers(
  prompter: Prompter,
  invocation: Invocation,
  options: KnownAnswers,
): Promise<FirstFiles> {
  const { origin, address, tokenFile, token, described } = await reachOrigin(prompter, invocation, options);
  try {
    const tables = options.table ?? (await askTables(prompter, described.tables));
    const request = { prompter, origin, tables: described.tables };
    const pushed =
      options.pushed === undefined
        ? await askPurge(prompter, await askPushed(request))
        : await proposeMatches(request, await requirePushed(origin, described.tables, options.pushed));
    const replicaPath = options.replica ?? (await prompter.ask('SQLite file to keep', { preset: 'replica.db' }));
    return { answers: { ...address, ...routeOptions(options), tokenFile, replicaPath, tables, pushed }, token };
  } finally {
    await origin.close();
  }
}

interface Reached {
  /** Open; the caller closes it. */
  readonly origin: Origin;
  readonly address: AddressAnswers;
  readonly tokenFile: string;
  /** Null where a file has it already. */
  readonly token: string | null;
  readonly described: DatabaseDescriptor;
}

/** The way to the origin by the options of the command. @throws RowsyncError `usage.invalid`, which shows no login. */
export function routeOptions(options: InitOptions): Pick<Answers, 'proxy' | 'caFile'> {
  const { proxy: url, proxyUser: user, proxyPasswordFile: passwordFile, caFile } = options;
  const isAlone = (user ?? passwordFile) === undefined;
  const proxy = url === undefined || isAlone ? url : { url, user, passwordFile };
  const parsed = originOptions.shape.proxy.safeParse(proxy);
  const [complaint] = parsed.success ? [] : parsed.error.issues.map(({ message }) => message);
  if (complaint === undefined && (isAlone || url !== undefined)) return { proxy, caFile };
  throw usageError(
    complaint === undefined ? '--proxy-user and --proxy-password-file need --proxy' : `--proxy ${complaint}`,
    'A login goes into --proxy-user and --proxy-password-file.',
  );
}

/** The way itself. @throws RowsyncError `config.secret` with all that is wrong with it. */
function readRouteTo(url: string, options: InitOptions, folder: string): OriginRoute {
  const sources = new SecretSources(folder, processEnvironment());
  const route = readOriginRoute({ url, ...routeOptions(options) }, sources);
  if (sources.problems.length === 0) return route;
  throw new RowsyncError('config', 'config.secret', {
    message: sources.problems.map(({ path, complaint }) => `${path.join('.')} ${complaint}`).join('; '),
    hint: 'Nothing was written.',
  });
}

/** Someone waits for the answer, who may have typed another address than they meant. */
const FEW_RETRIES = { ...ORIGIN_LIMITS.retry, attemptsMax: 2 };

/** Asks until the origin answers: what was typed wrong is asked again, and nothing else has to be typed twice. */
async function reachOrigin(prompter: Prompter, { session }: Invocation, options: KnownAnswers): Promise<Reached> {
  let address = await askAddress(prompter, options);
  const tokenFile = options.tokenFile ?? join(dirname(options.file), 'token');
  const tokenPath = resolve(session.folder, tokenFile);
  const isThere = existsSync(tokenPath);
  if (isThere) await prompter.say(`The token in ${tokenPath} is used.`);
  let token = isThere ? readToken(tokenPath) : await askToken(prompter);
  const signal = session.stopSignal();
  // Ends with an answer of the origin, with what no answer can mend, or with the input.
  for (;;) {
    const origin = openAt(session, options, { address, token });
    try {
      const { value: user } = await origin.user({ signal });
      const { value: described } = await origin.describeDatabase({ signal });
      const names = described.tables.map(({ recordName }) => recordName);
      const count = plural(names.length, 'table');
      await prompter.say(
        `Hello ${user.email} (role ${user.role}). ${described.name} has ${count}: ${someOf(names, NAMES_MAX)}.`,
      );
      return { origin, address, tokenFile, token: isThere ? null : token, described };
    } catch (thrown) {
      await origin.close();
      const error = asRowsyncError(thrown);
      const isOfToken = error.kind === 'auth';
      // Nothing that is asked for mends the way.
      if (error.code === 'origin.proxy') throw error;
      if (signal.aborted || (isOfToken ? isThere : options.url !== undefined)) throw error;
      await prompter.say(`${error.message} (${error.code})`);
      await prompter.say(error.hint);
      if (isOfToken) token = await askToken(prompter);
      else address = await askAddress(prompter, options);
    }
  }
}

function openAt(
  { clock, folder }: Invocation['session'],
  options: InitOptions,
  { address: { url, database }, token }: { readonly address: AddressAnswers; readonly token: string },
): Origin {
  const log = createLogger({ level: 'silent', destination: { write: () => undefined }, secrets: [token] });
  const route = readRouteTo(url, options, folder);
  const credentials = { kind: 'bearer', token } as const;
  return openOrigin({ url, database, ...route, credentials, limits: { retry: FEW_RETRIES } }, { clock, log });
}

interface AddressAnswers {
  readonly url: string;
  readonly database: string;
}

async function askAddress(prompter: Prompter, options: InitOptions): Promise<AddressAnswers> {
  const complain = (text: string): string | null =>
    readAddress(text) === null ? 'Not a web address. Open the database in your browser and copy its address.' : null;
  const given = options.url !== undefined && complain(options.url) === null ? options.url : null;
  const pasted = given ?? (await prompter.ask('Address of the database, as the browser shows it', { complain }));
  const address = readAddress(pasted);
  const known = options.database ?? address?.database ?? null;
  const database =
    known ??
    (await prompter.ask('Number of the database (it follows /db/ in the address)', {
      complain: (text) =>
        /^\d{1,20}(?:-\d{1,20})?$/.test(text) ? null : 'A database number has digits only, such as 21995.',
    }));
  return { url: address?.url ?? '', database };
}

function readToken(tokenFile: string): string {
  const sources = new SecretSources('/', {});
  const token = readNamedSecret(['origin', 'tokenFile'], tokenFile, sources);
  if (token !== null) return token;
  throw new RowsyncError('config', 'config.secret', {
    message: `${tokenFile} ${sources.problems.map(({ complaint }) => complaint).join('; ')}`,
    hint: 'Correct it, or name another file; one that does not exist yet is written with the token that you give.',
  });
}

async function askToken(prompter: Prompter): Promise<string> {
  // Ends with a token, or with the input.
  for (;;) {
    const token = await prompter.askHidden('API token (it is not shown)');
    if (token !== null && !/\s/.test(token)) return token;
    await prompter.say('A token is one word of letters and digits.');
  }
}

/** Names that no table has, each with the one that it may mean. */
function guessed(names: readonly string[], tables: readonly TableSummary[]): string {
  const there = tables.map(({ recordName }) => recordName);
  return someOf(
    names.map((name) => name + guessText(name, there)),
    NAMES_MAX,
  );
}

async function askTables(prompter: Prompter, tables: readonly TableSummary[]): Promise<readonly string[]> {
  const text = await prompter.ask('Tables to copy, separated by commas; * matches any text', {
    preset: '*',
    complain: (given) => {
      const isUsed = (name: string): boolean => tables.some(({ recordName }) => matchesPattern(name, recordName));
      const unused = splitNames(given).filter((name) => !isUsed(name));
      return unused.length === 0 ? null : `There is no table ${guessed(unused, tables)}; capital letters count.`;
    },
  });
  return splitNames(text);
}

interface InitTables {
  readonly prompter: Prompter;
  readonly origin: Origin;
  readonly tables: readonly TableSummary[];
}

function tableNamed(tables: readonly TableSummary[], name: string): TableSummary | undefined {
  return tables.find(({ recordName }) => recordName.toLowerCase() === name.toLowerCase());
}

/** The tables of --push, by their names at the origin. @throws RowsyncError `usage.invalid`, or as `matchError`. */
async function requirePushed(
  origin: Origin,
  tables: readonly TableSummary[],
  given: readonly PushedTable[],
): Promise<readonly PushedTable[]> {
  const names = tables.map(({ recordName }) => recordName);
  const pushed = new Map<string, PushedTable>();
  for (const one of given) {
    const found = tableNamed(tables, one.table);
    if (found === undefined && !one.table.includes('*')) {
      throw usageError(
        `--push: there is no table "${one.table}"${guessText(one.table, names)}`,
        `Nothing was written. The database has ${someOf(names, NAMES_MAX)}.`,
      );
    }
    if (found !== undefined && one.match !== null) await requireMatchColumn(origin, found, one.match);
    const table = found?.recordName ?? one.table;
    const { match = null } = pushed.get(table) ?? {};
    if (match !== null && one.match !== null && match !== one.match) {
      throw usageError(
        `--push: "${table}" has two match columns, "${match}" and "${one.match}"`,
        'Nothing was written. A table has only one match column: the one that identifies its rows.',
      );
    }
    pushed.set(table, { ...one, table, match: one.match ?? match });
  }
  return [...pushed.values()];
}

async function requireMatchColumn(
  origin: Origin,
  { recordName: name, alias }: TableSummary,
  match: string,
): Promise<void> {
  const { descriptor } = await describeWithRights(origin, { name, alias });
  const verdict = judgeMatch(descriptor, match);
  if (verdict.problem !== null && !areRightsUnknown(descriptor)) throw matchError(name, match, verdict);
}

async function proposeMatches(request: InitTables, given: readonly PushedTable[]): Promise<readonly PushedTable[]> {
  const pushed: PushedTable[] = [];
  for (const table of given) {
    const found = tableNamed(request.tables, table.table);
    pushed.push(table.match !== null || found === undefined ? table : await askTable(request, found));
  }
  return pushed;
}

async function askPushed(request: InitTables): Promise<readonly PushedTable[]> {
  const { prompter, tables } = request;
  const text = await prompter.ask('Tables to edit here with SQL, separated by commas (empty: none)', {
    complain: (given) => {
      const unknown = splitNames(given).filter((name) => tableNamed(tables, name) === undefined);
      return unknown.length === 0 ? null : `There is no table ${guessed(unknown, tables)}.`;
    },
  });
  return await proposeMatches(
    request,
    splitNames(text).map((table) => ({ table, match: null })),
  );
}

async function askTable(
  { prompter, origin }: InitTables,
  { recordName: name, alias }: TableSummary,
): Promise<PushedTable> {
  const { descriptor } = await describeWithRights(origin, { name, alias });
  if (areRightsUnknown(descriptor)) {
    await prompter.say(`What you may write in ${name} is not known until it has a row; it is read-only until then.`);
    return { table: name, match: null };
  }
  return { table: name, match: await askMatch(prompter, name, judgeMatch(descriptor, null).usable) };
}

/** Only who says so in a word has rows deleted for good. */
async function askPurge(prompter: Prompter, pushed: readonly PushedTable[]): Promise<readonly PushedTable[]> {
  if (pushed.length === 0) return pushed;
  const answer = await prompter.ask(
    "Rows that you delete go to the origin's recycle bin (bin), or can never come back (purge)",
    { preset: 'bin', complain: (text) => (/^(?:bin|purge)$/.test(text) ? null : 'Answer bin or purge.') },
  );
  return pushed.map((table) => ({ ...table, purges: answer === 'purge' }));
}

async function askMatch(prompter: Prompter, table: string, usable: readonly string[]): Promise<string | null> {
  const [first] = usable;
  if (first === undefined) {
    await prompter.say(
      `${table} has no column that is unique and writable; lost answers to inserts will wait for you.`,
    );
    await goOn(prompter);
    return null;
  }
  const find = (name: string): string | undefined => usable.find((known) => known.toLowerCase() === name.toLowerCase());
  const answer = await prompter.ask(`Column that identifies rows of ${table} (${usable.join(', ')}, or - for none)`, {
    preset: first,
    complain: (name) =>
      name === '-' || find(name) !== undefined ? null : `Answer with one of them: ${usable.join(', ')}, or -.`,
  });
  if (answer === '-') await goOn(prompter);
  return answer === '-' ? null : (find(answer) ?? null);
}

/** @throws RowsyncError `usage.invalid` for a no. */
async function goOn(prompter: Prompter): Promise<void> {
  const answer = await prompter.ask('Go on without a match column (yes or no)', {
    preset: 'yes',
    complain: (text) => (/^(?:yes|no)$/.test(text) ? null : 'Answer yes or no.'),
  });
  if (answer === 'yes') return;
  throw usageError(
    'Nothing was written: a table that is pushed has no match column',
    'Make a column unique and writable at the origin, then run rowsync init again.',
  );
}

function splitNames(text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  return [...new Set(names.filter((name) => name !== ''))];
}
