/**
 * Defences of what is left out and masked, each taken out by itself.
 */
import type { Mutant } from './mutant.ts';

/** Planted bugs of choosing columns, and of configuration that follows its table. */
export const CHOICE_MUTANTS: readonly Mutant[] = [
  {
    name: 'a-rename-ends-the-configuration',
    without: 'What the configuration says of a table is forgotten once the table is called otherwise.',
    edits: [
      {
        file: 'reconcile/option-bindings.ts',
        find: 'keeps: boundName, isSettled: false',
        replace: 'keeps: null, isSettled: true',
      },
    ],
  },
  {
    name: 'a-bound-name-is-given-away',
    without: 'A table that takes the name of another one in the configuration is read at once.',
    edits: [{ file: 'pull/pull-table.ts', find: 'if (options.waits !== null) throw options.waits;', replace: '' }],
  },
  {
    name: 'a-misspelt-key-holds-nothing',
    without: 'The first pull brings what a misspelt key was to keep out.',
    edits: [
      {
        file: 'pull/option-bindings.ts',
        find: 'excluding.length > 0 && isOpen',
        replace: 'excluding.length < 0 && isOpen',
      },
    ],
  },
  {
    name: 'the-dead-keep-their-names',
    without: 'A table that the origin no longer has keeps the name that another one has there.',
    edits: [{ file: 'reconcile/naming.ts', find: 'isGone && wanted.has(', replace: 'isGone && !wanted.has(' }],
  },
  {
    name: 'hidden-columns-are-forgotten',
    without: 'A column that is left out comes under another name once it was not described for a while.',
    edits: [
      {
        file: 'reconcile/column-selection.ts',
        find: 'leftOut.push(...unseenLeftOut(descriptor, choosing));',
        replace: '',
      },
    ],
  },
  {
    name: 'pushes-read-unmasked',
    without: 'What a push reads back is not masked.',
    edits: [{ file: 'capture/two-way-table.ts', find: '    ...column,', replace: '    ...column,\n    mask: null,' }],
  },
  {
    name: 'star-beside-a-choice',
    without: 'Every column that may be written is asked for, also those that are left out.',
    edits: [
      {
        file: 'reconcile/column-selection.ts',
        find: 'if (table.asksByName === true) return',
        replace: 'if (table.asksByName === undefined && table.columns.length === 0) return',
      },
    ],
  },
  {
    name: 'renames-let-values-through',
    without: 'A column that was left out comes once it is called otherwise.',
    edits: [{ file: 'reconcile/column-selection.ts', find: ' || one === before', replace: '' }],
  },
  {
    name: 'history-of-a-column-stays',
    without: 'A column that is left out later goes from its table alone.',
    edits: [
      {
        file: 'pull/column-selection.ts',
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
        file: 'pull/column-selection.ts',
        find: 'overtaken.length > 0 && !permission.schema',
        replace: 'overtaken.length < 0 && !permission.schema',
      },
    ],
  },
];
