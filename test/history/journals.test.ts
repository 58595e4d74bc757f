/** What is done with a journal as a whole: it proves itself, and it never grows beyond its bounds. */
import { expect, test } from 'vitest';
import { systemClock, type Clock } from '../../src/base/clock.ts';
import { findBrokenLinks } from '../../src/history/chains.ts';
import { verify } from '../../src/pull/verify.ts';
import { HISTORY } from '../support/history.ts';
import { startFixture, type Fixture } from '../support/replica.ts';
import { NOTE } from '../support/two-way.ts';

function kept(bounds: Partial<typeof HISTORY> = {}): { readonly settings: object } {
  return { settings: { tableOptions: () => ({ sort: null, history: { ...HISTORY, ...bounds } }) } };
}

async function change(fixture: Fixture, titles: readonly string[]): Promise<void> {
  for (const title of titles) {
    fixture.sandbox.store.update('Note', 1, { Title: title });
    await fixture.pull();
  }
}

function tableId(fixture: Fixture): number {
  const [row] = fixture.rows('SELECT id FROM _rowsync_tables') as { id: number }[];
  return row?.id ?? 0;
}

test('verify finds an entry that does not begin where the one before ended', async () => {
  await using fixture = await startFixture({ tables: [NOTE] }, kept());
  await fixture.pull();
  await change(fixture, ['one', 'two', 'three']);
  const whole = findBrokenLinks(fixture.replica, tableId(fixture));
  fixture.execute(`DELETE FROM _rowsync_history WHERE seq = 3`);

  const { tables } = await verify(fixture.context(), { tables: [] });

  expect(whole).toEqual({ count: 0, links: [] });
  expect(tables.map(({ error }) => error?.code)).toEqual(['verify.history']);
  expect(findBrokenLinks(fixture.replica, tableId(fixture)).links).toEqual([{ rowId: 1, id: 4 }]);
});

test('the oldest entries go when they take too much, and one entry says until when', async () => {
  await using fixture = await startFixture({ tables: [NOTE] }, kept({ bytesMax: 700 }));
  await fixture.pull();

  await change(fixture, ['one', 'two', 'three', 'four', 'five', 'six']);

  const kinds = fixture.rows('SELECT kind FROM sync_history ORDER BY id') as { kind: string }[];
  const [journal] = fixture.rows('SELECT bytes FROM _rowsync_history_tables') as { bytes: number }[];
  expect(kinds.map(({ kind }) => kind)).toContain('pruned');
  expect(kinds.map(({ kind }) => kind)).not.toContain('begin');
  expect(fixture.rows(`SELECT after ->> 'Title' AS title FROM sync_history ORDER BY id DESC LIMIT 2`)).toContainEqual({
    title: 'six',
  });
  expect(journal?.bytes).toBeLessThanOrEqual(700);
});

test('entries go when they are older than they are to be kept', async () => {
  let nowMs = Date.parse('2026-01-01T00:00:00Z');
  const clock: Clock = { ...systemClock, nowMs: () => nowMs };
  await using fixture = await startFixture({ tables: [NOTE], clock }, { ...kept({ keepDays: 10 }), clock });
  await fixture.pull();
  await change(fixture, ['one']);
  nowMs += 11 * 86_400_000;

  await change(fixture, ['two']);

  expect(fixture.rows('SELECT kind, note FROM sync_history ORDER BY id')).toEqual([
    { kind: 'update', note: null },
    { kind: 'pruned', note: '{"until":"2026-01-01T00:00:00Z","entries":2}' },
  ]);
});
