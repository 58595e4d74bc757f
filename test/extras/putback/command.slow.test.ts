/**
 * `rowsync putback`: lost rows and their descendants return with rewritten references, each exactly once.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startFamily as startWorld } from '../../support/putback.ts';

const PUT_BACK = ['putback', 'Customer', '--with', 'Order,Line,Link'];

test('plans first, and sends nothing', async () => {
  await using world = await startWorld();
  await world.purge();
  world.sandbox.requests.clear();

  const { stdout, stderr, exitCode } = await world.run(...PUT_BACK);

  expect([stderr, exitCode]).toEqual(['', 0]);
  expect(stdout).toMatchInlineSnapshot(`
    "would be created, parents first:
      Customer 1
        Customer 2
          Order 2
            Line 4 with 1 file of 12 B
            Line 5
            Line 6
          Link 2
        Order 1
          Line 1 with 1 file of 12 B
          Line 2
          Line 3
        Link 1
      Customer 3
        Order 3
          Line 7 with 1 file of 12 B
          Line 8
          Line 9
        Link 3
      Customer 4
        Customer 5
          Order 5
            Line 13 with 1 file of 12 B
            Line 14
            Line 15
          Link 5
        Order 4
          Line 10 with 1 file of 12 B
          Line 11
          Line 12
        Link 4
    guessed: Customer."Region" refers to Region (set tables.Customer.references to say so)
    guessed: Customer."Parent Customer" refers to Customer (set tables.Customer.references to say so)
    guessed: Order."Customer" refers to Customer (set tables.Order.references to say so)
    guessed: Line."Order Id" refers to Order (set tables.Line.references to say so)
    guessed: Link."Customer" refers to Customer (set tables.Link.references to say so)
    guessed: Link."Order" refers to Order (set tables.Link.references to say so)
    left to the origin in Customer: Id, Created By, Date Created, Last Modified By, Date Modified
    left to the origin in Order: Id, Created By, Date Created, Last Modified By, Date Modified
    left to the origin in Line: Id, Created By, Date Created, Last Modified By, Date Modified
    left to the origin in Link: Id, Created By, Date Created, Last Modified By, Date Modified
    30 rows, about 12 requests; 5 files of 60 B; workflow rules are suppressed
    Nothing was sent: --confirm puts them back
    "
  `);
  expect(world.sandbox.requests.count({ method: 'create' }) + world.sandbox.requests.count({ method: 'upsert' })).toBe(
    0,
  );
});

test('puts parents and descendants back with new keys in their references, in a circle too, and nothing twice', async () => {
  await using world = await startWorld();
  const before = world.graph();
  await world.purge();

  const done = await world.run(...PUT_BACK, '--confirm');
  const after = world.graph();
  world.sandbox.requests.clear();
  const again = await world.run(...PUT_BACK, '--confirm');
  const resumed = await world.run('putback', '--resume');

  expect(done.stderr).toBe('');
  expect(done.exitCode).toBe(0);
  expect(after).toEqual(before);
  expect([again.exitCode, resumed.exitCode]).toEqual([0, 0]);
  expect(done.stdout).not.toContain('Nothing to put back');
  expect(again.stdout).toMatch(/^Nothing to put back\nleft alone:\n/);
  for (const method of ['create', 'upsert', 'update', 'delete'])
    expect(world.sandbox.requests.count({ method })).toBe(0);
  expect(new Set(world.records().map(({ state }) => state))).toEqual(new Set(['done']));
});

test('history forget names the file of what was put back as a place that still has the row', async () => {
  await using world = await startWorld();
  await world.purge();
  await world.run(...PUT_BACK, '--confirm');

  const { stdout } = await world.run('history', 'forget', 'Customer', '1');

  expect(stdout.match(/still has it: .*putback/g)).toHaveLength(1);
});

test('a row whose answer is lost is found by a unique value; without one it is parked, and the others go on', async () => {
  await using world = await startWorld();
  const before = world.graph();
  await world.purge();
  world.sandbox.faults.replace({
    faults: [
      { fault: 'resetAfter', method: 'upsert', table: 'Order', nth: 1 },
      { fault: 'resetAfter', method: 'create', table: 'Link', nth: 1 },
    ],
  });

  const done = await world.run(...PUT_BACK, '--confirm');
  world.sandbox.requests.clear();
  const resumed = await world.run('putback', '--resume');

  expect([done.exitCode, resumed.exitCode]).toEqual([3, 3]);
  expect(world.records().filter(({ state }) => state === 'inDoubt')).toMatchObject([{ table: 'Link' }]);
  expect(done.stdout).toContain('Link: inDoubt 1');
  expect(world.graph()).toEqual(before);
  expect(world.sandbox.requests.count({ method: 'create' })).toBe(0);
});

test('rows in doubt that never arrived are created once a person has looked', async () => {
  await using world = await startWorld();
  const before = world.graph();
  await world.purge();
  world.sandbox.faults.replace({ faults: [{ fault: 'resetBefore', method: 'create', table: 'Link', nth: 1 }] });

  const parked = await world.run(...PUT_BACK, '--confirm');
  const missing = world.graph();
  const resumed = await world.run('putback', '--resume', '--again');

  expect(parked.stdout).toContain('If the row is not there, rowsync putback --resume --again sends it');
  expect(parked.stdout).not.toMatch(/--resume continues|retry or discard/);
  expect(missing.length).toBe(before.length - 1);
  expect(resumed.exitCode).toBe(0);
  expect(world.graph()).toEqual(before);
});

test('a row that a colleague brought back meanwhile is left alone, and its children refer to it', async () => {
  await using world = await startWorld({ isUnique: true });
  const before = world.graph();
  await world.purge();
  // Between the plan, which asks for it too, and the request that would create it.
  world.sandbox.before(1, () => void world.store.insert('Customer', { Name: 'c1', Region: 'N' }), {
    method: 'upsert',
  });
  world.store.insert('Order', { Number: 'o2', Customer: '99' });

  const planned = await world.run(...PUT_BACK);
  world.store.insert('Order', { Number: 'o3', Customer: '99' });
  const done = await world.run(...PUT_BACK, '--confirm');

  expect(planned.stdout).toContain('left alone:\n  Order 2: row 7 at the origin has its Number\n');
  expect(planned.stdout).not.toContain('Order 3:');
  expect(done.stdout).toContain('  Order 3 there: row 8 at the origin has its Number\n');
  expect(done.exitCode).toBe(0);
  expect(world.store.rows('Customer').filter(({ values }) => values['Name'] === 'c1')).toHaveLength(1);
  expect(world.graph()).toEqual(
    before.map((row) => row.replace(/^(\["Order","o[23]",)"c[23]"/, String.raw`$1"? \"99\""`)).toSorted(),
  );
});

test('a row that the origin has under its own id is left alone, and named', async () => {
  await using world = await startWorld({ yaml: 'tables: { "*": {} }\n' });
  const config = join(world.folder, 'rowsync.yaml');
  await world.run('backup', 'copy.db');
  const filtered = `tables: { Customer: { rows: 'not ([Name] = "c1")' },`;
  writeFileSync(config, readFileSync(config, 'utf8').replace('tables: {', filtered));
  await world.run('pull', '--confirm');
  world.sandbox.requests.clear();

  const planned = await world.run('putback', 'Customer', '1', '--from', 'copy.db');
  const done = await world.run('putback', 'Customer', '1', '--from', 'copy.db', '--confirm');

  expect(planned.stdout).toContain('left alone:\n  Customer 1: the origin has it again\n');
  expect([done.stderr, done.exitCode]).toEqual(['', 0]);
  expect(done.stdout).toContain('  Customer 1 there: the origin has it again\n');
  expect(world.sandbox.requests.count({ method: 'create' })).toBe(0);
});

test('rows that stayed at the origin are linked to the new key, unless somebody linked them meanwhile', async () => {
  await using world = await startWorld();
  const before = world.graph();
  for (const id of [1, 3]) world.store.delete('Customer', id, { purge: true });
  await world.run('pull', '--confirm');

  const planned = await world.run('putback', 'Customer');
  world.store.update('Order', 3, { Customer: '6' });
  const done = await world.run('putback', 'Customer', '--confirm');

  expect(planned.stdout).toContain('would be linked again to a new key: 5 rows that stayed at the origin\n');
  expect(done.exitCode).toBe(0);
  expect(world.graph()).toEqual(
    before.map((row) => (row === '["Order","o3","c3"]' ? '["Order","o3","stays"]' : row)).toSorted(),
  );
});

test.each(['deleted', 'backup', 'moment'])(
  'rows that stayed at the origin with an emptied reference are linked again, by what the source says: %s',
  async (source) => {
    const yaml = source === 'backup' ? '' : 'tables: { "*": { history: true } }\n';
    await using world = await startWorld({ yaml });
    const before = world.graph();
    world.store.update('Line', 7, { 'Order Id': '' });
    await world.run('pull');
    await world.run('backup', 'copy.db');
    world.store.update('Link', 3, { Customer: '' });
    world.store.update('Link', 1, { Customer: null });
    world.store.update('Customer', 1, { Region: '' });
    world.store.delete('Region', 1, { purge: true });
    for (const id of [1, 3]) world.store.delete('Customer', id, { purge: true });
    await world.run('pull', '--confirm');
    const given = { deleted: [], backup: ['--from', 'copy.db'], moment: ['--at', '2026-11-25T08:02:30Z'] };
    const args = given[source as keyof typeof given];

    const planned = await world.run('putback', 'Customer', ...args);
    world.store.update('Link', 1, { Customer: '6' });
    const done = await world.run('putback', 'Customer', ...args, '--confirm');

    const since = source === 'deleted' ? ', and was emptied 2026-11-25T08:04:00Z' : '';
    expect(planned.stdout).toContain(
      `stayed at the origin with an emptied reference, and would be linked again:\n  Link 1: Customer was 1${since}\n  Link 3: Customer was 3${since}\n`,
    );
    expect(planned.stdout).not.toContain('  Line ');
    expect([done.stderr, done.exitCode]).toEqual(['', 0]);
    expect(world.graph()).toContain('["Link","c3","o4"]');
    expect(world.graph()).toContain('["Link","stays","o2"]');
    expect(before).toContain('["Link","c3","o4"]');
  },
);

test('a reference that the origin refuses waits with its reason, and is tried again', async () => {
  await using world = await startWorld({ yaml: 'tables: { "*": { history: true } }\n' });
  world.store.delete('Customer', 1, { purge: true });
  await world.run('pull', '--confirm');
  const close = (readOnly: boolean): void => world.store.changeColumn('Link', 'Customer', { readOnly });
  world.sandbox.before(1, () => close(true), { method: 'update' });

  const done = await world.run('putback', 'Customer', '--confirm');
  close(false);
  const resumed = await world.run('putback', '--resume');

  expect([done.exitCode, done.stdout]).toEqual([
    3,
    expect.stringMatching(/Link: references refused 1\n(.|\n)* {2}Link 1 refused: /),
  ]);
  expect([resumed.stderr, resumed.exitCode]).toEqual(['', 0]);
  expect(world.graph()).toContain('["Link","c1","o2"]');
});

test('a reference that was emptied long before the row left stays empty, and one that may not be written is told', async () => {
  await using world = await startWorld({ yaml: 'tables: { "*": { history: true } }\n' });
  world.store.update('Link', 3, { Customer: '' });
  await world.run('pull');
  world.wait(8 * 86_400_000);
  for (const id of [1, 3]) world.store.delete('Customer', id, { purge: true });
  await world.run('pull', '--confirm');
  world.store.changeColumn('Link', 'Customer', { readOnly: true });

  const planned = await world.run('putback', 'Customer', '--confirm');

  expect(planned.stdout).toContain('Link 1 cannot: Customer may not be written');
  expect(planned.stdout).not.toContain('Link 3');
});

test('a required column that is masked here keeps its rows from coming back, and the plan says so', async () => {
  await using world = await startWorld({ yaml: 'tables: { Order: { mask: { Number: hash } }, "*": {} }\n' });
  await world.purge();

  const { stdout } = await world.run('putback', 'Customer', '1', '--with', 'Order,Line');

  expect(stdout).toContain('cannot be put back:\n  Order 1: Number must have a value, and may not be written\n');
});

test('says which rows cannot be put back, and which references are left out', async () => {
  await using world = await startWorld();
  await world.purge();

  const orders = await world.run('putback', 'Order', '1');
  const links = await world.run('putback', 'Link', '1');

  expect(orders.stdout).toContain('cannot be put back:\n  Order 1: Customer must have a value');
  expect(links.stdout).toContain(
    'Link 1 without: Customer refers to a row that is gone and not put back; Order refers',
  );
});

test('of a run and a time, takes only rows that both name', async () => {
  await using world = await startWorld({ yaml: `tables: { "*": { history: true } }\n` });
  await world.purge();
  await world.run('pull');

  const { stdout } = await world.run('putback', 'Customer', '--run', '3', '--deleted-since', '1h');

  expect(stdout).toBe('Nothing to put back\n');
});

test.each(['backup', 'moment', 'since', 'two-way'])('takes the rows from a source: %s', async (source) => {
  const push = source === 'two-way' ? 'push: true, ' : '';
  await using world = await startWorld({ yaml: `tables: { "*": { ${push}history: true } }\n` });
  const before = world.graph();
  await world.run('backup', 'copy.db');
  await world.purge();
  const given = {
    backup: ['--from', 'copy.db'],
    moment: ['--at', '2026-11-25T08:02:30Z'],
    since: ['--deleted-since', '1h'],
  };

  const done = await world.run(...PUT_BACK, ...(given[source as keyof typeof given] ?? ['--run', '2']), '--confirm');
  await world.run('pull');

  expect([done.stderr, done.exitCode]).toEqual(['', 0]);
  expect(world.graph()).toEqual(before);
  // Each scan that was put back has the content of the lost one of its name.
  const scans = `SELECT count(*) AS files, count(DISTINCT name || sha256) AS contents FROM sync_files WHERE state = 'here'`;
  expect(world.rows(scans)).toEqual([{ files: 11, contents: 6 }]);
});

test('the configuration says what refers to what, and names that are not there are refused', async () => {
  const yaml = (column: string): string =>
    `tables: { Link: { references: { ${column}: Customer, Order: Order } }, "*": {} }\n`;
  await using world = await startWorld({ yaml: yaml('Pair') });
  for (const { id } of world.store.rows('Link')) world.store.update('Link', id, { Pair: String(id) });
  await world.run('pull');
  await world.purge();

  const planned = await world.run('putback', 'Link', '1', '--json');
  const files = JSON.parse((await world.run('putback', 'Line', '1', '--json')).stdout) as unknown;
  writeFileSync(
    join(world.folder, 'rowsync.yaml'),
    readFileSync(join(world.folder, 'rowsync.yaml'), 'utf8').replace('Pair', 'Nothing'),
  );
  const refused = await world.run('putback', 'Link', '1');

  expect(files).toMatchObject({ rows: [{ files: { count: 1, bytes: 12 } }] });
  expect(planned.stdout).toContain('without: Pair refers to a row that is gone and not put back; Customer refers');
  expect(planned.stdout).not.toContain('"column": "Order",\n      "refersTo": "Order"');
  expect([refused.exitCode, refused.stderr]).toEqual([
    2,
    expect.stringContaining('tables.Link.references: there is no column "Nothing" here'),
  ]);
});

test('a table that was not read yet is named where it is meant, and keeps no other one from coming back', async () => {
  await using world = await startWorld({
    yaml: 'tables: { Link: { references: { Customer: Secret, Order: Order } }, "*": {} }\n',
  });
  await world.run('backup', 'before.db');
  world.store.addTable({ name: 'Secret', columns: [{ name: 'Title', type: 'Text' }], rows: [{ Title: 'a' }] });
  const { alias } = world.store.table('Secret');
  const body = '{"error":403,"code":4000,"message":"no"}';
  for (let turn = 1; turn < 20; turn += 1) world.sandbox.answerInstead(turn, { status: 403, body }, { table: alias });
  await world.purge();
  await world.run('backup', 'after.db');
  const after = world.graph();

  const named = [
    await world.run('putback', 'Secret'),
    await world.run('putback', 'Secret', '--from', 'after.db'),
    await world.run('putback', 'Customer', '--with', 'Secret'),
  ];
  const other = await world.run('putback', 'Link', '1', '2', '--from', 'before.db');

  for (const { exitCode, stderr } of named) {
    expect(stderr).toContain('Secret: the table was not read yet, so what was lost from it is not known');
    expect(exitCode).toBe(2);
  }
  expect([other.exitCode, other.stderr]).toEqual([0, '']);
  expect(other.stdout).toContain('Link 1');
  expect(world.graph()).toEqual(after);
});

test('a reference to a parent that comes back later is filled in then', async () => {
  await using world = await startWorld();
  const before = world.graph();
  await world.purge();

  const first = await world.run('putback', 'Link', '1', '--confirm');
  const alone = world.graph();
  const done = await world.run(...PUT_BACK, '--confirm');

  expect(first.stdout).toMatch(
    /^not complete:\n {2}Link 1 without: Customer refers to a row that is gone .*; Order refers/,
  );
  expect(done.stdout).not.toContain('not complete');
  expect(alone).toContain('["Link",null,null]');
  expect([done.stderr, done.exitCode]).toEqual(['', 0]);
  expect(world.graph()).toEqual(before);
});

test('children get the new key of a parent that could not be read back', async () => {
  await using world = await startWorld();
  const before = world.graph();
  await world.purge();
  const broken = { faults: [{ fault: 'unavailable', method: 'retrieve', table: 'Customer' }] } as const;
  world.sandbox.before(1, () => world.sandbox.faults.replace(broken), { method: 'create' });

  const failed = await world.run(...PUT_BACK, '--confirm');
  world.sandbox.faults.replace({ faults: [] });
  const done = await world.run(...PUT_BACK, '--confirm');

  expect(failed.exitCode).not.toBe(0);
  expect([done.stderr, done.exitCode]).toEqual(['', 0]);
  expect(world.graph()).toEqual(before);
});

test('children wait for the new key of a parent that the origin did not show right after it took it', async () => {
  await using world = await startWorld();
  const before = world.graph();
  await world.purge();
  const headers = { 'Content-Type': 'application/json; charset=utf-8' };
  const hide = () => world.sandbox.answerInstead(1, { status: 200, headers, body: '[]' }, { method: 'retrieve' });
  world.sandbox.before(1, hide, { method: 'create' });

  const done = await world.run(...PUT_BACK, '--confirm');

  expect([done.stderr, done.exitCode]).toEqual(['', 0]);
  expect(world.graph()).toEqual(before);
});

test('finds rows that were deleted here and pushed, in tables with history', async () => {
  await using world = await startWorld({ yaml: 'tables: { "*": { push: true, history: true } }\n' });
  const before = world.graph();
  world.execute(
    'DELETE FROM Line WHERE "Order Id" = \'2\'; DELETE FROM "Order" WHERE _id = 2; DELETE FROM Link WHERE _id = 2',
  );
  await world.run('push', '--confirm');
  await world.run('pull');
  const gone = world.graph();

  const done = await world.run('putback', 'Order', '2', '--with', 'Line,Link', '--confirm');

  expect(before.length - gone.length).toBe(5);
  expect([done.stderr, done.exitCode]).toEqual(['', 0]);
  const links = (rows: readonly string[]): readonly string[] => rows.filter((row) => !row.startsWith('["Link"'));
  expect(links(world.graph())).toEqual(links(before));
});

test('undo puts deleted rows back with their files, and links emptied references to the new keys', async () => {
  await using world = await startWorld({ yaml: 'tables: { "*": { push: true, history: true } }\n' });
  const before = world.graph();
  for (const { id, values } of world.store.rows('Line'))
    if (values['Order Id'] === '2') world.store.delete('Line', id, { purge: true });
  world.store.delete('Order', 2, { purge: true });
  world.store.update('Link', 1, { Order: '' });
  world.store.delete('Customer', 3, { purge: true });
  world.store.update('Order', 3, { Customer: '6' });
  await world.run('pull', '--confirm');

  const undone = await world.run('undo', '2', '--confirm');
  await world.run('push', '--confirm');
  await world.run('pull');

  expect([undone.stderr, undone.exitCode]).toEqual(['', 3]);
  expect(undone.stdout).toContain('Order 3 Customer: it referred to a row that gets a new key\n');
  expect(world.graph()).toEqual(
    before.map((row) => (row === '["Order","o3","c3"]' ? '["Order","o3","stays"]' : row)).toSorted(),
  );
});

test.each([[['--resume', '--plan']], [['Customer', '--confirm', '--plan']]])(
  'a plan is no run: %j is refused, and nothing is sent',
  async (words) => {
    await using world = await startWorld();
    await world.purge();
    await world.run('putback', 'Link', '1', '--confirm');
    world.sandbox.requests.clear();

    const { exitCode, stderr } = await world.run('putback', ...words);

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining("'--plan' cannot be used with option")]);
    expect(world.sandbox.requests.all).toEqual([]);
  },
);

test.each([[['Customer', '1', '--status']], [['--confirm', '--status']]])(
  'a status is no run: %j is refused',
  async (words) => {
    await using world = await startWorld();
    await world.purge();

    const { exitCode, stdout } = await world.run('putback', ...words);

    expect([exitCode, stdout]).toEqual([2, '']);
  },
);

test.each([false, true])(
  'undone twice, rows that were put back stay, with the references to them; unique: %s',
  async (isUnique) => {
    const yaml = 'tables: { "*": { push: true, history: true } }\n';
    await using world = await startWorld({ yaml, isUnique });
    const before = world.graph();
    await world.run('pull');
    for (const { id, values } of world.store.rows('Line'))
      if (values['Order Id'] === '2') world.store.delete('Line', id, { purge: true });
    world.store.delete('Order', 2, { purge: true });
    await world.run('pull', '--confirm');
    const since = ['undo', '--since', '2026-11-25T08:02:30Z', '--confirm'];
    await world.run(...since);
    await world.run('pull');

    const again = await world.run(...since);
    await world.run('push', '--confirm');
    await world.run('pull');

    expect(again.stderr).toBe('');
    expect(again.stdout).not.toContain('delete ');
    expect(world.graph()).toEqual(before);
  },
);

test('a row that a colleague made again stays where its delete is undone, with the references to it', async () => {
  const yaml = 'tables: { "*": { push: true, history: true }, Order: { push: true, history: true, match: Number } }\n';
  await using world = await startWorld({ yaml });
  await world.run('pull');
  world.store.delete('Order', 2, { purge: true });
  const key = String(world.store.insert('Order', { Number: 'o2', Customer: '3' }));
  for (const { id, values } of world.store.rows('Line'))
    if (values['Order Id'] === '2') world.store.update('Line', id, { 'Order Id': key });
  await world.run('pull', '--confirm');
  const before = world.graph();

  const undone = await world.run('undo', '--since', '2026-11-25T08:02:30Z');
  await world.run('push', '--confirm');
  await world.run('pull');

  const left = '  Order 2 Customer: another value in row 7, which took its place\n';
  const text = `Nothing to take back\nnot taken back:\n${left}`;
  expect([undone.stderr, undone.stdout, undone.exitCode]).toEqual(['', text, 3]);
  expect(world.graph()).toEqual(before);
});

test.each(['made again', 'put back'])(
  'a reference that is undone leads to the row that was %s, by its new key',
  async (how) => {
    const yaml =
      'tables: { "*": { push: true, history: true }, Order: { push: true, history: true, match: Number } }\n';
    await using world = await startWorld({ yaml });
    const before = world.graph();
    await world.run('pull');
    world.store.delete('Order', 2, { purge: true });
    for (const { id, values } of world.store.rows('Line'))
      if (values['Order Id'] === '2') world.store.update('Line', id, { 'Order Id': '3' });
    await world.run('pull', '--confirm');
    if (how === 'made again') world.store.insert('Order', { Number: 'o2', Customer: '2' });
    else await world.run('putback', 'Order', '2', '--confirm');
    await world.run('pull');

    const undone = await world.run('undo', '--since', '2026-11-25T08:02:30Z');
    await world.run('push', '--confirm');
    await world.run('pull');

    expect([undone.stderr, undone.exitCode]).toEqual(['', 0]);
    const links = (rows: readonly string[]): readonly string[] => rows.filter((row) => !row.startsWith('["Link"'));
    expect(links(world.graph())).toEqual(links(before));
  },
);

test('a reference that waits for a row in doubt is not said to be done', async () => {
  await using world = await startWorld();
  world.store.delete('Customer', 3, { purge: true });
  await world.run('pull', '--confirm');
  world.sandbox.faults.replace({ faults: [{ fault: 'resetBefore', method: 'create', table: 'Customer', nth: 1 }] });

  const parked = await world.run('putback', 'Customer', '--confirm');
  const json = await world.run('putback', '--status', '--json');
  const resumed = await world.run('putback', '--resume', '--again');

  expect([parked.exitCode, resumed.exitCode]).toEqual([3, 0]);
  expect(parked.stdout).toContain('Order: references waiting 1\n');
  expect(json.stdout).toMatch(/"kind":\s*"link",\s*"table":\s*"Order".*?"state":\s*"waiting"/s);
  expect(resumed.stdout).toContain('Order: references done 1\n');
});
