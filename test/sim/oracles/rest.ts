/**
 * Looks at both sides of a world at rest. Takes the user's connection, the origin, the books; produces what verdict.ts
 * judges.
 */
import type { ConflictPolicy } from '../../../src/reconcile/merge.ts';
import { ident } from '../../../src/base/sql.ts';
import type { Books, LocalValue } from '../world/books.ts';
import type { OriginModel } from '../model/origin.ts';
import { COLUMNS, rowFromReplica, selectedColumns, type Column, type LocalNames, type Names } from '../world/names.ts';
import type { Admin } from '../actors/admin.ts';
import type { User } from '../actors/user.ts';
import type { KeptConflict, OriginWrite, Rest, SentEver } from './verdict.ts';

/** The model's code for a value that its workflow refuses. */
const REFUSED_BY_RULE = 4105;

/** Views in which rowsync keeps what lost and what waits. */
const KEPT = ['sync_conflicts', 'sync_failures', 'sync_changes'];

/** What there is to see. */
export interface Resources {
  readonly user: User;
  readonly names: Names;
  readonly origin: OriginModel;
  readonly books: Books;
  readonly writes: readonly OriginWrite[];
  readonly setup: { readonly policy: ConflictPolicy };
  readonly admin: Pick<Admin, 'wasForbidden' | 'hasSwapped'>;
  /** Rows that the caller was not shown when he asked for them, and what was ever sent. */
  readonly oracles: { readonly hidden: ReadonlySet<number>; readonly sentEver: SentEver };
}

/** Both sides; null where the table does not stand in the replica as the origin has it. */
export function gatherRest(sides: Resources): Rest | null {
  const { user, names, books, writes, setup, admin, oracles } = sides;
  const local = names.inReplica((statement) => user.query(statement));
  if (local === null || names.goneIn((statement) => user.query(statement)).size > 0) return null;
  const base = `_rowsync_base_${names.tableId}`;
  const waiting = user.query('SELECT row_id FROM _rowsync_rows UNION ALL SELECT row_id FROM _rowsync_unreadable');
  return {
    books,
    local: user.rows(),
    base: names.isMirror
      ? user.rows()
      : user.query(`SELECT ${selectedColumns(local)} FROM ${base} ORDER BY _id`).map(rowFromReplica),
    origin: names.rowsThere(),
    selected: names.rowsSelected(),
    writes,
    waiting: new Set(waiting.map(([id]) => Number(id))),
    hidden: oracles.hidden,
    isOlderCopy: user.isOlderCopy,
    overwritten: new Set(user.hadTrigger ? ['B'] : []),
    conflicts: conflictsIn(user, local),
    policy: setup.policy,
    wasForbidden: admin.wasForbidden,
    hasSwapped: admin.hasSwapped,
    sent: oracles.sentEver,
    kept: textOfViews(user, KEPT),
    keptCells: user
      .query(KEPT.map((view) => `SELECT row_id, "column" FROM ${view}`).join(' UNION ALL '))
      .map(([id, name]) => ({
        rowId: Number(id),
        column: name === null ? null : (columnCalled(local, name) ?? 'another'),
      })),
    evidence: textOfViews(user, ['sync_deleted']),
    refused: user.query(`SELECT row_id FROM sync_failures WHERE code = ${REFUSED_BY_RULE}`).map(([id]) => Number(id)),
  };
}

/** Conflicts of whole rows, and of the cells that are judged. */
function conflictsIn(user: User, names: LocalNames): readonly KeptConflict[] {
  return user
    .query(`SELECT row_id, kind, "column", base, local, remote, winner, state FROM sync_conflicts`)
    .flatMap(([id, kind, name, base, local, remote, winner, state]) => {
      const column = name === null ? null : columnCalled(names, name);
      if (column === undefined || column === 'File') return [];
      const [before, here, there] = [base as LocalValue, local as LocalValue, remote as LocalValue];
      const versions = { base: before, local: here, remote: there };
      const cells = kind === 'deletedThere' ? cellsOf(String(local), names) : {};
      const line = {
        rowId: Number(id),
        kind: String(kind),
        column,
        cells,
        winner: String(winner),
        state: String(state),
      };
      return [{ ...line, ...versions }];
    });
}

/** The judged cells of a row that is kept as a whole. */
function cellsOf(version: string, names: LocalNames): Readonly<Record<string, LocalValue>> {
  const cells = JSON.parse(version) as Readonly<Record<string, LocalValue>>;
  const isJudged = (column: Column | undefined): column is 'A' | 'B' => column === 'A' || column === 'B';
  const known = Object.entries(cells).map(([name, value]) => [columnCalled(names, name), value] as const);
  return Object.fromEntries(known.flatMap(([column, value]) => (isJudged(column) ? [[column, value]] : [])));
}

/** What the simulation calls a column of the replica. */
function columnCalled(local: LocalNames, name: unknown): Column | undefined {
  return COLUMNS.find((known) => local[known] === ident(String(name)));
}

function textOfViews(user: User, views: readonly string[]): string {
  return JSON.stringify(views.map((view) => user.query(`SELECT * FROM ${view}`)));
}
