/**
 * Faults of the wire as a table: what a server answers byte by byte, and how every method of the client that it
 * concerns must end. Each case is played against each method by itself, with a server of its own.
 *
 *    const CASES = [wireCase('a page of HTML', http(200, { 'Content-Type': 'text/html' }, '<html>'), ENDINGS.notApi)];
 *    checkCases(CASES);                                                      // one test for each
 *
 * An ending reads `wireFormat origin.notApi x1`: the error's kind, its code, and how many requests the server saw. Of a
 * change that may have happened it reads `originDown origin.unknownOutcome < origin.notApi x1`.
 */
import { expect, test } from 'vitest';

import { RowsyncError, type ErrorCode, type ErrorKind } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { openOrigin, type Origin } from '../../src/origin/client.ts';
import type { OriginLimits } from '../../src/origin/limits.ts';
import { testClock } from './clock.ts';
import { startFaultServer, type FaultAnswer } from './fault-server.ts';

/** What no message may repeat. */
export const TOKEN = 'a-token-of-the-wire';
const VALUE = 'a value of a row';

/** A call may take so long in real time, whatever the other side does; the limits of every case are far below. */
const CALL_MS_MAX = 10_000;

const NOTE = { name: 'Note', alias: 't_7' };
const PHOTO = { table: NOTE, column: { name: 'Photo', alias: '' }, record: { id: 1 } };
const COLUMNS = [{ name: 'Title', type: 'Text' }] as const;
const WRITE = {
  table: NOTE,
  rows: [{ id: 1, cells: [{ name: 'Title', type: 'Text', value: VALUE }] }],
  zone: 'UTC',
} as const;

/** Every method of the client by what a failure of it means. */
export const CALLS = {
  describeDatabase: { kind: 'read', ask: (origin) => origin.describeDatabase() },
  describeTable: { kind: 'read', ask: (origin) => origin.describeTable(NOTE) },
  user: { kind: 'read', ask: (origin) => origin.user() },
  select: {
    kind: 'read',
    ask: (origin) => origin.select({ table: NOTE, columns: COLUMNS, query: { columns: ['Title'], sort: [], top: 2 } }),
  },
  retrieve: {
    kind: 'read',
    ask: (origin) => origin.retrieve({ table: NOTE, columns: COLUMNS, names: ['Title'], ids: [1, 2] }),
  },
  attachments: { kind: 'read', ask: (origin) => origin.attachments(PHOTO) },
  attachment: { kind: 'file', ask: (origin) => origin.attachment(PHOTO, () => undefined) },
  create: {
    kind: 'change',
    ask: (origin) => origin.create({ ...WRITE, rows: WRITE.rows.map((row) => ({ ...row, id: null })) }),
  },
  update: { kind: 'change', ask: (origin) => origin.update(WRITE) },
  upsert: { kind: 'change', ask: (origin) => origin.upsert(WRITE) },
  delete: { kind: 'change', ask: (origin) => origin.delete({ table: NOTE, ids: [1] }) },
} as const satisfies Record<string, { kind: 'read' | 'file' | 'change'; ask: (origin: Origin) => Promise<unknown> }>;

/** A method of the client. */
export type CallName = keyof typeof CALLS;

const CALL_NAMES = Object.keys(CALLS) as readonly CallName[];
export const READS = CALL_NAMES.filter((name) => CALLS[name].kind === 'read');
export const CHANGES = CALL_NAMES.filter((name) => CALLS[name].kind === 'change');
const DOCUMENTS = [...READS, ...CHANGES];
/** The methods that give rows. */
export const PAGES = ['select', 'retrieve'] as const satisfies readonly CallName[];

/** How a call must end. */
export interface Ending {
  readonly kind: ErrorKind;
  readonly code: ErrorCode;
  readonly hint: RegExp;
  /** Requests that the server sees of a call that reads. */
  readonly attempts: number;
  /** Of a change: it may have happened; it has not, and is not sent again; it has not, and is sent again. */
  readonly change: 'unknown' | 'refused' | 'again';
}

const LATER = /next run continues/;
const PROXY = /Something between rowsync and the origin answered/;
const CHECK_URL = /Check (?:that )?origin\.url/;

/** The endings there are. */
export const ENDINGS = {
  /** Not an answer of the API: asked once, because it stays so. */
  notApi: { kind: 'wireFormat', code: 'origin.notApi', hint: PROXY, attempts: 1, change: 'unknown' },
  /** A document of another shape. */
  unexpected: { kind: 'wireFormat', code: 'origin.unexpected', hint: CHECK_URL, attempts: 1, change: 'unknown' },
  /** Cut or damaged on its way: asked again. */
  truncated: {
    kind: 'wireFormat',
    code: 'origin.truncated',
    hint: /next run continues|connection was probably cut/,
    attempts: 6,
    change: 'unknown',
  },
  /** More bytes than an answer may have; a pull has halved its pages before anybody reads this. */
  tooLarge: { kind: 'wireFormat', code: 'origin.tooLarge', hint: /exclude the column/, attempts: 1, change: 'unknown' },
  /** Too deep, or too many values, to be parsed. */
  tooCostly: {
    kind: 'wireFormat',
    code: 'origin.tooLarge',
    hint: /exclude the column/,
    attempts: 1,
    change: 'unknown',
  },
  /** Closed without an answer. */
  closed: { kind: 'originDown', code: 'origin.unreachable', hint: /can be reached/, attempts: 6, change: 'unknown' },
  timeout: { kind: 'originDown', code: 'origin.timeout', hint: LATER, attempts: 6, change: 'unknown' },
  /** 5xx: asked again, and a change may have happened. */
  failing: { kind: 'originDown', code: 'origin.busy', hint: LATER, attempts: 6, change: 'unknown' },
  /** 429: nothing has happened. */
  limited: { kind: 'originDown', code: 'origin.busy', hint: /limits\.concurrency/, attempts: 6, change: 'again' },
  /** Redirects that say that nothing was done. */
  redirect: { kind: 'originRefused', code: 'origin.redirect', hint: /never followed/, attempts: 1, change: 'refused' },
} as const satisfies Record<string, Ending>;

/** One fault. */
export interface WireCase {
  readonly name: string;
  /** The answer to every request. */
  readonly answer: FaultAnswer;
  /** `done`: the answer is odd, but complete. */
  readonly ending: Ending | 'done';
  /** Every method unless given; a file that is not one is `notApi` then. */
  readonly calls: readonly CallName[];
  readonly limits: Partial<OriginLimits>;
}

/** A case; `calls` are those that it concerns, all that read or write documents unless given. */
export function wireCase(
  name: string,
  answer: WireCase['answer'],
  ending: WireCase['ending'],
  { calls = DOCUMENTS, limits = {} }: Partial<Pick<WireCase, 'calls' | 'limits'>> = {},
): WireCase {
  return { name, answer, ending, calls, limits };
}

/** How a call must end. */
export function expectedEnding(ending: WireCase['ending'], call: CallName, limits: Partial<OriginLimits>): string {
  if (ending === 'done') return 'done x1';
  const { kind, code, change } = ending;
  const attempts = Math.min(ending.attempts, limits.retry?.attemptsMax ?? ending.attempts);
  const isChange = CALLS[call].kind === 'change';
  if (isChange && change === 'unknown') return `originDown origin.unknownOutcome < ${code} x1`;
  return `${kind} ${code} x${isChange && change === 'refused' ? 1 : attempts}`;
}

/** Plays a case against each of its methods; gives how each ended. */
async function endingsOf({ answer, calls, limits, ending }: WireCase): Promise<Record<string, string>> {
  const hint = ending === 'done' ? null : ending.hint;
  const entries = calls.map(async (call) => {
    await using server = await startFaultServer(() => answer);
    const ended = await endingOf(server.url, call, limits, hint);
    return [call, `${ended} x${server.requests.length}`] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** Makes one call at `url` and says how it ended; checks the sentences of the error, whatever it is. */
export async function endingOf(
  url: string,
  call: CallName,
  limits: Partial<OriginLimits> = {},
  hint: RegExp | null = null,
): Promise<string> {
  const credentials = { kind: 'bearer', token: TOKEN } as const;
  const origin = openOrigin({ url, database: '21995', credentials, limits }, { clock: testClock(), log: silentLogger });
  const startedAt = performance.now();
  try {
    await CALLS[call].ask(origin);
    return 'done';
  } catch (error) {
    if (!(error instanceof RowsyncError)) throw error;
    checkSentences(error);
    const isUnknown = error.code === 'origin.unknownOutcome';
    const cause = isUnknown && error.cause instanceof RowsyncError ? error.cause : error;
    if (hint !== null) expect(cause.hint).toMatch(hint);
    return `${error.kind} ${error.code}${isUnknown ? ` < ${cause.code}` : ''}`;
  } finally {
    expect(performance.now() - startedAt).toBeLessThan(CALL_MS_MAX);
    await origin.close();
  }
}

/** One test for each case: every method ends as it must, within its time. Cases that wait for a limit wait together. */
export function checkCases(cases: readonly WireCase[], { together = false } = {}): void {
  (together ? test.concurrent : test).each(cases.map((each) => [each.name, each] as const))(
    '%s',
    async (_name, each) => {
      const expected = each.calls.map((call) => [call, expectedEnding(each.ending, call, each.limits)] as const);

      const endings = await endingsOf(each);

      expect(endings).toEqual(Object.fromEntries(expected));
    },
  );
}

/** The sentences of an error are one printable line each, and hold neither the token nor a value (I16). */
function checkSentences(error: RowsyncError): void {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    expect(`${at.message}\n${at.stack ?? ''}`).not.toContain(TOKEN);
    expect(at.message).not.toContain(VALUE);
    if (!(at instanceof RowsyncError)) continue;
    expect(at.message).toMatch(
      /^(?:describe|asking who is calling|select|retrieve|attachment|create|update|upsert|delete)/,
    );
    expect(at.message).toMatch(/^[^\p{Cc}\p{Cf}]{20,700}$/u);
    expect(at.hint).toMatch(/^[^\p{Cc}\p{Cf}]{10,400}[.)]$/u);
  }
}
