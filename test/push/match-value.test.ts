/**
 * Match values that more than one row has, or is to have: two rows here, a row here and one at the origin, one after
 * the other.
 */
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { RowsyncError } from '../../src/base/errors.ts';
import type { Fixture } from '../support/replica.ts';
import { atOrigin, countsOf, here, previewNow, pushNow, setFaults } from '../support/push.ts';
import { captured, startTwoWay, twoWaySettings } from '../support/two-way.ts';

const MATCHED = { editing: { match: 'Code' } } as const;

function failures(fixture: Fixture): readonly unknown[] {
  return fixture.rows('SELECT row_id, kind, "column", status, reason FROM sync_failures ORDER BY row_id');
}

describe('a match value', () => {
  test('that two local rows have goes to the first of them, and the other one is parked', async () => {
    await using fixture = await startTwoWay(MATCHED);
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('a', 'n'), ('b', 'n'), ('c', 'other')`);

    const [planned] = await previewNow(fixture);
    expect(planned?.rows.map(({ rowId, fate }) => [rowId, fate])).toEqual([
      [-2, 'sent'],
      [-4, 'sent'],
      [-3, 'later'],
    ]);
    const report = await pushNow(fixture);

    expect(countsOf(report)).toEqual({ inserted: 2, refused: 1, parked: 1 });
    expect(atOrigin(fixture, ['Title']).slice(6)).toMatchObject([
      [7, 'a'],
      [8, 'c'],
    ]);
    expect(failures(fixture)).toMatchObject([{ row_id: -3, column: 'Code', status: null }]);
  });

  test.each([
    ['is deleted', `DELETE FROM "Note" WHERE "Title" = 'b'`, []],
    ['gets another one', `UPDATE "Note" SET "Code" = 'm' WHERE "Title" = 'b'`, ['m']],
  ])(
    'that two local rows had is sent of the one, with the next push, once the other %s',
    async (_what, edit, others) => {
      await using fixture = await startTwoWay(MATCHED);
      fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('a', 'n'), ('b', 'n')`);
      await pushNow(fixture);
      fixture.execute(edit);

      await pushNow(fixture);

      const codes = fixture.sandbox.store.rows('Note').map(({ values }) => values['Code']);
      expect(codes.filter((code) => code === 'n' || code === 'm').toSorted()).toEqual([...others, 'n']);
      expect(failures(fixture)).toEqual([]);
    },
  );

  test('that exists at the origin already makes an insert a conflict, not an overwrite', async () => {
    await using fixture = await startTwoWay(MATCHED);
    const id = fixture.sandbox.store.insert('Note', { Title: 'theirs', Code: 'n1', Count: 5 });
    fixture.execute(`INSERT INTO "Note" ("Title", "Code", "Done") VALUES ('mine', 'n1', 1)`);

    const report = await pushNow(fixture);

    expect(countsOf(report)).toMatchObject({ conflict: 1 });
    expect(atOrigin(fixture, ['Title', 'Code', 'Count']).at(-1)).toEqual([id, 'theirs', 'n1', 5]);
    expect(here(fixture, ['Title', 'Code']).at(-1)).toEqual([id, 'theirs', 'n1']);
    expect(
      fixture.rows(`SELECT row_id, "column", local, remote, winner FROM sync_conflicts WHERE "column" = 'Title'`),
    ).toEqual([{ row_id: id, column: 'Title', local: 'mine', remote: 'theirs', winner: 'origin' }]);
  });

  test('of a row that stands here parks an insert, which overwrites nothing', async () => {
    await using fixture = await startTwoWay(MATCHED);
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('mine', 'c2')`);

    await pushNow(fixture);

    expect(here(fixture, ['Title', 'Code'])).toHaveLength(7);
    expect(atOrigin(fixture, ['Title', 'Code'])[1]).toEqual([2, 'title 2', 'c2']);
    expect(failures(fixture)).toMatchObject([
      { row_id: -2, column: 'Code', reason: 'row 2 has the same match value at the origin' },
    ]);
  });

  test.each([
    ['that is deleted here', 'DELETE FROM "Note" WHERE _id = 1', 'delete'],
    ['that has another one here', `UPDATE "Note" SET "Code" = 'z' WHERE _id = 1`, 'update'],
  ] as const)(
    'of a row %s is free once the origin has taken that, also where it got lost at first',
    async (_what, statement, method) => {
      await using fixture = await startTwoWay(MATCHED);
      fixture.execute(statement);
      fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('mine', 'c1')`);
      setFaults(fixture, [{ fault: 'resetBefore', method, nth: 1 }]);

      const first = await pushNow(fixture);
      const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + 61_000 };
      await pushNow(fixture, { clock });

      expect(countsOf(first)).toMatchObject({ inserted: 1 });
      expect(failures(fixture)).toEqual([]);
      expect(await captured(fixture)).toEqual([]);
      expect(atOrigin(fixture, ['Title', 'Code']).at(-1)).toEqual([7, 'mine', 'c1']);
    },
  );

  test('goes from row to row in one statement', async () => {
    await using fixture = await startTwoWay(MATCHED);
    fixture.execute(`UPDATE "Note" SET "Code" = 'c' || (_id + 1)`);

    const report = await pushNow(fixture);

    expect(countsOf(report)).toEqual({ updated: 6 });
    expect(atOrigin(fixture, ['Code']).map((row) => (row as unknown[])[1])).toEqual([
      'c2',
      'c3',
      'c4',
      'c5',
      'c6',
      'c7',
    ]);
  });

  test('that is taken between the look and the write is told, not hidden', async () => {
    await using fixture = await startTwoWay(MATCHED);
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('mine', 'n1')`);
    fixture.sandbox.before(1, () => fixture.sandbox.store.insert('Note', { Title: 'theirs', Code: 'n1' }), {
      method: 'upsert',
    });

    const report = await pushNow(fixture);

    expect(countsOf(report)).toMatchObject({ conflict: 1 });
    expect(fixture.sandbox.store.rows('Note')).toHaveLength(7);
    expect(fixture.rows(`SELECT "column", winner FROM sync_conflicts`)).toEqual([{ column: 'Code', winner: 'local' }]);
  });

  test('that a known row gets between the look and the write merges both, and keeps what it overwrote there', async () => {
    await using fixture = await startTwoWay({ editing: { match: 'Code' } });
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('mine', 'n1')`);

    fixture.sandbox.before(1, () => fixture.sandbox.store.update('Note', 5, { Code: 'n1' }), { method: 'upsert' });

    const report = await pushNow(fixture);

    expect(countsOf(report)).toEqual({ updated: 1, conflict: 1 });
    expect(atOrigin(fixture, ['Title', 'Code'])[4]).toEqual([5, 'mine', 'n1']);
    expect(here(fixture, ['Title', 'Code'])).toEqual(atOrigin(fixture, ['Title', 'Code']));
    const query = 'SELECT row_id, kind, "column", local, remote, winner FROM sync_conflicts';
    expect(fixture.rows(query)).toEqual([
      { row_id: 5, kind: 'cell', column: 'Title', local: 'mine', remote: 'title 5', winner: 'local' },
    ]);
    expect(report.tables).toMatchObject([{ account: { began: 1, won: 1 } }]);
    expect(await captured(fixture)).toEqual([]);
  });

  test('that a known row gets while the new row is edited again keeps the edited row as a conflict too', async () => {
    await using fixture = await startTwoWay({ editing: { match: 'Code' } });
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('mine', 'n1')`);
    const merge = (): void => {
      fixture.sandbox.store.update('Note', 5, { Code: 'n1' });
      fixture.execute(`UPDATE "Note" SET "Title" = 'later' WHERE _id = -2`);
    };
    fixture.sandbox.before(1, merge, { method: 'upsert' });

    await pushNow(fixture);

    expect(fixture.rows('SELECT row_id, kind, winner FROM sync_conflicts ORDER BY id')).toEqual([
      { row_id: 5, kind: 'cell', winner: 'local' },
      { row_id: -2, kind: 'inserted', winner: 'origin' },
    ]);
    expect(here(fixture, ['Title', 'Code'])).toEqual(atOrigin(fixture, ['Title', 'Code']));
  });

  test.each([
    ['case', 'Maß', 'MASS'],
    ['accents', 'Müller', 'Muller'],
    ['width', 'Ａ1', 'A1'],
    ['blanks at its end', 'x ', 'x'],
  ])('that differs from another one in %s leaves in a request of its own', async (_what, one, other) => {
    await using fixture = await startTwoWay(MATCHED);
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('1', '${one}'), ('2', '${other}')`);

    const { origin } = fixture;
    const rowCounts: number[] = [];
    fixture.origin = {
      ...origin,
      upsert: (request, options) => {
        rowCounts.push(request.rows.length);
        return origin.upsert(request, options);
      },
    };

    await pushNow(fixture);

    expect(new Set(rowCounts)).toEqual(new Set([1]));
    expect(atOrigin(fixture, ['Title'])[6]).toEqual([7, '1']);
  });

  test('that an edited row had is not asked for before the origin has its delete, also in a table with a column called Value', async () => {
    await using fixture = await startTwoWay(MATCHED);
    fixture.sandbox.store.addColumn('Note', { name: 'Value', type: 'Text' });
    await fixture.pull();
    const editHolder = (): void => fixture.execute(`UPDATE "Note" SET "Title" = 'edited' WHERE _id = 1`);
    fixture.sandbox.before(1, editHolder, { method: 'select' });
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('mine', 'c1')`);
    await pushNow(fixture);
    fixture.execute('DELETE FROM "Note" WHERE _id = 1');
    setFaults(fixture, [{ fault: 'resetBefore', method: 'delete' }]);

    await pushNow(fixture);

    expect(fixture.rows('SELECT row_id, tries FROM _rowsync_refusals WHERE row_id < 0')).toEqual([
      { row_id: -2, tries: 1 },
    ]);
  });

  test('is made up for an insert that has none, and kept', async () => {
    await using fixture = await startTwoWay(MATCHED);
    fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('mine')`);

    await pushNow(fixture);

    const [, code] = here(fixture, ['Code']).at(-1) as [number, string];
    expect(code).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(atOrigin(fixture, ['Code']).at(-1)).toEqual([7, code]);
  });
});

describe('a match value that no filter can say', () => {
  test.each([
    ['Timestamp', `'2026-07-01T10:00:00.5Z'`, '2026-07-01T10:00:00.5Z'],
    ['User', `'x@y.example'`, 'x@y.example'],
    ['Duration', '-5', -5],
  ] as const)('of the type %s does not go over the row that has it', async (type, written, value) => {
    const columns = [
      { name: 'Title', type: 'Text' },
      { name: 'Mark', type, options: ['Unique'] },
    ];
    await using fixture = await startTwoWay({
      tables: [{ name: 'Note', columns, rows: [{ Title: 'one' }] }],
      editing: { match: 'Mark' },
    });
    fixture.sandbox.store.insert('Note', { Title: 'theirs', Mark: value });
    fixture.execute(`INSERT INTO "Note" ("Title", "Mark") VALUES ('mine', ${written}), ('other', NULL)`);

    const report = await pushNow(fixture);

    expect(countsOf(report)).toEqual({ inserted: 1, refused: 1, parked: 1 });
    expect(atOrigin(fixture, ['Title'])).toEqual([
      [1, 'one'],
      [2, 'theirs'],
      [3, 'other'],
    ]);
    expect(failures(fixture)).toMatchObject([{ row_id: -2, kind: 'insert', status: 400 }]);
  });

  test('of an instant that was written with zeros meets the row that has it', async () => {
    await using fixture = await startTwoWay({
      tables: [{ name: 'Note', columns: [{ name: 'Mark', type: 'Timestamp', options: ['Unique'] }], rows: [] }],
      editing: { match: 'Mark' },
    });
    fixture.sandbox.store.insert('Note', { Mark: '2026-07-01T10:00:00Z' });
    fixture.execute(`INSERT INTO "Note" ("Mark") VALUES ('2026-07-01T10:00:00.000Z')`);

    await pushNow(fixture);

    expect(here(fixture, ['Mark'])).toEqual([[1, '2026-07-01T10:00:00Z']]);
    expect(await captured(fixture)).toEqual([]);
  });

  test.each([
    ['none', twoWaySettings({ conflict: 'local' })],
    ['another one', twoWaySettings({ conflict: 'local', match: 'Mark' })],
  ])(
    'of a row without an answer, by which it was sent: where the configuration names %s since, no row that was known is taken for it',
    async (_what, settings) => {
      const unique = ['Ext', 'Code', 'Mark'].map((name) => ({ name, type: 'Text', options: ['Unique'] }));
      const columns = [{ name: 'Title', type: 'Text' }, ...unique];
      const rows = [{ Title: 'one', Ext: 'e1', Code: 'c1', Mark: 'm1' }];
      await using fixture = await startTwoWay({ tables: [{ name: 'Note', columns, rows }], ...MATCHED });
      fixture.execute(`INSERT INTO "Note" ("Title", "Ext", "Code") VALUES ('mine', 'e1', 'n1')`);
      setFaults(fixture, [{ fault: 'resetAfter', method: 'upsert' }]);
      const end = new RowsyncError('originDown', 'origin.stopped', { message: 'the process ends', hint: '' });
      await pushNow(fixture, {
        before: (step) => {
          if (step === 'readBack') throw end;
        },
      });
      setFaults(fixture, []);
      await fixture.pull({ settings });

      await pushNow(fixture, { options: { conflict: 'local' } });

      expect(atOrigin(fixture, ['Title', 'Ext', 'Code'])).toEqual([[1, 'one', 'e1', 'c1']]);
      expect(here(fixture, ['Title', 'Ext', 'Code'])).toEqual([
        [-2, 'mine', 'e1', 'n1'],
        [1, 'one', 'e1', 'c1'],
      ]);
      expect(failures(fixture)).toMatchObject([{ row_id: -2, kind: 'insert', status: 400 }]);
    },
  );
});
