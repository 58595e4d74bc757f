/**
 * One table of ours, one file: its DDL, its reason, and every statement that writes it.
 */
import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/** Files that write tables of other files, and why. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'src/capture/edit-triggers.ts': 'makes triggers of user tables, which mark edited rows and give ids to new ones',
  'src/extras/history/command.ts': 'removes one row from every table that keeps values',
  'src/history/prune.ts': 'removes entries, and one column from every table that keeps values',
  'src/replica/bookkeeping/files.ts': 'a cell is looked at and forgotten together with its revisions',
  'src/replica/bookkeeping/file-cells.ts': 'what was found of a cell is stored with its revisions',
  'src/replica/older-copy.ts': 'trusts less of an older copy before the replica is open, by statements of its own',
  'src/replica/database.ts': 'sets and clears the flag of the writer around each transaction',
  'src/replica/user-tables.ts': 'forgets a dropped table in every table that names it',
};

const sources = globSync('src/**/*.ts')
  .filter((path) => !path.startsWith('src/sandbox/') && path !== 'src/replica/migrations.ts')
  .map((path) => ({ path, text: readFileSync(path, 'utf8') }));

const homes = new Map(
  sources.flatMap(({ path, text }) =>
    text
      .matchAll(/CREATE TABLE (_rowsync_\w+)/g)
      .map(([, name]) => [name, path] as const)
      .toArray(),
  ),
);

const WRITES = /(?:INTO|UPDATE|DELETE FROM) (_rowsync_[a-z_]+)/g;
/** A name that a statement is put together with. */
const NAMES = /sql`(_rowsync_[a-z_]+)`/g;

/** The columns of this table are parted by what changes together. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  _rowsync_tables: ['sweeps', 'table-errors'].map((part) => `src/replica/bookkeeping/${part}.ts`),
};

function strayWrites(text: string, path: string): readonly string[] {
  const isPutTogether = /(?:INTO|UPDATE|DELETE FROM) \$\{/.test(text);
  const found = [...text.matchAll(WRITES), ...(isPutTogether ? text.matchAll(NAMES) : [])];
  return found.flatMap(([, name = '']) => {
    const isHome = homes.get(name) === path || PARTS[name]?.includes(path) === true;
    return isHome ? [] : [`${path}: ${name}`];
  });
}

test('every table of ours is made in one file, and those of the core in this folder', () => {
  const outside = [...new Set(homes.values())].filter((path) => !path.startsWith('src/replica/bookkeeping/'));

  expect(homes.size).toBeGreaterThan(25);
  // An extra makes its own tables, and they go with it.
  expect(outside.toSorted()).toEqual([
    'src/extras/contracts/complaints.ts',
    'src/extras/shared/sinks.ts',
    'src/extras/verify/differences.ts',
    'src/replica/older-copy.ts',
  ]);
});

test('every statement that writes a table of ours is in the file of that table', () => {
  const stray = sources.flatMap(({ path, text }) => (path in EXCEPTIONS ? [] : strayWrites(text, path)));

  expect(stray).toEqual([]);
});

test('no exception is left that is not needed', () => {
  const unneeded = Object.keys(EXCEPTIONS).filter(
    (path) => strayWrites(sources.find((source) => source.path === path)?.text ?? '', path).length === 0,
  );

  expect(unneeded).toEqual([]);
});

test('a write in another file is found', () => {
  expect(strayWrites('sql`UPDATE _rowsync_pages SET etag = NULL`', 'src/pull/a.ts')).toHaveLength(1);
  expect(strayWrites('for (const t of [sql`_rowsync_files`]) sql`DELETE FROM ${t}`', 'src/pull/a.ts')).toHaveLength(1);
  expect(strayWrites('sql`SELECT 1 FROM _rowsync_pages`', 'src/pull/a.ts')).toEqual([]);
});
