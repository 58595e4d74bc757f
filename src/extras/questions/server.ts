/**
 * An origin as the questions see it: plain requests, and answers of any status as they came. The tests in test/contract
 * bring another one, which sends with `fetch`, so that a mistake that client and sandbox share is seen.
 */
import { must } from '../../base/assert.ts';
import { type Logger, secretScrubber } from '../../base/log.ts';
import type { Config } from '../../config/load.ts';
import { originSecrets, originSettings } from '../../config/settings.ts';
import { originAddress } from '../../origin/address.ts';
import { authorizationOf } from '../../origin/credentials.ts';
import { faultFailure, statusFailure } from '../../origin/request-errors.ts';
import { ORIGIN_LIMITS } from '../../origin/limits.ts';
import { openTransport } from '../../origin/transport.ts';

export interface RawReply {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly text: string;
}

export interface ColumnFields {
  readonly name: string;
  readonly alias: string;
  readonly type: string;
  readonly dataOptions: string;
  readonly width?: number | undefined;
  readonly kind?: string | undefined;
  readonly readOnly?: boolean | undefined;
}

export interface TableFields {
  readonly recordName: string;
  readonly alias: string;
  readonly key: string;
  readonly columns: readonly ColumnFields[];
}

export type RowFields = Readonly<Record<string, unknown>> & { readonly '@row.id': number };

export interface SentParts {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Server {
  /** Sends a GET to a path below the database, or a POST of rows in JSON. */
  call(path: string, sent?: SentParts): Promise<RawReply>;
  readonly table: TableFields;
}

/** Statuses that say nothing about a question: the origin sees no credentials, or is busy. */
const NO_ANSWER: ReadonlySet<number> = new Set([401, 429, 502, 503, 504]);

/** Opens a connection of its own to the origin; each request is sent once. `call` throws RowsyncError of the origin. */
export function openServer(
  config: Config,
  { log, signal }: { readonly log: Logger; readonly signal: AbortSignal },
): Pick<Server, 'call'> & AsyncDisposable {
  const { url, host, root } = originAddress(config.origin);
  const { headers, pathSuffix } = authorizationOf(must(config.origin.credentials, 'they were loaded'));
  const transport = openTransport(url, ORIGIN_LIMITS, 1, originSettings(config));
  const attempted = { what: 'question', host, isChange: false, scrub: secretScrubber(originSecrets(config)) };
  return {
    call: async (path, { headers: more = {}, body } = {}) => {
      const content = body === undefined ? {} : { 'content-type': 'application/json' };
      const result = await transport.send({
        method: body === undefined ? 'GET' : 'POST',
        path: `${root}${pathSuffix}/${path}`,
        headers: ['user-agent', 'rowsync', ...headers, ...Object.entries({ ...content, ...more }).flat()],
        body: body === undefined ? undefined : Buffer.from(body),
        signal,
        // A row whose answer comes need not be looked for.
        stopGraceMs: body === undefined ? 0 : ORIGIN_LIMITS.stopGraceMs,
      });
      const { receivedBytes } = result;
      const outcome = result.kind === 'fault' ? { reason: result.reason } : { status: result.status };
      log.debug('origin.request', { method: 'contract', ...outcome, receivedBytes });
      if (result.kind === 'fault') throw faultFailure(attempted, result).error;
      const get = (name: string): string | null => [result.headers[name] ?? []].flat().join(', ') || null;
      const { status } = result;
      if (!NO_ANSWER.has(status)) return { status, headers: { get }, text: result.body.toString() };
      throw statusFailure(attempted, {
        status,
        contentType: get('content-type') ?? undefined,
        location: undefined,
        retryAfterMs: null,
        descriptor: undefined,
        pageText: null,
        isHead: false,
      }).error;
    },
    [Symbol.asyncDispose]: () => transport.destroy(),
  };
}
