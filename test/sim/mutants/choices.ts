/**
 * Defences of what is left out and masked, each taken out by itself.
 */
import type { Mutant } from './mutant.ts';

/** Planted bugs of choosing columns. */
export const CHOICE_MUTANTS: readonly Mutant[] = [
  {
    name: 'hidden-columns-are-forgotten',
    without: 'A column that is left out comes under another name once it was not described for a while.',
    edits: [
      { file: 'reconcile/choose.ts', find: 'leftOut.push(...unseenLeftOut(descriptor, choosing));', replace: '' },
    ],
  },
  {
    name: 'pushes-read-unmasked',
    without: 'What a push reads back is not masked.',
    edits: [{ file: 'capture/table.ts', find: 'mask: column.mask,', replace: 'mask: null,' }],
  },
  {
    name: 'star-beside-a-choice',
    without: 'Every column that may be written is asked for, also those that are left out.',
    edits: [
      {
        file: 'reconcile/selection.ts',
        find: 'if (asksByName === true) return',
        replace: 'if (asksByName === undefined && columns.length === 0) return',
      },
    ],
  },
  {
    name: 'renames-let-values-through',
    without: 'A column that was left out comes once it is called otherwise.',
    edits: [{ file: 'reconcile/choose.ts', find: ' || one === before', replace: '' }],
  },
  {
    name: 'history-of-a-column-stays',
    without: 'A column that is left out later goes from its table alone.',
    edits: [
      {
        file: 'pull/choice.ts',
        find: 'const hashes = forgetColumn(tx, id, column, at);',
        replace: 'const hashes = [forgetColumn].map(() => at).slice(1);',
      },
    ],
  },
  {
    name: 'nobody-asked-about-columns',
    without: 'Columns go without a person having agreed.',
    edits: [
      {
        file: 'pull/choice.ts',
        find: 'overtaken.length > 0 && !confirmed',
        replace: 'overtaken.length < 0 && !confirmed',
      },
    ],
  },
];
