/**
 * Files attached by SQL whose answer got lost, and of which the origin shows nothing any more. A colleague replaced
 * them or took them away in a column without a history. They may have arrived, so none is sent a second time on a guess
 * (I4).
 */
import { describe, expect, test } from 'vitest';
import type { FaultName } from '../../src/sandbox/server/faults.ts';
import { at, revisionsAt, startAlbum } from '../support/album.ts';
import { changesSent, codesOf, countsOf, setFaults } from '../support/push.ts';

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

test('one whose revisions cannot be asked for is looked up again once the origin is back', async () => {
  await using fixture = await startAlbum();
  fixture.put('a.txt', 'mine');
  fixture.execute(ATTACH);
  setFaults(fixture, [
    { fault: 'resetAfter', method: 'update', nth: 1 },
    { fault: 'resetBefore', method: 'attachments' },
  ]);

  for (let round = 0; round < 2; round += 1) expect(codesOf(await fixture.upload())).toHaveLength(1);

  setFaults(fixture, []);
  expect(countsOf(await fixture.upload())).toEqual({ updated: 1 });
  expect(revisionsAt(fixture, 1)).toEqual(['a.txt 1 mine']);
});
