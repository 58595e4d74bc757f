/**
 * A server for one huge file, in a process of its own. GET of an attachment answers with so many bytes, a POST is read
 * to its end and accepted, everything else continues to a sandbox. Started by files.ts with the number of bytes and the
 * sandbox's URL.
 */
import { once } from 'node:events';
import { createServer, request as sendRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const fileBytes = Number(process.argv[2] ?? '0');
const sandboxUrl = new URL(process.argv[3] ?? '');
const piece = Buffer.alloc(256 * 1024, 'not a picture ');

async function send(response: ServerResponse): Promise<void> {
  response.writeHead(200, {
    'Content-Type': 'application/octet-stream',
    'Content-Length': String(fileBytes),
    'Content-Disposition': 'attachment; filename="huge.bin"',
    'X-Revision': '1',
  });
  for (let sent = 0; sent < fileBytes; sent += piece.length) {
    if (!response.write(piece.subarray(0, Math.min(piece.length, fileBytes - sent)))) await once(response, 'drain');
  }
  response.end();
}

/** Takes a body of one row; a shorter one than was announced never ends. */
async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let received = 0;
  for await (const chunk of request) received += (chunk as Buffer).length;
  if (received <= fileBytes) throw new Error('the file did not come');
  response.writeHead(200, { 'Content-Type': 'application/json' });
  response.end('[{"status":200,"id":1,"key":"1"}]');
}

function pass(request: IncomingMessage, response: ServerResponse): void {
  const { hostname, port } = sandboxUrl;
  const { url: path, method, headers } = request;
  const onward = sendRequest({ hostname, port, path, method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.pipe(response);
  });
  request.pipe(onward);
}

const server = createServer((request, response) => {
  if (request.method === 'POST') void take(request, response);
  else if (/\/attachment(?:[/?]|$)/.test(request.url ?? '')) void send(response);
  else pass(request, response);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
process.on('disconnect', () => process.exit(0));
