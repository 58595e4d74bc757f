/**
 * What a daemon remembers of its work: how far it is, and how work without a record of its own ended.
 */
import { describe, expect, test } from 'vitest';
import { RowsyncError } from '../../../src/base/errors.ts';
import type { WorkEvent } from '../../../src/daemon/context.ts';
import type { TableOutcome } from '../../../src/daemon/work-kinds.ts';
import { WorkLog } from '../../../src/extras/shared/work-log.ts';

type Ended = WorkEvent & { readonly kind: 'ended' };

const BEGAN: WorkEvent = { kind: 'began', work: 'pull', atMs: 1_000 };

const ENDED: Ended = {
  kind: 'ended',
  isRefresh: false,
  work: 'backup',
  finishedAtMs: 5_000,
  durationMs: 4_000,
  outcome: 'done',
  exitCode: 0,
  account: undefined,
  endedCount: 1,
  tables: [],
  words: null,
  hint: null,
  isRecorded: false,
};

function outcome(localName: string, changes: Partial<TableOutcome> = {}): TableOutcome {
  const counts = { insertedCount: 0, updatedCount: 0, deletedCount: 0 };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- all that is read of it
  return { localName, counts, error: null, held: null, ...changes } as TableOutcome;
}

const rows = (monotonicMs: number, rowCount: number): WorkEvent => {
  return { kind: 'advanced', monotonicMs, event: { kind: 'page', table: 'Note', rowCount } };
};

describe('progress', () => {
  test('is of the work under way, and ends with it', () => {
    const log = new WorkLog();

    expect(log.snapshot().progress).toBe(null);
    log.take(BEGAN);
    expect(log.snapshot().progress).toMatchObject({ work: 'pull', startedAtMs: 1_000, rowCount: 0 });
    log.take(rows(0, 5));
    log.take(rows(1, 7));
    expect(log.snapshot().progress).toMatchObject({ table: 'Note', rowCount: 12 });
    log.take(ENDED);
    expect(log.snapshot().progress).toBe(null);
  });

  test('of no work is left out', () => {
    const log = new WorkLog();

    log.take(rows(0, 5));

    expect(log.snapshot().progress).toBe(null);
  });

  test('is told four times a second at most; beginnings and ends always are', () => {
    const log = new WorkLog();
    let told = 0;
    const stop = log.listen(() => void (told += 1));
    const tellings = (...events: readonly WorkEvent[]): number => {
      const before = told;
      for (const event of events) log.take(event);
      return told - before;
    };

    expect(tellings(BEGAN)).toBe(1);
    expect(tellings(rows(0, 1), rows(249, 1))).toBe(1);
    expect(tellings(rows(250, 1))).toBe(1);
    expect(tellings(ENDED, BEGAN, rows(251, 1))).toBe(3);
    stop();
    expect(tellings(ENDED)).toBe(0);
  });
});

describe('work that ended', () => {
  test('is noted if no run records it, the newest first', () => {
    const log = new WorkLog();

    log.take({ ...ENDED, work: 'pull', isRecorded: true });
    log.take({ ...ENDED, words: 'one', hint: 'do' });
    log.take({ ...ENDED, outcome: 'failed', words: 'two' });

    expect(log.snapshot().notes.map(({ work, outcome: how, words, hint }) => [work, how, words, hint])).toEqual([
      ['backup', 'failed', 'two', null],
      ['backup', 'done', 'one', 'do'],
    ]);
  });

  test('has the tables that changed or failed, and how many there were', () => {
    const log = new WorkLog();
    const error = new RowsyncError('originDown', 'origin.unexpected', { message: 'it is away', hint: 'wait' });
    const tables = [
      outcome('Quiet'),
      outcome('Changed', { counts: { insertedCount: 1, updatedCount: 2, deletedCount: 3 } }),
      outcome('Failed', { error }),
      outcome('Held', { held: error }),
    ];

    log.take({ ...ENDED, tables });

    const nothing = { inserted: 0, updated: 0, deleted: 0, refused: 0 };
    expect(log.snapshot().notes[0]).toMatchObject({
      tableCount: 4,
      tables: [
        { table: 'Changed', inserted: 1, updated: 2, deleted: 3, refused: 0, problem: null, hint: null },
        { table: 'Failed', ...nothing, problem: 'it is away', hint: 'wait' },
        { table: 'Held', ...nothing, problem: 'it is away', hint: 'wait' },
      ],
    });
  });

  test('is forgotten behind the last two hundred', () => {
    const log = new WorkLog();

    for (let index = 0; index < 205; index += 1) log.take({ ...ENDED, words: String(index) });

    const { notes } = log.snapshot();
    expect(notes).toHaveLength(200);
    expect([notes[0]?.words, notes.at(-1)?.words]).toEqual(['204', '5']);
  });
});
