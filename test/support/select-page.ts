/**
 * One page, selected at a server of a test: what became of the call, with its requests and waits.
 *
 *    const { error, counters, clock } = await selectFrom(http(503, {}));           // a server that answers so every
 *                                                                                  time
 *    await using server = await startFaultServer((nth) => …);  await selectAt(server.url, { limits: { deadlineMs: 300 }
 *                                                              });
 */
import { expect } from 'vitest';
import type { RowsyncError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { openOrigin, type OriginSettings } from '../../src/origin/client.ts';
import type { OriginLimits } from '../../src/origin/limits.ts';
import { testClock, type TestClock } from './clock.ts';
import { startFaultServer, type FaultAnswer } from './fault-server.ts';

/** What is selected. */
export const PAGE = {
  table: { name: 'Customer', alias: 't_7' },
  columns: [{ name: 'Name', type: 'Text' }],
  query: { columns: ['*'], sort: [] },
} as const;
/** The rows of the page. */
export const ROWS = [{ '@row.id': 1, Name: 'a' }];

/** What became of it. */
export interface SelectOutcome {
  readonly error: RowsyncError | undefined;
  readonly counters: { requestCount: number; retryCount: number };
  readonly clock: TestClock;
}

/** Selects one page at `url` and closes the origin again. */
export async function selectAt(
  url: string,
  settings: { limits?: Partial<OriginLimits>; clock?: TestClock } & Partial<OriginSettings> = {},
): Promise<SelectOutcome> {
  const { clock = testClock(), ...rest } = settings;
  const credentials = { kind: 'bearer', token: 'a-token' } as const;
  const origin = openOrigin({ url, database: '21995', credentials, ...rest }, { clock, log: silentLogger });
  try {
    const answer = await origin.select(PAGE);
    expect(answer).toMatchObject({ kind: 'ok', value: { ids: [1] } });
    return { error: undefined, counters: origin.counters(), clock };
  } catch (error) {
    return { error: error as RowsyncError, counters: origin.counters(), clock };
  } finally {
    await origin.close();
  }
}

/** Selects one page from a server that answers so every time. */
export async function selectFrom(answer: FaultAnswer, limits: Partial<OriginLimits> = {}): Promise<SelectOutcome> {
  await using server = await startFaultServer(() => answer);
  return await selectAt(server.url, { limits });
}

/** The bytes of an answer with these header lines, whatever they say of the body. */
export function headed(headers: string, body: string): Buffer {
  return Buffer.from(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${headers}\r\n\r\n${body}`);
}
