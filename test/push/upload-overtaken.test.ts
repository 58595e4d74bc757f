/**
 * Files attached by SQL that a colleague's file overtakes. What was sent arrived, a colleague attached a newer file,
 * and the row was edited again or deleted here before the push read it back. Who wins is a conflict like any other, and
 * nobody's file goes without a message.
 */
import { describe, expect, test } from 'vitest';
import type { ConflictPolicy } from '../../src/reconcile/merge.ts';
import { at, revisionsAt, startAlbum } from '../support/album.ts';
import type { FilesFixture } from '../support/files.ts';
import { countsOf, setFaults } from '../support/push.ts';

const THEIRS = { name: 'b.txt', mediaType: 'text/plain', bytes: Buffer.from('them') };
const ATTACH = `UPDATE "Album" SET "Photo" = 'file:a.txt' WHERE _id = 1`;
const AGAIN = `UPDATE "Album" SET "Photo" = 'file:c.txt' WHERE _id = 1`;
const CLEAR = `UPDATE "Album" SET "Photo" = NULL WHERE _id = 1`;
const DELETE = `DELETE FROM "Album" WHERE _id = 1`;

/**
 * Attaches a file; before the row is read back a colleague attaches another, and a user does what the statement says.
 */
async function overtake({
  statement,
  conflict,
  isLost,
}: {
  readonly statement: string;
  readonly conflict: ConflictPolicy;
  readonly isLost: boolean;
}): Promise<Awaited<ReturnType<typeof startAlbum>>> {
  const fixture = await startAlbum();
  for (const name of ['a', 'c']) fixture.put(`${name}.txt`, `mine ${name}`);
  fixture.execute(ATTACH);
  if (isLost) setFaults(fixture, [{ fault: 'resetAfter', method: 'update', nth: 1 }]);
  let isFirst = true;
  const before = at('readBack', () => {
    if (!isFirst) return;
    isFirst = false;
    fixture.sandbox.store.update('Album', 1, { Photo: THEIRS });
    fixture.execute(statement);
  });
  await fixture.upload({ before, options: { conflict } });
  await fixture.upload({ options: { conflict } });
  return fixture;
}

function conflicts(fixture: FilesFixture): readonly unknown[] {
  return fixture.rows('SELECT kind, local, remote, state, winner FROM sync_conflicts');
}

const isTheirs = expect.stringMatching(/^b\.txt;2;/) as string;

describe('a file whose answer came, overtaken by a colleague’s', () => {
  test.each([
    ['another one', AGAIN, 'file:c.txt'],
    ['none', CLEAR, null],
  ])('and %s here is a question under ask', async (_named, statement, local) => {
    await using fixture = await overtake({ statement, conflict: 'ask', isLost: false });

    expect(revisionsAt(fixture, 1)).toEqual(['b.txt 2 them', 'a.txt 1 mine a']);
    expect(fixture.sandbox.store.rows('Album')[0]?.values['Photo']).not.toBeNull();
    expect(conflicts(fixture)).toEqual([{ kind: 'cell', local, remote: isTheirs, state: 'open', winner: 'nobody' }]);
  });

  test('and another one here wins under local, and the colleague’s is kept', async () => {
    await using fixture = await overtake({ statement: AGAIN, conflict: 'local', isLost: false });

    expect(revisionsAt(fixture, 1)).toEqual(['c.txt 3 mine c', 'b.txt 2 them', 'a.txt 1 mine a']);
    expect(conflicts(fixture)).toEqual([
      { kind: 'cell', local: 'file:c.txt', remote: isTheirs, state: 'decided', winner: 'local' },
    ]);
  });

  test('keeps its row under ask, although that was deleted here', async () => {
    await using fixture = await overtake({ statement: DELETE, conflict: 'ask', isLost: false });

    expect(revisionsAt(fixture, 1)).toEqual(['b.txt 2 them', 'a.txt 1 mine a']);
    expect(fixture.sandbox.store.rows('Album')).toHaveLength(3);
    expect(conflicts(fixture)).toMatchObject([{ kind: 'deletedHere', state: 'open' }]);
  });
});

test.each([
  ['another one', AGAIN],
  ['none', CLEAR],
  ['no row', DELETE],
])('a file whose answer got lost is in doubt beside a colleague’s, and %s here sends nothing more', async (...edit) => {
  await using fixture = await overtake({ statement: edit[1], conflict: 'local', isLost: true });

  expect(revisionsAt(fixture, 1)).toEqual(['b.txt 2 them', 'a.txt 1 mine a']);
  expect(fixture.rows('SELECT row_id, kind FROM sync_failures')).toEqual([{ row_id: 1, kind: 'inDoubt' }]);
});

test.each([
  ['whose answer came', false],
  ['whose answer got lost', true],
])('a file %s and that nobody overtook gives way to another one without a conflict', async (_what, isLost) => {
  await using fixture = await startAlbum();
  for (const name of ['a', 'c']) fixture.put(`${name}.txt`, `mine ${name}`);
  fixture.execute(ATTACH);
  if (isLost) setFaults(fixture, [{ fault: 'resetAfter', method: 'update', nth: 1 }]);
  let isFirst = true;
  const before = at('readBack', () => {
    if (isFirst) fixture.execute(AGAIN);
    isFirst = false;
  });

  expect(countsOf(await fixture.upload({ before, options: { conflict: 'ask' } }))).toEqual({ updated: 2 });

  expect(revisionsAt(fixture, 1)).toEqual(['c.txt 2 mine c', 'a.txt 1 mine a']);
  expect(conflicts(fixture)).toEqual([]);
});
