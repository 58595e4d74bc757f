/** A seed that fails is shrunk to a case that fails in the same way. */
import { expect, test } from 'vitest';
import { sql } from '../../../src/base/sql.ts';
import { tapesOf, textOfCase, type Case } from './corpus.ts';
import { loadEngine } from '../world/engine.ts';
import { Runner } from './runner.ts';
import { Tapes } from '../world/tape.ts';

test.each([8, 33, 45])('leaves a case that fails as its seed does when it is run again (seed %i)', async (seed) => {
  const modules = await loadEngine(new URL('../../../src/', import.meta.url));
  const { history, choosing } = Tapes.fromSeed(seed);
  using broken = new Runner({
    ...modules,
    pull: (context, order) => {
      const { history: kept = null, columns = null } = context.settings.tableOptions('Thing') ?? {};
      const isOfSeed = (kept !== null) === history && (columns !== null) === (choosing !== null);
      // The world that makes the replica with which others begin has no edits.
      const isEdited = context.replica.prepare(sql`SELECT 1 FROM _rowsync_rows`).get() !== undefined;
      return isOfSeed && isEdited ? Promise.reject(new Error('planted')) : modules.pull(context, order);
    },
  });

  const kept = await broken.shrinkSeed(seed, 20);

  expect(kept).not.toBeNull();
  expect((await broken.run(tapesOf(JSON.parse(textOfCase(kept as Case)) as Case))).failure?.what).toContain('planted');
});
