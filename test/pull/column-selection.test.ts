/**
 * Columns that are left out, and columns that are masked: what a pull asks for, stores, and takes away again.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import type { ColumnChoice, MaskRule } from '../../src/reconcile/column-selection.ts';
import { confirmHeld } from '../../src/replica/confirmation.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { pushNow } from '../support/push.ts';
import { testClock } from '../support/clock.ts';
import { startFixture, type Fixture } from '../support/replica.ts';

const CUSTOMER: TableSpec = {
  name: 'Customer',
  createdFromMs: Date.UTC(2026, 0, 1),
  columns: [
    { name: 'Code', type: 'Text', options: ['Unique'] },
    { name: 'Name', type: 'Text' },
    { name: 'Bank Account', type: 'Text' },
    { name: 'Notes', type: 'Multiline' },
    { name: 'E-Mail', type: 'EMail' },
    { name: 'Phone', type: 'Phone' },
    { name: 'Born', type: 'Date' },
    { name: 'Credit', type: 'Numeric', kind: 'Summary' },
  ],
  rows: [1, 2, 3].map((number) => ({
    Code: `c${number}`,
    Name: `name ${number}`,
    'Bank Account': `SECRET-BANK-${number}`,
    Notes: `SECRET-NOTES-${number}`,
    'E-Mail': `person${number}@example.net`,
    Phone: `+1 555 010${number}`,
    Born: `198${number}-05-06`,
    Credit: number,
  })),
};

interface Wish {
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
  readonly masks?: readonly MaskRule[];
  readonly push?: boolean;
}

function choiceOf({ include, exclude = [], masks = [] }: Wish): ColumnChoice {
  return { include: include ?? null, exclude, masks, isOfOneTable: true, match: null, sort: null };
}

function settingsOf(wish: Wish) {
  const editing = wish.push === true ? ({ match: null, conflict: 'origin', workflow: 'run' } as const) : null;
  const history = { keepDays: 400, bytesMax: 1_000_000 };
  return { tableOptions: () => ({ sort: null, editing, history, columns: choiceOf(wish) }) };
}

function pullAs(fixture: Fixture, wish: Wish, options: { readonly confirm?: boolean } = {}) {
  return fixture.pull({ settings: settingsOf(wish), ...options });
}

function columnsOf(fixture: Fixture): readonly string[] {
  const rows = fixture.rows(`SELECT name FROM pragma_table_info('Customer')`) as { name: string }[];
  return rows.map(({ name }) => name);
}

function askedFor(fixture: Fixture, name: string): number {
  return fixture.sandbox.requests.all.filter(({ path }) => decodeURIComponent(path).includes(name)).length;
}

/** Files of the replica's folder in which a text stands. */
function filesWith(fixture: Fixture, text: string): readonly string[] {
  const files = readdirSync(fixture.folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files
    .filter((entry) => readFileSync(join(entry.parentPath, entry.name)).includes(text))
    .map(({ name }) => name);
}

test('a column that is left out is never asked for, and stands in no file', async () => {
  await using fixture = await startFixture({ tables: [CUSTOMER] });

  const report = await pullAs(fixture, { exclude: ['bank account', 'Notes*'] });

  expect(report.tables).toMatchObject([{ error: null, held: null, insertedCount: 3 }]);
  expect(columnsOf(fixture)).not.toContain('Bank Account');
  expect(columnsOf(fixture)).toContain('Credit');
  expect(askedFor(fixture, 'Bank Account') + askedFor(fixture, 'column=*')).toBe(0);
  expect(filesWith(fixture, 'SECRET')).toEqual([]);
  fixture.sandbox.requests.clear();
  await pullAs(fixture, { exclude: ['bank account', 'Notes*'] });
  expect(fixture.sandbox.requests.count({ method: 'select', status: 304 })).toBeGreaterThan(0);
});

test('only included columns come, with what rowsync needs', async () => {
  await using fixture = await startFixture({ tables: [CUSTOMER] });

  await pullAs(fixture, { include: ['Name'] });

  expect(columnsOf(fixture)).toEqual(['_id', '_allow', 'Id', 'Name', 'Date Created', 'Date Modified']);
});

test('leaving a column out later waits for a person, then removes its values and what is kept of them', async () => {
  await using fixture = await startFixture({ tables: [CUSTOMER] });
  await pullAs(fixture, {});
  fixture.sandbox.store.update('Customer', 1, { Notes: 'SECRET-CHANGED' });
  fixture.sandbox.store.delete('Customer', 2);
  await pullAs(fixture, {});
  const before = filesWith(fixture, 'SECRET-NOTES');

  const held = await pullAs(fixture, { exclude: ['Notes'] });
  const done = await pullAs(fixture, { exclude: ['Notes'] }, { confirm: true });

  expect(before).not.toEqual([]);
  expect(held.tables[0]?.held).toMatchObject({ code: 'guard.schema' });
  expect(held.tables[0]?.held?.message).toContain('"Notes"');
  expect(done.tables[0]).toMatchObject({ error: null, held: null });
  expect(held.schemaChanges).toEqual([]);
  expect(done.schemaChanges).toEqual([
    'Customer.Notes: the configuration now leaves the column out; its values here were removed',
  ]);
  expect(columnsOf(fixture)).not.toContain('Notes');
  expect(filesWith(fixture, 'SECRET-NOTES').concat(filesWith(fixture, 'SECRET-CHANGED'))).toEqual([]);
  expect(filesWith(fixture, 'SECRET-BANK')).not.toEqual([]);
  expect(fixture.rows(`SELECT kind FROM sync_history WHERE kind = 'forgotten'`)).toHaveLength(1);
  expect(fixture.rows('SELECT row_id FROM sync_deleted')).toHaveLength(1);
});

test('leaving a column out also removes it from entries of a table that was dropped and made again', async () => {
  await using fixture = await startFixture({ tables: [CUSTOMER] });
  await pullAs(fixture, {});
  fixture.sandbox.store.update('Customer', 1, { Notes: 'SECRET-CHANGED' });
  await pullAs(fixture, {});
  fixture.execute('DROP TABLE "Customer"');
  await pullAs(fixture, {});

  await pullAs(fixture, { exclude: ['Notes'] }, { confirm: true });

  expect(fixture.rows(`SELECT row_id FROM sync_history WHERE kind = 'update'`)).toHaveLength(1);
  expect(filesWith(fixture, 'SECRET-CHANGED').concat(filesWith(fixture, 'SECRET-NOTES'))).toEqual([]);
});

test('taking a column in again reads the table anew', async () => {
  await using fixture = await startFixture({ tables: [CUSTOMER] });
  await pullAs(fixture, { exclude: ['Notes'] });

  const report = await pullAs(fixture, {});

  expect(report.tables[0]).toMatchObject({ error: null, held: null });
  expect(fixture.rows('SELECT "Notes" FROM "Customer" WHERE _id = 1')).toEqual([{ Notes: 'SECRET-NOTES-1' }]);
});

test('a column that is renamed at the origin stays left out, and stays masked', async () => {
  await using fixture = await startFixture({ tables: [CUSTOMER] });
  const wish: Wish = { exclude: ['Notes'], masks: [{ pattern: 'E-Mail', kind: 'hash' }] };
  await pullAs(fixture, wish);
  fixture.sandbox.store.renameColumn('Customer', 'Notes', 'Remarks');
  fixture.sandbox.store.renameColumn('Customer', 'E-Mail', 'Address');

  const report = await pullAs(fixture, wish);

  expect(report.tables[0]).toMatchObject({ error: null, held: null });
  expect(columnsOf(fixture)).not.toContain('Remarks');
  expect(filesWith(fixture, 'SECRET-NOTES').concat(filesWith(fixture, 'example.net'))).toEqual([]);
});

test('a column that is renamed while its table is held stays left out', async () => {
  await using fixture = await startFixture({ tables: [CUSTOMER] });
  await pullAs(fixture, { exclude: ['Notes'] });
  const { tableOptions } = settingsOf({ exclude: ['No*'] });
  const held = await fixture.pull({ settings: { tableOptions: () => ({ ...tableOptions(), sort: ['Nonsense'] }) } });
  fixture.sandbox.store.renameColumn('Customer', 'Notes', 'Remarks');

  const report = await pullAs(fixture, { exclude: ['No*'] });

  expect(held.tables[0]?.error).toMatchObject({ code: 'config.invalid' });
  expect(report.tables[0]).toMatchObject({ error: null, held: null });
  expect(columnsOf(fixture)).not.toContain('Remarks');
  expect(filesWith(fixture, 'SECRET-NOTES')).toEqual([]);
});

test.each(['json', 'xml'] as const)(
  'masks are put in the place of values before anything is stored (%s)',
  async (format) => {
    await using fixture = await startFixture({ tables: [CUSTOMER] }, { format });
    fixture.sandbox.store.update('Customer', 3, { 'E-Mail': null });

    await pullAs(fixture, {
      masks: [
        { pattern: 'E-Mail', kind: 'hash' },
        { pattern: 'Phone', kind: 'last4' },
        { pattern: 'Born', kind: 'year' },
        { pattern: 'Notes', kind: 'null' },
        { pattern: 'Bank*', kind: 'constant', constant: 'hidden' },
      ],
    });

    const [first, , third] = fixture.rows(
      'SELECT "E-Mail" AS mail, "Phone", "Born", typeof("Born") AS type, "Notes", "Bank Account" AS bank FROM "Customer"',
    ) as Record<string, unknown>[];
    expect(first).toMatchObject({ Phone: '0101', Born: 1981, type: 'integer', Notes: null, bank: 'hidden' });
    expect(String(first?.['mail'])).toMatch(/^[0-9a-f]{32}$/);
    expect(third).toMatchObject({ mail: null });
    expect(filesWith(fixture, 'SECRET').concat(filesWith(fixture, 'person1@'), filesWith(fixture, '1981-05'))).toEqual(
      [],
    );
    expect(fixture.rows(`SELECT mask FROM sync_columns WHERE "column" = 'E-Mail'`)).toEqual([{ mask: 'hash' }]);
  },
);

test('a pull that reads masked columns again finds nothing changed', async () => {
  await using fixture = await startFixture({ tables: [CUSTOMER] });
  const wish: Wish = { masks: [{ pattern: 'E-Mail', kind: 'hash' }] };
  await pullAs(fixture, wish);
  fixture.sandbox.store.update('Customer', 1, { Name: 'other' });

  const report = await pullAs(fixture, wish);

  expect(report.tables[0]).toMatchObject({ updatedCount: 1 });
});

test('another mask, and another key, wait for a person and read the column anew', async () => {
  await using fixture = await startFixture({ tables: [CUSTOMER] });
  const wish: Wish = { masks: [{ pattern: 'E-Mail', kind: 'hash' }] };
  const mail = (): unknown => fixture.rows('SELECT "E-Mail" AS mail FROM "Customer" WHERE _id = 1');
  await pullAs(fixture, wish);
  const first = mail();
  fixture.maskKey = 'another key of masks';

  const held = await pullAs(fixture, wish);
  const kept = mail();
  await pullAs(fixture, wish, { confirm: true });
  const second = mail();
  await pullAs(fixture, { masks: [{ pattern: 'E-Mail', kind: 'domain' }] }, { confirm: true });
  const third = mail();
  await pullAs(fixture, {}, { confirm: true });

  expect(held.tables[0]?.held).toMatchObject({ code: 'guard.maskKey' });
  expect(kept).toEqual(first);
  expect(second).not.toEqual(first);
  expect(third).toEqual([{ mail: 'example.net' }]);
  expect(mail()).toEqual([{ mail: 'person1@example.net' }]);
});

test('the journal says that another mask is why values changed', async () => {
  const clock = testClock();
  await using fixture = await startFixture({ tables: [CUSTOMER], clock }, { clock });
  await pullAs(fixture, { masks: [{ pattern: 'E-Mail', kind: 'hash' }] });
  clock.advance(60_000);

  await pullAs(fixture, { masks: [{ pattern: 'E-Mail', kind: 'domain' }] }, { confirm: true });

  expect(fixture.rows('SELECT kind, cause, row_id AS id FROM sync_history WHERE id > 1 ORDER BY id')).toEqual([
    { kind: 'forgotten', cause: 'schema', id: null },
    ...[1, 2, 3].map((id) => ({ kind: 'update', cause: 'schema', id })),
  ]);
});

test.each([
  { what: 'the key', pattern: 'Id' },
  { what: 'the time of creation', pattern: 'Date Created' },
  { what: 'the time of the last change', pattern: 'Date Mod*' },
])('a mask of $what is refused, and nothing is stored', async ({ pattern, what }) => {
  await using fixture = await startFixture({ tables: [CUSTOMER] });

  const report = await pullAs(fixture, { masks: [{ pattern, kind: 'hash' }] });

  expect(report.tables[0]?.error).toMatchObject({ code: 'config.invalid' });
  expect(report.tables[0]?.error?.message).toContain(what);
  expect(fixture.rows("SELECT name FROM sync_runs, pragma_table_info('Customer') WHERE name = 'Name'")).toEqual([]);
});

test('a mask that names no column is refused, since a slip would let the values through', async () => {
  await using fixture = await startFixture({ tables: [CUSTOMER] });

  const report = await pullAs(fixture, { masks: [{ pattern: 'EMail', kind: 'hash' }] });

  expect(report.tables[0]?.error?.message).toContain('the table has no such column (did you mean E-Mail?)');
  expect(filesWith(fixture, 'person1@')).toEqual([]);
});

test('a name to leave out that no column has is refused, with the nearest name', async () => {
  await using fixture = await startFixture({ tables: [CUSTOMER] });

  const report = await pullAs(fixture, { exclude: ['Phne', 'Notes'] });

  expect(report.tables[0]?.error).toMatchObject({ code: 'config.invalid' });
  expect(report.tables[0]?.error?.message).toBe(
    'tables.Customer.columns.exclude: the table has no column "Phne" (did you mean Phone?)',
  );
  expect(filesWith(fixture, '+1 555')).toEqual([]);
});

test.each(['left out from the beginning', 'left out once it was gone'])(
  'a column that vanished at the origin, %s, does not hold its table',
  async (when) => {
    await using fixture = await startFixture({ tables: [CUSTOMER] });
    const isFromBeginning = when === 'left out from the beginning';
    await pullAs(fixture, isFromBeginning ? { exclude: ['Phone'] } : {});
    fixture.sandbox.store.dropColumn('Customer', 'Phone');

    const first = await pullAs(fixture, { exclude: ['Phone'] }, { confirm: true });
    const second = await pullAs(fixture, { exclude: ['Phone'] });

    expect([first, second].map(({ tables }) => tables[0]?.error ?? null)).toEqual([null, null]);
    expect(filesWith(fixture, '+1 555')).toEqual([]);
  },
);

test('a masked column cannot be edited here, and a push sends nothing of it', async () => {
  await using fixture = await startFixture({ tables: [CUSTOMER] });
  const wish: Wish = { push: true, exclude: ['Notes'], masks: [{ pattern: 'E-Mail', kind: 'hash' }] };
  await pullAs(fixture, wish);

  expect(() => fixture.execute(`UPDATE "Customer" SET "E-Mail" = 'x' WHERE _id = 1`)).toThrow(/it is masked/);
  fixture.execute(`UPDATE "Customer" SET "Name" = 'edited' WHERE _id = 1`);
  fixture.sandbox.store.update('Customer', 1, { 'E-Mail': 'new@example.net' });
  const report = await pushNow(fixture, { settings: { columns: () => choiceOf(wish) } });

  expect(report.tables).toMatchObject([{ updatedCount: 1, error: null }]);
  const [row] = fixture.sandbox.store.rows('Customer');
  expect(row?.values).toMatchObject({ Name: 'edited', 'E-Mail': 'new@example.net', Notes: 'SECRET-NOTES-1' });
  expect(filesWith(fixture, 'SECRET-NOTES').concat(filesWith(fixture, 'new@example.net'))).toEqual([]);
  expect(askedFor(fixture, 'Notes')).toBe(0);
});

test('whoever confirms is told of edits that go with a column', async () => {
  await using fixture = await startFixture({ tables: [CUSTOMER] });
  await pullAs(fixture, { push: true });
  fixture.execute(`UPDATE "Customer" SET "Notes" = 'mine' WHERE _id = 1`);

  const held = await pullAs(fixture, { push: true, exclude: ['Notes'] });
  const report = await pullAs(fixture, { push: true, exclude: ['Notes'] }, { confirm: true });

  expect(held.tables[0]?.held?.message).toContain('among them edits of 1 row that were not pushed');
  expect(report.tables[0]).toMatchObject({ held: null, error: null });
  expect(filesWith(fixture, 'mine')).toEqual([]);
  expect(fixture.rows('SELECT * FROM sync_changes')).toEqual([]);
});

test('a push before the pull that follows a new choice sends nothing', async () => {
  await using fixture = await startFixture({ tables: [CUSTOMER] });
  await pullAs(fixture, { push: true });
  fixture.execute(`UPDATE "Customer" SET "Name" = 'edited' WHERE _id = 1`);

  const report = await pushNow(fixture, { settings: { columns: () => choiceOf({ exclude: ['Notes'] }) } });

  expect(report.tables[0]?.error).toMatchObject({ code: 'push.shape' });
  expect(fixture.sandbox.store.rows('Customer')[0]?.values).toMatchObject({ Name: 'name 1' });
});

test('where columns are included, a new one of the origin does not come, also before anybody knows it here', async () => {
  await using fixture = await startFixture({ tables: [CUSTOMER] });
  await pullAs(fixture, { include: ['Name', 'Code'], push: true });
  fixture.sandbox.store.addColumn('Customer', { name: 'Fresh', type: 'Text' });
  fixture.execute(`UPDATE "Customer" SET "Name" = 'edited' WHERE _id = 1`);

  await pushNow(fixture, { settings: { columns: () => choiceOf({ include: ['Name', 'Code'] }) } });
  await pullAs(fixture, { include: ['Name', 'Code'], push: true });

  expect(columnsOf(fixture)).not.toContain('Fresh');
  expect(askedFor(fixture, 'Fresh') + askedFor(fixture, 'column=*')).toBe(0);
});

test('what the configuration lets in, or unmasks, is not told as a change of the origin', async () => {
  await using fixture = await startFixture({ tables: [CUSTOMER] });
  const notes: Wish = { exclude: ['Notes', 'Phone'], masks: [{ pattern: 'E-Mail', kind: 'hash' }] };
  await pullAs(fixture, notes);
  fixture.sandbox.store.addColumn('Customer', { name: 'Fresh', type: 'Text' });

  const told = await pullAs(
    fixture,
    { exclude: ['Phone'], masks: [{ pattern: 'E-Mail', kind: 'domain' }] },
    { confirm: true },
  );
  const unmasked = await pullAs(fixture, { exclude: [] }, { confirm: true });
  const quiet = await pullAs(fixture, { exclude: [] });

  expect(told.schemaChanges.toSorted()).toEqual([
    'Customer.E-Mail: the configuration now includes it, masked (domain)',
    'Customer.E-Mail: the configuration now masks it as domain; its values here were removed',
    'Customer.Fresh: a new column of the origin',
    'Customer.Notes: the configuration now includes its values',
  ]);
  expect(unmasked.schemaChanges.toSorted()).toEqual([
    'Customer.E-Mail: the configuration now includes its values',
    'Customer.E-Mail: the configuration now masks it no more; its values here were removed',
    'Customer.Phone: the configuration now includes its values',
  ]);
  expect(quiet.schemaChanges).toEqual([]);
});

test('following brings changes masked, without what is left out', async () => {
  await using fixture = await startFixture({ tables: [CUSTOMER] });
  const wish: Wish = { exclude: ['Notes'], masks: [{ pattern: 'E-Mail', kind: 'domain' }] };
  const settings = { ...settingsOf(wish), follows: 'all' as const };
  await fixture.pull({ settings });
  fixture.sandbox.store.update('Customer', 1, { 'E-Mail': 'new@other.example', Notes: 'SECRET-NOTES-NEW' });
  fixture.sandbox.requests.clear();

  const report = await fixture.pull({ settings, follow: true });

  expect(report.tables[0]).toMatchObject({ isFollowed: true, updatedCount: 1 });
  expect(fixture.rows('SELECT "E-Mail" AS mail FROM "Customer" WHERE _id = 1')).toEqual([{ mail: 'other.example' }]);
  expect(filesWith(fixture, 'SECRET-NOTES').concat(filesWith(fixture, 'new@'))).toEqual([]);
  expect(askedFor(fixture, 'Notes')).toBe(0);
});

test('what a person agreed to while a daemon works is done by the next pull', async () => {
  await using fixture = await startFixture({ tables: [CUSTOMER] });
  await pullAs(fixture, {});
  await pullAs(fixture, { exclude: ['Notes'] });

  const agreed = confirmHeld(fixture.path, ['pull'], ['Customer']);
  const report = await pullAs(fixture, { exclude: ['Notes'] });

  expect(agreed).toHaveLength(1);
  expect(report.tables[0]).toMatchObject({ held: null, error: null });
  expect(columnsOf(fixture)).not.toContain('Notes');
});
