/**
 * The triggers of a two-way table refuse at once what cannot be pushed, in the words of the table, and let pass what
 * can.
 */
import { expect, test } from 'vitest';
import { captureTriggers } from '../../src/capture/edit-triggers.ts';
import { SHELLS } from '../support/shells.ts';
import { captured, startTwoWay, twoWayTable } from '../support/two-way.ts';

/** Edits that cannot be pushed, and the sentence. */
const REFUSED: readonly (readonly [string, string])[] = [
  [`UPDATE "Note" SET _id = 99 WHERE _id = 1`, '_id of Note cannot be changed: the origin gives it'],
  [`UPDATE OR REPLACE "Note" SET _id = 2 WHERE _id = 1`, '_id of Note cannot be changed: the origin gives it'],
  [`UPDATE "Note" SET _id = -1 WHERE _id = 1`, '_id of Note cannot be changed: the origin gives it'],
  [
    `INSERT INTO "Note" (_id, "Title") VALUES (99, 'x')`,
    '_id of Note is given by the origin: leave it out for a new row (of a file: rowsync import)',
  ],
  [`UPDATE "Note" SET _allow = 'Edit' WHERE _id = 1`, '_allow of Note cannot be changed: the origin gives it'],
  [
    `UPDATE "Note" SET "Total" = 11 WHERE _id = 1`,
    '"Total" of Note cannot be changed here: the origin computes it, or does not let you write it',
  ],
  [
    `INSERT INTO "Note" ("Title", "Total") VALUES ('x', 1)`,
    '"Total" of Note cannot be changed here: the origin computes it, or does not let you write it',
  ],
  [
    `UPDATE "Note" SET "Id" = '99' WHERE _id = 1`,
    '"Id" of Note cannot be changed here: it is an autonumber, which only a new row may bring along',
  ],
  [
    `UPDATE "Note" SET "Date Modified" = '2026-01-01T00:00:00Z'`,
    '"Date Modified" of Note cannot be changed here: the origin computes it, or does not let you write it',
  ],
  [
    `REPLACE INTO "Note" (_id, "Title", "Total") VALUES (1, 'x', 11)`,
    '"Total" of Note cannot be changed here: the origin computes it, or does not let you write it',
  ],
  [
    `UPDATE "Note" SET "Photo" = 'x'`,
    `"Photo" of Note takes file: and the name of a file to attach, such as 'file:/path/to/photo.jpg', or NULL to take the file away`,
  ],
  [`UPDATE "Note" SET "Title" = NULL WHERE _id = 1`, '"Title" of Note must have a value'],
  [`UPDATE "Note" SET "Title" = '' WHERE _id = 1`, '"Title" of Note must have a value'],
  [`INSERT INTO "Note" ("Body") VALUES ('x')`, '"Title" of Note must have a value'],
  [`REPLACE INTO "Note" (_id) VALUES (1)`, '"Title" of Note must have a value'],
  [`INSERT INTO "Note" DEFAULT VALUES`, '"Title" of Note must have a value'],
  [`UPDATE "Note" SET "Title" = 'more than twenty characters'`, '"Title" of Note takes at most 20 characters'],
  [
    `INSERT INTO "Note" ("Title") VALUES ('more than twenty characters')`,
    '"Title" of Note takes at most 20 characters',
  ],
  [`UPDATE "Note" SET "Done" = 2`, '"Done" of Note takes 0 or 1'],
  [`INSERT INTO "Note" ("Title", "Done") VALUES ('x', 2)`, '"Done" of Note takes 0 or 1'],
  ...['abc', '1e5', '1.2.3', '--1', '1-1', '', '-', '.'].map((text): readonly [string, string] => [
    `UPDATE "Note" SET "Count" = '${text}'`,
    '"Count" of Note takes a number such as 12.5, without exponent',
  ]),
  [`UPDATE "Note" SET "Count" = x'00'`, '"Count" of Note takes a number such as 12.5, without exponent'],
  [`UPDATE "Note" SET "Count" = 9e999`, '"Count" of Note takes a number such as 12.5, without exponent'],
  [`UPDATE "Note" SET "Spent" = '1:30'`, '"Spent" of Note takes a number of seconds, such as 90'],
  ...['2026-02-30', '21.11.2026', '2026-11-21T00:00:00Z', 'now', '2026-1-1'].map((text): readonly [string, string] => [
    `UPDATE "Note" SET "Due" = '${text}'`,
    '"Due" of Note takes a date such as 2026-11-21',
  ]),
  ...['25:00:00', '5pm', '17:05'].map((text): readonly [string, string] => [
    `UPDATE "Note" SET "Starts" = '${text}'`,
    '"Starts" of Note takes a time of day such as 17:05:00',
  ]),
  ...[
    '2026-11-21 17:05:00',
    '2026-11-21',
    '2026-11-21T17:05:00',
    '2026-11-21T17:05:00+01:00',
    '2026-02-30T00:00:00Z',
    '2026-11-21T17:05:00.Z',
    '2026-11-21T17:05:00.1x2Z',
  ].map((text): readonly [string, string] => [
    `UPDATE "Note" SET "Seen" = '${text}'`,
    `"Seen" of Note takes an instant in UTC such as 2026-11-21T17:05:00Z; strftime('%Y-%m-%dT%H:%M:%SZ', ...) makes one`,
  ]),
];

test.each(REFUSED)('refuses %s', async (statement, sentence) => {
  await using fixture = await startTwoWay();

  expect(() => fixture.execute(statement)).toThrow(sentence);
  expect(await captured(fixture)).toEqual([]);
});

test('takes every value of the right form', async () => {
  await using fixture = await startTwoWay();

  fixture.execute(
    `UPDATE "Note" SET "Count" = '-12.50', "Done" = 0, "Due" = '2024-02-29', "Starts" = '23:59:59', "Spent" = 90,
       "Seen" = '2026-11-21T17:05:00.123Z', "Title" = 'exactly twenty chars', "Body" = NULL WHERE _id = 1`,
  );

  expect(await captured(fixture)).toEqual(['update 1 Title,Count,Done,Due,Starts,Seen,Spent']);
});

test('a row that came in over the width may keep its value', async () => {
  await using fixture = await startTwoWay({
    tables: [{ name: 'Note', columns: [{ name: 'Title', type: 'Text' }], rows: [{ Title: 'much too long' }] }],
  });
  fixture.sandbox.store.changeColumn('Note', 'Title', { width: 5 });
  await fixture.pull();

  fixture.execute(`UPDATE "Note" SET "Title" = "Title"; REPLACE INTO "Note" SELECT * FROM "Note"`);

  expect(() => fixture.execute(`UPDATE "Note" SET "Title" = 'six   '`)).toThrow('takes at most 5 characters');
});

test.each(SHELLS)('refuses what no calendar or clock has by $name', async ({ run }) => {
  await using fixture = await startTwoWay();

  for (const edit of [`"Due" = '2024-02-30'`, `"Seen" = '2024-02-30T10:00:00Z'`, `"Starts" = '24:00:00'`]) {
    expect(run(fixture.path, `UPDATE "Note" SET ${edit}`).status === 0).toBe(false);
  }

  expect(await captured(fixture)).toEqual([]);
});

test.each([-(2n ** 63n), -(2n ** 53n)])('an _id of %s is refused, since no id could follow it', async (id) => {
  await using fixture = await startTwoWay();
  const insert = `INSERT INTO "Note" (_id, "Title") VALUES (${id}, 'new')`;

  expect(() => fixture.execute(insert)).toThrow(
    '_id of Note is given by the origin: leave it out for a new row (of a file: rowsync import)',
  );

  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('new')`);
  expect(await captured(fixture)).toEqual(['insert -2 Title']);
});

test('the rules of a table add no statement to its triggers, which every connection keeps in memory', async () => {
  const stepCount = async (columnCount: number): Promise<number> => {
    const columns = Array.from({ length: columnCount }, (_, index) => ({ name: `C${index}`, type: 'Numeric' }));
    await using fixture = await startTwoWay({ tables: [{ name: 'Note', columns }] });
    const texts = captureTriggers(twoWayTable(fixture)).map(({ text }) => text);
    return texts.join('').match(/;$/gmu)?.length ?? 0;
  };

  expect(await stepCount(40)).toBe(await stepCount(1));
});

test('each rule for values is in one trigger, since every connection keeps all of them in memory', async () => {
  await using fixture = await startTwoWay({
    tables: [{ name: 'Note', columns: [{ name: 'Price', type: 'Numeric' }] }],
  });
  const texts = captureTriggers(twoWayTable(fixture)).map(({ text }) => text);

  expect(texts.join('').split('"Price" of Note takes a number').length - 1).toBe(1);
});
