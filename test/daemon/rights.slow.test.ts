/**
 * Rights that are narrowed under a running daemon, and come back. What they concern stops, everything else continues, a
 * person is told, the origin is asked slowly, and where it is safe the work begins again by itself.
 */
import { expect, test } from 'vitest';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { startDaemon, type TestDaemon } from '../support/daemon.ts';
import { startTestSandbox, type TestSandbox } from '../support/sandbox.ts';

const columns = [
  { name: 'Title', type: 'Text' },
  { name: 'Code', type: 'Text', options: ['Unique'] },
  { name: 'Seen', type: 'Timestamp' },
] as const;

const tables = (): readonly TableSpec[] => [
  {
    name: 'Note',
    columns,
    systemColumns: false,
    rows: ['a', 'b', 'c', 'd'].map((Code) => ({ Title: `title ${Code}`, Code, Seen: '2026-06-01T10:00:00Z' })),
  },
  { name: 'Order', columns, rows: [{ Title: 'x', Code: 'x' }] },
];

const YAML = `
schedule: { sync: "*/5 * * * *" }
tables: { "*": {}, Note: { push: true, match: Code }, Order: { push: true, match: Code } }
`;

function changesSent(sandbox: TestSandbox, method = 'upsert'): number {
  return sandbox.requests.count({ method });
}

function titles(sandbox: TestSandbox, table = 'Note'): readonly unknown[] {
  return sandbox.store.rows(table).map(({ values }) => values['Title']);
}

function pullsDone(daemon: TestDaemon): number {
  return daemon.events('work.finished').filter(({ work, outcome }) => work === 'pull' && outcome !== 'failed').length;
}

test('a table that may not be written any more waits alone, is asked for less and less often, and goes on by itself', async () => {
  let isForbidden = true;
  let attempts = 0;
  await using sandbox = await startTestSandbox({
    tables: tables(),
    intercept: (request, response) => {
      if (!isForbidden || request.method !== 'update' || request.table !== sandbox.store.table('Note').alias)
        return false;
      attempts += 1;
      response.writeHead(403, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ error: 403, code: 0, message: 'No access' }));
      return true;
    },
  });
  await using daemon = startDaemon(sandbox, YAML);
  await daemon.idle();
  daemon.execute(`UPDATE "Note" SET "Title" = 'edited' WHERE "Code" IN ('a', 'b');
    UPDATE "Order" SET "Title" = 'other'`);
  await daemon.elapse(120);
  const refused = attempts;
  const pulls = pullsDone(daemon);

  isForbidden = false;
  await daemon.elapse(120);

  expect(titles(sandbox, 'Order')).toEqual(['other']);
  expect(refused).toBeGreaterThan(2);
  expect(refused).toBeLessThan(40);
  expect(pulls).toBeGreaterThan(20);
  expect(daemon.events('circuit.opened')).toEqual([]);
  expect(daemon.events('table.waits')[0]).toMatchObject({ table: 'Note', code: 'push.forbidden' });
  expect(daemon.events('table.recovered')).toMatchObject([{ table: 'Note' }]);
  expect(titles(sandbox)).toEqual(['edited', 'edited', 'title c', 'title d']);
});

test('a role that sees half the columns stops their table, with its edits, until the columns are back', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  await using daemon = startDaemon(sandbox, YAML);
  await daemon.idle();
  const role = { name: sandbox.store.user.role, canWrite: true, hiddenTables: [] };
  sandbox.store.setRole({
    ...role,
    hiddenColumns: ['Title', 'Code', 'Seen'].map((name) => ['Note', name] as const),
  });
  daemon.execute(`UPDATE "Note" SET "Title" = 'edited' WHERE "Code" = 'a'; UPDATE "Order" SET "Title" = 'other'`);
  await daemon.elapse(10);
  const stopped = daemon.rows(`SELECT state, problem FROM sync_status WHERE "table" = 'Note'`);
  const sent = titles(sandbox);
  const others = titles(sandbox, 'Order');

  sandbox.store.setRole({ ...role, hiddenColumns: [] });
  await daemon.elapse(15);

  expect(stopped).toMatchObject([
    { state: 'held', problem: expect.stringContaining('no longer shows columns') as string },
  ]);
  expect([sent[0], others]).toEqual(['title a', ['other']]);
  expect(daemon.rows(`SELECT state, pending FROM sync_status WHERE "table" = 'Note'`)).toEqual([
    { state: 'steady', pending: 0 },
  ]);
  expect(titles(sandbox)[0]).toBe('edited');
});

test('a permission that is taken away is told, and what vanished with it is not deleted', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  await using daemon = startDaemon(sandbox, YAML);
  await daemon.idle();
  const { admin } = sandbox.store.user;

  sandbox.store.changeUser({ admin: admin.filter((name) => name !== 'ManageData') });
  sandbox.store.delete('Note', 2); // or no longer shown: nobody here can tell
  await daemon.elapse(10);
  const here = daemon.rows('SELECT count(*) AS n FROM "Note"');
  const told = daemon.events('identity.changed');
  const held = daemon.events('guard.waits');
  sandbox.store.changeUser({ admin });
  await daemon.elapse(10);

  expect(admin).toContain('ManageData');
  expect(here).toEqual([{ n: 4 }]);
  expect(told).toHaveLength(1);
  expect(held[0]).toMatchObject({ table: 'Note', code: 'guard.deletes' });
  // More rights than before are no reason for doubt; the row still needs a person, since it may be gone.
  expect(daemon.events('identity.changed')).toHaveLength(1);
  expect(daemon.rows('SELECT count(*) AS n FROM "Note"')).toEqual([{ n: 4 }]);
});

test('workflow rules are not run for want of a permission: the push stops, and goes on when it is back', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  await using daemon = startDaemon(sandbox, YAML.replace('match: Code }', 'match: Code, workflow: suppress }'));
  await daemon.idle();
  const { admin } = sandbox.store.user;
  sandbox.store.changeUser({ admin: [] });
  daemon.execute(`UPDATE "Note" SET "Title" = 'edited' WHERE "Code" = 'a'`);
  await daemon.elapse(10);
  const sent = changesSent(sandbox);
  const why = daemon.events('work.failed');
  sandbox.store.changeUser({ admin });

  await daemon.elapse(10);

  expect(sent).toBe(0);
  expect(why[0]).toMatchObject({ work: 'push', code: 'push.workflow' });
  expect(titles(sandbox)[0]).toBe('edited');
});

test('in another time zone everything is read anew before anything is pushed, and every instant stays what it is', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  await using daemon = startDaemon(sandbox, YAML);
  await daemon.idle();
  sandbox.store.changeUser({ timezone: 'Asia/Tokyo' });
  daemon.execute(`UPDATE "Note" SET "Seen" = '2026-07-01T08:00:00Z' WHERE "Code" = 'a'`);
  sandbox.requests.clear();

  await daemon.seconds(20); // the edit is to be pushed at once
  const early = changesSent(sandbox);
  const held = daemon.events('guard.waits');
  await daemon.elapse(10);

  expect(early).toBe(0);
  expect(held[0]).toMatchObject({ code: 'push.identity' });
  expect(sandbox.store.rows('Note').map(({ values }) => values['Seen'])).toEqual([
    '2026-07-01T08:00:00Z',
    ...Array.from({ length: 3 }, () => '2026-06-01T10:00:00Z'),
  ]);
  expect(daemon.rows('SELECT DISTINCT "Seen" AS seen FROM "Note" ORDER BY 1')).toEqual([
    { seen: '2026-06-01T10:00:00Z' },
    { seen: '2026-07-01T08:00:00Z' },
  ]);
});
