/**
 * Defences of a push, each taken out by itself: intents, what an end of a request proves, look-ups, settling, copies.
 */
import type { Mutant } from './mutant.ts';

/** Planted bugs of a push. */
export const PUSH_MUTANTS: readonly Mutant[] = [
  {
    name: 'intent-not-durable',
    without: 'What is about to be sent is stored with synchronous = NORMAL, and a power cut may take it back.',
    edits: [
      {
        file: 'push/batch.ts',
        find: 'return replica.writeDurably(`Recording a batch',
        replace: 'return replica.write(`Recording a batch',
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
    name: 'restart-sends-again',
    without: 'A batch without an answer is forgotten at the start and sent again, instead of being looked up.',
    edits: [
      {
        file: 'push/table.ts',
        find: 'for (const batch of batches) await settleBatch(run, batch);',
        replace:
          "await context.replica.write('Forgetting batches', (tx) => { for (const { rows } of batches) moveRows(tx, table.id, rows.map(({ id }) => id), { event: 'notApplied', at: stampFromMs(context.clock.nowMs()) }); tx.prepare('DELETE FROM _rowsync_batches WHERE table_id = ?').run(table.id); });",
      },
    ],
  },
  {
    name: 'blind-create',
    without: 'A create without an answer that nothing identifies is sent again instead of being left in doubt.',
    edits: [
      {
        file: 'push/settle.ts',
        find: 'isIdentified: anchor !== null,',
        replace: 'isIdentified: true,',
      },
      {
        file: 'push/settle.ts',
        find: 'isSender: isSender(this.#tx, table, batch),',
        replace: 'isSender: true,',
      },
    ],
  },
  {
    name: 'retried-in-vain',
    without: 'A refused row that a person lets be tried again goes on waiting.',
    edits: [
      {
        file: 'capture/refusals.ts',
        find: "moveRows(tx, tableId, [rowId], { event: 'retried', at });",
        replace: 'if (at.length === 0) moveRows(tx, 0, [], { event: "retried", at });',
      },
    ],
  },
  {
    name: 'refused-update-is-settled',
    without: 'An update that the origin refuses counts as taken.',
    edits: [
      {
        file: 'push/batch.ts',
        find: "if (typeof verdict === 'object') return {",
        replace:
          "if (typeof verdict === 'object' && row.kind === 'update') return { kind: 'keep', row: { ...row, answer: { as: 'accepted', id: row.id, refusal: null } } };\n  if (typeof verdict === 'object') return {",
      },
    ],
  },
  {
    name: 'match-value-counts-as-edit',
    without: 'A match value that went along with an update counts as edited here.',
    edits: [
      {
        file: 'reconcile/push-settle.ts',
        find: 'base === null || !isSameValue(columns',
        replace: 'base !== undefined || !isSameValue(columns',
      },
    ],
  },
  {
    name: 'taken-back-beside',
    without: 'A row that is taken back from a conflict leaves that conflict with the row that went.',
    edits: [
      {
        file: 'capture/resolve.ts',
        find: 'if (id !== rowId) renumberRow(tx, table.id, rowId, id);',
        replace: 'if (id === 0) renumberRow(tx, table.id, rowId, id);',
      },
    ],
  },
  {
    name: 'absence-under-any-caller',
    without: 'A create without an answer that another caller does not find counts as one that was never made.',
    edits: [
      {
        file: 'push/settle.ts',
        find: 'isSender: isSender(this.#tx, table, batch),',
        replace: 'isSender: true,',
      },
    ],
  },
  {
    name: 'emptied-in-flight-is-no-edit',
    without: 'A cell of a create that was emptied while its answer got lost counts as never written.',
    edits: [
      {
        file: 'reconcile/push-settle.ts',
        find: 'if (isEmptied && sent !== undefined) return sent;',
        replace: '',
      },
    ],
  },
  {
    name: 'absent-create-in-doubt',
    without:
      'A create without an answer that is not found by its unique value is left in doubt, though it can be sent again.',
    edits: [
      {
        file: 'push/settle.ts',
        find: 'isIdentified: anchor !== null,',
        replace: 'isIdentified: false,',
      },
    ],
  },
  {
    name: 'refused-with-its-neighbours',
    without: 'All rows of a request that is refused whole count as refused; no row is tried alone.',
    edits: [
      {
        file: 'push/send.ts',
        find: 'if (rows.length > 1) {',
        replace:
          "for (const { id } of rows) this.#outcomes.set(id, { kind: 'refused', refusal });\n    if (rows.length < 1) {",
      },
    ],
  },
  {
    name: 'no-lookup-by-value',
    without: 'A create without an answer is not looked up by its unique value.',
    edits: [
      {
        file: 'push/read-back.ts',
        find: 'if (own !== undefined) byValue.set(row.id, own);',
        replace: 'if (own !== undefined) byValue.delete(row.id);',
      },
    ],
  },
  {
    name: 'made-again-over-colleagues',
    without:
      'What goes on in a row that its update made again, or the delete of it, goes over what colleagues wrote there without a trace.',
    edits: [
      {
        file: 'push/settle.ts',
        find: '        return [...before, ...writtenOver(this.#run.table, row, now, { remote, isMadeAgain })];',
        replace:
          '        return isMadeAgain ? before : [...before, ...writtenOver(this.#run.table, row, now, { remote, isMadeAgain })];',
      },
      {
        file: 'push/written-over.ts',
        find: "  const isNew = kind === 'insert' || isMadeAgain;",
        replace: "  const isNew = kind === 'insert';",
      },
    ],
  },
  {
    name: 'any-row-with-the-value',
    without: 'A create without an answer is taken for a row with its unique value that was there before.',
    edits: [
      {
        file: 'reconcile/push-adopt.ts',
        find: 'rowId > newestKnown || !(isMet ? edited : known).has(rowId)',
        replace: 'rowId > newestKnown || !(isMet ? edited : known).has(rowId) || found.length === 1',
      },
    ],
  },
  {
    name: 'no-question-before-insert',
    without: 'Nobody asks whether a row with the match value of an insert stands at the origin already.',
    edits: [
      {
        file: 'push/batch.ts',
        find: 'match === null ? NOTHING_FOUND : findByValue(run, match, [...asked.values()]),',
        replace: 'NOTHING_FOUND,',
      },
    ],
  },
  {
    name: 'adoption-without-merge',
    without: 'A row that is found after its answer got lost is taken as it is, and edits made meanwhile are forgotten.',
    edits: [
      {
        file: 'push/settle.ts',
        find: 'const lookedUp = baseAfterLookup(sent, { local, remote }, columns, arrived, files.overtaken.get(remote.id));',
        replace: 'const lookedUp = local ?? remote;',
      },
    ],
  },
  {
    name: 'adoption-by-guess',
    without: 'A create in doubt takes the first row that has its values, however many fit.',
    edits: [
      {
        file: 'reconcile/push-adopt.ts',
        find: 'if (candidates.length !== group.length || !isOwn) continue;',
        replace: 'if (candidates.length === 0 || (!isOwn && isOwn)) continue;',
      },
    ],
    equivalent:
      'rows of a simulated world are told apart by a text that each one has for itself, so no two fit one create; test/reconcile/push-adopt.test.ts has rows that are alike',
  },
  {
    name: 'acceptance-settles-newer-edits',
    without: 'An accepted row is settled whole, also cells that were edited again while it was in flight.',
    edits: [
      {
        file: 'capture/settle.ts',
        find: 'const decision = mergeRow({ base, local, remote }, table.columns, policy);',
        replace: 'const decision = mergeRow({ base, local: remote ?? local, remote }, table.columns, policy);',
      },
    ],
  },
  {
    name: 'base-from-what-was-sent',
    without: 'The base of an accepted row is what was sent, not what is read back.',
    edits: [
      {
        file: 'push/settle.ts',
        find: 'const remote = returned ?? this.#asSent(row, { id, isMadeAgain });',
        replace: 'const remote = this.#asSent(row, { id, isMadeAgain });',
      },
    ],
  },
  {
    name: 'statuses-by-position',
    without:
      'Statuses are taken for those of the rows at the same place, however many there are and whatever they name.',
    edits: [
      {
        file: 'reconcile/push-outcome.ts',
        find: 'if (sent.length !== statuses.length) return false;',
        replace: 'if (sent.length <= statuses.length || sent.length > 0) return true;',
      },
      {
        file: 'push/send.ts',
        find: 'for (const [index, status] of statuses.entries()) {',
        replace: 'for (const [index, status] of statuses.slice(0, rows.length).entries()) {',
      },
      { file: 'wire/writes.ts', find: 'if (json.length !== rowCount)', replace: 'if (json.length < 0)' },
    ],
  },
  {
    name: 'server-error-is-a-refusal',
    without: 'A 5xx in answer to a change is taken for "nothing happened".',
    edits: [
      {
        file: 'origin/verdict.ts',
        find: "return 'refused';\n  return 'unknown';",
        replace: "return 'refused';\n  return 'again';",
      },
    ],
  },
  {
    name: 'lost-answer-sends-again',
    without: 'A change whose connection broke is sent again although it may have arrived.',
    edits: [
      { file: 'origin/verdict.ts', find: "return end.isSent ? 'unknown' : 'again';", replace: "return 'again';" },
    ],
  },
  {
    name: 'no-question-before-update',
    without: 'Rows are not merged with what the origin has right before they are sent.',
    edits: [
      {
        file: 'push/batch.ts',
        find: 'if (moved.length === 0 && missing.length === 0 && takenBy.size === 0) return;',
        replace: 'if (moved.length >= 0) return;',
      },
    ],
  },
  {
    name: 'upsert-without-id',
    without: 'An upsert of a known row names it by its match value only, which a colleague may have changed.',
    edits: [
      {
        file: 'push/send.ts',
        find: 'id: id > 0 ? id : null,',
        replace: "id: id > 0 && method !== 'upsert' ? id : null,",
      },
      {
        file: 'push/send.ts',
        find: 'const outgoing = rows.map((row) => outgoingRow(run, row, { files, contents }));',
        replace: 'const outgoing = rows.map((row) => outgoingRow(run, row, { files, contents }, method));',
      },
      {
        file: 'push/send.ts',
        find: '  { files, contents }: { readonly files: OutgoingFile[]; readonly contents: Contents },\n): OutgoingRow {',
        replace:
          '  { files, contents }: { readonly files: OutgoingFile[]; readonly contents: Contents },\n  method: string,\n): OutgoingRow {',
      },
    ],
  },
  {
    name: 'every-cell-is-sent',
    without: 'An update carries every writable cell that has a value, not only those that a user changed.',
    edits: [
      {
        file: 'reconcile/push-plan.ts',
        find: 'return writable && !isSameValue(type, before, local.values[index] ?? null) ? [index] : [];',
        replace:
          'return writable && (local.values[index] ?? null) !== null && (before === null || before !== undefined) ? [index] : [];',
      },
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
    name: 'pull-settles-rows-in-flight',
    without: 'A pull merges rows whose answer is awaited, against a base that does not know what was sent.',
    edits: [
      {
        file: 'capture/merge.ts',
        find: "if (isInFlight(states.get(rowId) ?? 'clean')) {",
        replace: 'if (remote === undefined) {',
      },
    ],
  },
  {
    name: 'created-rows-unsuspected',
    without: 'Rows that a push created are not looked for until a page has shown them.',
    edits: [
      {
        file: 'capture/settle.ts',
        find: 'if (created.length > 0) suspectNewRows(tx, table.id, created);',
        replace: '',
      },
    ],
  },
  {
    name: 'shape-not-checked',
    without: 'Values are sent although the columns at the origin are no longer those that were read.',
    edits: [
      {
        file: 'push/shape.ts',
        find: 'if (changed.length === 0) return null;',
        replace: 'if (changed.length >= 0) return null;',
      },
    ],
  },
  {
    name: 'copy-not-noticed',
    without: 'An older copy of the replica that was put back is trusted like the file that it replaces.',
    edits: [{ file: 'replica/copies.ts', find: 'if (!isFirst) distrust(db);', replace: '' }],
  },
  {
    name: 'every-start-is-of-a-copy',
    without: 'A replica is taken for an older copy at every start, also where the count beside it is its own.',
    edits: [
      {
        file: 'replica/copies.ts',
        find: 'if (isSame && beside.batchCount === inside.batchCount) return shareBeside(file.path);',
        replace: '',
      },
    ],
  },
  {
    name: 'creates-not-counted',
    without: 'Batches that create rows are not counted beside the file.',
    edits: [
      {
        file: 'push/batch.ts',
        find: "if (rows.some(({ kind }) => kind === 'insert')) countBatch(tx);",
        replace: '',
      },
    ],
  },
  {
    name: 'settled-creates-not-counted',
    without:
      'A copy in which a create is on its way counts as the file that sent last, once the create has arrived; and one that is not found by its unique value is not looked for by all else of it, which tells of most such rows.',
    edits: [
      { file: 'push/settle.ts', find: '    countBatch(tx);\n', replace: '' },
      { file: 'reconcile/push-adopt.ts', find: 'if (facts.likelyId !== null)', replace: 'if (facts.likelyId === 0)' },
    ],
  },
  {
    name: 'caller-asked-once-in-a-push',
    without:
      'Rows that are not returned are taken to be gone without asking again whether the caller still has all rights.',
    edits: [
      {
        file: 'push/batch.ts',
        find: 'if (planned.rows.some(isMissing)) await requireSameCaller(run);',
        replace: '',
      },
      {
        file: 'push/read-back.ts',
        find: 'if (batch.rows.some(isMissing)) await requireSameCaller(run);',
        replace: '',
      },
    ],
  },
  {
    name: 'refused-though-edited',
    without: 'A row that was edited or deleted while it was on its way waits for what was refused of it.',
    edits: [
      {
        file: 'push/batch.ts',
        find: "if (judged.kind === 'refused' && !isLeftAlone(tx, table, row))",
        replace: "if (judged.kind === 'refused' && judged.words === null)",
      },
    ],
  },
  {
    name: 'brought-in-not-known',
    without: 'A lost create is not known by the row that a pull has brought in.',
    edits: [
      {
        file: 'push/read-back.ts',
        find: 'const seen = readSeen(run, absent, byValue);',
        replace: 'const seen = new Map<number, Row>();',
      },
    ],
  },
  {
    name: 'older-create-by-its-value',
    without: 'A create that was on its way in an older copy is judged by its unique value alone.',
    edits: [
      { file: 'reconcile/push-adopt.ts', find: 'if (facts.isOlder)', replace: 'if (facts.isOlder && facts.isPartial)' },
    ],
  },
];
