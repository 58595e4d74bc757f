/** `rowsync proposals`: a person looks at what was proposed, applies all of it or nothing, or drops it. */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { keepProposal, listProposals } from '../../../src/extras/mcp/proposal-files.ts';
import { proposalsFolder } from '../../../src/extras/mcp/proposal-names.ts';
import type { StoredEdit } from '../../../src/extras/mcp/proposal.ts';
import { configureOffline, runCli } from '../../support/session.ts';
import { startTwoWay } from '../../support/two-way.ts';

function update(rowId: number, was: string, value: string, column = 'Title'): StoredEdit {
  return {
    table: 'Note',
    kind: 'update',
    rowId,
    cells: [{ column, was: JSON.stringify(was), value: JSON.stringify(value) }],
  };
}

const INSERT: StoredEdit = {
  table: 'Note',
  kind: 'insert',
  rowId: null,
  cells: [{ column: 'Title', was: null, value: '"new"' }],
};

/** A two-way table, a configuration beside it, and proposals as an agent's server keeps them. */
async function startProposals() {
  const fixture = await startTwoWay();
  const folder = proposalsFolder(fixture.path);
  configureOffline(fixture.folder);
  return {
    folder,
    execute: (statements: string) => fixture.execute(statements),
    /** Of the first two rows, and of new ones. */
    titles: () =>
      fixture
        .rows('SELECT "Title" FROM "Note" WHERE _id < 3 ORDER BY _id < 0, _id')
        .map((row) => Object.values(row as object)[0] as unknown),
    states: () => listProposals(folder).map(({ name, state }) => `${name} ${state}`),
    propose: (name: string, edits: readonly StoredEdit[], note = '') =>
      keepProposal(folder, { name, note, proposedAt: '2026-06-01T12:00:00Z', edits: [...edits] }, { isShared: false }),
    run: (args: readonly string[], world: Parameters<typeof runCli>[1] = {}) =>
      runCli(['proposals', ...args], { folder: fixture.folder, ...world }),
    [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
  };
}

test('lists what waits and what was applied, without acting on a terminal', async () => {
  await using world = await startProposals();
  const none = await world.run([]);
  world.propose('one', [update(1, 'title 1', 'x')], 'Red \u001b[31m');
  world.propose('two', [INSERT, INSERT]);
  renameSync(join(world.folder, 'two.json'), join(world.folder, 'two.applied.json'));
  writeFileSync(join(world.folder, 'odd.json'), '{}');

  const { stdout } = await world.run([]);

  expect(none.stdout).toBe('No proposals\n');
  expect(stdout).toMatch(
    /^odd {2}cannot be read; drop it\none {2}1 edit, proposed 2026-06-01T12:00:00Z: waits\n {2}Red .*\ntwo {2}2 edits, proposed .*: applied\n$/,
  );
  expect(stdout).not.toContain('\u001b');
});

describe('show', () => {
  test('says what would be edited today, and edits nothing', async () => {
    await using world = await startProposals();
    world.propose(
      'one',
      [update(1, 'title 1', 'x'), { table: 'Note', kind: 'delete', rowId: 2, cells: [] }, INSERT],
      'Why.',
    );

    const { exitCode, stdout } = await world.run(['show', 'one']);

    // A delete is valid only for the row that the agent saw.
    expect([exitCode, stdout]).toEqual([3, expect.stringContaining('Note 2 Title: changed since')]);
    expect(stdout).toMatch(/^Why\.\n/);
    expect(world.titles()).toEqual(['title 1', 'title 2']);
    expect(world.states()).toEqual(['one waiting']);
  });

  test('of a proposal that is not there names the nearest', async () => {
    await using world = await startProposals();
    world.propose('fix-phones', [INSERT]);

    const { exitCode, stderr } = await world.run(['show', 'fix-phone']);

    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringContaining('There is no proposal fix-phone (did you mean fix-phones?)'),
    ]);
  });
});

describe('apply', () => {
  test('makes all edits, as those of any SQL client, and once', async () => {
    await using world = await startProposals();
    world.propose('one', [update(1, 'title 1', 'x'), INSERT]);

    const first = await world.run(['apply', 'one']);
    const again = await world.run(['apply', 'one']);

    expect([first.exitCode, first.stdout]).toEqual([
      0,
      expect.stringContaining('2 rows edited here; rowsync push carries it\n'),
    ]);
    expect(world.titles()).toEqual(['x', 'title 2', 'new']);
    expect(world.states()).toEqual(['one applied']);
    expect([again.exitCode, again.stderr]).toEqual([
      2,
      expect.stringContaining('The proposal one was applied already'),
    ]);
  });

  test.each<[string, string, StoredEdit, string]>([
    [
      'a cell changed since',
      `UPDATE "Note" SET "Title" = 'by hand' WHERE _id = 2`,
      update(2, 'title 2', 'y'),
      'Note 2 Title: changed since',
    ],
    [
      'a row left since',
      'DELETE FROM "Note" WHERE _id = 2',
      update(2, 'title 2', 'y'),
      'Note 2: the row was deleted since',
    ],
    ['a value is refused', '', update(2, 'title 2', 'y'.repeat(21)), 'takes at most 20 characters'],
    ['a new row is refused', '', { ...INSERT, cells: [] }, 'Note new row: '],
    ['a table is not there', '', { ...INSERT, table: 'Gone' }, 'Gone new row: there is no such table any more'],
    ['a column is not there', '', update(2, '', 'y', 'Gone'), 'Note 2 Gone: there is no such column any more'],
    ['a column may not be written', '', update(2, '10', '11', 'Total'), 'Note 2 Total: the column cannot be written'],
  ])('makes none where %s, and the proposal waits on', async (_what, statement, edit, reason) => {
    await using world = await startProposals();
    world.propose('one', [update(1, 'title 1', 'x'), edit]);
    world.execute(statement);
    const before = world.titles();

    const { exitCode, stdout } = await world.run(['apply', 'one', '--yes']);

    expect([exitCode, stdout]).toEqual([
      3,
      expect.stringContaining('Nothing was changed. These edits cannot be made:\n'),
    ]);
    expect(stdout).toContain(reason);
    expect(world.titles()).toEqual(before);
    expect(world.states()).toEqual(['one waiting']);
  });

  test('asks a person at a terminal first, and takes everything but yes for no', async () => {
    await using world = await startProposals();
    world.propose('one', [update(1, 'title 1', 'x'), INSERT]);

    for (const typed of [['no'], [], ['maybe']]) {
      const { exitCode, stdout, stderr } = await world.run(['apply', 'one'], { typed, width: 80 });
      expect([exitCode, stdout]).toEqual([3, 'Nothing was edited\n']);
      expect(stderr).toContain('Note: 1 update, 1 insert. Make these edits? (yes or no)');
    }
    const states = world.states();
    const { exitCode } = await world.run(['apply', 'one'], { typed: ['yes'], width: 80 });

    expect([states, exitCode, world.states()]).toEqual([['one waiting'], 0, ['one applied']]);
  });

  test('is not repeated where whoever applied it died on the way', async () => {
    await using world = await startProposals();
    world.propose('cut', [INSERT]);
    renameSync(join(world.folder, 'cut.json'), join(world.folder, 'cut.applying.json'));

    const { exitCode, stderr } = await world.run(['apply', 'cut']);
    const listed = await world.run([]);

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('look at rowsync plan, then drop it')]);
    expect(listed.stdout).toContain('was being applied when that was cut short');
    expect(world.titles()).toEqual(['title 1', 'title 2']);
  });
});

test('drop forgets a proposal in any state, also one that cannot be read', async () => {
  await using world = await startProposals();
  world.propose('one', [INSERT]);
  writeFileSync(join(world.folder, 'odd.json'), 'DROP TABLE Note');

  const refused = await world.run(['apply', 'odd']);
  const dropped = [await world.run(['drop', 'one']), await world.run(['drop', 'odd', '--json'])];

  expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining('The proposal odd cannot be read')]);
  expect(dropped.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
  expect(dropped[0]?.stdout).toContain('one is dropped\n');
  expect(JSON.parse(dropped[1]?.stdout ?? '')).toEqual({ dropped: 'odd' });
  expect(world.states()).toEqual([]);
});
