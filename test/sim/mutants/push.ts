/**
 * Defences of a push, each taken out by itself: intents, what an end of a request proves, look-ups, settling, copies.
 */
import type { Mutant } from './mutant.ts';

/** Planted bugs of a push. */
export const PUSH_MUTANTS: readonly Mutant[] = [
  {
    name: 'halving-drops-a-row',
    without: 'The rows of a request that is to be halved count as settled.',
    edits: [
      {
        file: 'reconcile/push-settle.ts',
        find: 'if (unanswered.rowCount > 1 || !limits.has(id)) return outcome;',
        replace:
          "if (unanswered.rowCount > 1 && limits.size === 0) return { ...outcome, state: 'clean' };\n  if (unanswered.rowCount > 1 || !limits.has(id)) return outcome;",
      },
    ],
  },
  {
    name: 'parked-at-the-first-cut',
    without: 'A row that was alone in one request without an answer is parked at once.',
    edits: [
      {
        file: 'reconcile/push-settle.ts',
        find: 'if (unanswered.rowCount > 1 || !limits.has(id)) return outcome;',
        replace: 'if (unanswered.rowCount > 1) return outcome;',
      },
    ],
  },
  {
    name: 'parked-row-is-not-counted',
    without: 'A row that ends its requests is parked, and the account of the push says that it arrived.',
    edits: [
      {
        file: 'reconcile/account/push-account.ts',
        find: "return status === null ? 'unsendable' : 'refused';",
        replace: "return status === null ? 'unsendable' : 'arrived';",
      },
    ],
  },
  {
    name: 'merged-insert-is-inserted',
    without: 'A new row that the origin merged into one of its rows counts as inserted.',
    edits: [
      {
        file: 'push/settle.ts',
        find: "if (row.kind === 'insert' && row.answer?.as !== 'matched')",
        replace: "if (row.kind === 'insert')",
      },
    ],
  },
  {
    name: 'overwritten-and-forgotten',
    without: 'What a new row overwrote in the known row that it was merged into is not kept.',
    edits: [
      {
        file: 'reconcile/push-settle.ts',
        find: 'conflicts: [...overwritten, ...taken.conflicts]',
        replace: 'conflicts: taken.conflicts',
      },
    ],
  },
  {
    name: 'deleted-is-created-again',
    without: 'A lost new row that is not found is sent again, whatever was deleted meanwhile.',
    edits: [{ file: 'push/settle.ts', find: '  await suspectDeleted(run, batch, news);\n', replace: '' }],
  },
  {
    name: 'unidentified-recorded-ahead',
    without:
      'New rows that nothing identifies are recorded while others are in flight, and are in doubt where the process ends.',
    edits: [
      {
        file: 'push/find-rows.ts',
        find: 'mayGoAhead: !attaches && isFree',
        replace: 'mayGoAhead: !attaches || isFree',
      },
    ],
  },
  {
    name: 'leaving-match-values-ignored',
    without:
      'A new row is recorded although one with the same match value is in flight, which no look at the origin has seen.',
    edits: [
      {
        file: 'push/record-batch.ts',
        find: 'round.leaving.some((keys) => keys.has(key));',
        replace: 'round.leaving.some((keys) => keys.has(key) && keys.size === 0);',
      },
    ],
  },
  {
    name: 'sent-after-a-stop',
    without: 'A batch that was recorded ahead is sent although the one before stopped the push.',
    edits: [
      {
        file: 'push/round.ts',
        find: 'turn.isStopped() || unpublished',
        replace: '(turn.isStopped() && block === null) || unpublished',
      },
    ],
  },
  {
    name: 'alike-values-in-one-request',
    without: 'New rows whose match values differ in accents leave together.',
    edits: [
      {
        file: 'reconcile/match-column.ts',
        find: 'return folded.replaceAll(',
        replace: 'return value.length > 0 ? value : folded.replaceAll(',
      },
    ],
  },
  {
    name: 'settled-creates-not-durable',
    without: 'What a create became is stored with synchronous = NORMAL, and a power cut may take it back.',
    edits: [
      {
        file: 'push/settle.ts',
        find: 'await replica.writeDurably(what, (tx) => {',
        replace: 'await replica.write(what, (tx) => {',
      },
    ],
  },
  {
    name: 'retried-in-vain',
    without: 'A refused row that a person lets be tried again goes on waiting.',
    edits: [
      {
        file: 'capture/writer/apply-outcome.ts',
        find: "applyEvent(tx, tableId, [rowId], { event: 'retried', at });",
        replace: 'if (at.length === 0) moveRows(tx, 0, [], { event: "retried", at });',
      },
    ],
  },
  {
    name: 'refused-with-its-neighbours',
    without: 'All rows of a request that is refused whole count as refused; no row is tried alone.',
    edits: [
      {
        file: 'push/send.ts',
        find: 'if (rows.length > 1) {\n      await this.#sendHalves(rows);',
        replace:
          'const told = { error: refusal.status, code: refusal.code, message: refusal.words, source: refusal.source };\n' +
          '    const answer = { status: refusal.status, id: null, key: null, errors: [told] };\n' +
          '    for (const one of rows) this.#endById.set(one.id, { answer: judgeAnswer(one, answer) });\n    if (rows.length > 1) {\n      return;',
      },
    ],
  },
  {
    name: 'statuses-by-position',
    without:
      'Statuses are taken for those of the rows at the same place, however many there are and whatever they name.',
    edits: [
      {
        file: 'reconcile/push-answer.ts',
        find: 'if (sent.length !== statuses.length) return false;',
        replace: 'if (sent.length <= statuses.length || sent.length > 0) return true;',
      },
      {
        file: 'push/send.ts',
        find: 'for (const [index, status] of statuses.entries()) {',
        replace: 'for (const [index, status] of statuses.slice(0, rows.length).entries()) {',
      },
      { file: 'wire/writes.ts', find: 'if (statuses.length !== rowCount)', replace: 'if (statuses.length < 0)' },
    ],
  },
  {
    name: 'server-error-is-a-refusal',
    without: 'A 5xx in answer to a change is taken for "nothing happened".',
    edits: [
      {
        file: 'origin/requests.ts',
        find: "return 'refused';\n  return 'unknown';",
        replace: "return 'refused';\n  return 'again';",
      },
    ],
  },
  {
    name: 'lost-answer-sends-again',
    without: 'A change whose connection broke is sent again although it may have arrived.',
    edits: [
      { file: 'origin/requests.ts', find: "return end.isSent ? 'unknown' : 'again';", replace: "return 'again';" },
    ],
  },
  {
    name: 'null-is-not-sent',
    without: 'A cell that a user emptied is left out of the request, and settled as what the origin made of it.',
    edits: [
      {
        file: 'push/send.ts',
        find: 'cells: cells.map(({ column, value, file }) => {',
        replace: 'cells: cells.filter(({ value }) => value !== null).map(({ column, value, file }) => {',
      },
    ],
  },
  {
    name: 'shape-not-checked',
    without: 'Values are sent although the columns at the origin are no longer those that were read.',
    edits: [
      {
        file: 'push/renamed-columns.ts',
        find: 'if (changed.length === 0) return null;',
        replace: 'if (changed.length >= 0) return null;',
      },
    ],
  },
  {
    name: 'copy-not-noticed',
    without: 'An older copy of the replica that was put back is trusted like the file that it replaces.',
    edits: [
      {
        file: 'replica/older-copy.ts',
        find: 'if (!isFirst) distrust(db, { nowMs: file.clock.nowMs(), isOrdered: beside?.fileId === RESTORED });',
        replace: '',
      },
    ],
  },
  {
    name: 'creates-not-counted',
    without: 'Batches that create rows are not counted beside the file.',
    edits: [
      {
        file: 'push/record-batch.ts',
        find: '  countBatch(tx);\n',
        replace: "  if (kind !== 'insert') countBatch(tx);\n",
      },
    ],
  },
  {
    name: 'intent-not-durable',
    without: 'What is about to be sent is stored with synchronous = NORMAL, and a power cut may take it back.',
    edits: [
      {
        file: 'push/record-batch.ts',
        find: 'await context.replica.writeDurably(`Recording a batch',
        replace: 'await context.replica.write(`Recording a batch',
      },
    ],
  },
  {
    name: 'restart-sends-again',
    without: 'A batch without an answer is forgotten at the start and sent again, instead of being looked up.',
    edits: [
      {
        file: 'push/push-table.ts',
        find: 'for (const batch of batches)\n    await settleBatch(run, batch, asks ? await readBackBatch(run, batch, { isAtOnce: false }) : NO_NEWS);',
        replace: `await context.replica.write('Forgetting batches', (tx) => { for (const { rows } of batches) applyEvent(tx, table.id, rows.map(({ id }) => id), { event: 'notApplied', at: stampFromMs(context.clock.nowMs()) }); tx.prepare('DELETE FROM _rowsync_batches WHERE table_id = ?').run(table.id); });`,
      },
    ],
  },
  {
    name: 'blind-create',
    without: 'A create without an answer that nothing identifies is sent again instead of being left in doubt.',
    edits: [
      {
        file: 'reconcile/row-state.ts',
        find: `lost: { there: 'merge', other: 'doubt', absent: 'again', unclear: 'doubt' },`,
        replace: `lost: { there: 'merge', other: 'doubt', absent: 'again', unclear: 'again' },`,
      },
    ],
  },
  {
    name: 'failure-is-a-refusal',
    without: 'A status of 500 for a new row is taken for a refusal, though the origin may have made the row.',
    edits: [
      {
        file: 'reconcile/push-answer.ts',
        find: `  if (status >= 500 && kind === 'insert') return 'failed';
`,
        replace: '',
      },
    ],
  },
  {
    name: 'failure-behind-a-file-is-a-refusal',
    without: 'A status of 500 for an updated row is taken for a refusal, though the origin may have taken its file.',
    edits: [
      {
        file: 'reconcile/push-answer.ts',
        find: 'if (mayHaveFile) return',
        replace: 'if (mayHaveFile && status < 0) return',
      },
    ],
  },
  {
    name: 'refused-update-is-settled',
    without: 'An update that the origin refuses counts as taken.',
    edits: [
      {
        file: 'reconcile/push-answer.ts',
        find: `  const isTaken = as === 'accepted' ||`,
        replace: `  if (as === 'refused' && kind === 'update') return { as: 'accepted', id, refusal: null };
  const isTaken = as === 'accepted' ||`,
      },
    ],
  },
  {
    name: 'absence-under-any-caller',
    without: 'A create without an answer that another caller does not find counts as one that was never made.',
    edits: [
      {
        file: 'push/settle.ts',
        find: 'const isHidden = isAnyAbsent && !(await isSameCaller(run));',
        replace: 'const isHidden = isAnyAbsent && run === null && !(await isSameCaller(run));',
      },
    ],
  },
  {
    name: 'absent-create-in-doubt',
    without:
      'A create without an answer that is not found by its unique value is left in doubt, though it can be sent again.',
    edits: [
      {
        file: 'reconcile/row-state.ts',
        find: `lost: { there: 'merge', other: 'doubt', absent: 'again', unclear: 'doubt' },`,
        replace: `lost: { there: 'merge', other: 'doubt', absent: 'doubt', unclear: 'doubt' },`,
      },
    ],
  },
  {
    name: 'no-lookup-by-value',
    without: 'A create without an answer is not looked up by its unique value.',
    edits: [
      {
        file: 'push/settle.ts',
        find: `const holder = matchValue === null ? 'unclear' : holders.get(matchValue);`,
        replace: `const holder = matchValue === null ? 'unclear' : holders.get(null);`,
      },
    ],
  },
  {
    name: 'any-row-with-the-value',
    without: 'A create without an answer is taken for whatever row has its unique value.',
    edits: [{ file: 'push/settle.ts', find: 'return isOurs ? news :', replace: 'return isOurs || !isOurs ? news :' }],
  },
  {
    name: 'no-question-before-insert',
    without: 'Nobody asks whether a row with the match value of an insert stands at the origin already.',
    edits: [
      {
        file: 'push/find-rows.ts',
        find: '    findByMatch(run, [...new Set(valueById.values())], false),',
        replace: '    findByMatch(run, [], false),',
      },
    ],
  },
  {
    name: 'acceptance-settles-newer-edits',
    without: 'An accepted row is settled whole, also cells that were edited again while it was in flight.',
    edits: [
      {
        file: 'reconcile/push-settle.ts',
        find: 'const outcome = decideRemote({ ...facts, base }, remote, rules);',
        replace: 'const outcome = decideRemote({ ...facts, base, local: news.remote ?? facts.local }, remote, rules);',
      },
    ],
  },
  {
    name: 'accepted-rows-settled-unread',
    without: 'Accepted rows are settled together, also those that were edited again while they were in flight.',
    edits: [{ file: 'replica/base-comparison.ts', find: 'return isAsSent ? [id] : [];', replace: 'return [id];' }],
  },
  {
    name: 'base-from-what-was-sent',
    without: 'An accepted row is stored as it was sent, not as it is read back.',
    edits: [
      {
        file: 'reconcile/push-settle.ts',
        find: `const remote = settlement === 'merge' ? news.remote : baseAsSent(`,
        replace: `const remote = settlement === 'merge' && answer === null ? news.remote : baseAsSent(`,
      },
    ],
  },
  {
    name: 'default-is-an-edit',
    without: 'What the origin filled into a new row by itself counts as emptied here.',
    edits: [
      {
        file: 'reconcile/push-settle.ts',
        find: '(local === null && automatic === true ? cellOf(remote, column) : null)',
        replace: '(automatic === undefined ? null : cellOf(remote, column))',
      },
    ],
  },
  {
    name: 'default-is-a-colleagues-edit',
    without: 'What the origin filled into a new row by itself brings it back where it was deleted here meanwhile.',
    edits: [
      {
        file: 'reconcile/push-settle.ts',
        find: '(local === null && automatic === true ?',
        replace: '(local === null && automatic === null ?',
      },
    ],
  },
  {
    name: 'no-question-before-update',
    without: 'Rows are not merged with what the origin has right before they are sent.',
    edits: [
      {
        file: 'push/record-batch.ts',
        find: 'if (moved.length === 0 && missing.length === 0) return;',
        replace: 'if (moved.length >= 0) return;',
      },
    ],
  },
  {
    name: 'every-cell-is-sent',
    without: 'An update carries every writable cell that has a value, not only those that a user changed.',
    edits: [
      {
        file: 'reconcile/push-plan.ts',
        find: 'const cells = local === null ? [] : columns.map((column) => ({ column, value: cellOf(local, column) }));',
        replace:
          'const cells = table.columns.flatMap(({ writable }, column) => (local !== null && writable && (cellOf(local, column) ?? cellOf(row.base, column)) !== null ? [{ column, value: cellOf(local, column) }] : []));',
      },
    ],
  },
  {
    name: 'created-rows-unsuspected',
    without: 'Rows that a push created are not looked for until a page has shown them.',
    edits: [
      {
        file: 'reconcile/push-settle.ts',
        find: "refusal: hasArrived ? 'forget' : null, isOffPage: true",
        replace: "refusal: hasArrived ? 'forget' : null, isOffPage: outcome.newId === row.id",
      },
    ],
  },
  {
    name: 'every-start-is-of-a-copy',
    without: 'A replica is taken for an older copy at every start, also where the count beside it is its own.',
    edits: [
      {
        file: 'replica/older-copy.ts',
        find: 'beside.batchCount <= inside.batchCount;',
        replace: 'beside.batchCount < inside.batchCount;',
      },
    ],
  },
  {
    name: 'settled-creates-not-counted',
    without: 'A copy in which a create is on its way counts as the file that sent last, once the create has arrived.',
    edits: [
      {
        file: 'push/settle.ts',
        find: `    countBatch(tx);
`,
        replace: '',
      },
    ],
  },
  {
    name: 'caller-asked-once-in-a-push',
    without:
      'Rows that are not returned are taken to be gone without asking again whether the caller still has all rights.',
    edits: [
      { file: 'push/record-batch.ts', find: 'if (missing.length > 0) await requireSameCaller(run);', replace: '' },
      {
        file: 'push/record-batch.ts',
        find: 'import { requireSameCaller, type FoundBlock',
        replace: 'import { type FoundBlock',
      },
    ],
  },
  {
    name: 'refused-though-edited',
    without: 'A row that was edited or deleted while it was on its way waits for what was refused of it.',
    edits: [
      {
        file: 'reconcile/push-settle.ts',
        find: "return isLeft ? decideMoved(facts, 'refused', refusalOf(row))",
        replace: "return isLeft || facts.id !== 0 ? decideMoved(facts, 'refused', refusalOf(row))",
      },
    ],
  },
  {
    name: 'older-copy-is-not-held',
    without: 'What was edited in an older copy is pushed without a message.',
    edits: [
      {
        file: 'push/push-table.ts',
        find: 'if (table.olderCopy !== null) return heldEdits(',
        replace: 'if (table.olderCopy !== null && push.changeCount < 0) return heldEdits(',
      },
    ],
  },
  {
    name: 'older-creates-not-doubted',
    without: 'New rows of an older copy that nothing identifies are sent once a person lets its edits go.',
    edits: [
      {
        file: 'capture/find-edits.ts',
        find: "if (olderCopy === 'creates') doubtCreates(",
        replace: "if (olderCopy === 'creates' && at.length === 0) doubtCreates(",
      },
    ],
  },
];
