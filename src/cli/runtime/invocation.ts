/**
 * What commands share: loading the configuration, opening the origin and the replica, printing results. What only some
 * commands need is loaded when it is asked for.
 */
import { usageError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { withPriorities } from '../../base/log-format.ts';
import type { Config, loadConfig, LoadedConfig, LoadOptions } from '../../config/load.ts';
import type { OptionSection } from '../../config/options.ts';
import { findConfig } from '../../config/paths.ts';
import type { SyncContexts } from '../../daemon/sync-contexts.ts';
import type { Origin } from '../../origin/client.ts';
import type { OriginLimits } from '../../origin/limits.ts';
import type { Replica } from '../../replica/database.ts';
import { prepareForRows } from './memory.ts';
import { become, ownerOf } from './process-owner.ts';
import type { Flags, Invocation } from '../../extra.ts';
import { integerFromText, linesText, printable, printableJson } from '../../base/text.ts';
import { writeProse, type Session } from '../terminal/session.ts';

export type GlobalOptions = Flags<'config' | 'service', 'json' | 'verbose'>;

interface ConfigNeeds {
  /** `asRoot`: for a command that may ask for them later, when it is root no more. */
  readonly needsCredentials: boolean | 'asRoot';
  readonly needsExtraSecrets?: boolean;
  /** For a command that decides itself when root becomes another user. */
  readonly keepsRoot?: boolean;
}

/**
 * Loads the configuration that the command line names, and prints its warnings. From then on a process of root is the
 * owner of the replica. Secrets are read before, since root alone may read them, and after it is known who that is.
 * @throws RowsyncError of the configuration, `replica.path`.
 */
export async function loadNamedConfig(invocation: Invocation, needs: ConfigNeeds): Promise<Config> {
  const { session } = invocation;
  const { loadConfig: load } = await import('../../config/load.ts');
  const sections = await loadSections(invocation);
  const file = findConfig(invocation.configPath, session.folder);
  const open = process.geteuid?.() === 0 ? withoutSecrets(file, load, sections) : null;
  const owner = open === null ? null : ownerOf(open.config.replica.path);
  const needsCredentials = needs.needsCredentials === 'asRoot' ? owner !== null : needs.needsCredentials;
  const needsSecrets = needsCredentials || needs.needsExtraSecrets === true;
  const { config, warnings } =
    needsSecrets || open === null ? load(file, { ...needs, needsCredentials, sections }) : open;
  if (owner !== null && needs.keepsRoot !== true) {
    // The owner may not be able to read where rowsync is installed.
    await Promise.all([
      loadResources(),
      import('./account-text.ts'),
      ...invocation.extras.flatMap(({ loadDaemonClient, loadPrepare }) => [loadDaemonClient?.(), loadPrepare?.()]),
    ]);
    become(owner);
  }
  const { stderr } = session;
  for (const warning of warnings) {
    const text = `warning: ${printable(warning)}\n`;
    await stderr.write(stderr.isSystemdStream ? withPriorities('warn', text) : text);
  }
  return config;
}

export function loadSections({ extras }: Pick<Invocation, 'extras'>): Promise<readonly OptionSection[]> {
  return Promise.all(extras.flatMap(({ loadOptions }) => loadOptions?.() ?? []));
}

/** The configuration without a look at its secrets; null for an invalid one, which is reported when it is loaded. */
function withoutSecrets(file: string, load: typeof loadConfig, sections: LoadOptions['sections']): LoadedConfig | null {
  try {
    return load(file, { needsCredentials: false, sections });
  } catch {
    return null;
  }
}

/** Prints what a run did, with the account as it is after it. */
export async function writeWithAccount(
  invocation: Invocation,
  config: Config,
  { text, json }: { readonly text: () => string; readonly json: () => object },
): Promise<void> {
  const { session, isJson } = invocation;
  const { accountAfter, accountBeside } = await import('./account-text.ts');
  const problems = accountAfter(config, invocation);
  if (isJson) return printJson(invocation, { ...json(), problems });
  const said = text();
  return writeProse(session.stdout, said + accountBeside(problems, said));
}

/** Opens the origin of a configuration for the time of `work`; `limits` are those that differ from the usual. */
export async function withOrigin<T>(
  invocation: Invocation,
  config: Config,
  work: (parts: { readonly origin: Origin; readonly log: Logger }) => Promise<T>,
  limits: Partial<OriginLimits> = {},
): Promise<T> {
  const { clock, stderr } = invocation.session;
  const [{ createLogger }, { originSecrets, originSettings }, { openOrigin }] = await Promise.all([
    import('../../base/log.ts'),
    import('../../config/settings.ts'),
    import('../../origin/client.ts'),
  ]);
  const settings = originSettings(config);
  const log = createLogger({
    level: invocation.isVerbose ? 'debug' : 'silent',
    destination: { write: (line) => stderr.log(line) },
    secrets: originSecrets(config),
  });
  const origin = openOrigin({ ...settings, limits }, { clock, log });
  try {
    return await work({ origin, log });
  } finally {
    await origin.close();
  }
}

/** Everything that works on rows and files. */
function loadResources() {
  return Promise.all([
    import('../../daemon/sync-contexts.ts'),
    import('../terminal/progress.ts'),
    import('../../config/settings.ts'),
    import('../../base/log.ts'),
    import('../../origin/client.ts'),
    import('../../replica/database.ts'),
    import('../../replica/reader.ts'),
  ]);
}

/** Opens the origin and the replica of a configuration for the time of `work`; progress goes to stderr. */
export async function withResources<T>(
  invocation: Invocation,
  config: Config,
  work: (contexts: SyncContexts) => Promise<T>,
  limits: Partial<OriginLimits> = {},
): Promise<T> {
  const [{ syncContexts }, { startProgress }, { boundTo }] = await loadResources();
  prepareForRows();
  const { clock, stderr } = invocation.session;
  const signal = invocation.session.stopSignal();
  const syncing = async ({ origin, log }: { readonly origin: Origin; readonly log: Logger }): Promise<T> => {
    const replica = await openForWriting(invocation, config);
    // The log of --verbose goes to the same stream.
    const progress = invocation.isJson ? null : startProgress(stderr, clock, { isShared: invocation.isVerbose });
    try {
      const { pull, push, files } = syncContexts(boundTo(replica, config), { origin, replica, clock, log, signal });
      return await work({
        pull: { ...pull, onProgress: progress?.onProgress },
        push,
        files: { ...files, onProgress: progress?.onFiles },
      });
    } finally {
      progress?.stop();
      replica.close();
    }
  };
  return withOrigin(invocation, config, syncing, limits);
}

/** @throws RowsyncError `replica.path` where only a pull makes the replica. */
export async function requireReplica({ replica }: Config): Promise<void> {
  const { openReader } = await import('../../replica/reader.ts');
  openReader(replica.path).close();
}

/** Opens a replica that must be there already. @throws RowsyncError `replica.path`. */
export async function openExistingReplica(invocation: Invocation, config: Config): Promise<Replica> {
  await requireReplica(config);
  return openForWriting(invocation, config);
}

async function openForWriting({ session, extras }: Invocation, config: Config): Promise<Replica> {
  const { path, shared } = config.replica;
  const { openReplica } = await import('../../replica/database.ts');
  const replica = openReplica(path, { clock: session.clock, shared, onWait: sayWaits(session, path) });
  if (replica.upgrade !== null) {
    const { fromVersion, copyPath } = replica.upgrade;
    await session.stderr.write(
      printable(`upgraded the replica from version ${fromVersion}; the old file is ${copyPath}`) + '\n',
    );
  }
  for (const { loadPrepare } of extras) await (await loadPrepare?.())?.(replica, config);
  return replica;
}

/** A shorter wait is not worth a word. */
const SILENT_WAIT_MS_MAX = 1_000;

/** Says once that the work waits for another program; a progress bar may be on the line. */
export function sayWaits({ stderr }: Pick<Session, 'stderr'>, path: string): (waitedMs: number) => void {
  let isSaid = false;
  return (waitedMs) => {
    if (isSaid || waitedMs < SILENT_WAIT_MS_MAX) return;
    isSaid = true;
    const text = printable(
      `waiting for another program that writes to ${path}; if a SQL client has unsaved changes, save or undo them there`,
    );
    void stderr.write(`${stderr.isTerminal ? '\r\u001B[K' : ''}${text}\n`);
  };
}

/** Prints a result as one JSON document, with durations in whole milliseconds. */
export async function printJson(
  { session }: { readonly session: Pick<Session, 'stdout'> },
  value: unknown,
): Promise<void> {
  const rounded = (key: string, part: unknown): unknown =>
    key.endsWith('Ms') && typeof part === 'number' ? Math.round(part) : part;
  await session.stdout.write(`${printableJson(JSON.stringify(value, rounded, 2))}\n`);
}

/** Prints a result: one JSON document, or for people a text, or lines that are made printable. */
export async function printResult(
  invocation: Pick<Invocation, 'session' | 'isJson'>,
  json: unknown,
  text: string | readonly string[],
): Promise<void> {
  if (invocation.isJson) return printJson(invocation, json);
  await invocation.session.stdout.write(typeof text === 'string' ? text : linesText(text));
}

/** The whole number that an argument writes. @throws RowsyncError `usage.invalid`. */
export function numberArgument(text: string, what: string, hint = 'Write a whole number.'): number {
  const number = integerFromText(text);
  if (number !== null) return number;
  throw usageError(`"${text}" is not the ${what}, a whole number`, hint);
}
