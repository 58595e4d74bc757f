/**
 * Defences of rows that are put back, each taken out by itself.
 */
import type { Mutant } from './mutant.ts';

/** Planted bugs in what puts rows back. */
export const PUTBACK_MUTANTS: readonly Mutant[] = [
  {
    name: 'putback-doubts-are-sent-again',
    without:
      'A row whose answer was lost, and that nobody can look up, is created once more before a person has looked.',
    edits: [
      {
        file: 'extras/putback/put-rows-back.ts',
        find: "(again && state === 'inDoubt')",
        replace: "state === 'inDoubt'",
      },
    ],
  },
  {
    name: 'putback-forgets-later-parents',
    without: 'Parents that return later than their children are not referred to again.',
    edits: [
      {
        file: 'extras/putback/lost-row-outcome.ts',
        find: 'const lostId = lostIdOf(toId, key);',
        replace: "const lostId = lostIdOf(toId, '');",
      },
    ],
  },
  {
    name: 'putback-guesses-keys',
    without: 'A row that could not be read back is taken to have the key that it had before.',
    edits: [
      {
        file: 'extras/putback/putback-records.ts',
        find: 'const newKey = keyOf(table, keyColumnOf(tableId), rows.get(id));',
        replace: 'const newKey = keyOf(table, keyColumnOf(tableId), rows.get(id)) ?? record.oldKey;',
      },
    ],
  },
];
