/**
 * The sandbox calls addresses when rows change, as triggers of the service do.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { startTestSandbox } from '../../support/sandbox.ts';

/** A listener that notes what was called. */
async function startListener() {
  const calls: string[] = [];
  const server = createServer((request, response) => {
    calls.push(`${request.method} ${request.url}`);
    response.end('rung\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // it listens on a port
  const close = (): void => void server.close();
  return { calls, url: `http://127.0.0.1:${port}`, [Symbol.dispose]: close };
}

const columns = [{ name: 'Title', type: 'Text' }];
const tables = ['Note', 'Purchase Order'].map((name) => ({ name, columns, rows: [{ Title: 'a' }] }));

test('each table that changed at once is one call, by the rules of the tables', async () => {
  using listener = await startListener();
  const rings = [
    { table: null, url: `${listener.url}/ring/{table}` },
    { table: 'Note', url: `${listener.url}/note` },
  ];
  await using sandbox = await startTestSandbox({ tables, rings });

  sandbox.store.change(() => {
    sandbox.store.insert('Note', { Title: 'b' });
    sandbox.store.update('Note', 1, { Title: 'c' });
    sandbox.store.delete('Purchase Order', 1);
  });

  const called = (): readonly string[] => listener.calls.toSorted();
  await expect.poll(called).toEqual(['POST /note', 'POST /ring/Note', 'POST /ring/Purchase%20Order']);
});

test('an address where nothing answers does not disturb it', async () => {
  await using sandbox = await startTestSandbox({ tables, rings: [{ table: null, url: 'http://127.0.0.1:1/' }] });

  sandbox.store.insert('Note', { Title: 'b' });

  expect((await fetch(`${sandbox.url}/secure/api/v2/${sandbox.database}/describe.json`)).status).toBe(401);
});
