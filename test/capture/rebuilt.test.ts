/**
 * Tables that another client rebuilt or altered: other collations and types, columns and keys of its own, names in
 * another case. Nothing of that changes what is synced; what could is told.
 */
import { expect, test } from 'vitest';
import { atOrigin, changesSent, codesOf, here, pushNow } from '../support/push.ts';
import { startFixture, type Fixture } from '../support/replica.ts';
import { captured, NOTE, startTwoWay } from '../support/two-way.ts';

/** Another client rebuilds a table, as graphical tools do, with another text of its definition. */
function rebuild(fixture: Fixture, change: (text: string) => string, name = 'Note'): void {
  const [{ sql }] = fixture.rows(`SELECT sql FROM sqlite_schema WHERE name = ?`, name) as [{ sql: string }];
  fixture.execute(
    `PRAGMA legacy_alter_table = ON; PRAGMA foreign_keys = OFF; ${change(sql).replace(`"${name}"`, '"rebuilt"')};
     INSERT INTO "rebuilt" SELECT * FROM "${name}"; DROP TABLE "${name}"; ALTER TABLE "rebuilt" RENAME TO "${name}"`,
  );
}

const LONG = '12345678901234567.123456';

test('an edit of the case alone is one in a column that compares texts without it, and survives a pull', async () => {
  await using fixture = await startTwoWay();
  rebuild(fixture, (text) => text.replace('"Title" TEXT', '"Title" TEXT COLLATE NOCASE'));
  await fixture.pull();

  fixture.execute(`UPDATE "Note" SET "Title" = 'TITLE 1' WHERE _id = 1`);
  fixture.sandbox.store.update('Note', 1, { Count: 70 });
  fixture.sandbox.store.update('Note', 2, { Title: 'TITLE 2' });
  await fixture.pull();
  await pushNow(fixture);

  expect(here(fixture, ['Title', 'Count']).slice(0, 2)).toEqual([
    [1, 'TITLE 1', 70],
    [2, 'TITLE 2', 2],
  ]);
  expect(here(fixture, ['Title'])).toEqual(atOrigin(fixture, ['Title']));
  expect(fixture.rows('SELECT * FROM sync_conflicts')).toEqual([]);
});

test.each([
  ['numbers that are rounded', (text: string) => text.replaceAll(' ANY', ' NUMERIC').replace(/ STRICT$/, '')],
  ['numbers that are rounded, and the rest as it was', (text: string) => text.replaceAll(' ANY', ' REAL')],
  ['texts that may be bytes', (text: string) => text.replaceAll(' ANY', ' TEXT').replace(/ STRICT$/, '')],
])('nothing is sent of a table that was rebuilt with %s', async (_what, change) => {
  await using fixture = await startTwoWay();
  fixture.sandbox.store.update('Note', 1, { Count: LONG });
  await fixture.pull();
  fixture.execute(`UPDATE "Note" SET "Count" = NULL WHERE typeof("Count") = 'text'`);
  rebuild(fixture, change);
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 2`);

  expect(codesOf(await pushNow(fixture))).toEqual(['replica.schema']);
  expect((await fixture.pull()).tables.map(({ error }) => error?.code)).toEqual(['replica.schema']);
  expect(changesSent(fixture)).toEqual([]);
});

test('bytes in a text of a table that was rebuilt without STRICT wait, and go on once they are a text', async () => {
  const columns = [{ name: 'Title', type: 'Text' }] as const;
  await using fixture = await startTwoWay({ tables: [{ name: 'Note', columns, rows: [{ Title: 'a' }] }] });
  rebuild(fixture, (text) => text.replace(/ STRICT$/, ''));
  await fixture.pull();

  fixture.execute(`UPDATE "Note" SET "Title" = x'4142ff' WHERE _id = 1`);
  await pushNow(fixture);

  expect(atOrigin(fixture, ['Title'])).toEqual([[1, 'a']]);
  expect(fixture.rows('SELECT row_id, reason FROM sync_failures')).toMatchObject([{ row_id: 1 }]);
  fixture.execute(`UPDATE "Note" SET "Title" = 'AB' WHERE _id = 1`);
  await pushNow(fixture);
  expect(atOrigin(fixture, ['Title'])).toEqual([[1, 'AB']]);
});

test('a mirror that was rebuilt without STRICT is not filled with rounded numbers, and comes back once it is dropped', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull();
  rebuild(fixture, (text) => text.replace(/ STRICT$/, ''));
  fixture.sandbox.store.update('Note', 1, { Count: LONG });

  const report = await fixture.pull();
  fixture.execute(`DROP TABLE "Note"`);
  await fixture.pull();

  expect(report.tables.map(({ error }) => error?.code)).toEqual(['replica.schema']);
  expect(here(fixture, ['Count'])).toEqual(atOrigin(fixture, ['Count']));
});

test('what a new row says in a column that another client renamed before the push stays with it', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`INSERT INTO "Note" ("Title", "Body") VALUES ('new', 'precious');
    ALTER TABLE "Note" RENAME COLUMN "Body" TO "Text"`);

  await fixture.pull();
  await pushNow(fixture);

  expect(here(fixture, ['Title', 'Body', 'Text']).at(-1)).toEqual([7, 'new', null, 'precious']);
});

test('what a new row says in a column of the user stays when the row gets its id', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(
    `ALTER TABLE "Note" ADD COLUMN "Mine" ANY; ALTER TABLE "Note" ADD COLUMN "Twice" ANY AS ("Mine" || "Mine")`,
  );
  await fixture.pull();
  fixture.execute(`INSERT INTO "Note" ("Title", "Mine") VALUES ('new', 'precious')`);

  await pushNow(fixture);

  expect(here(fixture, ['Title', 'Mine', 'Twice']).at(-1)).toEqual([7, 'new', 'precious', 'preciousprecious']);
  expect(await captured(fixture)).toEqual([]);
});

const ORDERS = [
  { name: 'Order', columns: [{ name: 'No', type: 'Text' }], rows: [{ No: 'a' }, { No: 'b' }, { No: 'c' }] },
  {
    name: 'Line',
    columns: [{ name: 'Order', type: 'Numeric' }],
    rows: [{ Order: 1 }, { Order: 2 }, { Order: 2 }, { Order: 3 }],
  },
] as const;

function withKey(text: string): string {
  return text.replace('"Order" ANY', '"Order" ANY REFERENCES "Order"(_id) ON DELETE CASCADE');
}

test('a row that the origin deleted takes no others along there, though a foreign key here cascades', async () => {
  await using fixture = await startTwoWay({ tables: ORDERS });
  rebuild(fixture, withKey, 'Line');
  await fixture.pull();

  fixture.sandbox.store.delete('Order', 1);
  await fixture.pull();
  await pushNow(fixture);
  fixture.restart();
  await pushNow(fixture);

  expect(atOrigin(fixture, ['Order'], 'Line')).toHaveLength(4);
  expect(here(fixture, ['Order'], 'Line')).toEqual(atOrigin(fixture, ['Order'], 'Line'));
});

test('no foreign key takes rows of a mirror away', async () => {
  await using fixture = await startFixture({ tables: ORDERS });
  await fixture.pull();
  rebuild(fixture, withKey, 'Line');
  await fixture.pull();

  fixture.sandbox.store.delete('Order', 1);
  await fixture.pull();

  expect(here(fixture, ['Order'], 'Line')).toEqual(atOrigin(fixture, ['Order'], 'Line'));
});

test('a mirror whose name another client wrote in another case goes on', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull();
  fixture.execute(`ALTER TABLE "Note" RENAME TO "between"; ALTER TABLE "between" RENAME TO "note"`);
  fixture.sandbox.store.update('Note', 1, { Title: 'theirs' });

  expect((await fixture.pull()).tables.map(({ error }) => error)).toEqual([null]);
  expect(here(fixture, ['Title'])).toEqual(atOrigin(fixture, ['Title']));
});

test('a two-way table whose name another client wrote in another case goes on', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`ALTER TABLE "Note" RENAME TO "between"; ALTER TABLE "between" RENAME TO "note";
    UPDATE "note" SET "Title" = 'mine' WHERE _id = 1`);

  expect((await fixture.pull()).tables.map(({ error }) => error)).toEqual([null]);
  expect(codesOf(await pushNow(fixture))).toEqual([]);
  expect(atOrigin(fixture, ['Title'])[0]).toEqual([1, 'mine']);
});
