/**
 * What PostgreSQL and its driver throw, as errors that say what the operator does next. Words of the server that may
 * repeat a value of a row are replaced (I16).
 */
import { RowsyncError, type ErrorCode, type ErrorKind } from '../../base/errors.ts';

interface PgExplanation {
  readonly kind: ErrorKind;
  readonly code: ErrorCode;
  readonly hint: string;
  /** Replaces the server's own message, which may repeat values. */
  readonly words?: string;
}

const AGAIN = 'rowsync tries again; what was sent is whole.';

/** By SQLSTATE (PostgreSQL's appendix A), the system's code or the driver's words; the first match wins. */
const EXPLANATIONS: readonly (PgExplanation & { readonly pattern: RegExp })[] = [
  {
    pattern: /^(28|3D000)/,
    kind: 'auth',
    code: 'sink.login',
    hint: 'Check user, password and database in the address of the sink, and pg_hba.conf of the server.',
  },
  {
    pattern: /certificate|SSL|TLS|altname|self.signed/i,
    kind: 'originDown',
    code: 'sink.tls',
    hint: 'Check sslmode and sslrootcert in the address of the sink, and the certificate of the server.',
  },
  { pattern: /^53100/, kind: 'originDown', code: 'sink.full', hint: `Free some space on the server. ${AGAIN}` },
  {
    pattern: /^(40|55P03|53|57014)/,
    kind: 'originDown',
    code: 'sink.busy',
    hint: `Another session holds a lock for long, or the server is short of something. ${AGAIN}`,
  },
  {
    pattern:
      /^(08|57P|25P0[34]|ECONN|ENOTFOUND|EAI_AGAIN|EHOST|ENET|ETIMEDOUT|EPIPE|ENOENT)|terminated|timeout|timed out|not queryable|closed/i,
    kind: 'originDown',
    code: 'sink.unreachable',
    hint: `Check that the server runs and can be reached. ${AGAIN}`,
  },
  {
    pattern: /^42501/,
    kind: 'auth',
    code: 'sink.rights',
    hint: 'The user of the sink must own its schema, or have CREATE and USAGE on it, and own the tables in it.',
  },
  {
    pattern: /^22P05/,
    kind: 'originRefused',
    code: 'sink.refused',
    hint: "Name a database that is in UTF8: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0. rowsync sink check tests that.",
    words: 'the encoding of the database has no such character',
  },
  {
    pattern: /^(22|23)/,
    kind: 'originRefused',
    code: 'sink.refused',
    hint: 'Drop the constraint or trigger that was added to the table there; rowsync adds a primary key only.',
    words: 'a value does not go into the table there',
  },
  {
    pattern: /^P0001/,
    kind: 'originRefused',
    code: 'sink.refused',
    hint: 'Drop or change the trigger on the table there.',
    words: 'a trigger in the table refuses it',
  },
  {
    pattern: /^2BP01/,
    kind: 'needsPerson',
    code: 'sink.inTheWay',
    hint: 'Drop what depends on it, such as a view, and make it again afterwards.',
  },
  {
    pattern: /^(54|0A)/,
    kind: 'originRefused',
    code: 'sink.refused',
    hint: 'Leave the table out: say false for it under tables of the sink.',
  },
];

const OTHER: PgExplanation = { kind: 'originRefused', code: 'sink.refused', hint: 'Look at the log of the server.' };

export function pgError(thrown: unknown): RowsyncError {
  if (thrown instanceof RowsyncError) return thrown;
  const { code, message, constraint, column, table } = partsOf(thrown);
  const found =
    EXPLANATIONS.find(({ pattern }) => pattern.test(code)) ?? EXPLANATIONS.find(({ pattern }) => pattern.test(message));
  const { kind, code: ours, hint, words } = found ?? OTHER;
  const where = [constraint, column, table].filter((part) => part !== '').join(', ');
  const said = words === undefined ? message : `${words}${where === '' ? '' : ` (${where})`}`;
  return new RowsyncError(kind, ours, {
    message: `PostgreSQL: ${said}${said.includes(code) ? '' : ` (${code})`}`,
    hint,
    cause: thrown,
  });
}

function partsOf(thrown: unknown): Readonly<Record<'code' | 'message' | 'constraint' | 'column' | 'table', string>> {
  const part = (name: string): string => {
    if (typeof thrown !== 'object' || thrown === null || !(name in thrown)) return '';
    const value: unknown = Reflect.get(thrown, name);
    return typeof value === 'string' ? value : '';
  };
  // If several addresses were tried, Node reports only the codes.
  const message = part('message') === '' ? part('code') : part('message');
  return { code: part('code'), message, constraint: part('constraint'), column: part('column'), table: part('table') };
}

export function concernsServer({ code }: RowsyncError): boolean {
  return SERVER_CODES.has(code);
}

const SERVER_CODES: ReadonlySet<ErrorCode> = new Set([
  'sink.unreachable',
  'sink.login',
  'sink.tls',
  'sink.full',
  'sink.version',
]);
