/**
 * The schema of the origin, or what its user may see, changes before each request of a pull and a push in turn. Once it
 * stands still, both sides agree or a declared stop says why not. Whatever happens on the way, no row is deleted for
 * it, and no value is dropped or turned into another type. Every edit reached the right column or is listed with its
 * value.
 *
 * DRIFT_MOMENTS=all tries every moment; without it, every fifth one, another fifth for each drift.
 */
import { expect, test } from 'vitest';
import type { RowsyncError } from '../../src/base/errors.ts';
import { prune } from '../../src/extras/schema/prune.ts';
import type { PullSettings } from '../../src/pull/context.ts';
import { DRIFTING, DRIFTS, STAYING, type Drift } from '../support/drift.ts';
import { allowedStops, differencesOf, outcomeOf, type Mode, type Trial } from '../support/drift-outcome.ts';
import { finishAndPull, pushNow } from '../support/push.ts';
import { startFixture } from '../support/replica.ts';
import { AT } from '../support/two-way.ts';

/** Cycles that may pass until both sides agree again. */
const CYCLES_MAX = 3;
const STEP = process.env['DRIFT_MOMENTS'] === 'all' ? 1 : 5;

async function startTrial(drift: Drift, mode: Mode): Promise<Omit<Trial, 'reached'>> {
  const settings = { pageRows: 2, concurrency: 1, ...optionsOf(mode) };
  const fixture = await startFixture({ tables: [DRIFTING, STAYING] }, { settings });
  await fixture.pull();
  const { store } = fixture.sandbox;
  store.update('Note', 2, { Title: 'title 2, as a colleague sees it' });
  store.delete('Note', 5);
  if (mode === 'two-way') {
    fixture.execute(`
      UPDATE "Note" SET "Title" = 'edited title', "Count" = 101 WHERE _id = 1;
      UPDATE "Note" SET "Remark" = 'edited remark' WHERE _id = 3;
      INSERT INTO "Note" ("Title", "Code", "Remark") VALUES ('inserted title', 'inserted code', 'inserted remark');
      DELETE FROM "Note" WHERE _id = 4;`);
  }
  const { id: tableId, columns } = store.table('Note');
  return { fixture, mode, drift, tableId, columnIds: new Map(columns.map(({ name, id }) => [name, id])) };
}

/** Edits of Note are pushed, matched by its unique column; the other table is a mirror. */
function optionsOf(mode: Mode): Pick<PullSettings, 'tableOptions'> {
  const editing = { match: 'Code', conflict: 'origin', workflow: 'run' } as const;
  const isPushed = (name: string): boolean => mode === 'two-way' && (name === 'Note' || name === 'Memo');
  return { tableOptions: (name) => ({ sort: null, editing: isPushed(name) ? editing : null }) };
}

async function cycle({ fixture, mode }: Omit<Trial, 'reached'>): Promise<readonly RowsyncError[]> {
  const pulled = await finishAndPull(fixture);
  const pushed = mode === 'mirror' ? null : await pushNow(fixture);
  return [pulled, ...(pushed === null ? [] : [pushed])].flatMap((report) =>
    [report.error, ...report.tables.flatMap(({ error, held }) => [error, held])].filter((error) => error !== null),
  );
}

async function requestsOfCycle(mode: Mode): Promise<number> {
  const trial = await startTrial({ title: '', apply: () => undefined }, mode);
  trial.fixture.sandbox.requests.clear();
  await cycle(trial);
  const count = trial.fixture.sandbox.requests.all.length;
  await trial.fixture[Symbol.asyncDispose]();
  return count;
}

const COUNTS = { mirror: await requestsOfCycle('mirror'), 'two-way': await requestsOfCycle('two-way') } as const;

const CASES = DRIFTS.flatMap((drift, index) =>
  (['mirror', 'two-way'] as const).map((mode) => ({
    drift,
    mode,
    title: drift.title,
    // One moment behind the last request: the cycle after finds the drift as a whole.
    moments: Array.from({ length: COUNTS[mode] + 1 }, (_, request) => request + 1).filter(
      (moment) => (moment + index) % STEP === 0,
    ),
  })),
);

test.each(CASES)(
  'loses and invents nothing when $title while it is pulled and pushed ($mode)',
  { timeout: 120_000 },
  async ({ drift, mode, moments }) => {
    for (const moment of moments) {
      const started = await startTrial(drift, mode);
      await using fixture = started.fixture;
      let reached: string | null = null;
      const apply = (): void => {
        if (reached !== null) return;
        reached = JSON.stringify(fixture.sandbox.store.rows('Note'));
        drift.apply(fixture.sandbox.store);
      };
      fixture.sandbox.before(moment, apply);

      let stops = await cycle(started);
      apply();
      const trial = { ...started, reached: reached ?? '' };
      for (let round = 0; round < CYCLES_MAX; round += 1) stops = await cycle(trial);

      const codes = stops.map(({ code }) => code);
      const isStopped = codes.length > 0;
      expect({ moment, ...outcomeOf(trial, isStopped) }).toEqual({
        moment,
        differences: [],
        lostEdits: [],
        lostRows: [],
        lostValues: [],
      });
      expect({ moment, stops: codes.filter((code) => !allowedStops(trial).includes(code)) }).toEqual({
        moment,
        stops: [],
      });
      if (isStopped) expectStated(trial);
      else await expectPrunable(trial);
    }
  },
);

/** What stops is said where people look, with what to do about it; the account says it of a table that is gone. */
function expectStated({ fixture }: Trial): void {
  const stated = fixture.rows(`SELECT 1 FROM sync_status WHERE problem > '' AND hint > ''
    OR state = 'gone' AND pending > 0`);
  expect(stated).not.toEqual([]);
}

/** What the origin has no more is marked as such, and goes when a person says so; nothing else does. */
async function expectPrunable(trial: Trial): Promise<void> {
  const { fixture, drift } = trial;
  const dropped = await fixture.replica.write('pruning', (tx) => prune(tx, AT));
  const expected = drift.lostTable === undefined ? (drift.lost ?? []).length : 1;
  expect(dropped).toHaveLength(expected);

  expect(await cycle(trial)).toEqual([]);
  expect(differencesOf(trial)).toEqual([]);
}
