/**
 * A disk that fills up in the middle of a pull, wherever that is: a page, the bookkeeping, the very first write.
 * Nothing that was applied may be lost, and with some space the next pull ends.
 */
import { readFileSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { asRowsyncError, RowsyncError } from '../../src/base/errors.ts';
import { pull } from '../../src/pull/pull.ts';
import type { PullReport } from '../../src/pull/report.ts';
import { openReplica } from '../../src/replica/database.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { brokenPages, integrity, readOrigin, readReplica, wrongCounts } from '../support/compare.ts';
import { makeWorkspace } from '../support/child.ts';
import { aroundWrites, startFixture, type Fixture } from '../support/replica.ts';
import { startTestSandbox } from '../support/sandbox.ts';
import { runCli } from '../support/session.ts';
import { canMount, mountTmpfs } from '../support/tmpfs.ts';

const RUN_MS_MAX = 60_000;
const why = canMount ? '' : ' (skipped: this user may not mount a tmpfs)';

/** About 2 MB of rows; a page of 200 of them has 200 KB. */
const LETTERS: TableSpec = {
  name: 'Letter',
  columns: [{ name: 'Text', type: 'Multiline' }],
  rows: Array.from({ length: 2_000 }, (_, index) => ({ Text: `${index} ${'lorem ipsum '.repeat(80)}` })),
  createdFromMs: Date.UTC(2026, 0, 1),
};

test.skipIf(!canMount)(
  `keeps what was applied when the disk fills up in the middle of a page, and ends once there is space${why}`,
  async () => {
    using disk = mountTmpfs(1_600);
    await using fixture = await startFixture(
      { tables: [LETTERS] },
      { folder: disk.path, settings: { pageRows: 200, concurrency: 2 } },
    );

    const full = await fixture.pull();
    const applied = fixture.rows('SELECT page FROM sync_freshness').length;
    const rowCount = fixture.rows('SELECT * FROM "Letter"').length;
    const broken = [...brokenPages(fixture.path), ...wrongCounts(fixture.path)];
    const structure = integrity(fixture.path);
    const again = await endingOf(fixture.pull());
    disk.remount('size=20m');
    fixture.sandbox.requests.clear();
    const whole = await fixture.pull();

    expect(full.tables).toMatchObject([{ table: 'Letter', error: { code: 'replica.full', exitCode: 1 } }]);
    expect(full.tables[0]?.error?.hint).toContain('space');
    expect(full.tables[0]?.error?.message).toContain('Letter');
    expect({ structure, broken }).toEqual({ structure: 'ok', broken: [] });
    expect(applied).toBeGreaterThan(0);
    expect(applied).toBeLessThan(10);
    expect(rowCount).toBeGreaterThan(applied * 199);
    expect(again).toBe('replica.full');
    expect(whole).toMatchObject({ error: null, tables: [{ error: null, rowCount: 2_000 }] });
    expect(whole.tables[0]?.insertedCount).toBe(2_000 - rowCount);
    expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
    expect(fixture.rows('SELECT state, problem FROM sync_status')).toEqual([{ state: 'steady', problem: null }]);
  },
  RUN_MS_MAX,
);

test.skipIf(!canMount).each([0, 4, 16, 48, 64, 96, 128, 256, 300])(
  `says so, and leaves nothing that stands in the way later, with %i KiB left on the disk${why}`,
  async (leftKiB) => {
    using disk = mountTmpfs(2_048);
    fill(disk.path, leftKiB);
    const rows = [...(LETTERS.rows ?? [])].slice(0, 300);
    await using fixture = await startFixture({ tables: [{ ...LETTERS, rows }] });
    const path = join(disk.path, 'replica.db');

    const full = await pullInto(fixture, path);
    disk.remount('size=20m');
    const whole = await pullInto(fixture, path);

    expect([full, whole]).toEqual(['replica.full', 'done']);
    expect(readReplica(path)).toEqual(readOrigin(fixture.sandbox));
  },
  RUN_MS_MAX,
);

test.skipIf(!canMount)(
  `status says that there is no space, also where the run could not be recorded, until there is${why}`,
  async () => {
    using disk = mountTmpfs(1_600);
    await using sandbox = await startTestSandbox({ tables: [LETTERS] });
    using workspace = makeWorkspace(sandbox, 'tables: { "*": {} }\n');
    const { folder } = workspace;
    const config = join(folder, 'rowsync.yaml');
    const path = JSON.stringify(join(disk.path, 'replica.db'));
    writeFileSync(
      config,
      readFileSync(config, 'utf8').replace(/^replica: \{ path: [^,} ]+/mu, `replica: { path: ${path}`),
    );
    const run = (...args: readonly string[]) => runCli(args, { folder });

    const before = await run('status');
    const full = await run('pull');
    const told = await run('status', '--exit-code');
    disk.remount('size=100m');
    const whole = await run('pull');
    const quiet = await run('status', '--exit-code');

    expect(before.stdout).toContain('There is no replica yet');
    expect(before.stdout).not.toContain('what the replica holds');
    expect(full).toMatchObject({ exitCode: 1 });
    expect(full.stdout).toContain('code: replica.full');
    expect(told.stdout).toMatch(
      /needs attention:\n(?:.*\n)*  Only .* free in .*, so runs may stop in the middle\n    what to do: Free some space/u,
    );
    expect(told.exitCode).toBe(3);
    expect(whole.exitCode).toBe(0);
    expect(quiet.stdout).not.toContain('free in');
    expect(quiet.exitCode).toBe(0);
  },
  RUN_MS_MAX,
);

test('tells what was pulled even where there is no space left to record the run', async () => {
  await using fixture = await startFixture({ tables: [{ ...LETTERS, rows: [{ Text: 'a' }] }] });
  let runWrites = 0;
  aroundWrites(fixture.replica, async (what, write) => {
    if (what === 'Recording a run' && ++runWrites === 2) {
      throw new RowsyncError('replica', 'replica.full', { message: `${what}: disk full`, hint: 'Free some space.' });
    }
    return write();
  });

  const report = await fixture.pull();

  expect(report).toMatchObject({ error: { code: 'replica.full' }, tables: [{ error: null, insertedCount: 1 }] });
});

/** Opens a replica, pulls and closes it, as a command does; what came out of it. */
async function pullInto(fixture: Fixture, path: string): Promise<string> {
  try {
    const replica = openReplica(path, { clock: systemClock });
    try {
      return await endingOf(pull({ ...fixture.context({ pageRows: 100 }), replica }, { tables: [], confirm: false }));
    } finally {
      replica.close();
    }
  } catch (thrown) {
    return asRowsyncError(thrown).code;
  }
}

/** How a pull ended, also where there was no space to begin its record. */
async function endingOf(pulling: Promise<PullReport>): Promise<string> {
  try {
    const { error, tables } = await pulling;
    return error?.code ?? tables[0]?.error?.code ?? 'done';
  } catch (thrown) {
    return asRowsyncError(thrown).code;
  }
}

/** Writes a file that leaves so much space. */
function fill(folder: string, leftKiB: number): void {
  const { bavail, bsize } = statfsSync(folder);
  writeFileSync(join(folder, 'other'), Buffer.alloc(bavail * bsize - leftKiB * 1024));
}
