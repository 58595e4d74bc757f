/**
 * Values of other types than text on their whole way: edited by SQL, merged, sent, read back in the form that the
 * origin gives them.
 */
import { expect, test } from 'vitest';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { atOrigin, changesSent, codesOf, countsOf, here, pushNow, setFaults } from '../support/push.ts';
import { captured, startTwoWay } from '../support/two-way.ts';

test.each([
  ['1e19', '10000000000000000000'],
  ['-1.5e300', `-15${'0'.repeat(299)}`],
  ['1234567890123456789.0', '1234567890123456800'],
])(
  'the number %s, edited by SQL, outlasts what a colleague writes beside it, and is pushed',
  async (number, digits) => {
    await using fixture = await startTwoWay();
    fixture.execute(`UPDATE "Note" SET "Count" = ${number} WHERE _id = 1`);
    fixture.sandbox.store.update('Note', 1, { Body: 'theirs' });

    const { tables } = await fixture.pull();
    const merged = fixture.rows('SELECT CAST("Count" AS TEXT) AS number, "Body" FROM "Note" WHERE _id = 1');
    const report = await pushNow(fixture);

    expect(tables[0]?.error).toBeNull();
    expect(merged).toEqual([{ number: digits, Body: 'theirs' }]);
    expect(codesOf(report)).toEqual([]);
    expect(String(atOrigin(fixture, ['Count']).at(0))).toBe(`1,${digits}`);
    expect(await captured(fixture)).toEqual([]);
    expect(here(fixture, ['Body']).at(0)).toEqual([1, 'theirs']);
  },
);

test.each(['', 'Central European Standard Time'])(
  'a timestamp is pushed with its offset for a user in the zone "%s", which nobody knows here',
  async (timezone) => {
    await using fixture = await startTwoWay();
    const [id, role, admin] = [1, 'Administrator', 'ManageData'];
    const user = { id, email: 'a@b.example', firstName: 'A', lastName: 'B', role, culture: 'en', timezone, admin };
    const headers = { 'Content-Type': 'application/json' };
    const call = (): void =>
      fixture.sandbox.answerInstead(1, { status: 200, headers, body: JSON.stringify(user) }, { method: 'user' });
    call();
    await fixture.pull();
    fixture.execute(`UPDATE "Note" SET "Seen" = '2026-07-01T10:00:00.5Z' WHERE _id = 1`);
    call();

    const report = await pushNow(fixture);

    expect(codesOf(report)).toEqual([]);
    expect(atOrigin(fixture, ['Seen']).at(0)).toEqual([1, '2026-07-01T10:00:00.5Z']);
    expect(await captured(fixture)).toEqual([]);
  },
);

const SPELLED = [
  ['Seen', `'2026-07-01T10:00:00.000Z'`, '2026-07-01T10:00:00Z'],
  ['Body', `'one' || char(13, 10) || 'two'`, 'one\ntwo'],
  ['Count', '1e21', 10n ** 21n],
  ['Count', `'1.50'`, 1.5],
  ['Spent', `'090'`, 90],
] as const;

test.each(SPELLED)('%s that is written %s over the same value is no edit', async (column, spelled, value) => {
  await using fixture = await startTwoWay();
  fixture.sandbox.store.update('Note', 1, { [column]: value });
  await fixture.pull();
  fixture.execute(`UPDATE "Note" SET "${column}" = ${spelled} WHERE _id = 1`);

  const report = await pushNow(fixture);

  expect([countsOf(report), changesSent(fixture)]).toEqual([{}, []]);
  expect(fixture.rows('SELECT * FROM sync_changes')).toEqual([]);
  expect(String(here(fixture, [column]).at(0))).toBe(`1,${String(value)}`);
});

test.each(SPELLED)(
  '%s that was sent as %s is known again where the answer got lost',
  async (column, spelled, value) => {
    await using fixture = await startTwoWay({ editing: { conflict: 'ask', match: 'Code' } });
    fixture.execute(`UPDATE "Note" SET "${column}" = ${spelled} WHERE _id = 1;
    INSERT INTO "Note" ("Title", "Code", "${column}") VALUES ('new', 'n1', ${spelled})`);
    setFaults(fixture, [
      { fault: 'resetAfter', method: 'update', nth: 1 },
      { fault: 'resetAfter', method: 'upsert', nth: 1 },
    ]);

    const report = await pushNow(fixture, { options: { conflict: 'ask' } });

    expect([codesOf(report), countsOf(report)]).toEqual([[], { inserted: 1, updated: 1 }]);
    expect(atOrigin(fixture, [column]).map(String)).toEqual(here(fixture, [column]).map(String));
    expect(String(atOrigin(fixture, [column]).at(-1))).toBe(`7,${String(value)}`);
  },
);

test.each(['json', 'xml'] as const)(
  'a fraction of a second that the origin takes and does not show is no conflict, also where the answer got lost: %s',
  async (format) => {
    await using fixture = await startTwoWay({ editing: { conflict: 'ask', match: 'Code' } });
    await fixture.useFormat(format);
    fixture.execute(`UPDATE "Note" SET "Seen" = '2026-07-01T10:00:00.50Z' WHERE _id IN (1, 2);
      INSERT INTO "Note" ("Title", "Code", "Seen") VALUES ('new', 'n1', '2026-07-01T10:00:00.25Z')`);
    setFaults(fixture, [
      { fault: 'resetAfter', method: 'update', nth: 1 },
      { fault: 'resetAfter', method: 'upsert', nth: 1 },
    ]);

    const report = await pushNow(fixture, { options: { conflict: 'ask' } });

    expect([codesOf(report), countsOf(report)]).toEqual([[], { inserted: 1, updated: 2 }]);
    expect(await captured(fixture)).toEqual([]);
    expect(here(fixture, ['Seen'])).toEqual(
      expect.arrayContaining([1, 2, 7].map((id) => [id, '2026-07-01T10:00:00Z'])),
    );
  },
);

// Specification, client: 2.4-37
test.each(['jonas.weber@example.com', 'JONAS.WEBER@example.com', 'J. W. <jonas.weber@example.com>'])(
  'a user who is named by "%s" is known again by the e-mail where the answer got lost',
  async (written) => {
    const tables = [
      {
        name: 'Note',
        columns: [
          { name: 'Code', type: 'Text', options: ['Unique'] },
          { name: 'Boss', type: 'User' },
        ],
        rows: [{ Code: 'c1' }],
      },
    ];
    await using fixture = await startTwoWay({ tables, editing: { conflict: 'ask', match: 'Code' } });
    fixture.execute(`UPDATE "Note" SET "Boss" = '${written}' WHERE _id = 1;
      INSERT INTO "Note" ("Code", "Boss") VALUES ('n1', '${written}')`);
    setFaults(fixture, [
      { fault: 'resetAfter', method: 'update', nth: 1 },
      { fault: 'resetAfter', method: 'upsert', nth: 1 },
    ]);

    const report = await pushNow(fixture, { options: { conflict: 'ask' } });

    expect([codesOf(report), countsOf(report)]).toEqual([[], { inserted: 1, updated: 1 }]);
    expect(await captured(fixture)).toEqual([]);
    const boss = 'Jonas Weber <jonas.weber@example.com>';
    expect(here(fixture, ['Boss'])).toEqual([1, 2].map((id) => [id, boss]));
  },
);

const REFORMED: TableSpec = {
  name: 'Note',
  columns: [
    { name: 'Title', type: 'Text', options: ['Unique'] },
    { name: 'Part', type: 'Numeric' },
  ],
  rows: [{ Title: 'one' }, { Title: 'two' }],
};

test.each(['2 / 3.0', `'-123456789012345678901234.12345678'`])(
  'the number %s, of which XML shows six decimals, is known again where the answer got lost',
  async (written) => {
    await using fixture = await startTwoWay({ tables: [REFORMED], editing: { match: 'Title' } });
    await fixture.useFormat('xml');
    await fixture.pull();
    fixture.execute(`UPDATE "Note" SET "Part" = ${written} WHERE _id = 1;
      INSERT INTO "Note" ("Title", "Part") VALUES ('new', ${written}), ('edited', ${written})`);
    setFaults(fixture, [
      { fault: 'resetAfter', method: 'update', nth: 1 },
      { fault: 'resetAfter', method: 'upsert', nth: 1 },
    ]);
    const edit = [`UPDATE "Note" SET "Part" = NULL WHERE "Title" = 'edited'`];

    const report = await pushNow(fixture, {
      options: { conflict: 'ask' },
      before: (step) => {
        if (step === 'store' && changesSent(fixture).length === 2)
          edit.splice(0).forEach((text) => fixture.execute(text));
      },
    });

    expect([codesOf(report), countsOf(report)]).toEqual([[], { inserted: 2, updated: 2 }]);
    expect(await captured(fixture)).toEqual([]);
    expect(fixture.rows('SELECT * FROM sync_conflicts')).toEqual([]);
    expect(atOrigin(fixture, ['Part'])[3]).toEqual([4, null]);
  },
);
