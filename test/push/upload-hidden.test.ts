/**
 * Files attached by SQL whose answer got lost, and of which the origin shows nothing any more: a colleague replaced them or took them away in
 * a column without a history. They may have arrived, so none is sent a second time on a guess (I4).
 */
import { describe, expect, test } from 'vitest';
import { systemClock, type Clock } from '../../src/base/clock.ts';
import { carryOutDecision } from '../../src/capture/decide.ts';
import type { FaultName } from '../../src/sandbox/faults.ts';
import { at, revisionsAt, startAlbum } from '../support/album.ts';
import { changesSent, codesOf, countsOf, setFaults } from '../support/push.ts';
import { AT, captured } from '../support/two-way.ts';

const ATTACH = `UPDATE "Album" SET "Scan" = 'file:a.txt' WHERE _id = 1`;
const IN_DOUBT = { inDoubt: 1, parked: 1 };

function theirs(name: string): { readonly name: string; readonly mediaType: string; readonly bytes: Buffer } {
  return { name, mediaType: 'text/plain', bytes: Buffer.from(`them ${name}`) };
}

/** Sends what was edited, whose answer gets lost; colleagues change the file of the row before it is looked up. */
async function lose(
  fixture: Awaited<ReturnType<typeof startAlbum>>,
  options: {
    readonly method: string;
    readonly fault: FaultName;
    readonly conflict: 'local' | 'ask' | 'origin';
    readonly id: number;
    readonly cells: readonly (ReturnType<typeof theirs> | null)[];
  },
): ReturnType<typeof fixture.upload> {
  const { method, fault, conflict, id, cells } = options;
  setFaults(fixture, [{ fault, method, nth: 1 }]);
  const left = [...cells];
  const before = at('readBack', () => {
    for (const cell of left.splice(0)) fixture.sandbox.store.update('Album', id, { Scan: cell });
  });
  return await fixture.upload({ before, options: { conflict } });
}

test('one that a colleague replaced is not sent again under local', async () => {
  await using fixture = await startAlbum();
  fixture.put('a.txt', 'mine');
  fixture.execute(ATTACH);

  const lost = { method: 'update', fault: 'resetAfter', conflict: 'local', id: 1 } as const;
  expect(countsOf(await lose(fixture, { ...lost, cells: [theirs('b.txt')] }))).toEqual({
    ...IN_DOUBT,
    conflict: 1,
  });
  await fixture.upload({ options: { conflict: 'local' } });

  expect(changesSent(fixture)).toEqual(['update']);
  expect(revisionsAt(fixture, 1)).toEqual(['b.txt 2 them b.txt', 'a.txt 1 mine']);
});

test('one that a colleague replaced waits, and what else the colleague wrote is here at once', async () => {
  await using fixture = await startAlbum();
  fixture.put('a.txt', 'mine');
  fixture.execute(ATTACH);

  setFaults(fixture, [{ fault: 'resetAfter', method: 'update', nth: 1 }]);
  const replaced = [{ Scan: theirs('b.txt'), Code: 'theirs' }];
  const before = at('readBack', () => {
    for (const cells of replaced.splice(0)) fixture.sandbox.store.update('Album', 1, cells);
  });
  expect(countsOf(await fixture.upload({ before, options: { conflict: 'local' } }))).toEqual({
    ...IN_DOUBT,
    conflict: 1,
  });

  expect(fixture.rows('SELECT "Code", "Scan" FROM "Album" WHERE _id = 1')).toEqual([
    { Code: 'theirs', Scan: 'file:a.txt' },
  ]);
  expect(fixture.rows('SELECT kind FROM sync_failures')).toEqual([{ kind: 'inDoubt' }]);
  expect(fixture.rows('SELECT local, winner FROM sync_conflicts')).toEqual([{ local: 'file:a.txt', winner: 'local' }]);
});

test.each([
  ['origin', { state: 'decided', winner: 'origin' }],
  ['ask', { state: 'open', winner: 'nobody' }],
] as const)('one that a colleague replaced is a conflict under %s', async (conflict, expected) => {
  await using fixture = await startAlbum();
  fixture.put('a.txt', 'mine');
  fixture.execute(ATTACH);

  await lose(fixture, { method: 'update', fault: 'resetAfter', conflict, id: 1, cells: [theirs('b.txt')] });

  expect(changesSent(fixture)).toEqual(['update']);
  expect(fixture.rows('SELECT local, state, winner FROM sync_conflicts')).toEqual([
    { local: 'file:a.txt', ...expected },
  ]);
});

test('one is sent again under local where the colleague’s has the number that it would have', async () => {
  await using fixture = await startAlbum();
  fixture.put('a.txt', 'mine');
  fixture.execute(ATTACH);

  const lost = { method: 'update', fault: 'resetBefore', conflict: 'local', id: 1 } as const;
  expect(countsOf(await lose(fixture, { ...lost, cells: [theirs('b.txt')] }))).toMatchObject({ updated: 1 });

  expect(revisionsAt(fixture, 1)).toEqual(['a.txt 2 mine', 'b.txt 1 them b.txt']);
  expect(await captured(fixture, 'Album')).toEqual([]);
});

test.each(['ask', 'origin', 'local'] as const)(
  'one of a cell that was empty, and is, is not sent again under %s where its row was changed since',
  async (conflict) => {
    await using fixture = await startAlbum();
    fixture.put('a.txt', 'mine');
    fixture.execute(ATTACH);

    const lost = { method: 'update', fault: 'resetAfter', conflict, id: 1 } as const;
    expect(countsOf(await lose(fixture, { ...lost, cells: [null] }))).toEqual(IN_DOUBT);
    await fixture.upload({ options: { conflict } });

    expect(changesSent(fixture)).toEqual(['update']);
    expect(fixture.rows('SELECT 1 FROM sync_conflicts')).toEqual([]);
  },
);

test('one of a cell that was empty, and is, is sent again where its row is as it was', async () => {
  await using fixture = await startAlbum();
  fixture.put('a.txt', 'mine');
  fixture.execute(ATTACH);

  const lost = { method: 'update', fault: 'resetBefore', conflict: 'ask', id: 1, cells: [] } as const;
  expect(countsOf(await lose(fixture, lost))).toEqual({ updated: 1 });

  expect(revisionsAt(fixture, 1)).toEqual(['a.txt 1 mine']);
});

describe.each([
  ['create', null],
  ['upsert', 'Code'],
] as const)('one of a new row (%s)', (method, match) => {
  test.each([
    ['that a colleague replaced', [theirs('b.txt')]],
    ['that a colleague took away', [null]],
  ])('%s is not sent again', async (_what, cells) => {
    await using fixture = await startAlbum(match === null ? {} : { match });
    fixture.put('a.txt', 'mine');
    fixture.execute(`INSERT INTO "Album" ("Code", "Scan") VALUES ('n', 'file:a.txt')`);

    expect(countsOf(await lose(fixture, { method, fault: 'resetAfter', conflict: 'local', id: 4, cells }))).toEqual(
      IN_DOUBT,
    );
    await fixture.upload({ options: { conflict: 'local' } });

    expect(changesSent(fixture)).toEqual([method]);
    expect(revisionsAt(fixture, 4).at(-1)).toBe('a.txt 1 mine');
    expect(fixture.sandbox.store.rows('Album')).toHaveLength(4);
  });
});

test('one goes again with its row as a person wants, once', async () => {
  await using fixture = await startAlbum({ match: 'Code' });
  fixture.put('a.txt', 'mine');
  fixture.execute(`INSERT INTO "Album" ("Code", "Scan") VALUES ('n', 'file:a.txt')`);
  const lost = { method: 'upsert', fault: 'resetAfter', conflict: 'local', id: 4 } as const;
  expect(countsOf(await lose(fixture, { ...lost, cells: [null] }))).toEqual(IN_DOUBT);
  await fixture.pull();
  const [failure] = fixture.rows('SELECT id FROM sync_failures') as { id: number }[];

  await carryOutDecision(fixture.replica, { kind: 'retry', ids: [failure?.id ?? 0] }, AT);
  await fixture.upload({ options: { conflict: 'local' } });

  expect(revisionsAt(fixture, 4)).toEqual(['a.txt 2 mine', 'a.txt 1 mine']);
  expect(fixture.sandbox.store.rows('Album')).toHaveLength(4);
  expect(await captured(fixture, 'Album')).toEqual([]);
});

describe('one whose revisions the origin fails to give out', () => {
  const hour = { ...systemClock, nowMs: () => systemClock.nowMs() + 61 * 60_000 };

  const setBack = { ...systemClock, nowMs: () => systemClock.nowMs() - 61 * 60_000 };

  test.each<readonly [FaultName, string, Clock]>([
    ['failure', 'after an hour', hour],
    ['truncated', 'after an hour', hour],
    ['failure', 'where the clock was set back since', setBack],
  ])(
    '(%s) is looked for with each push, and parked %s, so that the table can be pushed',
    async (fault, _when, clock) => {
      await using fixture = await startAlbum();
      fixture.put('a.txt', 'mine');
      fixture.execute(ATTACH);
      setFaults(fixture, [
        { fault: 'resetAfter', method: 'update', nth: 1 },
        { fault, method: 'attachment' },
      ]);
      expect(codesOf(await fixture.upload())).toHaveLength(1);
      fixture.execute(`UPDATE "Album" SET "Title" = 'x' WHERE _id = 2`);
      expect(codesOf(await fixture.upload())).toHaveLength(1);
      expect(changesSent(fixture)).toEqual(['update']);

      expect(countsOf(await fixture.upload({ clock }))).toEqual({ updated: 1, ...IN_DOUBT, conflict: 1 });

      expect(revisionsAt(fixture, 1)).toEqual(['a.txt 1 mine']);
      expect(fixture.rows('SELECT row_id, kind FROM sync_failures')).toEqual([{ row_id: 1, kind: 'inDoubt' }]);
    },
  );

  test('is looked for on where the origin is down', async () => {
    await using fixture = await startAlbum();
    fixture.put('a.txt', 'mine');
    fixture.execute(ATTACH);
    setFaults(fixture, [
      { fault: 'resetAfter', method: 'update', nth: 1 },
      { fault: 'resetBefore', method: 'attachments' },
    ]);

    for (const clock of [systemClock, hour]) expect(codesOf(await fixture.upload({ clock }))).toHaveLength(1);

    setFaults(fixture, []);
    expect(countsOf(await fixture.upload({ clock: hour }))).toEqual({ updated: 1 });
    expect(revisionsAt(fixture, 1)).toEqual(['a.txt 1 mine']);
  });
});
