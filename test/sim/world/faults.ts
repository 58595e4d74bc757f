/**
 * What the network, a proxy or the origin may do to one request: the fault kinds, by when they strike and on which
 * requests. Takes a request and, where it reached the origin, the true answer; produces what the client gets instead.
 *
 * A body that someone changed on its way has lost its ETag here, unless anybody can see that it is wrong. An answer
 * that seems right under an ETag that is another's is beyond what any client can tell, and is not promised. Pure.
 */
import type { WireAnswer, TransportFault } from '../../../src/origin/transport.ts';
import type { Draw } from './tape.ts';

/** What is asked: by the last word of the path. */
export type RequestKind = 'read' | 'rows' | 'change' | 'file';

/** What a fault is given. */
export interface Struck {
  /** The true answer; null where the request never reached the origin. */
  readonly answer: WireAnswer | null;
  /** The answer to some other request, where there was one. */
  readonly other: WireAnswer | null;
  /** The ids and the filter of the request; none where it asked for a page. */
  readonly ids: readonly string[];
  readonly kind: RequestKind;
  readonly draw: Draw;
  /** For Retry-After as a date. */
  readonly wallMs: number;
}

/** One way to fail. */
export interface FaultKind {
  readonly name: string;
  readonly on: readonly RequestKind[];
  /** Whether the origin gets the request and acts on it. */
  readonly reaches: boolean;
  /** Null where the fault does not apply to this answer after all. */
  readonly strike: (struck: Struck) => WireAnswer | TransportFault | null;
}

const ALL: readonly RequestKind[] = ['read', 'rows', 'change', 'file'];

/** A complete answer. */
export function answerOf(status: number, headers: WireAnswer['headers'], body: string | Uint8Array): WireAnswer {
  const bytes = Buffer.from(body);
  return { kind: 'answer', status, headers, body: bytes, receivedBytes: bytes.length };
}

function faultOf(reason: TransportFault['reason'], facts: { isSent: boolean; isAnswered?: boolean }): TransportFault {
  const cause =
    reason === 'failed' ? Object.assign(new Error('The connection was reset'), { code: 'ECONNRESET' }) : null;
  return {
    kind: 'fault',
    reason,
    cause,
    isSent: facts.isSent,
    isAnswered: facts.isAnswered === true,
    receivedBytes: 0,
  };
}

const PAGE = '<!DOCTYPE html><html><head><title>Gateway</title></head><body><h1>Please wait</h1></body></html>';

function html(status: number): WireAnswer {
  return answerOf(status, { 'content-type': 'text/html; charset=utf-8' }, PAGE);
}

/** An answer of the API that refuses (specification 1.4). */
function refusal(status: number, message: string, headers: WireAnswer['headers'] = {}): WireAnswer {
  const body = JSON.stringify({ error: status, code: 0, message });
  return answerOf(status, { 'content-type': 'application/json; charset=utf-8', ...headers }, body);
}

/** The answer with another body, and without its ETag. */
function changed(answer: WireAnswer, body: string | Uint8Array): WireAnswer {
  const { etag: _, ...headers } = answer.headers;
  return answerOf(answer.status, headers, body);
}

/** The JSON array of a good answer; null for anything else. */
function listOf(answer: WireAnswer | null): readonly unknown[] | null {
  if (answer === null || answer.status !== 200) return null;
  try {
    const json: unknown = JSON.parse(answer.body.toString('utf8'));
    return Array.isArray(json) ? json : null;
  } catch {
    return null;
  }
}

function withList(
  { answer }: Struck,
  change: (list: readonly unknown[]) => readonly unknown[] | null,
): WireAnswer | null {
  const list = listOf(answer);
  const next = list === null || list.length === 0 ? null : change(list);
  return answer === null || next === null ? null : changed(answer, JSON.stringify(next));
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Changes one row of the list. */
function withRow(
  struck: Struck,
  change: (row: Readonly<Record<string, unknown>>, draw: Draw) => unknown,
): WireAnswer | null {
  return withList(struck, (list) => {
    const index = struck.draw.below(list.length);
    const row = list[index];
    return isRecord(row) ? list.with(index, change(row, struck.draw)) : null;
  });
}

/** A changed answer under the ETag of the true one. */
function withEtag({ answer }: Struck, result: WireAnswer | null): WireAnswer | null {
  const etag = answer?.headers['etag'];
  return result === null || etag === undefined ? result : { ...result, headers: { ...result.headers, etag } };
}

function cellNames(row: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.keys(row).filter((name) => !name.startsWith('@'));
}

const RETRY_AFTER = ['', '1', '3', '0', '-5', 'soon', '999999999', '1.5', 'date'] as const;

function retryAfter({ draw, wallMs }: Struck): WireAnswer['headers'] {
  const form = draw.pick(RETRY_AFTER);
  if (form === '') return {};
  return { 'retry-after': form === 'date' ? new Date(wallMs + 3_000).toUTCString() : form };
}

/** Every fault; a world turns each of them on by itself. */
export const FIRST_FAULTS: readonly FaultKind[] = [
  { name: 'noConnection', on: ALL, reaches: false, strike: () => faultOf('failed', { isSent: false }) },
  { name: 'lostBefore', on: ALL, reaches: false, strike: () => faultOf('failed', { isSent: true }) },
  { name: 'lostAfter', on: ALL, reaches: true, strike: () => faultOf('failed', { isSent: true }) },
  { name: 'timeoutBefore', on: ALL, reaches: false, strike: () => faultOf('deadline', { isSent: true }) },
  { name: 'timeoutAfter', on: ALL, reaches: true, strike: () => faultOf('deadline', { isSent: true }) },
  {
    name: 'resetInBody',
    on: ALL,
    reaches: true,
    strike: () => faultOf('failed', { isSent: true, isAnswered: true }),
  },
  { name: 'status401', on: ALL, reaches: false, strike: () => refusal(401, 'Who are you?') },
  { name: 'status403', on: ALL, reaches: false, strike: () => refusal(403, 'You may not') },
  { name: 'status404', on: ALL, reaches: false, strike: () => refusal(404, 'There is no such thing') },
  { name: 'status409', on: ['change'], reaches: false, strike: () => refusal(409, 'Not now') },
  { name: 'status413', on: ['change'], reaches: false, strike: () => refusal(413, 'Too much') },
  {
    name: 'status429',
    on: ALL,
    reaches: false,
    strike: (struck) => refusal(429, 'Too many requests', retryAfter(struck)),
  },
  {
    name: 'status503',
    on: ALL,
    reaches: false,
    strike: (struck) => refusal(503, 'Maintenance', retryAfter(struck)),
  },
  { name: 'status500Before', on: ALL, reaches: false, strike: () => refusal(500, 'Something went wrong') },
  { name: 'status500After', on: ALL, reaches: true, strike: () => refusal(500, 'Something went wrong') },
  { name: 'gatewayBefore', on: ALL, reaches: false, strike: () => html(502) },
  { name: 'gatewayAfter', on: ALL, reaches: true, strike: () => html(504) },
  { name: 'html200', on: ALL, reaches: true, strike: () => html(200) },
  { name: 'login403', on: ALL, reaches: false, strike: () => html(403) },
  {
    name: 'empty200',
    on: ALL,
    reaches: true,
    strike: ({ answer }) => answer && changed(answer, ''),
  },
  {
    name: 'truncated',
    on: ALL,
    reaches: true,
    strike: ({ answer, draw }) =>
      answer !== null && answer.body.length > 2
        ? changed(answer, answer.body.subarray(0, 1 + draw.below(answer.body.length - 1)))
        : null,
  },
  {
    name: 'errorWith200',
    on: ALL,
    reaches: true,
    strike: () => ({ ...refusal(500, 'Timeout expired'), status: 200 }),
  },
  {
    name: 'idAsText',
    on: ['rows'],
    reaches: true,
    strike: (struck) => withRow(struck, (row) => ({ ...row, '@row.id': `x${String(row['@row.id'])}` })),
  },
  {
    name: 'missingCell',
    on: ['rows'],
    reaches: true,
    strike: (struck) =>
      withRow(struck, (row, draw) => {
        const names = cellNames(row);
        const gone = draw.below(Math.max(1, names.length));
        return Object.fromEntries(Object.entries(row).filter(([name]) => name !== names[gone]));
      }),
  },
  {
    name: 'extraCell',
    on: ['rows'],
    reaches: true,
    strike: (struck) => withRow(struck, (row) => ({ ...row, 'Nobody Knows': 1 })),
  },
  {
    name: 'cellOfOtherType',
    on: ['rows'],
    reaches: true,
    strike: (struck) =>
      withEtag(
        struck,
        withRow(struck, (row, draw) => {
          const names = cellNames(row);
          return names.length === 0 ? row : { ...row, [draw.pick(names)]: { nested: true } };
        }),
      ),
  },
  {
    name: 'rowTwice',
    on: ['rows'],
    reaches: true,
    strike: (struck) =>
      withList(struck, (list) => {
        const index = struck.draw.below(list.length);
        return list.toSpliced(index, 0, list[index]);
      }),
  },
  {
    name: 'unasked304',
    on: ALL,
    reaches: true,
    strike: ({ answer }) => (answer?.status === 200 ? answerOf(304, {}, '') : null),
  },
  {
    name: 'noEtag',
    on: ['read', 'rows'],
    reaches: true,
    strike: ({ answer }) => (answer?.headers['etag'] === undefined ? null : changed(answer, answer.body)),
  },
  {
    name: 'otherAnswer',
    on: ['read', 'rows', 'change'],
    reaches: true,
    strike: otherAnswer,
  },
  {
    name: 'statusMissing',
    on: ['change'],
    reaches: true,
    strike: (struck) => withList(struck, (list) => list.toSpliced(struck.draw.below(list.length), 1)),
  },
  {
    name: 'statusTwice',
    on: ['change'],
    reaches: true,
    strike: (struck) => withList(struck, (list) => [...list, list[0]]),
  },
  { name: 'redirect301', on: ALL, reaches: false, strike: () => redirect(301) },
  { name: 'redirect302', on: ALL, reaches: true, strike: () => redirect(302) },
  { name: 'redirect307', on: ALL, reaches: false, strike: () => redirect(307) },
];

/** Those that came later: they are drawn last, so that worlds which were kept before stay as they were. */
export const LATER_FAULTS: readonly FaultKind[] = [
  // The origin made the row, and failed behind that (the specification knows no such status).
  {
    name: 'rowStatus500',
    on: ['change'],
    reaches: true,
    strike: (struck) =>
      withRow(struck, (row) => ({ ...row, status: 500, errors: [{ error: 500, message: 'Something went wrong' }] })),
  },
  {
    name: 'statusless',
    on: ['change'],
    reaches: true,
    strike: (struck) => withRow(struck, (row) => ({ ...row, status: undefined })), // left out of JSON
  },
];

/** All of them. */
export const FAULTS: readonly FaultKind[] = [...FIRST_FAULTS, ...LATER_FAULTS];

/**
 * The answer to another request. One that fits this request as well cannot be told from its own by anybody: a part of
 * the rows that were asked for, as many statuses as rows were sent, or a refusal of a change that was made.
 */
function otherAnswer({ other, ids, kind }: Struck): WireAnswer | null {
  const list = listOf(other);
  if (list === null) return kind === 'change' && isRefusal(other) ? null : other;
  const rows = list.filter(isRecord);
  if (kind === 'change') return rows.some((row) => row['status'] !== undefined) ? null : other;
  if (kind === 'rows' && ids.length > 0) {
    return rows.some((row) => !ids.includes(String(row['@row.id']))) ? other : null;
  }
  return kind === 'rows' && rows.length === 0 ? null : other;
}

function isRefusal(answer: WireAnswer | null): boolean {
  return answer !== null && answer.status >= 400 && answer.status < 500;
}

function redirect(status: number): WireAnswer {
  return answerOf(status, { location: 'https://elsewhere.example/login' }, '');
}
