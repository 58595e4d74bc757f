/**
 * A server that answers requests byte by byte as a test says, for what no correct server does: cut bodies, wrong
 * lengths, resets, silence, bombs. Plain TCP on a free loopback port; reads one request at a time from a connection and
 * keeps what it saw.
 *
 *    await using server = await startFaultServer((nth) => (nth === 1 ? 'reset' : json([])));
 *    server.url, server.requests, server.connectionCount
 */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

/** A request as it arrived. */
export interface FaultRequest {
  readonly method: string;
  /** Path and query string. */
  readonly path: string;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** As long as Content-Length says. */
  readonly body: Buffer;
}

/** What to do with one request. */
export type FaultAnswer =
  /** Bytes, and the connection stays open. */
  | Uint8Array
  /** Bytes, and then: `end` closes in order, `reset` without it, `hang` says nothing more. */
  | { readonly bytes: Uint8Array; readonly ending: 'end' | 'reset' | 'hang' }
  | 'reset'
  | 'hang'
  /** Anything else, by hand. */
  | ((socket: Socket) => void);

/** A running server; `await using` ends it. */
export interface FaultServer {
  readonly url: string;
  /** Host and port. */
  readonly host: string;
  readonly requests: readonly FaultRequest[];
  readonly connectionCount: number;
  /** Ends it before the test does; may be called twice. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** How a server differs from plain HTTP on a free port. */
export interface FaultServerOptions {
  /** Speak TLS with these PEM texts. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** Listen there, where a server has just stopped. */
  readonly port?: number;
  /** Answer the first bytes, whatever they are, as if they were a request. */
  readonly answersAnything?: boolean;
}

/** Starts a server; `script` gives the answer to the nth request (from 1). */
export async function startFaultServer(
  script: (nth: number, request: FaultRequest) => FaultAnswer,
  options: FaultServerOptions = {},
): Promise<FaultServer> {
  const { tls, port: wantedPort = 0, answersAnything = false } = options;
  const requests: FaultRequest[] = [];
  const sockets = new Set<Socket>();
  let connectionCount = 0;
  const onConnection = (socket: Socket): void => {
    connectionCount += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined); // the other side may reset as it likes
    let received = '';
    socket.on('data', (chunk: Buffer) => {
      received += answersAnything ? 'GET / HTTP/1.1\r\n\r\n' : chunk.toString('latin1');
      for (let end = received.indexOf('\r\n\r\n'); end >= 0; end = received.indexOf('\r\n\r\n')) {
        const head = requestFromHead(received.slice(0, end));
        const bodyEnd = end + 4 + Number(head.headers['content-length'] ?? 0);
        if (received.length < bodyEnd) return;
        const request = { ...head, body: Buffer.from(received.slice(end + 4, bodyEnd), 'latin1') };
        received = received.slice(bodyEnd);
        requests.push(request);
        perform(socket, script(requests.length, request));
      }
    });
  };
  const server: Server = tls === undefined ? createServer(onConnection) : createTlsServer(tls, onConnection);
  server.on('tlsClientError', () => undefined); // the client refuses our certificate: that is the test
  server.listen(wantedPort, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const stop = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  };
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    host: `127.0.0.1:${port}`,
    requests,
    get connectionCount() {
      return connectionCount;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** The bytes of an answer with a Content-Length, unless `headers` says otherwise (null leaves a header out). */
export function http(
  status: number,
  headers: Readonly<Record<string, string | readonly string[] | null>>,
  body: string | Uint8Array = '',
): Buffer {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const fields = { 'Content-Length': status === 304 ? null : String(bytes.length), ...headers };
  const lines = Object.entries(fields).flatMap(([name, value]) =>
    value === null ? [] : [value].flat().map((each) => `${name}: ${each}\r\n`),
  );
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${status} X\r\n${lines.join('')}\r\n`, 'latin1'), bytes]);
}

/** The bytes of a JSON answer with status 200 and an ETag. */
export function json(
  value: unknown,
  headers: Readonly<Record<string, string | readonly string[] | null>> = {},
): Buffer {
  return http(200, { 'Content-Type': 'application/json', ETag: '"e1"', ...headers }, JSON.stringify(value));
}

function requestFromHead(head: string): Omit<FaultRequest, 'body'> {
  const [first = '', ...lines] = head.split('\r\n');
  const [method = '', path = ''] = first.split(' ');
  const headers = lines.map((line) => {
    const at = line.indexOf(':');
    return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()] as const;
  });
  return { method, path, headers: Object.fromEntries(headers) };
}

/** Answers one request as told. */
export function perform(socket: Socket, answer: FaultAnswer): void {
  if (answer === 'hang') return;
  if (answer === 'reset') socket.resetAndDestroy();
  else if (typeof answer === 'function') answer(socket);
  else if (answer instanceof Uint8Array) socket.write(answer);
  else if (answer.ending === 'end') socket.end(answer.bytes);
  else socket.write(answer.bytes, () => (answer.ending === 'reset' ? socket.resetAndDestroy() : undefined));
}
