/**
 * Words for what the history says, as people read them.
 */

/** Why a row changed, by the cause of the entry. */
export const CAUSE_WORDS: Readonly<Record<string, string>> = {
  pull: 'found by a pull',
  push: 'by a push',
  edit: 'edited here with SQL',
  decision: 'decided by a person here',
  filter: 'by the filter of the table (rows)',
  schema: 'by a change of the columns',
  restore: 'by a restore',
};
