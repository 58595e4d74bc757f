/** Which of the requests that wait for a connection leaves first. */
import { expect, test } from 'vitest';

import { silentLogger } from '../../src/base/log.ts';
import { openOrigin } from '../../src/origin/client.ts';
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
