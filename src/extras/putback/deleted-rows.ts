/**
 * Puts rows back whose deletes are taken back by another command: with its own plan first, and with the same engine.
 */
import { loadNamedConfig } from '../../cli/runtime/invocation.ts';
import type { Config } from '../../config/load.ts';
import type { Invocation } from '../../extra.ts';
import type { LostRow, PutBackAnswer, RowEdits, RowName } from '../shared/linked-extra.ts';
import { openReader, type ReplicaReader } from '../../replica/reader.ts';
import { LostRows } from './lost-rows.ts';
import { rowName } from './lost-row-outcome.ts';
import { makePlan } from './make-plan.ts';
import { withPutback } from './putback-file.ts';
import { putbackPlanJson, putbackPlanText, putbackRunText, statusJson } from './putback-text.ts';
import { needsPerson } from './putback-records.ts';
import { referencesOf, type TableReference } from './references.ts';
import { carryOut } from './put-rows-back.ts';

/** As `LinkedExtra` has it. Nothing is asked. */
export function referringCells(
  main: ReplicaReader,
  config: Config,
  rows: readonly LostRow[],
): ReadonlyMap<string, RowName> {
  const lost = new LostRows(main, { kind: 'given', rows, edits: new Map() });
  const references = lost.tables.flatMap((table) => referencesOf(lost, table, config.tables));
  return cellsOf(lost, references);
}

function cellsOf(lost: LostRows, references: readonly TableReference[]): ReadonlyMap<string, RowName> {
  return new Map(
    references.flatMap(({ tableId, column, toId }) => {
      const key = lost.keyOf(toId);
      const own = key?.type === 'Autonumber' ? lost.rows(toId) : [];
      return own.flatMap(({ oldId, values }) => {
        const value = values.get(key?.id ?? 0) ?? '';
        // A row may have left before its key was known here. Nothing refers to it, least of all an empty cell.
        return value === '' ? [] : [[`${tableId} ${column.id} ${value}`, rowName(toId, oldId)] as const];
      });
    }),
  );
}

/** Plans rows, and puts them back if confirmed. Cells that `edits` change are not linked. @throws RowsyncError. */
export async function putBackDeleted(
  invocation: Invocation,
  rows: readonly LostRow[],
  { isConfirmed, edits }: { readonly isConfirmed: boolean; readonly edits: RowEdits },
): Promise<PutBackAnswer> {
  const config = await loadNamedConfig(invocation, { needsCredentials: true });
  using main = openReader(config.replica.path);
  return await withPutback(invocation, { config, into: null }, { main, workflow: null }, async (place) => {
    const lost = new LostRows(main, { kind: 'given', rows, edits });
    const references = lost.tables.flatMap((table) => referencesOf(lost, table, config.tables));
    const plan = await makePlan(place, lost, {
      rows,
      references,
      config,
      folders: [config.replica.files],
      revisions: false,
    });
    const newKeys = new Map(plan.rows.map((row) => [rowName(row.tableId, row.oldId), row.there?.newKey ?? null]));
    const cells = cellsOf(lost, references);
    const goneKeys = new Map([...cells].map(([cell, name]) => [cell, newKeys.get(name) ?? null]));
    const hereAgain = new Set(plan.rows.map(({ tableId, there }) => rowName(tableId, there?.newId ?? 0)));
    const left = { goneKeys, hereAgain };
    if (!isConfirmed) {
      const isToCreate = plan.rows.some(({ fate }) => fate === 'create');
      return { text: putbackPlanText(plan, place), json: putbackPlanJson(plan), needsPerson: isToCreate, ...left };
    }
    const run = await carryOut(place, plan, { again: false });
    const text = putbackRunText(run, { plan, place, verified: null });
    const isLeft = run.concerned.some((record) => needsPerson(record));
    return { text, json: statusJson(run.concerned), needsPerson: isLeft, ...left };
  });
}
