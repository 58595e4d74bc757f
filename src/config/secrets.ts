/**
 * Values that are not in the configuration file: environment variables written as `${NAME}`, and secrets read from
 * files. The only place that reads the environment and secret files.
 *
 * systemd hands credentials over as files of a folder, so `tokenFile: ${CREDENTIALS_DIRECTORY}/token` is all it takes.
 * Invariant: no secret, and nothing that could be one, gets into a problem or a warning (I16).
 */
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { codeOf } from '../base/errors.ts';
import { readShortText } from '../base/file-system.ts';

import type { Credentials } from '../origin/credentials.ts';
import type { OptionPath, ConfigProblem } from './config-errors.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export function processEnvironment(): Environment {
  return process.env;
}

/** Bytes of a secret file; a token has 32 characters, and reading a huge or endless file by mistake must not hang. */
const SECRET_BYTES_MAX = 16 * 1024;

/** Bits of a mode that let others than the owner read, write or list a file. */
const OTHERS_MODE = 0o077;

/** A secret in the file: one environment variable and nothing else. */
export const SECRET_REFERENCE = /^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/;

const PROTO_COMPLAINT = 'cannot be used as a key; for a table of this name, write a pattern such as __proto*';

const VARIABLE = /\$(\$)?\{([^}]*)\}/g;

/**
 * Replaces `${NAME}` in every text of the file by the environment variable, or by the text after `:-` if the variable
 * is not set, as in a shell. `$${` means a plain `${`. Keys are left as they are. A variable that is not set and has
 * nothing behind it is a problem, and so is a key that cannot be one.
 */
export function expandVariables(
  values: unknown,
  environment: Environment,
  isOtherSecret: (path: OptionPath) => boolean,
): { values: unknown; problems: ConfigProblem[] } {
  const problems: ConfigProblem[] = [];
  const expandText = (text: string, path: OptionPath): string =>
    text.replace(VARIABLE, (match, escaped: string | undefined, inside: string) => {
      if (escaped !== undefined) return match.slice(1);
      const [name = '', ...otherwise] = inside.split(':-');
      const value = environment[name];
      if (value !== undefined && value !== '') return value;
      if (otherwise.length > 0) return otherwise.join(':-');
      problems.push(hiddenProblem(path, `needs the environment variable ${name}, which is not set`));
      return match;
    });
  const expand = (value: unknown, path: OptionPath): unknown => {
    if (typeof value === 'string') return expandText(value, path);
    if (Array.isArray(value)) return value.map((item, index) => expand(item, [...path, index]));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => {
        const itemPath = [...path, key];
        // This key is special in JavaScript objects, and validation would drop it silently.
        if (key === '__proto__') problems.push(hiddenProblem(itemPath, PROTO_COMPLAINT));
        // A secret is put in by readCredentials, so that it is nowhere else.
        return [key, SECRET_OPTIONS.has(itemPath.join('.')) || isOtherSecret(itemPath) ? item : expand(item, itemPath)];
      }),
    );
  };
  return { values: expand(values, []), problems };
}

/** The options whose secret may be in an environment variable; extras add their own. */
const SECRET_OPTIONS: ReadonlySet<string> = new Set(['origin.token', 'origin.password', 'origin.proxy.password']);

/** A problem that does not show the value. */
function hiddenProblem(path: OptionPath, complaint: string): ConfigProblem {
  return { path, complaint, showValue: false };
}

/** Where the secrets of a configuration are, and what was wrong or unwise about those that were read. */
export class SecretSources {
  /** Where relative paths start. */
  readonly folder: string;
  /** The variables that may hold secrets or name a proxy. */
  readonly environment: Environment;
  readonly problems: ConfigProblem[] = [];
  readonly warnings: string[] = [];

  constructor(folder: string, environment: Environment) {
    this.folder = folder;
    this.environment = environment;
  }

  /** Notes a problem without the value; null is what was read. */
  refuse(path: OptionPath, complaint: string): null {
    this.problems.push(hiddenProblem(path, complaint));
    return null;
  }
}

/**
 * Reads the credentials that the `origin` section names; null where there are problems. Takes the section before
 * validation, so that a missing secret is reported together with all other problems. Problems that validation reports
 * itself are skipped here.
 */
export function readCredentials(
  section: Readonly<Record<string, unknown>>,
  sources: SecretSources,
): Credentials | null {
  const given = ['tokenFile', 'token', 'user', 'passwordFile', 'password'].filter((key) => section[key] !== undefined);
  const isInPath = section['tokenIn'] === 'path';
  const [first, second] = given;
  if (first === undefined) {
    const complaint = 'needs a way to log in: tokenFile (recommended), token, or user with passwordFile or password';
    return sources.refuse(['origin'], complaint);
  }
  if (first === 'tokenFile' || first === 'token') {
    if (second !== undefined)
      return sources.refuse(['origin', second], `conflicts with ${first}: keep only one way to log in`);
    const token = readNamedSecret(['origin', first], section[first], sources);
    return token === null ? null : { kind: isInPath ? 'urlToken' : 'bearer', token };
  }
  if (isInPath) return sources.refuse(['origin', 'tokenIn'], 'needs a token; a user and a password go into a header');
  const login = readLogin(['origin'], section, sources);
  return login === null ? null : { kind: 'basic', ...login };
}

/** Reads the user and the password that a section names; null where it names neither. */
export function readLogin(
  path: readonly string[],
  section: Readonly<Record<string, unknown>>,
  sources: SecretSources,
): { readonly user: string; readonly password: string } | null {
  const { user } = section;
  const [key, other] = ['passwordFile', 'password'].filter((name) => section[name] !== undefined);
  const refuse = (at: string, complaint: string): null => sources.refuse([...path, at], complaint);
  if (key === undefined) return user === undefined ? null : refuse('user', 'needs passwordFile or password beside it');
  if (user === undefined) return refuse(key, 'needs user beside it');
  if (other !== undefined) return refuse(other, `conflicts with ${key}: keep only one`);
  const password = readNamedSecret([...path, key], section[key], sources);
  return password === null || typeof user !== 'string' ? null : { user, password };
}

/** Whether a file name looks like a token, written in place of the path: no screen and no log may show it. */
export function looksLikeToken(path: string): boolean {
  return /^(?=.*\d)[A-Za-z0-9_-]{24,}$/.test(path.slice(path.lastIndexOf('/') + 1));
}

/** Reads a secret from the file or variable that an option names; null with problems, or if validation finds some. */
export function readNamedSecret(path: readonly string[], value: unknown, sources: SecretSources): string | null {
  if (typeof value !== 'string' || value.trim() === '') return null;
  if (path.at(-1)?.endsWith('File') === true) return readSecretFile(path, resolve(sources.folder, value), sources);
  if (!SECRET_REFERENCE.test(value)) return null;
  const name = value.slice(2, -1);
  return checkSecret(path, sources.environment[name] ?? '', `the environment variable ${name}`, sources);
}

function readSecretFile(option: readonly string[], path: string, sources: SecretSources): string | null {
  const shown = looksLikeToken(path) ? 'that looks like a token itself' : path;
  try {
    const stat = statSync(path);
    if (!stat.isFile()) return sources.refuse(option, `names ${shown}, which is not a file`);
    if (stat.size > SECRET_BYTES_MAX) return sources.refuse(option, `names ${shown}, which is too large for a secret`);
    if ((stat.mode & OTHERS_MODE) !== 0 && !isSystemdCredential(path, sources.environment)) {
      const mode = (stat.mode & 0o777).toString(8);
      const openness = `users other than its owner may use ${path} (mode ${mode}); run: chmod 600 ${path}`;
      // The owner of the file can repair it. A file of another user, such as a container's secret, gets a warning.
      if (stat.uid === process.getuid?.()) return sources.refuse(option, `is refused: ${openness}`);
      sources.warnings.push(`${option.join('.')}: ${openness}`);
    }
    return checkSecret(option, readShortText(path, SECRET_BYTES_MAX), shown, sources);
  } catch (thrown) {
    return sources.refuse(option, `names a file ${shown} that cannot be read (${systemCode(thrown)})`);
  }
}

/** systemd guards its credentials with an access list that the plain mode bits do not show. */
export function isSystemdCredential(path: string, environment: Environment): boolean {
  const { CREDENTIALS_DIRECTORY: folder = '' } = environment;
  return folder !== '' && resolve(path).startsWith(`${resolve(folder)}/`);
}

/** A secret as it was found in `shown`; null where it cannot be one. */
function checkSecret(option: readonly string[], text: string, shown: string, sources: SecretSources): string | null {
  const isToken = option.at(-1)?.startsWith('token') === true;
  // Editors end a file with a line break and some begin it with a byte order mark; neither is part of the secret.
  const line = text.replace(/^\uFEFF/, '').replace(/(?:\r?\n)+$/, '');
  const secret = isToken ? line.trim() : line;
  if (secret === '') return sources.refuse(option, `names ${shown}, which is empty`);
  if (isToken && !/^[\x21-\x7e]+$/.test(secret))
    return sources.refuse(option, `names ${shown}, which has no token in it: a token is one word of plain characters`);
  if (/\p{Cc}/u.test(secret)) return sources.refuse(option, `names ${shown}, which has more than one line`);
  return secret;
}

export function systemCode(thrown: unknown): string {
  return codeOf(thrown) || String(thrown);
}
