/** The order of a cycle: files come after the rows that name them, for the tables whose rows came. */
import { expect, test } from 'vitest';
import { pullFilesAfter } from '../../src/daemon/work-kinds.ts';
import { fileOf, startFilesFixture } from '../support/files.ts';

const columns = [{ name: 'Cover', type: 'Attachment' }];
const TABLES = ['Album', 'Book'].map((name) => ({ name, columns, rows: [{ Cover: fileOf(`${name}.png`, name) }] }));

test('files come for the tables whose rows came', async () => {
  await using fixture = await startFilesFixture({ tables: TABLES });
  fixture.sandbox.answerInstead(1, { status: 400, body: '{}', headers: {} }, { method: 'select' });
  const rows = await fixture.pull();

  const files = await pullFilesAfter(fixture.filesContext(), rows);

  const whole = rows.tables.filter(({ error }) => error === null);
  expect(whole).toHaveLength(1);
  expect(files).toMatchObject({ downloadedCount: 1, error: null });
  expect(fixture.files()).toMatchObject([{ table: whole[0]?.table, state: 'here' }]);
});

test('no file is asked for where the pull ended as a whole, or was told to stop', async () => {
  await using fixture = await startFilesFixture({ tables: TABLES });
  const whole = await fixture.pull();
  fixture.sandbox.store.revokeToken(fixture.sandbox.token);
  const refused = await fixture.pull();
  fixture.sandbox.requests.clear();

  const after = await pullFilesAfter(fixture.filesContext(), refused);
  const context = { ...fixture.filesContext(), signal: AbortSignal.abort() };
  const stopped = await pullFilesAfter(context, whole);

  expect([after, stopped]).toEqual([null, null]);
  expect(fixture.sandbox.requests.all).toEqual([]);
});
