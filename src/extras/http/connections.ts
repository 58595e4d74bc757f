/**
 * Bounds on the connections of the daemon's HTTP server, so that nobody on this machine can keep a probe waiting. A connection has one request at
 * a time, a body comes within seconds, and an answer is read within seconds. Users of a machine cannot be told apart on a port, so there is no share for
 * each. Where there are too many connections, one that does nothing is closed, else the one whose request has been coming for longest, or whose answer
 * waits for its reader.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

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
    // No browser and no monitor sends a second request before it has the answer to the first.
    // Those that came in one piece with it are still handed over after the end of their connection.
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
