/**
 * Defences of a pull, each taken out by itself: page map, ETags, suspects, guards, drift, and what the replica keeps of
 * it.
 */
import type { Mutant } from './mutant.ts';

/** Planted bugs of a pull. */
export const PULL_MUTANTS: readonly Mutant[] = [
  {
    name: 'etag-before-rows',
    without: 'The ETag of a page is stored in a transaction of its own, before the rows of the page.',
    edits: [
      {
        file: 'pull/sweep.ts',
        find: '  await requireShapeOf(pass, content);',
        replace:
          "  await context.replica.write('Storing an ETag', (tx) => tx.prepare('UPDATE _rowsync_pages SET url = ?, etag = ? WHERE table_id = ? AND page = ?').run(answered.url, answered.etag, table.target.id, page));\n" +
          '  await requireShapeOf(pass, content);',
      },
    ],
  },
  {
    name: 'etag-of-another-question',
    without: 'An ETag is sent with another question than the one that it answered: other columns, order or page size.',
    edits: [
      {
        file: 'pull/sweep.ts',
        find: "known?.url === url && reading.kind !== 'repairInFull' ? known.etag",
        replace: "known !== undefined && reading.kind !== 'repairInFull' ? known.etag",
      },
    ],
  },
  {
    name: 'torn-pages-by-etag',
    without: 'Pages that contradict each other are never asked for without the ETags that keep them so.',
    edits: [
      {
        file: 'reconcile/windows.ts',
        find: 'const inFull = round === REPAIR_ROUNDS_MAX;',
        replace: 'const inFull = false;',
      },
    ],
  },
  {
    name: 'pages-without-overlap',
    without: 'Neighbouring pages share no row, so that a shift of rows between two requests is not seen.',
    edits: [
      { file: 'reconcile/windows.ts', find: 'return page * (pageRows - 1);', replace: 'return page * pageRows;' },
      {
        file: 'reconcile/windows.ts',
        find: 'previous.lastId !== edges.firstId',
        replace: 'previous.lastId === undefined',
      },
    ],
  },
  {
    name: 'torn-pages-accepted',
    without: 'Pages overlap, but nobody looks whether the shared rows are the same.',
    edits: [
      {
        file: 'reconcile/windows.ts',
        find: 'previous.lastId !== edges.firstId',
        replace: 'previous.lastId === undefined',
      },
    ],
  },
  {
    name: 'absence-is-a-delete',
    without: 'Rows that no page shows are deleted whatever the origin answers when asked for them.',
    edits: [
      {
        file: 'pull/rows-by-id.ts',
        find: 'const gone = ids.filter((id) => !present.has(id));',
        replace: 'const gone = ids.filter((id) => !present.has(id) || present.has(id));',
      },
    ],
  },
  {
    name: 'forbidden-is-gone',
    without: 'A 403 to the question for suspects is taken for "there are none".',
    edits: [
      {
        file: 'pull/rows-by-id.ts',
        find: 'const { value: shown } = await origin.retrieve({ table: address, columns: shapes, names, ids }, { signal });',
        replace:
          "const { value: shown } = await origin.retrieve({ table: address, columns: shapes, names, ids }, { signal }).catch((error) => { if (error.refusal?.status === 403) return { kind: 'ok', etag: null, value: { ids: [], rows: [], unreadable: [] } }; throw error; });",
      },
    ],
  },
  {
    name: 'left-rows-unsuspected',
    without: 'Rows that leave a page do not come under suspicion.',
    edits: [
      {
        file: 'replica/bookkeeping/pages.ts',
        find: 'if (before !== null && before !== ids)',
        replace: "if (before === 'never')",
      },
    ],
  },
  {
    name: 'dropped-pages-unsuspected',
    without: 'Rows on pages behind the end of the table do not come under suspicion.',
    edits: [
      {
        file: 'replica/bookkeeping/suspects.ts',
        find: 'AND p.page >= @page`;',
        replace: 'AND p.page >= @page AND false`;',
      },
    ],
  },
  {
    name: 'older-page-clears',
    without: 'A suspect is cleared by any page that has it, also by one that was applied before it left another.',
    edits: [{ file: 'replica/bookkeeping/suspects.ts', find: ' AND p.applied > s.applied)', replace: ')' }],
  },
  {
    name: 'suspicion-of-the-older-page',
    without: 'A row that leaves two pages is cleared by any page that is newer than the older one of them.',
    edits: [
      {
        file: 'replica/bookkeeping/suspects.ts',
        find: 'applied = max(applied, excluded.applied)',
        replace: 'applied = min(applied, excluded.applied)',
      },
    ],
  },
  {
    name: 'identity-change-ignored',
    without: 'After a change of user or role, missing rows are deleted as if nothing had happened.',
    edits: [
      {
        file: 'reconcile/guards.ts',
        find: "if (facts.identityChanged) return 'identity';",
        replace: '',
      },
    ],
  },
  {
    name: 'resumed-sweep-is-enough',
    without: 'A sweep that was cut off and finished later is not followed by a whole one.',
    edits: [
      {
        file: 'pull/pull-table.ts',
        find: 'if (!isResumed) return held;',
        replace: 'return held;',
      },
    ],
  },
  {
    name: 'new-shape-old-etags',
    without: 'ETags are kept when columns are added, revived or set aside.',
    edits: [{ file: 'pull/apply-schema.ts', find: 'if (shapeChanged) forgetEtags(tx, descriptor.id);', replace: '' }],
  },
  {
    name: 'null-by-equals',
    without: 'Whether a stored cell differs is asked with <> instead of IS NOT, which is never true of NULL.',
    edits: [
      {
        file: 'replica/rows.ts',
        find: 'WHERE ${rowsDiffer(target.columns, sql`here`, sql`excluded`)}`;',
        replace: "WHERE ${names.map((name) => sql`here.${name} <> excluded.${name}`).join(' OR ')}`;",
      },
    ],
  },
  {
    name: 'writer-flag-left-on',
    without: 'The flag that silences the triggers stays after a transaction of ours.',
    edits: [
      { file: 'replica/database.ts', find: 'this.prepare(sql`DELETE FROM _rowsync_writer`).run();', replace: '' },
    ],
  },
  {
    name: 'marks-are-trusted',
    without: 'Rows are never compared with their base on the ground that a mark may be missing.',
    edits: [
      {
        file: 'capture/find-edits.ts',
        find: 'if (compareDue || !haveAllMarks) {',
        replace: 'if (compareDue && !compareDue) {',
      },
    ],
  },
  {
    name: 'tampering-ignored',
    without: 'Nothing follows from the find that a trigger of ours was missing.',
    edits: [
      {
        file: 'capture/sync-mode.ts',
        find: 'if (!isTampered(tx, target.id, table)) return false;',
        replace: "if (at !== '') return isTampered(tx, target.id, table);",
      },
    ],
  },
  {
    name: 'trigger-rule-ignored',
    without: "Rows are written although a trigger of another program's changes synced tables meanwhile.",
    edits: [{ file: 'replica/triggers.ts', find: 'if (harm === NONE) return;', replace: 'if (harm !== null) return;' }],
  },
  {
    name: 'policy-ignored',
    without: 'The origin wins every conflict that no person is asked about, whatever the policy says.',
    edits: [
      {
        file: 'reconcile/merge.ts',
        find: "return policy === 'ask' ? 'nobody' : policy;",
        replace: "return policy === 'ask' ? 'nobody' : 'origin';",
      },
    ],
  },
  {
    name: 'guard-holds-every-delete',
    without: 'Deletes wait for a person however few they are.',
    edits: [
      {
        file: 'reconcile/guards.ts',
        find: "return missingCount * 100 > facts.maxDeletePercent * rowCount ? 'share'",
        replace: "return missingCount > 0 ? 'share'",
      },
    ],
  },
  {
    name: 'outside-stays',
    without: 'Rows that the filter of their table does not select any more never leave.',
    edits: [{ file: 'capture/writer/store-origin-rows.ts', find: 'if (leaving.length === 0) ', replace: '' }],
  },
  {
    name: 'outside-is-a-delete',
    without: 'Rows that left the filter of their table count for the guard of deletes.',
    edits: [{ file: 'pull/suspected-deletes.ts', find: "if (hold === 'share') return true;", replace: '' }],
  },
  {
    name: 'narrowing-asks-nobody',
    without: 'Rows outside of another filter leave without a person.',
    edits: [
      {
        file: 'reconcile/guards.ts',
        find: "if (facts.isNarrowed) return 'narrowed';",
        replace: '',
      },
    ],
  },
  {
    name: 'following-forgets-the-filter',
    without: 'Following asks for every row that was changed, whatever the filter of the table says.',
    edits: [
      {
        file: 'pull/follow.ts',
        find: 'const { value: page } = await origin.select({ table: table.address, columns: table.shapes, query }, { signal });',
        replace:
          'const { value: page } = await origin.select({ table: { ...table.address, rows: null }, columns: table.shapes, query }, { signal });',
      },
    ],
  },
  {
    name: 'policy-of-the-origin-ignored',
    without: 'The replica wins every conflict that no person is asked about, whatever the policy says.',
    edits: [
      {
        file: 'reconcile/merge.ts',
        find: "return policy === 'ask' ? 'nobody' : policy;",
        replace: "return policy === 'ask' ? 'nobody' : 'local';",
      },
    ],
  },
  {
    name: 'delete-there-beats-edit-here',
    without: 'A row that was deleted at the origin goes, whether somebody edited it here or not.',
    edits: [
      {
        file: 'reconcile/merge.ts',
        find: 'if (local === null || !isChanged(base, local, columns)) return AWAY;',
        replace: 'if (local === null || base !== null) return AWAY;',
      },
    ],
  },
  {
    name: 'delete-here-beats-edit-there',
    without: 'A row that was deleted here is deleted at the origin, whether somebody edited it there or not.',
    edits: [
      {
        file: 'reconcile/merge.ts',
        find: 'if (!isChanged(base, remote, written)) return { local: null',
        replace: 'if (base !== null) return { local: null',
      },
    ],
  },
  {
    name: 'remote-over-local',
    without: 'A cell that only the replica changed takes the value of the origin.',
    edits: [
      {
        file: 'reconcile/merge.ts',
        find: 'if (writable && isSameValue(type, there, before)) return here;',
        replace: 'if (writable && isSameValue(type, there, before)) return there;',
      },
    ],
  },
  {
    name: 'schema-change-ignored',
    without: 'Rows are not compared with their base on the ground that another client changed the schema.',
    edits: [
      {
        file: 'replica/database.ts',
        find: 'if (readSchemaVersion(this) !== this.#open.schemaVersion)',
        replace: 'if (this.#open.schemaVersion === null)',
      },
    ],
  },
  {
    name: 'pushed-rows-unsuspected',
    without: 'Rows that a push read or changed do not come under suspicion, though the pages that show them are older.',
    edits: [
      {
        file: 'replica/bookkeeping/suspects.ts',
        find: 'json_each(@ids) WHERE t.id = @tableId',
        replace: 'json_each(@ids) WHERE t.id = @tableId AND false',
      },
    ],
  },
  {
    name: 'caller-asked-once-in-a-pull',
    without: 'Rows that are not returned are deleted without asking again whether the caller still has all rights.',
    edits: [
      {
        file: 'pull/suspected-deletes.ts',
        find: 'if (gone.length + outside.length > 0) await requireSameCaller(context);',
        replace: '',
      },
    ],
  },
  {
    name: 'shape-asked-once-in-a-pull',
    without:
      'Rows of a table that people edit are stored without a look whether columns changed their names while they were read.',
    edits: [
      {
        file: 'pull/table-description.ts',
        find: 'if (table.twoWay === null) return;',
        replace: 'if (table.twoWay === null || rows.length >= 0) return;',
      },
    ],
  },
  {
    name: 'opened-without-a-look',
    without:
      'A table is opened to edits without a look whether columns changed their names while its first rows were read.',
    edits: [
      {
        file: 'pull/pull-table.ts',
        find: "  if (readTable(context.replica, table.target.id).push === 'waiting') await table.requireShape();\n",
        replace: '',
      },
    ],
  },
  {
    name: 'unreadable-rows-claimed-fresh',
    without: 'A table claims that all rows were equal to the origin although one cannot be read.',
    edits: [
      {
        file: 'replica/bookkeeping/tables.ts',
        find: "t.state <> 'loading' AND NOT EXISTS (SELECT 1 FROM _rowsync_unreadable u WHERE u.table_id = t.id)",
        replace: "t.state <> 'loading'",
      },
    ],
  },
  {
    name: 'unreadable-rows-unlisted',
    without: 'Nothing says which rows could not be read.',
    edits: [
      {
        file: 'capture/writer/store-origin-rows.ts',
        find: 'storeUnreadable(tx, table.target.id, { ids, unreadable }, order.at);',
        replace: '',
      },
    ],
  },
  {
    name: 'etag-of-unreadable-page',
    without: 'The ETag of a page is kept although one of its rows could not be read.',
    edits: [
      {
        file: 'replica/bookkeeping/pages.ts',
        find: 'content.unreadable.length === 0 ? answer.etag : null',
        replace: 'answer.etag',
      },
    ],
  },
  {
    name: 'gone-rows-are-counted',
    without: 'The number of rows stays as it is when rows leave.',
    edits: [
      {
        file: 'capture/writer/apply-outcome.ts',
        find: 'addToRowCount(tx, table.id, -removeRows(tx, baseTarget(table), gone));',
        replace: 'addToRowCount(tx, table.id, 0 * removeRows(tx, baseTarget(table), gone));',
      },
    ],
  },
  {
    name: 'conflict-loser-dropped',
    without: 'Who loses a conflict is not kept.',
    edits: [
      {
        file: 'capture/writer/apply-outcome.ts',
        find: 'if (conflicts.length > 0) keepConflicts(',
        replace: 'if (conflicts.length < 0) keepConflicts(',
      },
    ],
  },
  {
    name: 'unseen-edits-leave-refusals',
    without: 'A refused row that was edited or deleted while a trigger of ours was missing goes on waiting.',
    edits: [
      {
        file: 'capture/sync-mode.ts',
        find: `storeFacts(tx, target.id, { compare_due: 1 });
    retryRefused(tx, target.id, at);`,
        replace: `storeFacts(tx, target.id, { compare_due: 1 });
    if (at.length === 0) retryRefused(tx, target.id, at);`,
      },
      {
        file: 'capture/find-edits.ts',
        find: `    applyEvent(tx, table.id, readOvertakenRefusals(tx, table), { event: 'localEdit', at });
`,
        replace: `    readOvertakenRefusals(tx, table);
`,
      },
    ],
  },
  {
    name: 'refusal-of-a-lost-edit',
    without: 'A refused row goes on waiting though a merge took the cell that was refused.',
    edits: [
      {
        file: 'reconcile/row-outcome.ts',
        find: `merged === 'changed' && hasLostEdit(facts, decision, columns) ? 'localEdit' : merged`,
        replace: `merged === 'changed' && hasLostEdit(facts, decision, columns) ? merged : merged`,
      },
    ],
  },
  {
    name: 'unsettled-tables-are-pulled',
    without: 'A table is pulled although rows of it are on their way.',
    edits: [
      {
        file: 'pull/apply-schema.ts',
        find: '  if (!readBatchTables(replica).includes(tableId)) return;',
        replace: '  if (!readBatchTables(replica).includes(-tableId)) return;',
      },
      {
        file: 'push/push.ts',
        find: `    if (tables.length === 0) return;
`,
        replace: `    if (tables.length >= 0) return;
`,
      },
    ],
  },
  {
    name: 'vanished-columns-hold-nothing',
    without: 'A table of which writable columns vanished is pulled and pushed as before.',
    edits: [
      {
        file: 'pull/apply-schema.ts',
        find: '  if (missing.length > 0) throw missingColumnsError(table, missing);',
        replace: '  if (missing.length < 0) throw missingColumnsError(table, missing);',
      },
      {
        file: 'push/push-table.ts',
        find: '  if (missing.length > 0) throw missingColumnsError(table, missing);',
        replace: '  if (missing.length < 0) throw missingColumnsError(table, missing);',
      },
    ],
  },
  {
    name: 'deleted-there-by-the-policy',
    without: 'A row that was deleted there and edited here wins where the policy says so.',
    edits: [
      {
        file: 'reconcile/merge.ts',
        find: `conflicts: [conflictLine('deletedThere', 'origin',`,
        replace: `conflicts: [conflictLine('deletedThere', 'local',`,
      },
    ],
  },
  {
    name: 'rights-beside-a-description',
    without:
      'What `*` stands for goes with the description before it, and with the ETag of the one behind it, though they differ.',
    edits: [
      {
        file: 'pull/table-description.ts',
        find: 'if (isDeepStrictEqual(value, described)) return { value: withRights(value,',
        replace: 'if (value.id === described.id) return { value: withRights(described,',
      },
    ],
  },
];
