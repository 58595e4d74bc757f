/**
 * Reads the sinks of a configuration: takes addresses apart as libpq does, and reads their passwords. Problems never
 * show a secret (I16).
 */
import { resolve } from 'node:path';
import type { PgAddress, SinkSettings, SslMode } from '../extras/postgres/context.ts';
import type { Options } from './options.ts';
import type { ConfigProblem } from './problems.ts';
import { readNamedSecret, type Environment } from './secrets.ts';
import { tableRules } from './tables.ts';

/** What came of reading the sinks. */
export interface SinksResult {
  readonly sinks: readonly SinkSettings[];
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly string[];
}

const SSL_MODES: readonly SslMode[] = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'];

/** Hosts whose traffic does not leave the machine. */
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?|\/.*)$/;

/** Modes that prove nothing of the server. */
const UNVERIFIED: ReadonlySet<SslMode> = new Set(['disable', 'allow', 'prefer', 'require']);

/** Reads the sinks; `needsSecrets` is false for commands that never talk to one. */
export function readSinks(
  options: Options['sinks'],
  {
    needsSecrets,
    ...surroundings
  }: { readonly folder: string; readonly environment: Environment; readonly needsSecrets: boolean },
): SinksResult {
  const problems: ConfigProblem[] = [];
  const warnings: string[] = [];
  const sinks = Object.entries(options).flatMap(([name, { postgres, tables, deletes }]): readonly SinkSettings[] => {
    const path = ['sinks', name, 'postgres'];
    const complain = (complaint: string, key?: string): readonly SinkSettings[] => {
      problems.push({ path: key === undefined ? path : [...path, key], complaint, showValue: false });
      return [];
    };
    const secret = (key: string, value: string): string | null => {
      const found = readNamedSecret([...path, key], value, surroundings);
      problems.push(...found.problems);
      warnings.push(...found.warnings);
      return found.secret;
    };
    const rules = tableRules(tables);
    const settings = { name, schema: postgres.schema, deletes, takes: (table: string) => rules.find(table) !== null };
    if (postgres.url !== undefined && postgres.urlFile !== undefined)
      return complain('has url and urlFile: keep one of them');
    if (postgres.url === undefined && postgres.urlFile === undefined) return complain('needs url or urlFile');
    if (!needsSecrets) return [{ ...settings, address: NOWHERE }];
    const isPlain = postgres.url !== undefined && !postgres.url.startsWith('${');
    const key = postgres.url === undefined ? 'urlFile' : 'url';
    const url = isPlain ? (postgres.url ?? null) : secret(key, postgres.url ?? postgres.urlFile ?? '');
    if (url === null) return [];
    const read = readAddress(url, surroundings.folder);
    if ('complaint' in read) return complain(read.complaint, key);
    if (isPlain && read.address.password !== null)
      return complain('has a password in it, which belongs in a file (urlFile or passwordFile)', key);
    const password =
      postgres.passwordFile === undefined ? read.address.password : secret('passwordFile', postgres.passwordFile);
    const { host, sslMode } = read.address;
    if (!LOOPBACK.test(host) && UNVERIFIED.has(sslMode)) {
      warnings.push(`sinks.${name}: sslmode=${sslMode} does not prove which server answers; use verify-full`);
    }
    return [{ ...settings, address: { ...read.address, password } }];
  });
  return { sinks, problems, warnings };
}

/** Of a command that never connects. */
const NOWHERE: PgAddress = {
  host: '',
  port: 0,
  database: '',
  user: '',
  password: null,
  sslMode: 'verify-full',
  sslRoot: null,
  sslCert: null,
  sslKey: null,
};

const PORT = 5432;
const PARAMETERS: ReadonlySet<string> = new Set([
  'host',
  'port',
  'user',
  'password',
  'dbname',
  'sslmode',
  'sslrootcert',
  'sslcert',
  'sslkey',
]);

/** Takes an address apart; relative paths of certificates start at `folder`. */
function readAddress(text: string, folder: string): { readonly address: PgAddress } | { readonly complaint: string } {
  const trimmed = text.trim();
  if (!/^postgres(?:ql)?:\/\//.test(trimmed)) return { complaint: 'must be an address that begins with postgresql://' };
  // A host may be left out, as where it is the folder of a socket; a URL must have one.
  const withHost = trimmed.replace(/^postgres(?:ql)?:\/\/([^/?#]*@)?(?=[/?#]|$)/, 'postgresql://$1localhost');
  if (!URL.canParse(withHost))
    return { complaint: 'is not an address; one host, and special characters in user or password as %40 and the like' };
  const url = new URL(withHost);
  const parameters = url.searchParams;
  const unknown = [...parameters.keys()].find((name) => !PARAMETERS.has(name));
  if (unknown !== undefined)
    return { complaint: `has a parameter that is not known; known are ${[...PARAMETERS].join(', ')}` };
  const part = (name: string, otherwise: string): string => parameters.get(name) ?? decodeURIComponent(otherwise);
  const host = part('host', url.hostname.replace(/^\[|\]$/g, ''));
  if (host.includes(',')) return { complaint: 'names several hosts; one host takes the rows' };
  const user = part('user', url.username);
  const given = parameters.get('sslmode') ?? (LOOPBACK.test(host) ? 'prefer' : 'verify-full');
  const sslMode = SSL_MODES.find((mode) => mode === given);
  if (sslMode === undefined) return { complaint: `has another sslmode than ${SSL_MODES.join(', ')}` };
  if (user === '') return { complaint: 'needs a user before the @' };
  const password = part('password', url.password);
  const path = (name: string): string | null => {
    const file = parameters.get(name);
    return file === null || file === 'system' ? file : resolve(folder, file);
  };
  const address: PgAddress = {
    host,
    port: Number(part('port', url.port)) || PORT,
    database: part('dbname', url.pathname.slice(1)) || user,
    user,
    password: password === '' ? null : password,
    sslMode,
    sslRoot: path('sslrootcert'),
    sslCert: path('sslcert'),
    sslKey: path('sslkey'),
  };
  return { address };
}

/** Passwords of sinks, which no log may show. */
export function sinkSecrets(sinks: readonly SinkSettings[]): readonly string[] {
  return sinks.flatMap(({ address: { password } }) => password ?? []);
}
