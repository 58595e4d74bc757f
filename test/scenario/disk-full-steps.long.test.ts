/**
 * A disk that is full at every write of a pull and a push: at one write alone, or from it on until the work ends.
 * Nothing may be lost, sent twice or left in the way, and with some space the next pull and push bring both sides
 * together.
 */
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { asRowsyncError } from '../../src/base/errors.ts';
import { carryOutDecision } from '../../src/capture/person-decision.ts';
import type { PullReport } from '../../src/pull/report.ts';
import type { Replica } from '../../src/replica/database.ts';
import { integrity, readOrigin, readReplica } from '../support/compare.ts';
import { codesOf, finishAndPull, pushNow } from '../support/push.ts';
import { aroundWrites, startFixture, type Fixture } from '../support/replica.ts';
import { canMount, mountTmpfs, type Tmpfs } from '../support/tmpfs.ts';
import { AT, captured, NOTE, twoWaySettings } from '../support/two-way.ts';

/** More writes than a pull and a push of this size make; the last case says how many there were. */
const STEPS_MAX = 60;
const DISK_KIB = 8_192;
const why = canMount ? '' : ' (skipped: this user may not mount a tmpfs)';

const EDITS = `
  UPDATE "Note" SET "Title" = 'edited ' || _id WHERE _id IN (1, 2);
  UPDATE "Note" SET "Code" = 'moved' WHERE _id = 4;
  INSERT INTO "Note" ("Title", "Code") VALUES ('new 1', 'n1'), ('new 2', 'n2');
  DELETE FROM "Note" WHERE _id = 3;`;

const TITLES = ['edited 1', 'edited 2', 'new 1', 'new 2', 'theirs', 'title 4', 'title 5'];

/**
 * Full for one write alone, from before a write on, or from behind it on, when what comes next is a file or the origin.
 */
type Full = 'once' | 'before' | 'behind';

const CASES = ['Code', null].flatMap((match) =>
  (['once', 'before', 'behind'] as const).map((full) => ({ match, full })),
);

test.skipIf(!canMount).each(CASES)(
  `a disk that is full at any one write of a pull and a push costs nothing (match $match, $full)${why}`,
  async ({ match, full }) => {
    let [step, noticedCount] = [1, 0];
    for (; step <= STEPS_MAX; step += 1) {
      const outcome = await fullAt(step, { match, full });
      if (outcome === 'over') break;
      if (outcome === 'noticed') noticedCount += 1;
    }

    expect(step).toBeGreaterThan(12);
    expect(step).toBeLessThan(STEPS_MAX);
    // A write may need no more room than its log has; most of them do.
    expect(noticedCount).toBeGreaterThan(step / 2);
  },
  240_000,
);

/** Runs the scenario with a disk that is full at this write; `over` where it has fewer writes. */
async function fullAt(
  step: number,
  { match, full }: { readonly match: string | null; readonly full: Full },
): Promise<'noticed' | 'unnoticed' | 'over'> {
  using disk = mountTmpfs(DISK_KIB);
  const settings = twoWaySettings({ match });
  await using fixture = await startFixture({ tables: [NOTE] }, { folder: disk.path, settings });
  await fixture.pull();
  fixture.execute(EDITS);
  fixture.sandbox.store.update('Note', 6, { Title: 'theirs' });
  const writes = spoil(fixture.replica, { step, disk, full });

  const settingsOfPush = { batchLimits: { rowsMax: 2, bytesMax: 100_000 } };
  const codes = [
    ...(await codesFrom(async () => pullCodes(await finishAndPull(fixture, { confirm: true })))),
    ...(await codesFrom(async () => codesOf(await pushNow(fixture, { confirm: true, settings: settingsOfPush })))),
  ];
  free(disk);

  if (writes.count < step) return 'over';
  const others = codes.filter((code) => code !== 'replica.full');
  expect({ step, others, structure: integrity(fixture.path) }).toEqual({ step, others: [], structure: 'ok' });
  await expectFinished(fixture, step);
  return codes.includes('replica.full') ? 'noticed' : 'unnoticed';
}

function pullCodes({ error, tables }: PullReport): readonly string[] {
  return [error, ...tables.map((table) => table.error)].flatMap((one) => one?.code ?? []);
}

/** The codes of what went wrong, also where the replica could not be worked on at all. */
async function codesFrom(work: () => Promise<readonly string[]>): Promise<readonly string[]> {
  try {
    return await work();
  } catch (thrown) {
    return [asRowsyncError(thrown).code];
  }
}

/** There is no room at the given write, behind it, or from it on until `free`. */
function spoil(
  replica: Replica,
  { step, disk, full }: { readonly step: number; readonly disk: Tmpfs; readonly full: Full },
): { count: number } {
  const writes = { count: 0 };
  aroundWrites(replica, async (_what, write) => {
    writes.count += 1;
    const isIt = writes.count === step;
    if (isIt && full !== 'behind') fill(disk);
    try {
      return await write();
    } finally {
      if (isIt && full === 'once') free(disk);
      if (isIt && full === 'behind') fill(disk);
    }
  });
  return writes;
}

function fill({ path }: Tmpfs): void {
  const { bavail, bsize } = statfsSync(path);
  writeFileSync(join(path, 'other'), Buffer.alloc(bavail * bsize));
}

function free({ path }: Tmpfs): void {
  rmSync(join(path, 'other'), { force: true });
}

/** The next pull and push, as by another process, bring both sides together. */
async function expectFinished(fixture: Fixture, step: number): Promise<void> {
  fixture.restart();
  const pulled = await finishAndPull(fixture, { confirm: true });
  const discardedCount = await decideDoubts(fixture);
  const pushed = await pushNow(fixture, { confirm: true });
  const last = await finishAndPull(fixture, { confirm: true });
  const codes = [...pullCodes(pulled), ...codesOf(pushed), ...pullCodes(last)];
  expect({ step, codes }).toEqual({ step, codes: [] });
  const titles = fixture.sandbox.store.rows('Note').map(({ values }) => String(values['Title']));
  expect({ step, titles: titles.toSorted((one, other) => one.localeCompare(other)) }).toEqual({ step, titles: TITLES });
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  expect(await captured(fixture)).toEqual([]);
  for (const table of ['sync_failures', '_rowsync_batches']) {
    expect({ step, rows: fixture.rows(`SELECT * FROM ${table}`) }).toEqual({ step, rows: [] });
  }
  expect({ step, rows: fixture.rows('SELECT kind, state FROM sync_conflicts') }).toEqual({
    step,
    rows: Array.from({ length: discardedCount }, () => ({ kind: 'inserted', state: 'discarded' })),
  });
}

/**
 * New rows without a match value are in doubt where their answer could not be stored; a person looks whether the origin
 * has them.
 */
async function decideDoubts(fixture: Fixture): Promise<number> {
  const doubts = fixture.rows(`SELECT f.id, f.row_id AS rowId, n."Title" AS title FROM sync_failures f
    JOIN "Note" n ON n._id = f.row_id WHERE f.kind = 'inDoubt'`) as { id: number; rowId: number; title: string }[];
  const made = new Set(fixture.sandbox.store.rows('Note').map(({ values }) => values['Title']));
  for (const { id, rowId, title } of doubts) {
    const decision = made.has(title)
      ? ({ kind: 'discard', table: 'Note', rowId } as const)
      : ({ kind: 'retry', ids: [id] } as const);
    await carryOutDecision(fixture.replica, decision, AT);
  }
  return doubts.filter(({ title }) => made.has(title)).length;
}
