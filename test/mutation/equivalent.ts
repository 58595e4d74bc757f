/** The changes of a decision that no test can notice, each with the reason, and the files that have no other survivor. */

/** Files all of whose mutants are killed by tests, or named below. */
export const DONE: readonly string[] = ['src/reconcile/files.ts', 'src/reconcile/merge.ts', 'src/reconcile/outcome.ts'];

/** File, line, what it has, what takes its place (empty: removed), and why nobody can tell the two apart. */
export const EQUIVALENT: readonly (readonly [file: string, line: string, from: string, to: string, reason: string])[] =
  [
    [
      'src/reconcile/files.ts',
      'return name === undefined || revision === undefined || guid === undefined',
      'revision === undefined',
      'false',
      'the three groups match together or not at all',
    ],
    [
      'src/reconcile/files.ts',
      "const isFailing = code === 'origin.busy' && refusal !== null && refusal.status >= 500 && refusal.status !== 503;",
      "code === 'origin.busy'",
      'true',
      'a status of 500 and more always has that code, see origin/failures.ts',
    ],
    [
      'src/reconcile/outcome.ts',
      "return kind === 'cell' && column !== null && isAnswered(now, column, now.columns[column] ?? null);",
      "kind === 'cell'",
      'true',
      'only a question about a cell has a column',
    ],
    [
      'src/reconcile/outcome.ts',
      'const closed = questions.filter((question) => !renewed.has(question.id) && isSettled(question)).map(({ id }) => id);',
      '!renewed.has(question.id)',
      'true',
      'a renewed question has an open line, so its row waits and its sides differ: it is not settled',
    ],
  ];
