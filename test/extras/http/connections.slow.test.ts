/** What another user of the machine may do with the daemon's server: whatever it is, a probe is answered. */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { handBounded } from '../../../src/extras/http/server.ts';
import { ask } from '../../support/http.ts';

let server: Server;
let port: number;
let answeredCount: number;
let sockets: Socket[];

async function start(options: { bodyMsMax?: number; stallMsMax?: number } = {}): Promise<void> {
  server = createServer();
  const hand: RequestListener = (request, response) => {
    request.on('error', () => undefined);
    const answer = (): void => {
      answeredCount += 1;
      response.end('x'.repeat(request.url === '/large' ? 32 * 1024 * 1024 : 10));
    };
    if (request.method === 'POST') request.resume().on('end', answer);
    else answer();
  };
  handBounded(server, hand, options);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  ({ port } = server.address() as AddressInfo);
}

async function open(): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  sockets.push(socket);
  await once(socket, 'connect');
  return socket;
}

const post = (body: string): string => `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n${body}`;

beforeEach(() => {
  sockets = [];
  answeredCount = 0;
});

afterEach(() => {
  for (const socket of sockets) socket.destroy();
  server.closeAllConnections();
  server.close();
});

test('forms that never come whole keep no probe waiting', async () => {
  await start();
  for (let count = 0; count < 64; count += 1) (await open()).write(post('k'));

  expect(await ask({ port }, '/livez')).toMatchObject({ status: 200 });
});

test('a form that does not come within its time ends its connection', async () => {
  await start({ bodyMsMax: 1 });
  const socket = await open();
  socket.write(post('k'));

  await once(socket, 'close');
  expect(answeredCount).toBe(0);
});

test('requests that are sent before the first one is answered end the connection', async () => {
  await start();
  const socket = await open();
  const closed = once(socket.resume(), 'close');
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(400));

  await closed;
  expect(answeredCount).toBe(1);
});

test('an answer that is not read ends its connection', async () => {
  await start({ stallMsMax: 1 });
  const socket = await open();
  const asked = once(server, 'request');
  socket.pause();
  socket.write('GET /large HTTP/1.1\r\nHost: a\r\n\r\n');
  const [, response] = (await asked) as [unknown, ServerResponse];

  await once(response, 'close');
  expect(await ask({ port }, '/')).toMatchObject({ status: 200 });
});

test('answers that nobody reads keep no probe waiting', async () => {
  await start();
  for (let count = 0; count < 34; count += 1) {
    const socket = await open();
    socket.pause();
    const asked = once(server, 'request');
    socket.write('GET /large HTTP/1.1\r\nHost: a\r\n\r\n');
    await asked;
  }

  expect(await ask({ port }, '/livez')).toMatchObject({ status: 200 });
});

test('one connection may ask one thing after the other, forms included', async () => {
  await start();
  const socket = await open();
  for (let count = 0; count < 3; count += 1) {
    const answered = once(socket, 'data');
    socket.write(
      count === 1 ? `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nk` : 'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
    );
    expect(String(await answered)).toContain('200 OK');
  }
  expect(answeredCount).toBe(3);
});
