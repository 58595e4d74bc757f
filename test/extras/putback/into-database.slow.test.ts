/**
 * `rowsync putback --into`: whole tables in another database, equal but for ids, keys and what the origin computes.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startFamily, startOther } from '../../support/putback.ts';

const INTO = ['putback', '--into', 'other.yaml'];
const FILES = 'tables: { "*": { files: latest } }\n';

test('every table of an empty database is equal afterwards, and a second run sends nothing', async () => {
  await using world = await startFamily({ groups: 3, yaml: FILES });
  await using other = await startOther(world);
  other.store.insert('First', { A: 'in the way of equal ids' });

  const planned = await world.run(...INTO);
  const empty = other.graph();
  const done = await world.run(...INTO, '--confirm');
  other.sandbox.requests.clear();
  const again = await world.run(...INTO, '--confirm');

  expect([planned.stderr, planned.exitCode, empty]).toEqual(['', 0, []]);
  expect(planned.stdout).toContain('Line."Order Id" refers to Order');
  expect([done.stderr, done.exitCode]).toEqual(['', 0]);
  expect(other.graph()).toEqual(world.graph());
  expect(done.stdout).toContain('verified: 96 rows compared, 0 differ\n');
  expect(again.stdout).toContain('verified: 96 rows compared, 0 differ\n');
  for (const method of ['create', 'upsert', 'update', 'delete'])
    expect(other.sandbox.requests.count({ method })).toBe(0);
  expect([existsSync(join(world.folder, 'other.db')), existsSync(join(world.folder, 'replica.db.putback'))]).toEqual([
    false,
    false,
  ]);
});

test('tables and columns that are not there are listed, and the rest goes', async () => {
  await using world = await startFamily();
  await using other = await startOther(world, {
    change: (tables) =>
      tables
        .filter(({ name }) => name !== 'Line')
        .map((table) => ({ ...table, columns: table.columns.filter(({ name }) => name !== 'Region') })),
  });

  const planned = await world.run(...INTO);
  const done = await world.run(...INTO, '--confirm');

  expect(planned.stdout).toContain('missing there, and not created:\n  the table Line\n  the column Customer.Region\n');
  expect(done.exitCode).toBe(0);
  expect(other.graph()).toEqual(
    world
      .graph()
      .filter((row) => !row.startsWith('["Line"'))
      .map((row) => row.replace(/^(\["Customer",".*?"),"N"/, '$1,null'))
      .toSorted(),
  );
});

test('a table that was not read here yet is listed, be it in the replica or in a backup', async () => {
  await using world = await startFamily();
  world.store.addTable({ name: 'Secret', columns: [{ name: 'Title', type: 'Text' }], rows: [{ Title: 'a' }] });
  await using _other = await startOther(world);
  const { alias } = world.store.table('Secret');
  const body = '{"error":403,"code":4000,"message":"no"}';
  for (let turn = 1; turn < 20; turn += 1) world.sandbox.answerInstead(turn, { status: 403, body }, { table: alias });
  await world.run('pull');
  await world.run('backup', 'after.db');

  const planned = [await world.run(...INTO), await world.run(...INTO, '--from', 'after.db')];

  for (const { stdout, stderr, exitCode } of planned) {
    expect([stderr, exitCode]).toEqual(['', 0]);
    expect(stdout).toContain('missing there, and not created:\n  the table Secret, which was not read here yet\n');
  }
});

test('a value that somebody changes there meanwhile is named', async () => {
  await using world = await startFamily();
  await using other = await startOther(world);
  await world.run(...INTO, '--confirm');
  other.store.update('Customer', 2, { Region: 'S' });
  other.store.delete('Order', 1);

  const again = await world.run(...INTO, '--confirm');

  expect(again.exitCode).toBe(3);
  expect(again.stdout).toContain('verified: 36 rows compared, 2 differ\n');
  expect(again.stdout).toMatch(/ {2}differs: Customer \d, now 2: Region\n/);
  expect(again.stdout).toMatch(/ {2}differs: Order \d, now 1: is not there any more/);
});

test('the rows may come from a backup, and of some tables only', async () => {
  await using world = await startFamily();
  await using other = await startOther(world);
  const before = world.graph();
  await world.run('backup', 'copy.db');
  await world.purge();

  const part = await world.run('putback', 'Order', '--into', 'other.yaml');
  const done = await world.run(...INTO, '--from', 'copy.db', '--confirm');
  const same = await world.run('putback', '--into', 'rowsync.yaml');

  expect(part.stdout).toContain('  rows that Order.Customer refers to\n');
  expect(done.stderr).toBe('');
  expect(other.graph().filter((row) => !row.startsWith('["Line"'))).toEqual(
    before.filter((row) => !row.startsWith('["Line"')),
  );
  expect(same.stderr).toContain('rowsync.yaml is of the same database');
});
