/**
 * A table that is followed, and what a test asks of it.
 */
import { expect } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/main.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { testClock, type TestClock } from './clock.ts';
import { startFixture, type Fixture } from './replica.ts';

/** A table of so many rows. */
export const note = (rowCount: number): TableSpec => ({
  name: 'Note',
  columns: [
    { name: 'Title', type: 'Text' },
    { name: 'Count', type: 'Numeric' },
  ],
  rows: Array.from({ length: rowCount }, (_, index) => ({ Title: `title ${index + 1}` })),
});

/** A followed fixture after a first pull, an hour after its rows were made. */
export async function startFollowed(
  rowCount = 30,
  pageRows = 5,
  intercept?: SandboxOptions['intercept'],
): Promise<{ fixture: Fixture; clock: TestClock }> {
  const clock = testClock({ startMs: Date.UTC(2026, 0, 1) });
  const fixture = await startFixture(
    { tables: [note(rowCount)], clock, intercept },
    { clock, settings: { pageRows, follows: 'all' as const } },
  );
  await fixture.pull();
  // Later than all others by more than the overlap, so that they are not read again.
  clock.advance(3_600_000);
  fixture.sandbox.store.update('Note', rowCount, { Count: 1 });
  await fixture.pull();
  clock.advance(3_600_000);
  fixture.sandbox.requests.clear();
  return { fixture, clock };
}

/** Rows here and there are the same. */
export function expectSame(fixture: Fixture): void {
  const there = fixture.sandbox.store.rows('Note').map(({ id, values }) => [id, values['Title']]);
  const here = fixture
    .rows('SELECT _id, "Title" FROM "Note" ORDER BY _id')
    .map((row) => Object.values(row as Record<string, unknown>));
  expect(here).toEqual(there);
}
