/**
 * The list of what was done lately.
 */
import { expect, test } from 'vitest';
import { doneHtml } from '../../../src/extras/page/work.ts';
import type { RunRecord } from '../../../src/replica/reader.ts';
import type { TableResult } from '../../../src/replica/bookkeeping/runs.ts';

const NOW_MS = Date.UTC(2026, 5, 1, 12);

function run(id: number, changes: Partial<RunRecord> = {}): RunRecord {
  const at = new Date(NOW_MS - (100 - id) * 60_000).toISOString().replace('.000', '');
  const counts = { tableCount: 2, requestCount: 1, notModifiedCount: 1, receivedBytes: 0 };
  const rows = { insertedCount: 0, updatedCount: 0, deletedCount: 0 };
  return {
    id,
    kind: 'pull',
    startedAt: at,
    finishedAt: at,
    outcome: 'done',
    ...counts,
    ...rows,
    errorMessage: null,
    ...changes,
  };
}

/** The lines as a person reads them. */
function linesOf(
  runs: readonly RunRecord[],
  results: ReadonlyMap<number, readonly TableResult[]> = new Map(),
): string[] {
  const text = doneHtml({ runs, results, notes: [], held: new Set() }, NOW_MS).toString();
  return text
    .split(/<li>|<li class="quiet">/)
    .slice(1)
    .map((line) =>
      line
        .replaceAll(/<[^>]+>/g, ' ')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    );
}

test('runs of a day in which nothing changed share a line, and those of a kind that moved rows another, which opens', () => {
  const changed = { table: 'Note', inserted: 1, updated: 2, deleted: 0, refused: 0, problem: null, hint: null };
  const moved = { kind: 'follow', insertedCount: 1, updatedCount: 2 };
  const refused = { ...changed, inserted: 0, refused: 3 };
  const runs = [
    run(99),
    run(98, moved),
    run(97),
    run(96, { ...moved, kind: 'push' }),
    run(95, moved),
    run(94),
    run(93, { startedAt: '2026-05-31T01:00:00Z', finishedAt: '2026-05-31T01:00:00Z' }),
  ];

  const lines = linesOf(
    runs,
    new Map([
      [98, [changed]],
      [96, [refused]],
      [95, [changed]],
    ]),
  );

  expect(lines).toEqual([
    'done 3 runs in which nothing changed, from 6 min ago to 1 min ago , 3 requests (3 not modified)',
    'done follow 2 times, from 5 min ago to 2 min ago , 2 requests (2 not modified): 2 new, 4 changed',
    'done follow 98, 2 min ago , took under 1 s, 1 request (1 not modified)',
    'Note 1 new, 2 changed',
    'done follow 95, 5 min ago , took under 1 s, 1 request (1 not modified)',
    'Note 1 new, 2 changed',
    'done push 96, 4 min ago , took under 1 s, 1 request (1 not modified)',
    'Note 2 changed 3 refused',
    'done pull 93, 1 d ago , took under 1 s, 1 request (1 not modified); nothing changed',
  ]);
});

test.each([
  [
    'failed',
    { outcome: 'failed', errorMessage: 'it does not answer' },
    'failed pull 98, 2 min ago , took under 1 s, 1 request (1 not modified) it does not answer',
  ],
  [
    'was interrupted',
    { outcome: 'interrupted', finishedAt: null },
    'interrupted pull 98, 2 min ago , 1 request (1 not modified); run 99 continued it',
  ],
  [
    'changed rows long ago',
    { updatedCount: 5 },
    'done pull 98, 2 min ago , took under 1 s, 1 request (1 not modified); 5 changed',
  ],
] as const)('a run that %s has a line of its own', (_title, changes, expected) => {
  expect(linesOf([run(99), run(98, changes), run(97)])[1]).toBe(expected);
});

test('runs that failed, or that met a row that was refused, are never summed up', () => {
  const refused = { table: 'Note', inserted: 0, updated: 1, deleted: 0, refused: 1, problem: null, hint: null };
  const moved = { insertedCount: 1 };
  const failed = { outcome: 'failed', errorMessage: 'away' };

  const lines = linesOf(
    [run(99, moved), run(98, failed), run(97, failed), run(96, moved), run(95, moved)],
    new Map([[95, [refused]]]),
  );

  expect(
    lines.filter((line) => !line.startsWith('Note')).map((line) => /^(\w+) pull (\d+ times|\d+)/.exec(line)?.slice(1)),
  ).toEqual([
    ['done', '2 times'],
    ['done', '99'],
    ['done', '96'],
    ['failed', '98'],
    ['failed', '97'],
    ['done', '95'],
  ]);
});

test('an interrupted run without a later one of its kind says what comes', () => {
  const runs = [run(99, { kind: 'push' }), run(98, { outcome: 'interrupted', finishedAt: null })];

  expect(linesOf(runs)[1]).toBe(
    'interrupted pull 98, 2 min ago , 1 request (1 not modified); the next run continues it',
  );
});

test('what concerned all tables comes before what each one met, with what to do', () => {
  const trouble = { inserted: 0, updated: 0, deleted: 0, refused: 0, problem: 'no right', hint: 'ask for it' };
  const runs = [run(99, { outcome: 'failed', errorMessage: 'no right' })];

  expect(
    linesOf(
      runs,
      new Map([
        [
          99,
          [
            { ...trouble, table: null },
            { ...trouble, table: 'Note' },
          ],
        ],
      ]),
    ),
  ).toEqual([
    'failed pull 99, 1 min ago , took under 1 s, 1 request (1 not modified) no right ask for it',
    'Note no right ask for it',
  ]);
});

test('a push that was held leads to its edits, not to a command', () => {
  const held = {
    table: 'Note',
    inserted: 0,
    updated: 0,
    deleted: 0,
    refused: 0,
    problem: 'too many',
    hint: 'rowsync plan',
  };
  const runs = [run(99, { kind: 'push', outcome: 'held' })];

  const done = { runs, results: new Map([[99, [held]]]), notes: [] };
  const text = doneHtml({ ...done, held: new Set(['Note']) }, NOW_MS).toString();
  const later = doneHtml({ ...done, held: new Set() }, NOW_MS).toString();

  expect(text).toContain('<a href="/edits/Note">See the edits</a>');
  expect(later).toContain('too many');
  expect(later).not.toContain('/edits/Note');
  expect(text).not.toContain('rowsync plan');
});

test('two runs of a kind that failed within one second are two lines', () => {
  const failed = { outcome: 'failed', errorMessage: 'no answer', finishedAt: '2026-06-01T11:00:00Z' };

  const lines = linesOf([run(41, failed), run(40, failed)]);

  expect(lines.map((line) => line.slice(0, 14))).toEqual(['failed pull 41', 'failed pull 40']);
});
