/**
 * Finds, reads and validates the configuration file. Gives a `Config` with all defaults, absolute paths (relative ones
 * start at the folder of the file) and all secrets, or one error that lists every problem. A problem never shows a
 * secret (I16).
 */
import { readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

import { RowsyncError } from '../base/errors.ts';
import type { Credentials } from '../origin/credentials.ts';
import type { OriginRoute } from '../origin/proxy.ts';
import { findMaskKey } from './mask-key.ts';
import type { AddedJobs } from './schedule-options.ts';
import { addedJobs, optionsSchema, type ExtraSettings, type OptionSection, type Options } from './options.ts';
import { describeProblems, problemsFromIssues, type ConfigProblem } from './config-errors.ts';
import {
  expandVariables,
  processEnvironment,
  readCredentials,
  SecretSources,
  systemCode,
  type Environment,
} from './secrets.ts';
import { tableRules, type TableRules } from './table-patterns.ts';
import { readOriginRoute } from './proxy.ts';
import { parseYaml } from './yaml.ts';

export interface Config {
  /** Absolute path of the file it is in. */
  readonly file: string;
  readonly origin: {
    /** Scheme and host, without a slash at the end. */
    readonly url: string;
    readonly database: string;
    /** Null where the caller asked for none. */
    readonly credentials: Credentials | null;
    readonly format: Options['origin']['format'];
    /** A proxy and authorities; empty where the caller asked for no credentials. */
    readonly route: OriginRoute;
  };
  /** Its paths are absolute. */
  readonly replica: Pick<Options['replica'], 'path' | 'shared' | 'names'> & {
    /** The folder for attached files. */
    readonly files: string;
    /** The file with the key of masks. */
    readonly maskKeyFile: string;
    /** Where credentials are loaded and there is one to be believed. Root may be the only one who can read it. */
    readonly maskKey: string | null;
  };
  readonly tables: TableRules;
  readonly files: {
    readonly maxBytes: Options['files']['maxBytes'];
    /** Absolute; null for none. */
    readonly uploadDir: string | null;
  };
  readonly schedule: ScheduleTexts;
  /** How long after the last edit it is pushed; null for on schedule only. */
  readonly push: { readonly delayMs: number | null };
  readonly limits: Options['limits'];
  readonly safety: Options['safety'];
  readonly extras: ExtraSettings;
}

/** The cron expression of every kind of work, with false for never, and the zone that they are read in. */
export interface ScheduleTexts {
  readonly timeZone: string;
  readonly pull: string | false;
  readonly push: string | false;
  readonly follow?: string | false | undefined;
  /** Undefined where files come with the pull. */
  readonly files?: string | false | undefined;
  /** Kinds of work that extras add. */
  readonly added: Readonly<Record<string, string | false>>;
  /** Whether changes come by rings. */
  readonly isRung: boolean;
}

/** A configuration, and what is allowed in it but unwise. */
export interface LoadedConfig {
  readonly config: Config;
  readonly warnings: readonly string[];
}

export interface LoadOptions {
  /** False for commands that never contact the origin: users who only read the replica need no secret. */
  readonly needsCredentials: boolean;
  /** Whether the secrets of extras are read; as the credentials unless given. */
  readonly needsExtraSecrets?: boolean | undefined;
  /** What extras add to the file. */
  readonly sections?: readonly OptionSection[] | undefined;
  readonly environment?: Environment | undefined;
}

/** Bytes of a configuration file; a real one has a few hundred lines. */
const CONFIG_BYTES_MAX = 1024 * 1024;

/** @throws RowsyncError `config.missing`, `config.secret` (only secrets are wrong) or `config.invalid`. */
export function loadConfig(path: string, options: LoadOptions = { needsCredentials: true }): LoadedConfig {
  const file = resolve(path);
  const environment = options.environment ?? processEnvironment();
  const { document, lines, values } = parseYaml(file, readConfigFile(file));
  const { sections = [] } = options;
  const isSecret = (at: ConfigProblem['path']): boolean => sections.some((section) => section.isSecret?.(at) === true);
  const expanded = expandVariables(values, environment, isSecret);
  const parsed = optionsSchema(sections).safeParse(expanded.values);
  const folder = dirname(file);
  const { needsCredentials, needsExtraSecrets: needsSecrets = needsCredentials } = options;
  const sources = new SecretSources(folder, environment);
  const credentials = needsCredentials ? readCredentials(originSection(expanded.values), sources) : null;
  const route = needsCredentials && parsed.success ? readOriginRoute(parsed.data.origin, sources) : {};
  const parsedOptions: Readonly<Record<string, unknown>> = parsed.data ?? {};
  const read = !parsed.success
    ? []
    : sections.flatMap(({ key, read: readSection }) => {
        if (key === undefined || readSection === undefined) return [];
        const context = { schedule: parsed.data.schedule, folder, sources, needsSecrets };
        return [{ key, ...readSection(parsedOptions[key], context) }];
      });
  const otherProblems = [
    ...expanded.problems,
    ...(parsed.success ? read.flatMap((section) => section.problems ?? []) : problemsFromIssues(parsed.error.issues)),
  ];
  const problems = [...otherProblems, ...sources.problems];
  if (!parsed.success || problems.length > 0) {
    const described = describeProblems(problems, { document, lines });
    const count = described.length === 1 ? 'a problem' : `${described.length} problems`;
    const isOfSecrets = otherProblems.length === 0;
    throw new RowsyncError('config', isOfSecrets ? 'config.secret' : 'config.invalid', {
      message: [`${file} has ${count}:`, ...described].join('\n  '),
      hint: `Correct ${isOfSecrets ? 'the secret, or what names it in ' : ''}${file}, and run the same command again; nothing was done.`,
    });
  }
  const config = configFromOptions(file, parsed.data, {
    credentials,
    route,
    schedule: {
      ...scheduleTexts(parsed.data.schedule, addedJobs(sections)),
      isRung: read.some(({ isRung }) => isRung === true),
    },
    extras: Object.fromEntries(read.map(({ key, settings }) => [key, settings])),
  });
  return { config, warnings: [...sources.warnings, ...addressWarnings(config)] };
}

function readConfigFile(file: string): string {
  try {
    const stat = statSync(file);
    if (stat.isFile() && stat.size <= CONFIG_BYTES_MAX) return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new RowsyncError('config', 'config.missing', {
      message: `Reading the configuration ${file} failed: ${systemCode(cause)}`,
      hint: 'Check the path of --config or the name of --service, and that you may read the file.',
      cause,
    });
  }
  throw new RowsyncError('config', 'config.missing', {
    message: `${file} is not a configuration file: it is not a plain file, or larger than ${CONFIG_BYTES_MAX} bytes`,
    hint: 'Name the YAML file with --config FILE.',
  });
}

function originSection(values: unknown): Readonly<Record<string, unknown>> {
  if (typeof values !== 'object' || values === null || !('origin' in values)) return {};
  const { origin } = values;
  return typeof origin === 'object' && origin !== null ? { ...origin } : {};
}

function configFromOptions(
  file: string,
  options: Options,
  found: Pick<Config['origin'], 'credentials' | 'route'> & Pick<Config, 'schedule' | 'extras'>,
): Config {
  const { origin, replica, files, push, limits, safety } = options;
  const { credentials, route, schedule, extras } = found;
  const absolute = (name: string): string => resolve(dirname(file), name);
  const path = absolute(replica.path);
  const maskKeyFile = absolute(replica.maskKeyFile ?? `${path}.mask-key`);
  const maskKey = credentials === null ? null : findMaskKey(maskKeyFile);
  return {
    file,
    origin: { url: new URL(origin.url).origin, database: origin.database, credentials, format: origin.format, route },
    replica: { ...replica, path, files: absolute(replica.files ?? `${path}.files`), maskKeyFile, maskKey },
    tables: tableRules(options.tables),
    files: {
      maxBytes: files.maxBytes,
      uploadDir: files.uploadDir === undefined ? null : absolute(files.uploadDir),
    },
    schedule,
    push: { delayMs: push.delay === false ? null : push.delay * 1000 },
    limits,
    safety,
    extras,
  };
}

/** A cycle is a pull and a push, so `sync` means whichever of the two is not there. */
function scheduleTexts(options: Options['schedule'], kinds: AddedJobs): Omit<ScheduleTexts, 'isRung'> {
  const { sync, pull = sync, push = sync, ...others } = options;
  const texts: Readonly<Record<string, string | false | undefined>> = options;
  const added = kinds.map(([kind, { usual }]): readonly [string, string | false] => {
    return [kind, texts[kind] ?? (usual !== undefined && (texts[usual.beside] ?? false) !== false && usual.text)];
  });
  return { ...others, pull, push, added: Object.fromEntries(added) };
}

/** Hosts whose traffic does not leave the machine. */
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

function addressWarnings({ origin }: Pick<Config, 'origin'>): readonly string[] {
  const { protocol, hostname } = new URL(origin.url);
  return protocol === 'http:' && !LOOPBACK.test(hostname)
    ? ['origin.url: http sends the credentials and every row unencrypted; use https']
    : [];
}
