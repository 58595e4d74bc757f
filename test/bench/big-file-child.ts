/** A server whose every answer is one huge file, in a process of its own. Started by files.ts with the number of bytes. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const fileBytes = Number(process.argv[2] ?? '0');
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

const server = createServer((_request, response) => void send(response));
server.listen(0, '127.0.0.1');
await once(server, 'listening');
process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
process.on('disconnect', () => process.exit(0));
