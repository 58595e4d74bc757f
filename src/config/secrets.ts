/**
 * Values that are not in the configuration file: environment variables written as `${NAME}`, and secrets read from
 * files. The only place that reads the environment and secret files.
 *
 * systemd hands credentials over as files of a folder, so `tokenFile: ${CREDENTIALS_DIRECTORY}/token` is all it takes.
 * Invariant: no secret, and nothing that could be one, gets into a problem or a warning (I16).
 */
import { statSync } from 'node:fs';
import { isAbsolute, join, relative, resolve } from 'node:path';
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

const VARIABLE = /\$(\$)?\{([^}]*)\}/g;

/**
 * Replaces `${NAME}` in every text of the file by the environment variable, or by the text after `:-` if the variable is not set, as in a shell.
 * `$${` means a plain `${`. Keys are left as they are. A variable that is not set and has nothing behind it is a problem.
 */
export function expandVariables(
  values: unknown,
  environment: Environment,
  isOtherSecret: (path: OptionPath) => boolean,
): { values: unknown; problems: ConfigProblem[] } {
  const problems: ConfigProblem[] = [];
  const expandText = (text: string, path: OptionPath): string =>
    text.replace(VARIABLE, (whole, escaped: string | undefined, inside: string) => {
      if (escaped !== undefined) return whole.slice(1);
      const [name = '', ...otherwise] = inside.split(':-');
      const value = environment[name];
      if (value !== undefined && value !== '') return value;
      if (otherwise.length > 0) return otherwise.join(':-');
      problems.push(hiddenProblem(path, `needs the environment variable ${name}, which is not set`));
      return whole;
    });
  const expand = (value: unknown, path: OptionPath): unknown => {
    if (typeof value === 'string') return expandText(value, path);
    if (Array.isArray(value)) return value.map((item, index) => expand(item, [...path, index]));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => {
        const itemPath = [...path, key];
        // A secret is put in by readCredentials, so that it is nowhere else.
        return [key, isSecretReference(itemPath) || isOtherSecret(itemPath) ? item : expand(item, itemPath)];
      }),
    );
  };
  return { values: expand(values, []), problems };
}

function isSecretReference(path: OptionPath): boolean {
  if (path.length === 3 && path[0] === 'origin' && path[1] === 'proxy' && path[2] === 'password') return true;
  return path.length === 2 && path[0] === 'origin' && (path[1] === 'token' || path[1] === 'password');
}

/** Where relative paths start, and the variables that may hold secrets or name a proxy. */
export interface SecretSources {
  readonly folder: string;
  readonly environment: Environment;
}

/** What is wrong, and what is unwise. */
export interface OptionFindings {
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly string[];
}

/** A problem that does not show the value. */
export function hiddenProblem(path: OptionPath, complaint: string): ConfigProblem {
  return { path, complaint, showValue: false };
}

/** What came of looking for the credentials; `credentials` is null exactly if there are problems. */
export interface CredentialsResult extends OptionFindings {
  readonly credentials: Credentials | null;
}

/**
 * Reads the credentials that the `origin` section names. Takes the section before validation, so that a missing secret is reported together with all
 * other problems. Problems that validation reports itself are skipped here.
 */
export function readCredentials(
  section: Readonly<Record<string, unknown>>,
  surroundings: SecretSources,
): CredentialsResult {
  const given = ['tokenFile', 'token', 'user', 'passwordFile', 'password'].filter((key) => section[key] !== undefined);
  const complain = (path: OptionPath, complaint: string): CredentialsResult => {
    return { credentials: null, problems: [hiddenProblem(path, complaint)], warnings: [] };
  };
  const isInPath = section['tokenIn'] === 'path';
  const [first, second] = given;
  if (first === undefined) {
    const complaint = 'needs a way to log in: tokenFile (recommended), token, or user with passwordFile or password';
    return complain(['origin'], complaint);
  }
  if (first === 'tokenFile' || first === 'token') {
    if (second !== undefined)
      return complain(['origin', second], `conflicts with ${first}: keep only one way to log in`);
    const { secret: token, ...found } = readNamedSecret(['origin', first], section[first], surroundings);
    const kind = isInPath ? 'urlToken' : 'bearer';
    return { credentials: token === null ? null : { kind, token }, ...found };
  }
  if (isInPath) return complain(['origin', 'tokenIn'], 'needs a token; a user and a password go into a header');
  const { login, ...found } = readLogin(['origin'], section, surroundings);
  return { credentials: login === null ? null : { kind: 'basic', ...login }, ...found };
}

/** Reads the user and the password that a section names; no login where it names neither. */
export function readLogin(
  path: readonly string[],
  section: Readonly<Record<string, unknown>>,
  surroundings: SecretSources,
): OptionFindings & { readonly login: { readonly user: string; readonly password: string } | null } {
  const { user } = section;
  const [key, other] = ['passwordFile', 'password'].filter((name) => section[name] !== undefined);
  const complain = (at: string, complaint: string) => {
    return { login: null, problems: [hiddenProblem([...path, at], complaint)], warnings: [] };
  };
  if (key === undefined) {
    const nothing = { login: null, problems: [], warnings: [] };
    return user === undefined ? nothing : complain('user', 'needs passwordFile or password beside it');
  }
  if (user === undefined) return complain(key, 'needs user beside it');
  if (other !== undefined) return complain(other, `conflicts with ${key}: keep only one`);
  const { secret, ...found } = readNamedSecret([...path, key], section[key], surroundings);
  return { login: secret === null || typeof user !== 'string' ? null : { user, password: secret }, ...found };
}

/** Whether the name of a file looks like a token: who wrote one where its file belongs must not find it on a screen or in a log. */
export function looksLikeToken(path: string): boolean {
  return /^(?=.*\d)[A-Za-z0-9_-]{24,}$/.test(path.slice(path.lastIndexOf('/') + 1));
}

/** A secret that an option names; null where there are problems, or validation will find some. */
export interface SecretResult extends OptionFindings {
  readonly secret: string | null;
}

/** Reads a secret that an option names, by its file or its environment variable, with what is wrong or unwise about it. */
export function readNamedSecret(
  path: readonly string[],
  value: unknown,
  { folder, environment }: SecretSources,
): SecretResult {
  const nothing = { secret: null, problems: [], warnings: [] };
  if (typeof value !== 'string' || value.trim() === '') return nothing;
  if (path.at(-1)?.endsWith('File') === true) return readSecretFile(path, resolve(folder, value), environment);
  if (!SECRET_REFERENCE.test(value)) return nothing;
  const name = value.slice(2, -1);
  return checkSecret(path, environment[name] ?? '', `the environment variable ${name}`, []);
}

function noSecret(path: readonly string[], complaint: string, warnings: readonly string[] = []): SecretResult {
  return { secret: null, problems: [hiddenProblem(path, complaint)], warnings };
}

function readSecretFile(option: readonly string[], path: string, environment: Environment): SecretResult {
  const shown = looksLikeToken(path) ? 'that looks like a token itself' : path;
  let text: string;
  let mode: number;
  let isOurs: boolean;
  try {
    const stat = statSync(path);
    if (!stat.isFile()) return noSecret(option, `names ${shown}, which is not a file`);
    if (stat.size > SECRET_BYTES_MAX) return noSecret(option, `names ${shown}, which is too large for a secret`);
    mode = stat.mode;
    isOurs = stat.uid === process.getuid?.();
    text = readShortText(path, SECRET_BYTES_MAX);
  } catch (thrown) {
    return noSecret(option, `names a file ${shown} that cannot be read (${systemCode(thrown)})`);
  }
  const isOpen = (mode & OTHERS_MODE) !== 0 && !isSystemdCredential(path, environment);
  const openness = `others than its owner may use ${path} (mode ${(mode & 0o777).toString(8)}); run: chmod 600 ${path}`;
  // The owner of the file can repair it. A file that another client put here, as containers get their secrets, is only remarked on.
  if (isOpen && isOurs) return noSecret(option, `is refused: ${openness}`);
  return checkSecret(option, text, shown, isOpen ? [`${option.join('.')}: ${openness}`] : []);
}

/** systemd guards its credentials with an access list that the plain mode bits do not show. */
export function isSystemdCredential(path: string, environment: Environment): boolean {
  const folder = environment['CREDENTIALS_DIRECTORY'];
  if (folder === undefined || folder === '') return false;
  const below = relative(folder, path);
  return below !== '' && !below.startsWith('..') && !isAbsolute(below) && join(folder, below) === path;
}

function checkSecret(
  option: readonly string[],
  text: string,
  source: string,
  warnings: readonly string[],
): SecretResult {
  const isToken = option.at(-1)?.startsWith('token') === true;
  // Editors end a file with a line break and some begin it with a byte order mark; neither is part of the secret.
  const line = text.replace(/^\uFEFF/, '').replace(/(?:\r?\n)+$/, '');
  const secret = isToken ? line.trim() : line;
  if (secret === '') return noSecret(option, `names ${source}, which is empty`, warnings);
  if (isToken && !/^[\x21-\x7e]+$/.test(secret)) {
    return noSecret(option, `finds no token in ${source}: a token is one word of plain characters`, warnings);
  }
  if (/\p{Cc}/u.test(secret)) return noSecret(option, `finds more than one line in ${source}`, warnings);
  return { secret, problems: [], warnings };
}

export function systemCode(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : String(thrown);
}
