/** The check, during a pull or a push, that the columns of a table still have the names that they had at its start. */
import { expect, test } from 'vitest';
import { RowsyncError } from '../../src/base/errors.ts';
import { watchShape } from '../../src/origin/renamed-columns.ts';
import type { TableDescriptor } from '../../src/wire/schema.ts';

const ADDRESS = { name: 'Note', alias: 't_1' };
const RENAMED = new RowsyncError('originDown', 'pull.unsettled', { message: 'a column was renamed', hint: '' });

/** A table whose description has the name that `name` gives at that time. */
function watching(name: () => string) {
  const calls: unknown[] = [];
  const describeTable = (...given: unknown[]) => {
    calls.push(given);
    return Promise.resolve({ kind: 'ok', etag: null, value: { recordName: name() } as TableDescriptor });
  };
  const { signal } = new AbortController();
  const require = watchShape({ origin: { describeTable } as never, signal }, ADDRESS, (now) =>
    now.recordName === 'Note' ? null : RENAMED,
  );
  return { require, calls, signal };
}

test('every check reads the description anew, without an ETag', async () => {
  const { require, calls, signal } = watching(() => 'Note');

  await require();
  await require();

  expect(calls).toEqual([
    [ADDRESS, { signal }],
    [ADDRESS, { signal }],
  ]);
});

test('checks that are asked for during a check share the next one', async () => {
  const { require, calls } = watching(() => 'Note');

  await Promise.all([require(), require().then(() => Promise.all([require(), require()]))]);

  expect(calls.length).toBeLessThan(4);
});

test('a problem stays one, even where the names change back, and nothing is read for it again', async () => {
  let name = 'Other';
  const { require, calls } = watching(() => name);

  await expect(require()).rejects.toBe(RENAMED);
  name = 'Note';
  await expect(require()).rejects.toBe(RENAMED);

  expect(calls).toHaveLength(1);
});
