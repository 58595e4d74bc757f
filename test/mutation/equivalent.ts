/** The changes of a decision that no test can notice, each with the reason, and the files that have no other survivor. */

/** Files all of whose mutants are killed by tests, or named below. */
export const DONE: readonly string[] = [
  'src/reconcile/files.ts',
  'src/reconcile/findable.ts',
  'src/reconcile/fresh.ts',
  'src/reconcile/guards.ts',
  'src/reconcile/match.ts',
  'src/reconcile/merge.ts',
  'src/reconcile/outcome.ts',
  'src/reconcile/owner.ts',
  'src/reconcile/push-outcome.ts',
  'src/reconcile/retention.ts',
  'src/reconcile/row-state.ts',
  'src/reconcile/shape.ts',
];

/** File, line, what it has, what takes its place (empty: removed), and why nobody can tell the two apart. */
type Equivalent = readonly [file: string, line: string, from: string, to: string, reason: string];

export const EQUIVALENT: readonly Equivalent[] = [
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
    'src/reconcile/findable.ts',
    'export const FILTER_BYTES_MAX = 8_000;',
    '8_000',
    '8001',
    'a choice of ours, well below the limit of the origin',
  ],
  ['src/reconcile/findable.ts', 'let bytes = 0;', '0', '1', 'the first clause sets it to 0'],
  [
    'src/reconcile/fresh.ts',
    'return tables.flatMap(({ asOf }) => asOf ?? []).toSorted()[0] ?? null;',
    'asOf ?? []',
    'asOf',
    'null is sorted behind every time, and is the answer if there is no time',
  ],
  [
    'src/reconcile/fresh.ts',
    "asOf === null ? 'not proven' : `${durationText(Math.max(0, nowMs - Date.parse(asOf)))} old`;",
    '0',
    '1',
    'a millisecond is shown as 0.0 s',
  ],
  [
    'src/reconcile/fresh.ts',
    "return { table, changeCount: 0, failure: 'it was not asked' };",
    '0',
    '1',
    'a failure is judged before changes are',
  ],
  [
    'src/reconcile/guards.ts',
    "if (deleteCount > 0 && percent > facts.maxDeletePercent) return { kind: 'hold', reason: 'deletes', percent };",
    'deleteCount > 0',
    'true',
    'without a delete the share is 0, which is over no bound',
  ],
  [
    'src/reconcile/guards.ts',
    "if (deleteCount > 0 && percent > facts.maxDeletePercent) return { kind: 'hold', reason: 'deletes', percent };",
    'deleteCount > 0',
    'deleteCount >= 0',
    'without a delete the share is 0, which is over no bound',
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
  [
    'src/reconcile/push-outcome.ts',
    'if (answer === undefined) return false;',
    'false',
    'true',
    'there are as many answers as rows',
  ],
  [
    'src/reconcile/push-outcome.ts',
    'export const LONE_REFUSALS_MAX = 3;',
    '3',
    '4',
    'a choice of ours; that the table stops is tested in test/push',
  ],
  [
    'src/reconcile/push-outcome.ts',
    'export const ALONE: RowLimit = { rowsMax: 1, failureCount: 1 };',
    '1',
    '2',
    'one failure is as good as two, since the next one parks the row',
  ],
  [
    'src/reconcile/push-outcome.ts',
    'export const UNANSWERED_MAX = 48;',
    '48',
    '49',
    'a choice of ours; what has to fit into it is tested',
  ],
  [
    'src/reconcile/retention.ts',
    "return `the clock of this machine is ${days} ${ahead > 0 ? 'ahead of' : 'behind'} that of the origin`;",
    'ahead > 0',
    'ahead >= 0',
    'it differs by more than a day',
  ],
  [
    'src/reconcile/retention.ts',
    "return `the clock of this machine is ${days} ${ahead > 0 ? 'ahead of' : 'behind'} that of the origin`;",
    '0',
    '1',
    'it differs by more than a day',
  ],
];
