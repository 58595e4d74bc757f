/**
 * The daemon's HTTP server: the status page at `/`, `/livez`, `/readyz`, `/status` and `/metrics` for monitoring on
 * this machine, and the feed `/changes`. Only signed-in browsers get values of rows (I16).
 *
 * It listens on a loopback address or a unix socket, and refuses requests that another web page could cause. The Host
 * has to be one of its own names (DNS rebinding), and an Origin has to be itself. A GET never changes anything.
 */
import { chmodSync, existsSync, rmSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse, type RequestListener } from 'node:http';
import { isIPv6, type Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { RowsyncError } from '../../base/errors.ts';
import { printable } from '../../base/text.ts';
import { stopOf, type Problem } from '../../reconcile/account/account.ts';
import { publicStateOf } from './public-state.ts';
import { METRICS_TYPE } from './metrics.ts';
import { PAGE_CSS, PAGE_ICON, PAGE_JS } from '../page/assets.ts';
import { Feeds, type FeedView } from './feed.ts';
import { answerSignedIn, failureReply, isSignedInPath, streamWork } from './signed-in-pages.ts';
import {
  answerPost,
  barOf,
  isSignedIn,
  plain,
  postOf,
  showsKey,
  signInReply,
  TYPES,
  type Actions,
  type Reply,
} from './actions.ts';
import { sentenceHtml } from '../page/layout.ts';
import type { DaemonView } from '../../daemon/context.ts';
import type { LinkedPart, ListenAddress, PathRequest, PlainAnswer } from '../shared/linked-extra.ts';
import type { DaemonServer } from './changing-server.ts';
import type { WorkProgress } from '../shared/work-log.ts';

export interface ServerView extends Actions, FeedView {
  isAlive(): boolean;
  status(): unknown;
  metrics(): Promise<string>;
  /** An answer of an extra that serves programs, whatever their Host is; null for none. */
  answerPath(request: PathRequest): PlainAnswer | null;
  progress(): WorkProgress | null;
}

/** For a whole request. */
export const REQUEST_MS_MAX = 10_000;
/** The group may read and write the replica, so it may also read the status. */
const SOCKET_MODE = 0o660;

/** Starts the server. @throws RowsyncError `daemon.listen` if the address cannot be used. */
export async function startServer(address: ListenAddress, view: ServerView): Promise<DaemonServer> {
  const feeds = new Feeds(view);
  const server = createServer({ requestTimeout: REQUEST_MS_MAX, headersTimeout: REQUEST_MS_MAX });
  handBounded(server, (request, response) =>
    answer(request, response, { view, feeds, address, names: namesOf(server, address) }),
  );
  return listenOn(server, address, () => feeds.close());
}

/** Lets a server listen; `end` ends answers under way. @throws RowsyncError `daemon.listen` for an unusable address. */
export async function listenOn(
  server: Server,
  address: ListenAddress,
  end: () => Promise<void> = () => Promise.resolve(),
): Promise<DaemonServer> {
  if (address.kind === 'socket') removeStaleSocket(address.path);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => reject(listenError(address, cause)));
    if (address.kind === 'tcp') server.listen(address.port, address.host, resolve);
    else server.listen(address.path, resolve);
  });
  server.on('error', () => undefined); // concerns one connection only
  if (address.kind === 'socket') chmodSync(address.path, SOCKET_MODE);
  return {
    address: address.kind === 'socket' ? address.path : (namesOf(server, address)?.[0] ?? ''),
    isReachable: () => address.kind === 'tcp' || existsSync(address.path),
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await end();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** What a part of the daemon answers to a path of its own; null for none. */
export function answerPath(view: Pick<DaemonView, 'parts'>, request: PathRequest): PlainAnswer | null {
  const parts: readonly LinkedPart[] = view.parts();
  for (const part of parts) {
    const answered = part.answer?.(request);
    if (answered != null) return answered;
  }
  return null;
}

/** The socket of a daemon that was killed. We hold the lock of the replica, so no process listens there. */
function removeStaleSocket(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isSocket() === true) rmSync(path);
}

function listenError(address: ListenAddress, cause: NodeJS.ErrnoException): RowsyncError {
  const where = address.kind === 'socket' ? address.path : `${address.host}:${address.port}`;
  return new RowsyncError('config', 'daemon.listen', {
    message: `The daemon cannot listen on ${where} (${cause.code ?? cause.message})`,
    hint: 'Choose another http.listen (or http.doorbell), or false for none. The folder of a socket has to exist.',
    cause,
  });
}

/** Names of this machine that no foreign name server can resolve. */
const OWN_NAMES = ['localhost', '127.0.0.1', '[::1]'] as const;

/** The Host headers that mean this server; null for a socket, which a tunnel may reach under any port. */
function namesOf(server: Server, address: ListenAddress): readonly string[] | null {
  if (address.kind === 'socket') return null;
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : address.port;
  const host = isIPv6(address.host) ? `[${address.host}]` : address.host;
  return [...new Set([host, ...OWN_NAMES])].map((name) => `${name}:${port}`);
}

/** Of every answer: the page runs and loads only what this server serves, and no other site may show it in a frame. */
const HEADERS = new Map(
  Object.entries({
    'Cache-Control': 'no-store',
    'Content-Security-Policy':
      "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; " +
      "base-uri 'none'; require-trusted-types-for 'script'",
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    // With "no-referrer" browsers would send no Origin with forms.
    'Referrer-Policy': 'same-origin',
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
  }),
);

function answer(request: IncomingMessage, response: ServerResponse, served: Served): void {
  response.setHeaders(HEADERS);
  const send = async ({ status, type, body, headers }: Reply): Promise<void> => {
    const all = { 'Content-Type': type, ...headers };
    if (typeof body === 'string') {
      response.writeHead(status, { ...all, 'Content-Length': Buffer.byteLength(body) });
      response.end(request.method === 'HEAD' ? undefined : body);
      return;
    }
    response.writeHead(status, all);
    if (request.method === 'HEAD') {
      await body.return();
      response.end();
      return;
    }
    // If the answer breaks off, the connection is closed, so that the client does not take half of it for all.
    await pipeline(body, response).catch(() => response.destroy());
  };
  // The replica cannot be read; the details go to the log only.
  reply(request, response, served)
    .then(
      (answered) => (answered === null ? undefined : send(answered)),
      () => send(plain(503, 'the replica cannot be read\n')),
    )
    .catch(() => response.destroy());
}

/** The input of answers; `names` as of `namesOf`. */
interface Served {
  readonly view: ServerView;
  readonly feeds: Feeds;
  readonly address: ListenAddress;
  readonly names: readonly string[] | null;
}

/** Null if the answer has begun. */
async function reply(
  request: IncomingMessage,
  response: ServerResponse,
  { view, feeds, address, names }: Served,
): Promise<Reply | null> {
  const { host, origin } = request.headers;
  const [path = '', ...rest] = (request.url ?? '').split('?');
  const query = rest.join('?');
  const ofPart = view.answerPath({ address, method: request.method ?? '', path });
  if (ofPart !== null) return plain(ofPart.status, ofPart.body);
  if (!isOwnHost((host ?? '').toLowerCase(), names)) return plain(421, 'wrong host\n');
  if (origin !== undefined && origin !== `http://${host ?? ''}`) return plain(403, 'wrong origin\n');
  const post = request.method === 'POST' ? postOf(request, path) : null;
  if (post !== null)
    return answerPost(request, post, view).catch((thrown: unknown) => failureReply(thrown, barOf(view)));
  if (request.method !== 'GET' && request.method !== 'HEAD') return plain(405, 'only GET and HEAD\n');
  if (path === '/' || isSignedInPath(path)) {
    if (isSignedIn(request, view.auth())) return answerSignedIn(response, { path, query }, view);
    return signInReply(`${path}${query === '' ? '' : `?${query}`}`, view);
  }
  const asset = ASSETS.get(path);
  if (asset !== undefined) return asset;
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    return plain(403, 'this came from another site\n');
  if (path === '/changes') return feeds.answer(request, response, query);
  if (path === '/events' && isSignedIn(request, view.auth())) {
    streamWork(response, view);
    return null;
  }
  return answerMonitor(request, path, view);
}

/** `names` as of `namesOf`. Clients leave out port 80. */
export function isOwnHost(host: string, names: readonly string[] | null): boolean {
  const name = host.replace(/:\d+$/, '');
  if (names !== null) return names.includes(name === host ? `${host}:80` : host);
  return OWN_NAMES.some((own) => own === name);
}

const ASSETS: ReadonlyMap<string, Reply> = new Map([
  ['/page.css', { status: 200, type: 'text/css; charset=utf-8', body: PAGE_CSS }],
  ['/page.js', { status: 200, type: 'text/javascript; charset=utf-8', body: PAGE_JS }],
  ['/icon.svg', { status: 200, type: 'image/svg+xml', body: PAGE_ICON }],
]);

/** Whether the daemon can work, and every problem; sentences, which may quote the origin, for readers alone. */
export function readyReply(problems: readonly Problem[], mayRead: boolean): ReturnType<typeof plain> {
  const stop = stopOf(problems);
  // While the origin is down, the daemon still does what it can.
  const isReady = stop === null || stop.severity === 'late';
  const body = (isReady ? 'ok\n' : '') + problems.map((problem) => problemLine(problem, mayRead)).join('');
  return plain(isReady ? 200 : 503, body);
}

function problemLine({ code, severity, table, sentence }: Problem, mayRead: boolean): string {
  const parts = [severity, code, ...(table === null ? [] : [`${table}:`]), ...(mayRead ? [sentence] : [])];
  return `${printable(parts.join(' '))}\n`;
}

async function answerMonitor(request: IncomingMessage, path: string, view: ServerView): Promise<Reply> {
  const mayRead = isSignedIn(request, view.auth()) || showsKey(request, view.auth());
  if (path === '/livez') {
    const isAlive = view.isAlive();
    return plain(isAlive ? 200 : 503, isAlive ? 'ok\n' : 'work makes no progress\n');
  }
  if (path === '/readyz') return readyReply(view.problems(), mayRead);
  if (path === '/status') {
    // Without a key, everyone may ask; a wrong one is an error of the program.
    if (!mayRead && request.headers.authorization !== undefined) return plain(403, 'wrong key\n');
    const body = mayRead ? await view.status() : publicStateOf(view.problems());
    return { status: 200, type: TYPES.json, body: `${JSON.stringify(body, null, 2)}\n` };
  }
  if (path === '/metrics') return { status: 200, type: METRICS_TYPE, body: await view.metrics() };
  if (isSignedIn(request, view.auth()) && (request.headers.accept ?? '').includes('text/html'))
    return { status: 404, type: TYPES.html, body: sentenceHtml(barOf(view), 'There is no such page') };
  return plain(404, 'not found; this server has /, /livez, /readyz, /status, /metrics and /changes\n');
}

/** Enough for a monitor or two and some browsers, without slowing down a pull. */
const CONNECTIONS_MAX = 32;
/** For a form to come, and for an answer to advance. */
const BODY_MS_MAX = 5_000;
const STALL_MS_MAX = 60_000;

/** Hands the requests of a server on within these bounds. */
export function handBounded(
  server: Server,
  hand: RequestListener,
  { bodyMsMax = BODY_MS_MAX, stallMsMax = STALL_MS_MAX } = {},
): void {
  const idle = new Set<Socket>();
  /** Connections whose request has not come whole. */
  const coming = new Set<Socket>();
  const answering = new Set<Socket>();
  const all = [idle, coming, answering];
  const moveTo = (socket: Socket, state: Set<Socket> | null): void => {
    for (const each of all) each.delete(socket);
    state?.add(socket);
  };
  server.on('connection', (socket: Socket) => {
    moveTo(socket, idle);
    socket.once('close', () => moveTo(socket, null));
    if (all.reduce((sum, { size }) => sum + size, 0) <= CONNECTIONS_MAX) return;
    // The new one is the last of the idle ones.
    const unread = [...answering].filter(({ writableLength }) => writableLength > 0);
    const [victim = socket] = [...[...idle].slice(0, -1), ...coming, ...unread];
    victim.destroy();
  });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    // Browsers and monitors do not pipeline requests.
    // Further requests from the same packet still arrive after the socket was destroyed.
    if (answering.has(socket) || coming.has(socket)) socket.destroy();
    if (socket.destroyed) return;
    if (request.complete || !hasBody(request)) moveTo(socket, answering);
    else {
      moveTo(socket, coming);
      const late = AbortSignal.timeout(bodyMsMax);
      const end = (): unknown => (request.complete ? null : socket.destroy());
      late.addEventListener('abort', end);
      request.once('close', () => late.removeEventListener('abort', end));
      request.once('end', () => {
        moveTo(socket, answering);
      });
    }
    // Feeds send something more often than that.
    response.setTimeout(stallMsMax, () => socket.destroy());
    response.once('close', () => {
      if (!socket.destroyed) moveTo(socket, idle);
    });
    hand(request, response);
  });
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
