/**
 * A proxy on a loopback port that makes ways through by CONNECT, as those of companies do. It notes who asked for what,
 * and can want a login, answer in the origin's place, or hang.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';

/** A running proxy; `await using` stops it. */
export interface TestProxy {
  readonly url: string;
  /** Host and port. */
  readonly host: string;
  /** What was asked: `CONNECT 127.0.0.1:1234`; and every byte that a client sent before the way was made. */
  readonly asked: string[];
  readonly headers: IncomingMessage['headers'][];
  /** Bytes that went through to the origin. */
  sent: Buffer;
  [Symbol.asyncDispose](): Promise<void>;
}

/** How a proxy behaves. */
export interface ProxyOptions {
  readonly login?: { readonly user: string; readonly password: string };
  /** What every CONNECT is answered with, in place of a way through; `hang` and `reset` are no answers. */
  readonly answer?: string;
  readonly tls?: { readonly cert: string; readonly key: string };
}

/** Starts a proxy. */
export async function startTestProxy({ login, answer, tls }: ProxyOptions = {}): Promise<TestProxy> {
  const server: Server = tls === undefined ? createServer() : createTlsServer(tls);
  const sockets = new Set<Duplex>();
  const proxy = { asked: [] as string[], headers: [] as IncomingMessage['headers'][], sent: Buffer.alloc(0) };
  server.on('tlsClientError', () => undefined);
  server.on('request', (request, response) => {
    proxy.asked.push(`${request.method} ${request.url}`);
    response.writeHead(400).end();
  });
  server.on('connect', (request: IncomingMessage, client: Duplex) => {
    proxy.asked.push(`CONNECT ${request.url}`);
    proxy.headers.push(request.headers);
    sockets.add(client.on('error', () => undefined));
    const wanted = login === undefined ? undefined : `Basic ${btoa(`${login.user}:${login.password}`)}`;
    if (answer === 'hang') return;
    const isRefused = wanted !== undefined && request.headers['proxy-authorization'] !== wanted;
    const said = answer ?? (isRefused ? 'HTTP/1.1 407 Authentication Required\r\nContent-Length: 0\r\n\r\n' : null);
    if (said !== null) {
      if (said === 'reset') client.destroy();
      else client.end(said);
      return;
    }
    const [host = '', port = ''] = (request.url ?? '').split(':');
    const origin = connect(Number(port), host, () => client.write('HTTP/1.1 200 Connection established\r\n\r\n'));
    sockets.add(origin);
    origin.on('error', () => client.end('HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\n\r\n<html>'));
    client.on('data', (chunk: Buffer) => {
      proxy.sent = Buffer.concat([proxy.sent, chunk]);
    });
    client.pipe(origin).pipe(client);
    client.on('close', () => origin.destroy());
    origin.on('close', () => client.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(proxy, {
    url: `${tls === undefined ? 'http' : 'https'}://${host}`,
    host,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  });
}
