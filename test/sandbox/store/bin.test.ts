import { expect, test } from 'vitest';
import { startTestSandbox } from '../../support/sandbox.ts';
import { look, thing } from './thing.ts';

test('keeps deleted rows in the bin unless they are purged', async () => {
  await using sandbox = await startTestSandbox({ tables: [{ ...thing, rows: [{ N: 9007199254740993n }, {}] }] });

  expect(sandbox.store.delete(thing.name, 1)).toBe(true);
  expect(sandbox.store.delete(thing.name, 2, { purge: true })).toBe(true);
  expect(sandbox.store.delete(thing.name, 1)).toBe(false);

  const bin = look(sandbox, 'SELECT row_id, deleted_by, cells FROM _sandbox_deleted') as { cells: string }[];
  expect(bin).toMatchObject([{ row_id: 1n, deleted_by: 'Alice Martin <alice.martin@example.com>' }]);
  expect(bin[0]?.cells).toContain('"9007199254740993"');
});
