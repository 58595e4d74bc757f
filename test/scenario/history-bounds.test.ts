/** The history never grows beyond its bounds, and loses nothing while the clock is in doubt. */
import { expect, test } from 'vitest';
import { systemClock, type Clock } from '../../src/base/clock.ts';
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
    { kind: 'update', note: null },
    { kind: 'pruned', note: '{"until":"2026-01-01T00:00:00Z","entries":1}' },
  ]);
});

/** Rows of history beside the clock of this machine, which the origin does not follow. */
async function startDrifting(): Promise<{ readonly fixture: Fixture; readonly drift: (ms: number) => void }> {
  let driftMs = 0;
  const clock: Clock = { ...systemClock, nowMs: () => systemClock.nowMs() + driftMs };
  const fixture = await startFixture({ tables: [NOTE] }, { ...kept({ keepDays: 10 }), clock });
  await fixture.pull();
  await change(fixture, ['one', 'two', 'three']);
  return { fixture, drift: (ms) => (driftMs = ms) };
}

test('a pull without any answer says nothing of the clock', async () => {
  const { fixture, drift } = await startDrifting();
  await using _ = fixture;
  drift(500 * 86_400_000);
  await fixture.sandbox.stop();

  const { error } = await fixture.pull();

  expect(error?.code).toBe('origin.unreachable');
  expect(fixture.rows('SELECT pruning_held FROM _rowsync_history_tables')).toEqual([{ pruning_held: null }]);
});

test('a clock that the origin does not confirm removes nothing, and the account says so', async () => {
  const { fixture, drift } = await startDrifting();
  await using _ = fixture;
  const count = () => fixture.rows('SELECT count(*) AS n FROM sync_history');
  const held = () => fixture.rows('SELECT pruning_held FROM _rowsync_history_tables');
  const before = count();

  drift(500 * 86_400_000);
  const { removedEntryCount } = await fixture.pull();
  const ahead = held();
  drift(0);
  await fixture.pull();

  expect(removedEntryCount).toBe(0);
  expect(count()).toEqual(before);
  expect(ahead).toEqual([{ pruning_held: 'the clock of this machine is 500 days ahead of that of the origin' }]);
  expect(held()).toEqual([{ pruning_held: null }]);
});
