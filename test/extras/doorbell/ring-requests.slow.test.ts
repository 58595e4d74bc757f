/**
 * Rings over the daemon's listener, and over one of their own: whose rings count, what is read then, and how all other
 * requests are answered.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startDaemon, type TestDaemon } from '../../support/daemon.ts';
import { ask, portOf, type Asked } from '../../support/http.ts';
import { keyOf } from '../../support/page.ts';
import { startTestSandbox } from '../../support/sandbox.ts';

const note = { name: 'Note', columns: [{ name: 'Title', type: 'Text' }], rows: [{ Title: 'a' }] };
const tables = [note, { ...note, name: 'Purchase Order' }];
const YAML = 'http: { listen: "127.0.0.1:0", doorbell: true }\nschedule: { sync: "0 * * * *", follow: false }\n';

const secretFile = (daemon: TestDaemon): string => join(daemon.folder, 'replica.db.doorbell-secret');
const secretOf = (daemon: TestDaemon): string => readFileSync(secretFile(daemon), 'utf8').trim();

function ring(daemon: TestDaemon, path: string, method = 'POST', body = ''): Promise<Asked> {
  // As a proxy hands it on: with the name by which it was called.
  return ask({ port: portOf(daemon) }, path, { method, body, headers: { Host: 'bell.example.com' } });
}

/** Everything that a caller sees, but for the time. */
function wholeAnswer({ headers, ...answer }: Asked): string {
  return JSON.stringify({ ...answer, headers: { ...headers, date: '' } });
}

/** Waits until the tables are here, and known to the doorbell. */
async function begin(daemon: TestDaemon): Promise<void> {
  await daemon.idle();
  daemon.clock.advance(1_000);
}

/** Waits until the daemon, woken by time, has read. */
async function rungSeconds(daemon: TestDaemon, count: number): Promise<void> {
  for (let step = 0; step < count * 10; step += 1) {
    daemon.clock.advance(100);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const doneCount = (): number => daemon.events('work.finished').length;
  await expect.poll(() => daemon.events('work.started').length - doneCount(), { timeout: 10_000 }).toBe(0);
}

async function statusOf(daemon: TestDaemon): Promise<{ notes: readonly string[]; problems: { code: string }[] }> {
  const headers = { Authorization: `Bearer ${keyOf(daemon)}` };
  return JSON.parse((await ask({ port: portOf(daemon) }, '/status', { headers })).body) as never;
}

test('a ring has its table read at once, whatever the schedule says, also a small one', async () => {
  await using sandbox = await startTestSandbox({ tables });
  await using daemon = startDaemon(sandbox, YAML);
  await begin(daemon);
  sandbox.store.insert('Purchase Order', { Title: 'b' });
  sandbox.requests.clear();

  const { status, body } = await ring(daemon, `/ring/${secretOf(daemon)}/Purchase%20Order`, 'POST', 'row 17');
  expect([status, body]).toEqual([200, 'rung\n']);
  await expect
    .poll(
      async () => {
        await rungSeconds(daemon, 1);
        return daemon.rows('SELECT "Title" FROM "Purchase Order"').length;
      },
      { timeout: 20_000 },
    )
    .toBe(2);

  expect(sandbox.requests.count({ method: 'select', table: sandbox.store.table('Note').alias })).toBe(0);
  const { notes } = await statusOf(daemon);
  expect(notes[0]).toMatch(/^doorbell {2}1 ring; 1 of \d+ reads? brought something/);
  expect(notes[1]).toMatch(/^rung {6}Purchase Order \d+(?:\.\d)? \w+ ago$/);
});

test('a wrong secret, an unknown table and another method get one and the same answer, and nothing is read', async () => {
  await using sandbox = await startTestSandbox({ tables });
  await using daemon = startDaemon(sandbox, YAML);
  await begin(daemon);
  const secret = secretOf(daemon);
  sandbox.requests.clear();

  const paths = ['/ring/wrong/Note', `/ring/${secret}/Nothing`, `/ring/${secret}/%E0%A4%A`, `/ring/${secret}/Note/x`];
  const answers = [];
  for (const path of [...paths, '/ring/', '/ring//Note']) answers.push(await ring(daemon, path));
  answers.push(await ring(daemon, `/ring/${secret}/Note`, 'PUT'));
  await rungSeconds(daemon, 3);

  expect(new Set(answers.map(wholeAnswer)).size).toBe(1);
  expect(answers[0]).toMatchObject({ status: 404, body: 'not found\n' });
  expect(sandbox.requests.all).toEqual([]);
  const metrics = (await ask({ port: portOf(daemon) }, '/metrics')).body;
  expect(metrics).toContain('rowsync_doorbell_rings_total{outcome="secret"} 3\n');
  expect(metrics).toContain('rowsync_doorbell_rings_total{outcome="table"} 4\n');
});

test('more rings in a second than a trigger can mean are refused as forged ones are, and counted', async () => {
  await using sandbox = await startTestSandbox({ tables });
  await using daemon = startDaemon(sandbox, YAML);
  await begin(daemon);
  const secret = secretOf(daemon);

  const [{ id }] = daemon.rows(`SELECT id FROM _rowsync_tables WHERE name = 'Note'`) as [{ id: number }];
  const answers: Asked[] = [];
  const forged = await ring(daemon, '/ring/wrong/Note'); // takes no room from those that count
  for (let count = 0; count < 502; count += 1) answers.push(await ring(daemon, `/ring/${secret}/${id}`));
  daemon.clock.advance(1_000);
  const later = await ring(daemon, `/ring/${secret}/${id}`);

  expect(answers.map(({ status }) => status)).toEqual([...Array<number>(500).fill(200), 404, 404]);
  expect(answers.slice(500).map(wholeAnswer)).toEqual([wholeAnswer(forged), wholeAnswer(forged)]);
  expect(later.status).toBe(200);
  const metrics = (await ask({ port: portOf(daemon) }, '/metrics')).body;
  expect(metrics).toContain('rowsync_doorbell_rings_total{outcome="many"} 2\n');
  expect(metrics).toContain('rowsync_doorbell_rings_total{outcome="rung"} 501\n');
});

test('another secret counts within a second, without a restart', async () => {
  await using sandbox = await startTestSandbox({ tables });
  await using daemon = startDaemon(sandbox, YAML);
  await begin(daemon);
  const former = secretOf(daemon);
  expect((await ring(daemon, `/ring/${former}/Note`)).status).toBe(200);

  rmSync(secretFile(daemon));
  daemon.clock.advance(1_000);

  expect((await ring(daemon, `/ring/${former}/Note`)).status).toBe(404);
  expect(secretOf(daemon)).not.toBe(former);
  expect((await ring(daemon, `/ring/${secretOf(daemon)}/Note`)).status).toBe(200);
});

test('a secret that cannot be read is a problem of the account, until it can', async () => {
  await using sandbox = await startTestSandbox({ tables });
  const prepare = (folder: string): void => {
    mkdirSync(join(folder, 'replica.db.doorbell-secret'));
    writeFileSync(join(folder, 'replica.db.doorbell-secret', 'something'), '');
  };
  await using daemon = startDaemon(sandbox, YAML, { prepare });
  await begin(daemon);
  expect((await statusOf(daemon)).problems.map(({ code }) => code)).toContain('doorbell.deaf');
  expect((await ring(daemon, '/ring//Note')).status).toBe(404);

  rmSync(secretFile(daemon), { recursive: true });
  daemon.clock.advance(60_000);
  expect((await ring(daemon, `/ring/x/Note`)).status).toBe(404);

  expect((await ring(daemon, `/ring/${secretOf(daemon)}/Note`)).status).toBe(200);
});

test('on an address of its own there is nothing else, and the page does not ring', async () => {
  await using sandbox = await startTestSandbox({ tables });
  const yaml = 'http: { listen: "127.0.0.1:0", doorbell: { listen: "0.0.0.0:0" } }\nschedule: { sync: "0 * * * *" }\n';
  await using daemon = startDaemon(sandbox, yaml);
  await begin(daemon);
  await statusOf(daemon);
  const port = Number(String(daemon.events('http.listening')[1]?.['path']).split(':').at(-1));

  expect(await ask({ port }, '/')).toMatchObject({ status: 404, body: 'not found\n' });
  expect((await ask({ port }, '/metrics')).status).toBe(404);
  expect((await ask({ port }, `/ring/${secretOf(daemon)}/Note`)).status).toBe(200);
  expect((await ask({ port: portOf(daemon) }, `/ring/${secretOf(daemon)}/Note`)).status).toBe(404);

  daemon.reload('http: { listen: "127.0.0.1:0" }\n');
  await begin(daemon);
  await expect(ask({ port }, '/')).rejects.toThrow(/ECONN|hang up/);
});

test('follow: auto leaves a table to rings that bring its changes, until it finds one that did not ring', async () => {
  const rows = Array.from({ length: 45 }, (_, index) => ({ Title: `row ${index}` }));
  await using sandbox = await startTestSandbox({ tables: [{ ...note, rows }] });
  const yaml = `${YAML.replace(', follow: false', '')}limits: { pageRows: 5 }\n`;
  await using daemon = startDaemon(sandbox, yaml);
  const followsIn = async (minutes: number): Promise<number> => {
    const count = (): number => daemon.events('work.finished').filter(({ work }) => work === 'follow').length;
    const before = count();
    await daemon.elapse(minutes);
    return count() - before;
  };
  const isHere = (title: string): boolean => daemon.rows(`SELECT 1 FROM "Note" WHERE "Title" = '${title}'`).length > 0;
  await begin(daemon);
  expect(await followsIn(3)).toBe(3);
  expect(daemon.events('table.way').at(-1)?.['way']).toBe(
    'followed every minute (every 10 minutes while rings bring its changes), pulled every hour',
  );

  sandbox.store.update('Note', 1, { Title: 'rings' });
  await ring(daemon, `/ring/${secretOf(daemon)}/Note`);
  await expect.poll(() => rungSeconds(daemon, 1).then(() => isHere('rings')), { timeout: 20_000 }).toBe(true);
  sandbox.store.update('Note', 2, { Title: 'does not ring' });

  expect(await followsIn(9)).toBe(0);
  expect(isHere('does not ring')).toBe(false);
  expect(await followsIn(2)).toBeGreaterThan(0);
  expect(isHere('does not ring')).toBe(true);
  expect(await followsIn(3)).toBe(3);
});
