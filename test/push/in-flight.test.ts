/**
 * What users and colleagues do with a row between its sending and its settling: whoever is written over is kept, and the last word of a user
 * stays.
 */
import { expect, test } from 'vitest';
import { RowsyncError } from '../../src/base/errors.ts';
import { atOrigin, codesOf, here, pushNow } from '../support/push.ts';
import type { Fixture } from '../support/replica.ts';
import { captured, startTwoWay } from '../support/two-way.ts';

/** Pushes up to the answer, and ends before the rows are read back. */
async function sendOnly(fixture: Fixture): Promise<void> {
  const end = new RowsyncError('originDown', 'origin.stopped', { message: 'the process ends', hint: '' });
  await pushNow(fixture, {
    before: (step) => {
      if (step === 'readBack') throw end;
    },
  });
}

test('a cell that is put back to what it was, after it was sent, outlasts a pull that comes before the answer is settled', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Body" = 'sent' WHERE _id = 1`);
  await sendOnly(fixture);
  fixture.execute(`UPDATE "Note" SET "Body" = NULL WHERE _id = 1`);

  await fixture.pull();

  expect(here(fixture, ['Body'])[0]).toEqual([1, null]);
  await pushNow(fixture);
  expect(atOrigin(fixture, ['Body'])[0]).toEqual([1, null]);
  expect(await captured(fixture)).toEqual([]);
});

test('a row that was put back so, and is deleted at the origin, waits for its answer too', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Body" = 'sent' WHERE _id = 1`);
  await sendOnly(fixture);
  fixture.execute(`UPDATE "Note" SET "Body" = NULL WHERE _id = 1`);
  fixture.sandbox.store.delete('Note', 1);

  await fixture.pull();

  expect(here(fixture, ['Title'])[0]).toEqual([1, 'title 1']);
  expect(codesOf(await pushNow(fixture))).toEqual([]);
  expect(codesOf(await pushNow(fixture))).toEqual([]);
  await fixture.pull();
  expect(here(fixture, ['Title'])).toHaveLength(5);
});
