/** Which of the requests that wait for a connection leaves first. */
import { expect, test } from 'vitest';

import { silentLogger } from '../../src/base/log.ts';
import { openOrigin } from '../../src/origin/client.ts';
import { ORIGIN_LIMITS } from '../../src/origin/limits.ts';
import { openTransport } from '../../src/origin/transport.ts';
import { testClock } from '../support/clock.ts';
import { json, startFaultServer } from '../support/fault-server.ts';

test('a change leaves before reads that have waited longer', async () => {
  const table = { name: 'Customer', alias: 't_7' };
  const credentials = { kind: 'bearer', token: 'a-token' } as const;
  await using server = await startFaultServer(() => json([]));
  const settings = { url: server.url, database: '21995', credentials, concurrency: 1 };
  const origin = openOrigin(settings, { clock: testClock(), log: silentLogger });

  const reads = [1, 2, 3].map(() => origin.select({ table, columns: [], query: { columns: ['*'], sort: [] } }));
  const change = origin.delete({ table, ids: [7] }).catch(() => 'unread');
  await Promise.all([...reads, change]);
  await origin.close();

  const methods = server.requests.map(({ path }) => /(\w+)\.json/.exec(path)?.[1]);
  expect(methods).toEqual(['select', 'delete', 'select', 'select']);
});

test('the answer to a change is read at once, that of a read once the requests behind it have left', async () => {
  const table = { name: 'Customer', alias: 't_7' };
  const credentials = { kind: 'bearer', token: 'a-token' } as const;
  const deleted = [{ status: 200, id: 7, key: null, errors: [] }];
  await using server = await startFaultServer((_nth, { path }) =>
    path.includes('/user.') ? 'hang' : json(path.includes('/delete.') ? deleted : []),
  );
  const settings = { url: server.url, database: '21995', credentials, concurrency: 4 };
  const left = Promise.withResolvers<void>();
  const transport = { ...openTransport(server.url, ORIGIN_LIMITS, 4), requestsLeave: () => left.promise };
  const origin = openOrigin(settings, { clock: testClock(), log: silentLogger, transport });
  const ended: string[] = [];

  const other = origin.user().catch(() => undefined);
  const read = origin.select({ table, columns: [], query: { columns: ['*'], sort: [] } });
  const noted = read.then(() => ended.push('read'));
  ended.push((await origin.delete({ table, ids: [7] }))[0]?.status === 200 ? 'change' : 'no change');
  left.resolve();
  await noted;
  await origin.close();
  await other;

  expect(ended).toEqual(['change', 'read']);
});
