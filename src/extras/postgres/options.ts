/**
 * The option `sinks`: PostgreSQL servers that the replica is streamed to. Takes their addresses apart as libpq does,
 * and reads their passwords; problems never show a secret (I16).
 */
import { resolve } from 'node:path';
import * as z from 'zod';
import { choice, section, text } from '../../config/option-kinds.ts';
import type { OptionSection } from '../../config/options.ts';
import { readNamedSecret, type SecretSources } from '../../config/secrets.ts';
import { tableRules } from '../../config/table-patterns.ts';
import type { PgAddress, SinkSettings, SslMode } from './context.ts';

declare module '../../config/options.ts' {
  interface ExtraSettings {
    readonly sinks?: readonly SinkSettings[];
  }
}

const SINK_MUST_BE = 'must be the name of a schema: 1 to 63 bytes';

const server = section(
  {
    url: text({
      mustBe:
        'must be an address such as postgresql://user@host/database, or name an environment variable, as ${WAREHOUSE_URL}',
      doc:
        'The address of the server, in the form of libpq: postgresql://user@host:5432/database?sslmode=verify-full. Without a password; ' +
        'or an environment variable that has all of it, written as ${NAME}. sslmode is that of libpq; left out, the server is verified ' +
        '(verify-full), but for a loopback address or a unix socket (?host=/var/run/postgresql).',
    }).optional(),
    urlFile: text({
      mustBe: 'must be the path of a file that holds the address',
      doc: 'A file that holds the address, with the password in it. Only the user who runs rowsync should be able to read it.',
    }).optional(),
    passwordFile: text({
      mustBe: 'must be the path of a file that holds the password',
      doc: 'A file that holds the password, where the address has none.',
    }).optional(),
    schema: text({
      mustBe: SINK_MUST_BE,
      doc: 'The schema for the tables; made if it is missing. One replica may write to a schema.',
    }).refine((name) => Buffer.byteLength(name) <= 63 && !/^pg_|^information_schema$/.test(name), {
      error: SINK_MUST_BE,
    }),
  },
  'A PostgreSQL server, 14 or newer: url or urlFile, and the schema.',
);

const MUST_BE_TABLES = { error: 'must be a mapping from table names or patterns to {} or false' };

const sinkOptions = z
  .record(
    z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,40}$/, { error: 'is not a valid name of a sink: letters, digits, _ and -, at most 40' }),
    section(
      {
        postgres: server,
        tables: z
          .record(
            z.string().min(1),
            z.union([z.literal(false), section({}, 'No options yet: {} sends the tables.')], MUST_BE_TABLES),
            MUST_BE_TABLES,
          )
          .default({ '*': {} })
          .meta({
            description: 'Which tables are sent, as under tables: {} for those that are, false for those that are not.',
          }),
        deletes: choice(
          ['remove', 'keep'],
          'What happens there to a deleted row: it is removed too, or stays with the time in _deleted_at.',
        ).default('remove'),
      },
      'One sink.',
    ),
    { error: 'must be a mapping from names of sinks to what they are' },
  )
  .default({})
  .meta({ description: 'Where the replica is streamed to: PostgreSQL servers, each under a name of your choice.' });

export const SINK_OPTIONS: OptionSection = {
  key: 'sinks',
  schema: sinkOptions,
  // An address may have a password in it.
  isSecret: (path) => path.length === 4 && path[0] === 'sinks' && path[2] === 'postgres' && path[3] === 'url',
  read: (options, context) => ({ settings: readSinks(z.parse(sinkOptions, options), context) }),
};

const SSL_MODES: readonly SslMode[] = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'];

/** Hosts whose traffic does not leave the machine. */
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?|\/.*)$/;

/** Reads the sinks; `needsSecrets` is false for commands that never talk to one. */
export function readSinks(
  options: z.output<typeof sinkOptions>,
  { sources, needsSecrets }: { readonly sources: SecretSources; readonly needsSecrets: boolean },
): readonly SinkSettings[] {
  return Object.entries(options).flatMap(([name, { postgres, tables, deletes }]): readonly SinkSettings[] => {
    const path = ['sinks', name, 'postgres'];
    const complain = (complaint: string, key?: string): readonly SinkSettings[] => {
      sources.refuse(key === undefined ? path : [...path, key], complaint);
      return [];
    };
    const secret = (key: string, value: string): string | null => readNamedSecret([...path, key], value, sources);
    const settings = { name, schema: postgres.schema, deletes, tables: tableRules(tables) };
    if (postgres.url !== undefined && postgres.urlFile !== undefined)
      return complain('has url and urlFile: keep one of them');
    if (postgres.url === undefined && postgres.urlFile === undefined) return complain('needs url or urlFile');
    if (!needsSecrets) return [{ ...settings, address: NOWHERE }];
    const isPlain = postgres.url !== undefined && !postgres.url.startsWith('${');
    const key = postgres.url === undefined ? 'urlFile' : 'url';
    const url = isPlain ? (postgres.url ?? null) : secret(key, postgres.url ?? postgres.urlFile ?? '');
    if (url === null) return [];
    const read = readAddress(url, sources.folder);
    if ('complaint' in read) return complain(read.complaint, key);
    if (isPlain && read.address.password !== null)
      return complain('has a password in it, which belongs in a file (urlFile or passwordFile)', key);
    const password =
      postgres.passwordFile === undefined ? read.address.password : secret('passwordFile', postgres.passwordFile);
    const { host, sslMode } = read.address;
    if (!LOOPBACK.test(host) && !sslMode.startsWith('verify-')) {
      sources.warnings.push(`sinks.${name}: sslmode=${sslMode} does not prove which server answers; use verify-full`);
    }
    return [{ ...settings, address: { ...read.address, password } }];
  });
}

/** For a command that never connects. */
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
const PARAMETERS = ['host', 'port', 'user', 'password', 'dbname', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey'];

/** Takes an address apart; relative paths of certificates start at `folder`. */
function readAddress(given: string, folder: string): { readonly address: PgAddress } | { readonly complaint: string } {
  const trimmed = given.trim();
  if (!/^postgres(?:ql)?:\/\//.test(trimmed)) return { complaint: 'must be an address that begins with postgresql://' };
  // A host may be left out, as where it is the folder of a socket; a URL must have one.
  const withHost = trimmed.replace(/^postgres(?:ql)?:\/\/([^/?#]*@)?(?=[/?#]|$)/, 'postgresql://$1localhost');
  if (!URL.canParse(withHost) || !isDecodable(withHost))
    return { complaint: 'is not an address; one host, and special characters in user or password as %40 and the like' };
  const url = new URL(withHost);
  const parameters = url.searchParams;
  const unknown = [...parameters.keys()].find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined)
    return { complaint: `has a parameter that is not known; known are ${PARAMETERS.join(', ')}` };
  const part = (name: string, otherwise: string): string => parameters.get(name) ?? decodeURIComponent(otherwise);
  const host = part('host', url.hostname.replace(/^\[|\]$/g, ''));
  if (host.includes(',')) return { complaint: 'names several hosts; one host takes the rows' };
  const user = part('user', url.username);
  const named = parameters.get('sslmode') ?? (LOOPBACK.test(host) ? 'prefer' : 'verify-full');
  const sslMode = SSL_MODES.find((mode) => mode === named);
  if (sslMode === undefined) return { complaint: `has an sslmode that is not one of ${SSL_MODES.join(', ')}` };
  if (user === '') return { complaint: 'needs a user before the @' };
  const port = Number(part('port', url.port) || PORT);
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    return { complaint: 'has a port that is not a number from 1 to 65535' };
  const password = part('password', url.password);
  const path = (name: string): string | null => {
    const file = parameters.get(name);
    return file === null || file === 'system' ? file : resolve(folder, file);
  };
  const address: PgAddress = {
    host,
    port,
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

/** Whether each % begins the code of a character: one of a password may stand for itself. */
function isDecodable(address: string): boolean {
  try {
    decodeURIComponent(address);
    return true;
  } catch {
    return false;
  }
}
