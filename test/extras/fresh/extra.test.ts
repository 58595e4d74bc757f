/** What `rowsync status` says of the last proven moment. */
import { expect, test } from 'vitest';
import type { Config } from '../../../src/config/load.ts';
import { FRESH } from '../../../src/extras/fresh/extra.ts';
import { storeMoment } from '../../../src/replica/bookkeeping/changed-rows.ts';
import { AT, startTwoWay } from '../../support/two-way.ts';

test('a moment has a line as long as it is the last, and it says whether rows changed since', async () => {
  await using fixture = await startTwoWay();
  const status = () => FRESH.status?.({ replica: { path: fixture.path } } as Config);
  const none = await status();
  await fixture.replica.write('Storing a moment', (tx) =>
    storeMoment(tx, { at: AT, tables: ['Note'], notCovered: ['Note.Total'] }),
  );
  const held = await status();
  fixture.sandbox.store.update('Note', 1, { Title: 'later' });
  await fixture.pull();

  expect(none).toEqual({ lines: [], json: { lastMoment: null } });
  expect(held).toMatchObject({
    lines: [`moment    ${AT}, unchanged since`],
    json: { lastMoment: { at: AT, holds: true } },
  });
  expect(await status()).toMatchObject({ lines: [`moment    ${AT}, rows have changed since`] });
});
