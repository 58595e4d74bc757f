/**
 * Defences of windows, of following, and of comparing days, each taken out by itself.
 */
import type { Mutant } from './mutant.ts';

/** Planted bugs of following. */
export const FOLLOW_MUTANTS: readonly Mutant[] = [
  {
    name: 'followed-rows-unsuspected',
    without:
      'Rows that were followed do not come under suspicion: the ETags of their pages vouch for what these never brought.',
    edits: [
      {
        file: 'pull/follow.ts',
        find: ', offPage: ids }',
        replace: ', offPage: [] }',
      },
    ],
  },
  {
    name: 'followed-deletes-in-parts',
    without: 'Rows that a list names as deleted go without a person, though more than half of the table is missing.',
    edits: [{ file: 'pull/follow.ts', find: 'isMassDelete(run, missing) || ', replace: '' }],
  },
  {
    name: 'follow-without-overlap',
    without:
      'What was changed is asked for from the watermark on, so that rows which were stamped before and seen after are missed.',
    edits: [
      { file: 'reconcile/follow.ts', find: 'stampBefore(watermark, OVERLAP_MS)', replace: 'stampBefore(watermark, 0)' },
    ],
  },
  {
    name: 'watermark-of-this-machine',
    without: 'The watermark is the time of this machine, and not a stamp of the origin.',
    edits: [
      {
        file: 'pull/follow.ts',
        find: 'storeFollowed(tx, id, { watermark, at:',
        replace: 'storeFollowed(tx, id, { watermark: at, at:',
      },
    ],
  },
  {
    name: 'seconds-that-were-hardly-over',
    without:
      'Rows that were changed in the second in which they were read are taken for known, if their number is the same.',
    edits: [
      {
        file: 'reconcile/follow.ts',
        find: '(second >= over && !(readBehind !== null && second > readBehind))',
        replace: 'over === second',
      },
    ],
  },
  {
    name: 'moved-ties-unnoticed',
    without: 'Nobody looks whether a page of changed rows begins with the row with which the one before ended.',
    edits: [
      {
        file: 'reconcile/follow.ts',
        find: 'cursor.firstId !== null && ids[0] !== cursor.firstId',
        replace: 'cursor.firstId === -1',
      },
    ],
  },
  {
    name: 'held-tables-are-followed',
    without:
      'A table of which every page is suspect is followed all the same, though rows may be wrong that nobody changed since.',
    edits: [{ file: 'reconcile/follow.ts', find: '    table.endProven &&\n', replace: '' }],
  },
  {
    name: 'window-begins-behind-its-first-second',
    without: 'A window is asked for behind the second with which it begins.',
    edits: [
      {
        file: 'reconcile/windows.ts',
        find: 'return `${columnReference(created)} >= ${timestampLiteral(window)}`;',
        replace: 'return `${columnReference(created)} > ${timestampLiteral(window)}`;',
      },
    ],
  },
  {
    name: 'window-that-misses-a-row-deletes-it',
    without: 'What is missing in a window that is read outside of a sweep is deleted without asking for it.',
    edits: [
      {
        file: 'pull/sweep.ts',
        find: 'return left.length === 0 || (await proveDeletes(run, left));',
        replace:
          "const why = { reason: 'its window misses it', at: now(context) };\n" +
          '  run.counts.deletedCount += await replica.write(`Deleting rows of ${localName}`, (tx) => storeMissingRows(tx, table, left, why));\n' +
          '  return true;',
      },
      {
        file: 'pull/sweep.ts',
        find: "import { confirmedRows, storeAnswer } from '../capture/writer/store-origin-rows.ts';",
        replace:
          "import { confirmedRows, storeAnswer, storeMissingRows } from '../capture/writer/store-origin-rows.ts';",
      },
    ],
  },
  {
    name: 'sums-are-not-compared',
    without:
      'What columns of numbers add up to is not asked for, so that formulas that changed without a stamp are not found.',
    edits: [{ file: 'reconcile/fingerprint.ts', find: '      ...sums.map(sumMeasure),\n', replace: '' }],
  },
  {
    name: 'useless-measures-are-kept',
    without: 'A sum that differs after its windows were read is asked for, and its windows are read, again and again.',
    edits: [
      {
        file: 'pull/fingerprint.ts',
        find: 'if (ignored.length > known.length)',
        replace: 'if (ignored.length < known.length)',
      },
    ],
  },
  {
    name: 'moment-without-a-table',
    without: 'The last table is not asked again, and counts as the same.',
    edits: [
      {
        file: 'extras/fresh/moment.ts',
        find: 'tables: names, confirm',
        replace: 'tables: names.slice(0, -1), confirm',
      },
      { file: 'extras/shared/freshness.ts', find: "failure: 'it was not asked'", replace: 'failure: null' },
    ],
  },
  {
    name: 'moment-begun-too-early',
    without: 'The moment is when the first asking began, although a later one proved it.',
    edits: [
      {
        file: 'extras/fresh/moment.ts',
        find: 'let last = before;',
        replace: 'let last = before;\n  const first = stampFromMs(clock.nowMs());',
      },
      { file: 'extras/fresh/moment.ts', find: 'const at = stampFromMs(clock.nowMs());', replace: 'const at = first;' },
    ],
  },
  {
    name: 'moment-by-the-number-of-rows',
    without: 'A delete that an insert balances counts as no change.',
    edits: [
      {
        file: 'extras/fresh/moment.ts',
        find: 'insertedCount + updatedCount + deletedCount + filteredCount',
        replace: 'insertedCount + updatedCount - deletedCount + filteredCount',
      },
    ],
  },
  {
    name: 'answers-older-than-allowed',
    without: 'An answer may be of tables twice as old as was allowed.',
    edits: [
      {
        file: 'extras/shared/freshness.ts',
        find: 'return ageMs > withinMs ||',
        replace: 'return ageMs > withinMs * 2 ||',
      },
    ],
  },
  {
    name: 'fresh-by-another-filter',
    without: 'A table whose rows were chosen by another filter than the configuration has is as young as it was.',
    edits: [
      {
        file: 'extras/shared/fresh-tables.ts',
        find: 'asOf: refiltered.has(localName) ? null : asOf',
        replace: 'asOf',
      },
    ],
  },
  {
    name: 'followed-without-a-count',
    without: 'A table whose rows were not counted is as young as one whose deletes would have been seen.',
    edits: [{ file: 'pull/follow.ts', find: 'at: isCounted ? at : null', replace: 'at' }],
  },
];
