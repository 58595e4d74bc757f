/**
 * The daemon's HTTP server: `/livez`, `/readyz`, `/status` and `/metrics`, for monitoring on this machine. Input: a view of
 * the daemon, asked for anew with every request. Output: text and JSON without row values and without secrets (I16).
 *
 * It listens on a loopback address or a unix socket, only reads, and takes no request that a web page could have made
 * a browser send: the Host has to be one of its own names (DNS rebinding), and an Origin has to be itself.
 */
import { rmSync, statSync, chmodSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIPv6 } from 'node:net';
import { RowsyncError } from '../base/errors.ts';
import type { ListenAddress } from '../config/load.ts';
import { METRICS_TYPE } from './metrics.ts';

/** What is answered; each is asked for when a request comes. */
export interface ServerView {
  /** Whether work advances. */
  isAlive(): boolean;
  /** Why the daemon cannot work; null where it can. */
  unreadyReason(): string | null;
  status(): unknown;
  metrics(): Promise<string>;
}

/** A running server. */
export interface StatusServer {
  /** Where it listens, with the port that was chosen for port 0. */
  readonly address: string;
  close(): Promise<void>;
}

/** Requests of one monitor or two; a browser tab that reloads is no reason to slow down a pull. */
const CONNECTIONS_MAX = 32;
const REQUEST_MS_MAX = 10_000;
/** Its group may read and write the replica as well, so it may ask how it stands. */
const SOCKET_MODE = 0o660;

/** Starts the server. @throws RowsyncError `daemon.listen` where the address cannot be used. */
export async function startServer(address: ListenAddress, view: ServerView): Promise<StatusServer> {
  const server = createServer({ requestTimeout: REQUEST_MS_MAX, headersTimeout: REQUEST_MS_MAX }, (request, response) =>
    answer(request, response, { view, names: namesOf(server, address) }),
  );
  server.maxConnections = CONNECTIONS_MAX;
  if (address.kind === 'socket') removeStaleSocket(address.path);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => reject(listenError(address, cause)));
    if (address.kind === 'tcp') server.listen(address.port, address.host, resolve);
    else server.listen(address.path, resolve);
  });
  server.on('error', () => undefined); // of one connection; the next one is not concerned
  if (address.kind === 'socket') chmodSync(address.path, SOCKET_MODE);
  return {
    address: address.kind === 'socket' ? address.path : (namesOf(server, address)?.[0] ?? ''),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** What a daemon that was killed left behind. The lock of the replica is ours, so nobody listens there any more. */
function removeStaleSocket(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isSocket() === true) rmSync(path);
}

function listenError(address: ListenAddress, cause: NodeJS.ErrnoException): RowsyncError {
  const where = address.kind === 'socket' ? address.path : `${address.host}:${address.port}`;
  return new RowsyncError('config', 'daemon.listen', {
    message: `The daemon cannot listen on ${where} (${cause.code ?? cause.message})`,
    hint: 'Choose another http.listen, or false for none. The folder of a socket has to exist.',
    cause,
  });
}

/** The values of a Host header that mean this server; null where it has no address that a browser could reach. */
function namesOf(server: Server, address: ListenAddress): readonly string[] | null {
  if (address.kind === 'socket') return null;
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : address.port;
  const host = isIPv6(address.host) ? `[${address.host}]` : address.host;
  return [...new Set([host, 'localhost', '127.0.0.1', '[::1]'])].map((name) => `${name}:${port}`);
}

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { view, names }: { readonly view: ServerView; readonly names: readonly string[] | null },
): void {
  const send = (status: number, type: string, body: string): void => {
    response.writeHead(status, {
      'Content-Type': type,
      'Content-Length': Buffer.byteLength(body),
      'Cache-Control': 'no-store',
      'Content-Security-Policy': "default-src 'none'",
      'X-Content-Type-Options': 'nosniff',
    });
    response.end(request.method === 'HEAD' ? undefined : body);
  };
  const { host, origin } = request.headers;
  if (names !== null && !names.includes((host ?? '').toLowerCase())) return send(421, TEXT, 'wrong host\n');
  if (origin !== undefined && origin !== `http://${host ?? ''}`) return send(403, TEXT, 'wrong origin\n');
  if (request.method !== 'GET' && request.method !== 'HEAD') return send(405, TEXT, 'only GET and HEAD\n');
  const [path = ''] = (request.url ?? '').split('?');
  // The replica cannot be read; what it says of itself must not travel further than the log.
  route(path, view, send).catch(() => send(503, TEXT, 'the replica cannot be read\n'));
}

const TEXT = 'text/plain; charset=utf-8';

async function route(
  path: string,
  view: ServerView,
  send: (status: number, type: string, body: string) => void,
): Promise<void> {
  if (path === '/livez') {
    const isAlive = view.isAlive();
    return send(isAlive ? 200 : 503, TEXT, isAlive ? 'ok\n' : 'work does not advance\n');
  }
  if (path === '/readyz') {
    const reason = view.unreadyReason();
    return send(reason === null ? 200 : 503, TEXT, `${reason ?? 'ok'}\n`);
  }
  if (path === '/status')
    return send(200, 'application/json; charset=utf-8', `${JSON.stringify(view.status(), null, 2)}\n`);
  if (path === '/metrics') return send(200, METRICS_TYPE, await view.metrics());
  send(404, TEXT, 'here are /livez, /readyz, /status and /metrics\n');
}
