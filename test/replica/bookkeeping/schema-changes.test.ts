/** Changes of tables and columns, each recorded once with the run that saw it. */
import { expect, test } from 'vitest';
import {
  readRemade,
  readSchemaChanges,
  storeSchemaChanges,
  type SchemaChange,
} from '../../../src/replica/bookkeeping/schema-changes.ts';
import { openBare, type Bare } from '../../support/bare.ts';
import { AT } from '../../support/two-way.ts';

const NEW: SchemaChange = { kind: 'columnNew', table: 'Note', column: 'Due', former: null, now: null };
const RENAMED: SchemaChange = { kind: 'columnRenamed', table: 'Note', column: 'Body', former: 'Text', now: 'Body' };

function store(
  bare: Bare,
  changes: readonly SchemaChange[],
  { at = AT, runId = null }: { at?: string; runId?: number | null } = {},
) {
  return bare.write((tx) => storeSchemaChanges(tx, changes, at), { cause: 'pull', runId });
}

test('the changes of a run, or all, come in the order in which they were seen', async () => {
  await using bare = await openBare();
  await store(bare, [NEW, RENAMED], { runId: 3 });
  await store(bare, []);
  await store(bare, [NEW], { at: '2026-11-22T00:00:00Z', runId: 4 });

  expect(readSchemaChanges(bare.replica, 3)).toEqual([
    { ...NEW, at: AT, runId: 3 },
    { ...RENAMED, at: AT, runId: 3 },
  ]);
  expect(readSchemaChanges(bare.replica).map(({ kind, runId }) => [kind, runId])).toEqual([
    ['columnNew', 3],
    ['columnRenamed', 3],
    ['columnNew', 4],
  ]);
  expect(readSchemaChanges(bare.replica, 5)).toEqual([]);
});

test('the newest ten thousand are kept', async () => {
  await using bare = await openBare();
  await store(bare, [RENAMED, ...Array.from({ length: 10_000 }, () => NEW)]);

  const kept = readSchemaChanges(bare.replica);

  expect([kept.length, kept[0]?.kind]).toEqual([10_000, 'columnNew']);
});

test('what was restored since a time is named as it is called now, with the edits that a table had', async () => {
  await using bare = await openBare();
  bare.execute(`UPDATE _rowsync_tables SET local_name = 'note_1'`);
  const remade = { table: 'Note', column: null, former: null, now: null };
  await store(bare, [{ ...remade, kind: 'guardsRemade' }], { at: '2026-11-20T00:00:00Z' });
  await store(bare, [
    NEW,
    { ...remade, kind: 'tableRemade', now: '3' },
    { ...remade, kind: 'columnRemade', column: 'Due' },
  ]);
  await store(bare, [{ ...remade, table: 'Pruned', kind: 'guardsRemade' }]);

  expect(readRemade(bare.replica, AT)).toEqual([
    { kind: 'tableRemade', table: 'note_1', column: null, editCount: 3, since: AT },
    { kind: 'columnRemade', table: 'note_1', column: 'Due', editCount: 0, since: AT },
    { kind: 'guardsRemade', table: 'Pruned', column: null, editCount: 0, since: AT },
  ]);
});

test('what was restored is told once, although a table that is gone had the same name at the origin', async () => {
  await using bare = await openBare();
  await bare.makeTable(2, 'Former', []);
  bare.execute(`UPDATE _rowsync_tables SET name = 'Note', state = 'gone' WHERE id = 2`);
  await store(bare, [{ kind: 'guardsRemade', table: 'Note', column: null, former: null, now: null }]);

  expect(readRemade(bare.replica, AT).map(({ table }) => table)).toEqual(['Note']);
});
