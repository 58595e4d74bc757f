/** The origin as the questions see it: each request is sent once, and answers come as they are. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { silentLogger, type LogFacts } from '../../../src/base/log.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { openServer } from '../../../src/extras/questions/server.ts';
import { makeWorkspace } from '../../support/child.ts';
import { SECTIONS } from '../../support/sections.ts';

const TOKEN = 'c0ffee00c0ffee11c0ffee22c0ffee33';

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** An origin that answers as it is told, and a connection to it. */
async function startOrigin(answer: (response: ServerResponse) => void) {
  const seen: Seen[] = [];
  const answerTo = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method, url, headers } = request;
    seen.push({ method, url, headers, body: await text(request) });
    answer(response);
  };
  const server = createServer((request, response) => void answerTo(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  const workspace = makeWorkspace({ url, database: '21995', token: TOKEN });
  const file = join(workspace.folder, 'rowsync.yaml');
  const { config } = loadConfig(file, { needsCredentials: true, sections: SECTIONS });
  const logged: LogFacts[] = [];
  const log = { ...silentLogger, debug: (_event: string, facts: LogFacts = {}) => void logged.push(facts) };
  const stopping = new AbortController();
  const opened = openServer(config, { log, signal: stopping.signal });
  return {
    call: opened.call,
    seen,
    logged,
    stop: () => stopping.abort(),
    [Symbol.asyncDispose]: async () => {
      await opened[Symbol.asyncDispose]();
      server.closeAllConnections();
      server.close();
      workspace[Symbol.dispose]();
    },
  };
}

test('a path is asked below the database, with the credentials of the configuration', async () => {
  await using origin = await startOrigin((response) => response.writeHead(200, { ETag: '"1"' }).end('[]'));

  const reply = await origin.call('t_1/select.json?top=1', { headers: { 'if-none-match': '"0"' } });

  expect(origin.seen).toMatchObject([{ method: 'GET', url: '/secure/api/v2/21995/t_1/select.json?top=1', body: '' }]);
  const { authorization, 'if-none-match': condition, 'user-agent': agent } = origin.seen[0]?.headers ?? {};
  expect([authorization, condition, agent]).toEqual([`Bearer ${TOKEN}`, '"0"', 'rowsync']);
  expect([reply.status, reply.text, reply.headers.get('etag'), reply.headers.get('x')]).toEqual([
    200,
    '[]',
    '"1"',
    null,
  ]);
});

test('rows are posted as JSON', async () => {
  await using origin = await startOrigin((response) => response.writeHead(200).end('[{"status":201}]'));

  await origin.call('t_1/create.json', { body: '[{"Name":"é"}]' });

  expect(origin.seen).toMatchObject([
    { method: 'POST', body: '[{"Name":"é"}]', headers: { 'content-type': 'application/json' } },
  ]);
});

test.each([200, 302, 304, 400, 403, 404, 414, 500])('an answer with the status %i comes as it is', async (status) => {
  const body = status === 304 ? '' : '{"error":1}';
  await using origin = await startOrigin((response) => response.writeHead(status, { Location: '/x' }).end(body));

  expect(await origin.call('describe.json')).toMatchObject({ status, text: body });
  expect(origin.seen).toHaveLength(1);
});

test.each([401, 429, 502, 503, 504])(
  'the status %i answers no question, and the request is not sent again',
  async (status) => {
    await using origin = await startOrigin((response) => response.writeHead(status).end('busy'));

    await expect(origin.call('describe.json')).rejects.toMatchObject({
      name: 'RowsyncError',
      message: expect.stringContaining(`the origin answered ${status}`) as string,
    });
    expect(origin.seen).toHaveLength(1);
  },
);

test('a connection that is cut is not asked again, and no secret is in what is said and logged', async () => {
  await using origin = await startOrigin((response) => response.destroy());

  const failure = await origin.call(`describe.json?token=${TOKEN}`).catch((thrown: unknown) => thrown);

  expect(failure).toMatchObject({ code: 'origin.unreachable' });
  expect(origin.seen).toHaveLength(1);
  expect(origin.logged).toMatchObject([{ method: 'contract' }]);
  expect(JSON.stringify([String(failure), failure, origin.logged])).not.toContain(TOKEN);
});

test('a signal ends a question', async () => {
  await using origin = await startOrigin(() => origin.stop());

  await expect(origin.call('describe.json')).rejects.toMatchObject({ code: 'origin.stopped' });
});
