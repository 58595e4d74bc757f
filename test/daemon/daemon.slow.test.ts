/**
 * The daemon over months in seconds: what it does on which tick, and what it makes of failures, against a real sandbox.
 */
import { writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { SeenRequest } from '../../src/sandbox/server/requests.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { startDaemon, type TestDaemon } from '../support/daemon.ts';
import { ask, portOf } from '../support/http.ts';
import { keyOf } from '../support/page.ts';
import { startTestSandbox, type TestSandbox } from '../support/sandbox.ts';

const columns = [{ name: 'Title', type: 'Text' }];
const tables = (): readonly TableSpec[] => [
  { name: 'Note', columns, rows: [{ Title: 'a' }, { Title: 'b' }, { Title: 'c' }] },
  { name: 'Order', columns, rows: [{ Title: 'x' }] },
];

/** When each piece of work ended, as minutes and kind, and how. */
function finished(daemon: TestDaemon): readonly string[] {
  return daemon.events('work.finished').map(({ work, outcome }) => `${String(work)} ${String(outcome)}`);
}

/** How many pages of a table were asked for. */
function reads(sandbox: TestSandbox, table: string): number {
  return sandbox.requests.count({ method: 'select', table: sandbox.store.table(table).alias });
}

interface Refusing {
  table: string | null;
  readonly intercept: (request: SeenRequest, response: ServerResponse) => boolean;
}

/** Makes every select of one table fail, while it is named. */
function refuseSelects(): Refusing {
  const refusing: Refusing = {
    table: null,
    intercept: (request: SeenRequest, response: ServerResponse): boolean => {
      if (request.method !== 'select' || request.table !== refusing.table) return false;
      response.writeHead(400, { 'Content-Type': 'application/json' }).end('{"error":400,"code":400,"message":"no"}');
      return true;
    },
  };
  return refusing;
}

test('pulls when it starts, and then on every tick', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  await using daemon = startDaemon(sandbox, 'schedule: { pull: "*/5 * * * *" }\n');

  await daemon.idle();
  expect(daemon.rows('SELECT "Title" FROM "Note"')).toHaveLength(3);
  sandbox.store.insert('Note', { Title: 'd' });
  await daemon.elapse(3);
  expect(finished(daemon)).toEqual(['pull done']);
  await daemon.elapse(1);
  expect(finished(daemon)).toEqual(['pull done', 'pull done']);
  expect(daemon.rows('SELECT "Title" FROM "Note"')).toHaveLength(4);
  await daemon.elapse(20);
  expect(finished(daemon)).toHaveLength(6);
});

test('follows on its own ticks, and reads everything on those of the pull', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  await using daemon = startDaemon(sandbox, 'schedule: { follow: "* * * * *", pull: "0 * * * *" }\n');
  await daemon.idle();
  sandbox.store.insert('Note', { Title: 'd' });

  await daemon.elapse(2);

  expect(finished(daemon)).toEqual(['pull done', 'follow done', 'follow done']);
  expect(daemon.rows('SELECT "Title" FROM "Note"')).toHaveLength(4);
  expect(daemon.rows('SELECT followed_at IS NOT NULL AS isFollowed FROM sync_status')).toEqual([
    { isFollowed: 1 },
    { isFollowed: 1 },
  ]);
});

test('makes one run of all ticks that were missed while the machine slept', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  await using daemon = startDaemon(sandbox);
  await daemon.idle();

  daemon.clock.advance(6 * 3_600_000);
  await daemon.idle();

  expect(finished(daemon)).toHaveLength(2);
});

test('counts the ticks that come during a run as served by it', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  sandbox.before(1, () => daemon.clock.advance(12 * 60_000), { method: 'select' });
  await using daemon = startDaemon(sandbox);

  await daemon.idle();
  await daemon.elapse(1); // 12:14
  expect(finished(daemon)).toHaveLength(1);
  await daemon.elapse(1); // 12:15
  expect(finished(daemon)).toHaveLength(2);
});

test('pulls tables that have a schedule of their own on that one', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  const yaml = 'tables: { "*": {}, Order: { schedule: { pull: "*/20 * * * *" } } }\n';
  await using daemon = startDaemon(sandbox, yaml);
  await daemon.idle();
  sandbox.requests.clear();

  await daemon.elapse(18); // 12:05, 12:10 and 12:15
  expect(reads(sandbox, 'Note')).toBe(3);
  expect(reads(sandbox, 'Order')).toBe(0);
  await daemon.elapse(1);
  expect(reads(sandbox, 'Order')).toBe(1);
});

test('verifies on schedule, after the pull that is due at the same time', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  await using daemon = startDaemon(sandbox, 'schedule: { verify: "5 * * * *" }\n');

  await daemon.elapse(4);

  expect(finished(daemon)).toEqual(['pull done', 'pull done', 'verify done']);
});

test('goes on without a table that fails, tries it less and less often, and says when it is well', async () => {
  const refusing = refuseSelects();
  await using sandbox = await startTestSandbox({ tables: tables(), intercept: refusing.intercept });
  await using daemon = startDaemon(sandbox, 'schedule: { pull: "* * * * *" }\n');
  await daemon.idle();
  refusing.table = sandbox.store.table('Order').alias;
  const first = reads(sandbox, 'Note');
  await daemon.elapse(30);

  expect(reads(sandbox, 'Note') - first).toBeGreaterThanOrEqual(30);
  const waits = daemon.events('table.waits').map(({ table, attempt }) => [table, attempt]);
  expect(waits).toEqual([1, 2, 3, 4, 5, 6].map((attempt) => ['Order', attempt]));

  refusing.table = null;
  daemon.cycle();
  await daemon.idle();
  expect(daemon.events('table.recovered').map(({ table }) => table)).toEqual(['Order']);
  expect(daemon.rows('SELECT state FROM sync_status')).toEqual([{ state: 'steady' }, { state: 'steady' }]);
});

test('tries a table that failed again on reload, and says when that helped', async () => {
  const refusing = refuseSelects();
  await using sandbox = await startTestSandbox({ tables: tables(), intercept: refusing.intercept });
  await using daemon = startDaemon(sandbox, 'schedule: { pull: "* * * * *" }\n');
  await daemon.idle();
  refusing.table = sandbox.store.table('Order').alias;
  await daemon.elapse(30);
  refusing.table = null;

  daemon.reload();
  await daemon.idle();

  expect(daemon.events('table.recovered').map(({ table }) => table)).toEqual(['Order']);
});

test('a reload does not forget that the origin asked to be left alone', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  await using daemon = startDaemon(sandbox, 'schedule: { pull: "* * * * *" }\n');
  await daemon.idle();
  sandbox.answerInstead(1, { status: 429, headers: { 'Retry-After': '3000' }, body: '' });
  await daemon.elapse(2);
  sandbox.requests.clear();

  daemon.reload();
  await daemon.idle();

  expect(daemon.events('config.reloaded')).toHaveLength(1);
  expect(sandbox.requests.count({})).toBe(0);
});

test('a table that the configuration no longer names is not said to be well again', async () => {
  const refusing = refuseSelects();
  await using sandbox = await startTestSandbox({ tables: tables(), intercept: refusing.intercept });
  await using daemon = startDaemon(sandbox, 'http: { listen: "127.0.0.1:0" }\n');
  await daemon.idle();
  refusing.table = sandbox.store.table('Order').alias;
  await daemon.elapse(5);

  daemon.reload('http: { listen: "127.0.0.1:0" }\ntables: { Note: {} }\n');
  await daemon.idle();

  const { body } = await ask({ port: portOf(daemon) }, '/status', {
    headers: { Authorization: `Bearer ${keyOf(daemon)}` },
  });
  expect(daemon.events('table.waits')).not.toEqual([]);
  expect(daemon.events('table.recovered')).toEqual([]);
  expect(JSON.parse(body)).toMatchObject({ problems: [] });
});

test('deletes nothing under a revoked token, says so, keeps asking slowly, and takes a new one on reload', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  await using daemon = startDaemon(sandbox);
  await daemon.idle();
  sandbox.store.delete('Note', 1);
  sandbox.store.revokeToken(sandbox.token);
  sandbox.requests.clear();

  await daemon.elapse(60);

  expect(daemon.rows('SELECT "Title" FROM "Note"')).toHaveLength(3);
  const [opened] = daemon.events('circuit.opened');
  expect(opened).toMatchObject({ reason: 'auth', level: 'error', code: 'origin.forbidden' });
  expect(String(opened?.['hint'])).not.toBe('');
  // The pull that met it, and a probe every quarter of an hour or somewhat earlier.
  expect(sandbox.requests.count({})).toBeLessThanOrEqual(2 + 5);
  expect(sandbox.requests.count({})).toBeGreaterThanOrEqual(2 + 3);

  sandbox.store.addToken('another-token');
  writeFileSync(join(daemon.folder, 'token'), 'another-token');
  daemon.reload();
  await daemon.idle();
  expect(daemon.events('work.finished').at(-1)).toMatchObject({ outcome: 'done' });
  expect(daemon.events('circuit.closed')).toHaveLength(1);
  expect(daemon.rows('SELECT "Title" FROM "Note"')).toHaveLength(2);
});

test('lets no delete through after the role has changed, until a person confirms', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  await using daemon = startDaemon(sandbox);
  await daemon.idle();
  sandbox.store.changeUser({ role: 'Reader' });
  sandbox.store.delete('Note', 1);

  await daemon.elapse(30);

  expect(daemon.rows('SELECT "Title" FROM "Note"')).toHaveLength(3);
  expect(daemon.events('identity.changed')).toHaveLength(1);
  expect(daemon.events('guard.waits').at(-1)).toMatchObject({ code: 'guard.deletes' });
});

test('waits out an origin that is down, and makes up for the missed tick as soon as it is back', async () => {
  let isDown = false;
  const intercept = (_request: unknown, response: ServerResponse): boolean => {
    if (isDown) response.destroy();
    return isDown;
  };
  await using sandbox = await startTestSandbox({ tables: tables(), intercept });
  await using daemon = startDaemon(sandbox, 'schedule: { pull: "0 13 * * *" }\n');
  await daemon.idle();
  isDown = true;
  sandbox.store.insert('Note', { Title: 'd' });

  await daemon.elapse(180);
  expect(finished(daemon)).toEqual(['pull done', 'pull failed']);
  expect(daemon.events('circuit.opened').map(({ reason }) => reason)).toContain('originDown');
  isDown = false;
  await daemon.elapse(20);

  expect(finished(daemon).slice(2)).toEqual(['pull done']);
  expect(daemon.events('circuit.closed')).toHaveLength(1);
  expect(daemon.rows('SELECT "Title" FROM "Note"')).toHaveLength(4);
});

test('refuses a configuration with problems, each of them said, and stays with the old one', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  await using daemon = startDaemon(sandbox, 'schedule: { pull: "*/5 * * * *" }\n');
  await daemon.idle();

  daemon.reload('schedule: { pull: "99 * * * *" }\nlimits: { concurrency: 0 }\n');
  await daemon.elapse(4);

  const said = daemon.events('config.refused').map(({ message }) => String(message));
  expect(said.join('\n')).toContain('schedule.pull');
  expect(said.join('\n')).toContain('limits.concurrency');
  expect(daemon.events('config.reloaded')).toEqual([]);
  expect(finished(daemon)).toEqual(['pull done', 'pull done']);
});

test('takes over a changed configuration, schedules and replica included', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  await using daemon = startDaemon(sandbox);
  await daemon.idle();

  daemon.reload('schedule: { pull: "0 * * * *" }\ntables: { Order: {} }\n');
  await daemon.idle();
  sandbox.requests.clear();
  await daemon.elapse(59); // 13:00

  expect(daemon.events('config.reloaded')).toHaveLength(1);
  expect(
    daemon
      .events('schedule.armed')
      .filter(({ job }) => job === 'pull')
      .at(-1),
  ).toMatchObject({ nextAt: '2026-06-01T13:00:00Z' });
  expect(sandbox.requests.count({ method: 'select' })).toBe(1);
});

test('says so when the configuration matches no table, and continues when it does', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  await using daemon = startDaemon(sandbox, 'tables: { Notte: {} }\n');
  await daemon.idle();

  daemon.reload('tables: { Note: {} }\n');
  await daemon.elapse(1);

  expect(daemon.events('circuit.opened')).toMatchObject([{ code: 'config.invalid' }]);
  expect(finished(daemon)).toEqual(['pull failed', 'pull done']);
});

test('waits for the next tick of a clock that was set back', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  await using daemon = startDaemon(sandbox, 'schedule: { pull: "0 * * * *" }\n');
  await daemon.idle();

  daemon.clock.setBack(365 * 86_400_000);
  await daemon.elapse(61);

  expect(finished(daemon)).toEqual(['pull done', 'pull done']);
});

test('ends while a request is under way, with a file that the next one goes on with', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  const stopped = new Promise<void>((resolve) => {
    sandbox.before(1, () => resolve(daemon.stop()), { method: 'select' });
  });
  await using daemon = startDaemon(sandbox);

  await stopped;

  expect(daemon.events().at(-1)).toMatchObject({ event: 'daemon.stopped' });
  expect(daemon.events('circuit.opened')).toEqual([]);
  expect(daemon.rows('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
  expect(daemon.rows('SELECT outcome FROM sync_runs')).toEqual([{ outcome: 'stopped' }]);
});

test('pushes what is edited here on schedule, and at once when a person asks', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  const yaml = 'push: { delay: false }\ntables: { "*": {}, Note: { push: true } }\n';
  await using daemon = startDaemon(sandbox, yaml);
  const titles = (): readonly unknown[] => sandbox.store.rows('Note').map(({ values }) => values['Title']);
  await daemon.idle();
  daemon.execute(`UPDATE "Note" SET "Title" = 'edited' WHERE "Title" = 'a'`);

  await daemon.elapse(4);
  expect(titles()).toEqual(['edited', 'b', 'c']);
  expect(finished(daemon)).toEqual(['pull done', 'push done', 'pull done', 'push done']);

  daemon.execute(`DELETE FROM "Note" WHERE "Title" = 'b'`);
  daemon.cycle();
  await daemon.idle();
  expect(titles()).toEqual(['edited', 'c']);
});

test('holds a mass edit for a person, and says so', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  const yaml = 'push: { delay: false }\ntables: { Note: { push: true } }\nsafety: { maxPushRows: 1 }\n';
  await using daemon = startDaemon(sandbox, yaml);
  await daemon.idle();
  daemon.execute(`UPDATE "Note" SET "Title" = 'mass edit'`);

  await daemon.elapse(4);

  expect(sandbox.store.rows('Note').map(({ values }) => values['Title'])).toEqual(['a', 'b', 'c']);
  expect(daemon.events('guard.waits').map(({ table, code }) => [table, code])).toEqual([['Note', 'guard.pushRows']]);
});

test('pushes what was edited some seconds after the last edit, and only then', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  const yaml = 'schedule: { sync: "0 0 * * *" }\npush: { delay: 3 }\ntables: { "*": {}, Note: { push: true } }\n';
  await using daemon = startDaemon(sandbox, yaml);
  const titles = (): readonly unknown[] => sandbox.store.rows('Note').map(({ values }) => values['Title']);
  await daemon.idle();
  await daemon.seconds(10);
  expect(finished(daemon)).toEqual(['pull done', 'push done']); // what a pull writes is no edit

  daemon.execute(`UPDATE "Note" SET "Title" = 'one' WHERE "Title" = 'a'`);
  await daemon.seconds(3); // noticed after one, and quiet for two
  daemon.execute(`UPDATE "Note" SET "Title" = 'two' WHERE "Title" = 'b'`);
  await daemon.seconds(3);
  expect(titles()).toEqual(['a', 'b', 'c']);
  await daemon.seconds(1);
  expect(titles()).toEqual(['one', 'two', 'c']);

  await daemon.seconds(10);
  expect(finished(daemon)).toEqual(['pull done', 'push done', 'push done']);
});

test('asks nobody about changes of the file that are no edits', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  await using daemon = startDaemon(sandbox, 'schedule: { sync: "0 0 * * *" }\ntables: { Note: { push: true } }\n');
  await daemon.idle();
  sandbox.requests.clear();

  daemon.execute('CREATE TABLE "My own" (a); INSERT INTO "My own" VALUES (1)');
  await daemon.seconds(20);

  expect(sandbox.requests.count({})).toBe(0);
});

test('leaves edits of tables that are never pushed on schedule to a person', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  const yaml = 'tables: { "*": { push: true }, Note: { push: true, schedule: { push: false } } }\n';
  await using daemon = startDaemon(sandbox, yaml);
  await daemon.idle();

  daemon.execute(`UPDATE "Note" SET "Title" = 'mine'; UPDATE "Order" SET "Title" = 'ours'`);
  await daemon.seconds(20);

  expect(sandbox.store.rows('Order').map(({ values }) => values['Title'])).toEqual(['ours']);
  expect(sandbox.store.rows('Note').map(({ values }) => values['Title'])).toEqual(['a', 'b', 'c']);
});

test('keeps edits that come while the origin is down, and pushes them when it is back', async () => {
  let isDown = false;
  const intercept = (_request: unknown, response: ServerResponse): boolean => {
    if (isDown) response.destroy();
    return isDown;
  };
  await using sandbox = await startTestSandbox({ tables: tables(), intercept });
  await using daemon = startDaemon(sandbox, 'schedule: { sync: "0 0 * * *" }\ntables: { Note: { push: true } }\n');
  await daemon.idle();
  isDown = true;
  daemon.execute(`DELETE FROM "Note" WHERE "Title" = 'b'`);
  await daemon.elapse(15); // the client has its own patience
  expect(daemon.events('circuit.opened').map(({ reason }) => reason)).toContain('originDown');

  isDown = false;
  await daemon.elapse(20);

  expect(sandbox.store.rows('Note').map(({ values }) => values['Title'])).toEqual(['a', 'c']);
});

test.each(['update', 'select'])(
  'pushes an edit again by itself, long before the schedule, once every %s of its table no longer fails',
  async (method) => {
    let isFailing = false;
    const intercept: Refusing['intercept'] = (request, response) => {
      if (!isFailing || request.method !== method) return false;
      response.writeHead(503, { 'Content-Type': 'application/json' }).end('{"error":503,"code":1,"message":"busy"}');
      return true;
    };
    await using sandbox = await startTestSandbox({ tables: tables(), intercept });
    const yaml =
      'schedule: { sync: "0 0 * * *", pull: "*/5 * * * *", push: "0 0 * * *" }\ntables: { Note: { push: true } }\n';
    await using daemon = startDaemon(sandbox, yaml);
    await daemon.idle();
    isFailing = true;
    await daemon.elapse(6);
    daemon.execute(`UPDATE "Note" SET "Title" = 'ours' WHERE "Title" = 'a'`);
    await daemon.elapse(10);
    expect(daemon.events('circuit.opened')).toEqual([]);

    isFailing = false;
    await daemon.elapse(30);

    expect(sandbox.store.rows('Note').map(({ values }) => values['Title'])).toContain('ours');
  },
);

test('sends a parked row again at its time, long before the schedule, and no row whose time has not come', async () => {
  let isRefusing = true;
  const intercept: Refusing['intercept'] = (request, response) => {
    if (!isRefusing || request.method !== 'update') return false;
    const body = '[{"status":403,"id":1,"errors":[{"error":403,"code":1,"message":"no right"}]}]';
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(body);
    return true;
  };
  await using sandbox = await startTestSandbox({ tables: tables(), intercept });
  await using daemon = startDaemon(sandbox, 'schedule: { sync: "0 0 * * *" }\ntables: { Note: { push: true } }\n');
  const pushes = (): number => finished(daemon).filter((line) => line === 'push done').length;
  await daemon.idle();
  daemon.execute(`UPDATE "Note" SET "Title" = 'ours' WHERE _id = 1`);
  await daemon.elapse(3);
  const [failure] = daemon.rows('SELECT retry_at FROM sync_failures');
  expect(failure).toEqual({ retry_at: '2026-06-01T13:03:00Z' });
  expect(pushes()).toBe(2);

  await daemon.elapse(56);
  expect(pushes()).toBe(2);
  await daemon.elapse(5);
  expect(pushes()).toBe(3);
  isRefusing = false;
  await daemon.elapse(130);

  expect(sandbox.store.rows('Note').map(({ values }) => values['Title'])).toEqual(['ours', 'b', 'c']);
  expect(pushes()).toBe(4);
});

test.each(['another table was pushed', 'the configuration was read again'])(
  'pushes what is edited in a table that failed once it is well, also after %s',
  async (after) => {
    const refusing = refuseSelects();
    await using sandbox = await startTestSandbox({ tables: tables(), intercept: refusing.intercept });
    const yaml =
      'schedule: { sync: "0 0 * * *", pull: "*/5 * * * *", push: "0 0 * * *" }\ntables: { "*": { push: true } }\n';
    await using daemon = startDaemon(sandbox, yaml);
    const titles = (table: string): readonly unknown[] =>
      sandbox.store.rows(table).map(({ values }) => values['Title']);
    await daemon.idle();
    refusing.table = sandbox.store.table('Order').alias;
    await daemon.elapse(6);
    daemon.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE "Title" = 'a'; UPDATE "Order" SET "Title" = 'ours'`);
    await daemon.elapse(5);
    expect([...titles('Note'), ...titles('Order')]).toEqual(['mine', 'b', 'c', 'x']);
    if (after.startsWith('the')) daemon.reload();
    await daemon.elapse(1);

    refusing.table = null;
    await daemon.elapse(30);

    expect(titles('Order')).toEqual(['ours']);
  },
);

test.each([
  ['select', 'its rows cannot be read'],
  ['upsert', 'its edits are not taken'],
])('pushes what is edited in other tables while every %s of one table fails, so that %s', async (method) => {
  const failing: Refusing = {
    table: null,
    intercept: (request, response) => {
      if (request.method !== method || request.table !== failing.table) return false;
      response.writeHead(500).end();
      return true;
    },
  };
  const unique = [{ name: 'Title', type: 'Text', options: ['Unique'] }];
  const named = ['Customer', 'Note', 'Order'].map((name) => ({ name, columns: unique, rows: [{ Title: 'a' }] }));
  await using sandbox = await startTestSandbox({ tables: named, intercept: failing.intercept });
  const yaml = `schedule: { sync: "*/5 * * * *" }
limits: { concurrency: 1 }
tables: { "*": { push: true, match: Title } }
`;
  await using daemon = startDaemon(sandbox, yaml);
  await daemon.idle();
  failing.table = sandbox.store.table('Customer').alias;
  sandbox.store.insert('Order', { Title: 'theirs' });
  for (const table of ['Customer', 'Note']) daemon.execute(`INSERT INTO "${table}" ("Title") VALUES ('ours')`);

  await daemon.elapse(30);

  expect(sandbox.store.rows('Note').map(({ values }) => values['Title'])).toEqual(['a', 'ours']);
  expect(daemon.rows('SELECT "Title" FROM "Order"')).toHaveLength(2);
  expect(daemon.events('circuit.opened')).toEqual([]);
});

test('what is asked for during a run that was asked for gets a run of its own', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  await using daemon = startDaemon(sandbox, 'schedule: { sync: "0 0 1 1 *" }\ntables: { "*": { push: true } }\n');
  await daemon.idle();
  const pulls = (): number => daemon.events('work.finished').filter(({ work }) => work === 'pull').length;
  const before = pulls();
  sandbox.before(1, () => daemon.cycle(), { method: 'select' });

  daemon.cycle();
  await daemon.elapse(1);

  expect(pulls()).toBe(before + 2);
});

test('says once that rows wait, again when they become more, and when none does any more', async () => {
  const unique = [{ name: 'Title', type: 'Text', options: ['Unique'] }];
  const rows = [{ Title: 'a' }, { Title: 'b' }, { Title: 'c' }];
  await using sandbox = await startTestSandbox({ tables: [{ name: 'Note', columns: unique, rows }] });
  await using daemon = startDaemon(sandbox, 'tables: { Note: { push: true } }\n');
  await daemon.idle();
  const said = (): readonly unknown[] => daemon.events('problem.found').map(({ table, message }) => [table, message]);

  daemon.execute(`INSERT INTO "Note" ("Title") VALUES ('a')`);
  await daemon.elapse(15);
  expect(said()).toEqual([['Note', '1 row refused by the origin']]);
  daemon.execute(`INSERT INTO "Note" ("Title") VALUES ('b')`);
  await daemon.elapse(6);
  expect(said()).toEqual([
    ['Note', '1 row refused by the origin'],
    ['Note', '2 rows refused by the origin'],
  ]);
  daemon.execute(`DELETE FROM "Note" WHERE _id < 0`);
  await daemon.elapse(6);
  expect(daemon.events('problem.solved').map(({ code, table }) => [code, table])).toEqual([['rows.refused', 'Note']]);
});
