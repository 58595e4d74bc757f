/**
 * A client that sees bytes: requests to a sandbox through node:http with no keep-alive and no decoding. So tests can
 * look at header case, status lines and compressed bodies as they come over the wire.
 */
import { request } from 'node:http';
import { connect } from 'node:net';

import type { Sandbox } from '../../src/sandbox/main.ts';

/** One answer, as it came. */
export interface RawAnswer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Names as sent. */
  readonly headerNames: readonly string[];
  readonly body: Buffer;
  readonly text: string;
}

/** What to send. */
export interface RawRequest {
  readonly verb?: string;
  /** Replaces the bearer token; null sends none. */
  readonly authorization?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** Sends rows to a write method; JSON unless another content type is given. */
export function post(
  sandbox: Sandbox,
  path: string,
  body: unknown,
  options: RawRequest & { readonly type?: string } = {},
): Promise<RawAnswer> {
  const { type = 'application/json', headers = {}, ...rest } = options;
  const bytes = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
  return call(sandbox, path, { verb: 'POST', body: bytes, headers: { 'Content-Type': type, ...headers }, ...rest });
}

/** Sends a request for a path below the database, for example `Note/select.json?top=2`. */
export function call(sandbox: Sandbox, path: string, options: RawRequest = {}): Promise<RawAnswer> {
  return callPath(sandbox, `/secure/api/v2/${sandbox.database}/${path}`, options);
}

/** Sends a request for a whole path. */
export function callPath(sandbox: Sandbox, path: string, options: RawRequest = {}): Promise<RawAnswer> {
  const { verb = 'GET', authorization = `Bearer ${sandbox.token}`, headers = {}, body: bytes } = options;
  const { hostname, port } = new URL(sandbox.url);
  const credentials = authorization === null ? {} : { Authorization: authorization };
  const isSized = bytes !== undefined && headers['Transfer-Encoding'] === undefined;
  const length = !isSized ? {} : { 'Content-Length': Buffer.byteLength(bytes) };
  return new Promise((resolve, reject) => {
    const sent = request(
      { hostname, port, path, method: verb, agent: false, headers: { ...credentials, ...length, ...headers } },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const body = Buffer.concat(chunks);
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers as Record<string, string | undefined>,
            headerNames: response.rawHeaders.filter((_, index) => index % 2 === 0),
            body,
            text: body.toString('utf8'),
          });
        });
      },
    );
    sent.on('error', reject);
    sent.end(bytes);
  });
}

/** Sends bytes and returns everything that comes back until the sandbox closes the connection. */
export function exchange(sandbox: Sandbox, bytes: string): Promise<string> {
  const { hostname, port } = new URL(sandbox.url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    let received = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => {
      received += chunk;
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(received));
  });
}
