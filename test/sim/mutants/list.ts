/**
 * All planted bugs, and those that are planted in pairs. What each of them takes out is said beside it.
 */
import type { Mutant, MutantPair } from './mutant.ts';
import { CHOICE_MUTANTS } from './choices.ts';
import { FILE_MUTANTS } from './files.ts';
import { FOLLOW_MUTANTS } from './follow.ts';
import { OTHER_MUTANTS } from './others.ts';
import { PULL_MUTANTS } from './pull.ts';
import { PUSH_MUTANTS } from './push.ts';
import { PUTBACK_MUTANTS } from './putback.ts';
import { SILENCE_MUTANTS } from './silence.ts';
import { STATEMENT_MUTANTS } from './statements.ts';

/** Every planted bug. */
export const MUTANTS: readonly Mutant[] = [
  ...PULL_MUTANTS,
  ...PUSH_MUTANTS,
  ...FILE_MUTANTS,
  ...CHOICE_MUTANTS,
  ...FOLLOW_MUTANTS,
  ...OTHER_MUTANTS,
  ...SILENCE_MUTANTS,
  ...STATEMENT_MUTANTS,
  ...PUTBACK_MUTANTS,
];

/** Pairs in which one defence stands in for the other. */
export const MUTANT_PAIRS: readonly MutantPair[] = [
  {
    names: ['pages-without-overlap', 'absence-is-a-delete'],
    why: 'A row that slipped through between two pages is asked for by its id, and so found again.',
  },
  {
    names: ['no-lookup-by-value', 'no-question-before-insert'],
    why: 'A create that is sent again because nobody looked it up is found by the question before it leaves.',
  },
  {
    names: ['tampering-ignored', 'schema-change-ignored'],
    why: 'Whoever drops a trigger changes the schema: both lead to a comparison of all rows.',
  },
  {
    names: ['any-revision-is-ours', 'number-is-enough'],
    why: 'Every file of a world has a name of its own, which tells it apart without a number.',
  },
];
