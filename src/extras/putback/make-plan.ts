/**
 * Makes a plan: which lost rows to put back, which rows refer to them, and what the origin has of them now. Reads the
 * replica and the origin, and writes only the descriptions of tables into the putback file.
 */
import type { LostRow } from '../shared/linked-extra.ts';
import { usageError } from '../../base/errors.ts';
import { readColumns, type ColumnRecord } from '../../replica/bookkeeping/columns.ts';
import type { Connection } from '../../replica/connection.ts';
import { hasOption } from '../../wire/schema.ts';
import { fileFinder } from './attached-files.ts';
import type { LostRows } from './lost-rows.ts';
import { findOrphans } from './orphans.ts';
import { planPutback, rowName, type PlanFacts, type PlannedPutback, type PlanTable } from './lost-row-outcome.ts';
import {
  describeTables,
  keyColumnOf,
  matchColumnOf,
  requiredColumnsOf,
  stagedTable,
  type PutbackPlace,
} from './putback-file.ts';
import { readRecords } from './putback-records.ts';
import { referencesOf, type ReferenceRules, type TableReference } from './references.ts';
import { findThere } from './put-rows-back.ts';

export interface PutbackChoice {
  readonly table: string;
  /** `_id`s that rows had; empty for all of the source. */
  readonly ids: readonly number[];
  /** Tables whose rows come along if they refer to one that is put back. */
  readonly with: readonly string[];
  /** Stamps between which rows were deleted; '' and '9999' for any time. */
  readonly from: string;
  readonly until: string;
}

export interface PutbackPlan {
  readonly rows: readonly PlannedPutback[];
  /** Rows that stayed, and refer or referred to one of the rows; `reason` says which references were emptied. */
  readonly orphans: readonly PlannedPutback[];
  /** References that were guessed, for consent. */
  readonly guessed: readonly TableReference[];
  /** Columns with values that cannot be written, by the name of their table. */
  readonly unwritable: ReadonlyMap<string, readonly string[]>;
  /** Tables and columns that the other database lacks, in words. */
  readonly missing: readonly string[];
  readonly nameOf: (tableId: number) => string;
}

/** The lost rows that a person means, and the references between the tables. @throws RowsyncError `usage.invalid`. */
export function chooseRows(
  lost: LostRows,
  choice: PutbackChoice,
  config: { readonly tables: ReferenceRules },
): { readonly rows: readonly LostRow[]; readonly references: readonly TableReference[] } {
  const root = lost.table(choice.table);
  const known = lost.rows(root.id);
  const unknown = choice.ids.filter((id) => !known.some(({ oldId }) => oldId === id));
  if (unknown.length > 0) {
    throw usageError(
      `${root.localName}: no lost row had the _id ${unknown.join(', ')}`,
      'Lost rows are those in sync_deleted, and with history those deleted here; --from names a backup, --at a moment of the history.',
    );
  }
  const { from, until } = choice;
  const isMeant = ({ oldId, deletedAt }: LostRow): boolean =>
    (choice.ids.length === 0 || choice.ids.includes(oldId)) && (deletedAt ?? '') >= from && (deletedAt ?? '') <= until;
  const along = choice.with.map((name) => lost.table(name));
  const references = lost.tables.flatMap((table) => referencesOf(lost, table, config.tables));
  const chosen = new Map(known.filter(isMeant).map((row) => [rowName(root.id, row.oldId), row]));
  const keys = new Set([...chosen.values()].flatMap((row) => lost.keyName(row) ?? []));
  // Ends: each round adds a row.
  for (let before = -1; before !== chosen.size;) {
    before = chosen.size;
    for (const row of along.flatMap(({ id }) => lost.rows(id))) {
      const isChild = references.some(({ tableId, column, toId }) => {
        const value = row.values.get(column.id) ?? null;
        return tableId === row.tableId && value !== null && keys.has(rowName(toId, String(value)));
      });
      if (!isChild) continue;
      chosen.set(rowName(row.tableId, row.oldId), row);
      const name = lost.keyName(row);
      if (name !== null) keys.add(name);
    }
  }
  return { rows: [...chosen.values()], references };
}

/** A unique text column with a value in each row, to find rows again if an answer is lost; null for none. */
export function uniqueColumn(
  columns: readonly ColumnRecord[],
  keyId: number | null,
  rows: readonly LostRow[],
): string | null {
  const column = columns.find(({ id, state, writable, type, options, mask }) => {
    const isUnique = id === keyId || hasOption(options.split(', '), 'Unique');
    const isFilled = rows.every(({ values }) => (values.get(id) ?? '') !== '');
    return state === 'live' && writable && mask === null && type === 'Text' && isUnique && isFilled;
  });
  return column?.name ?? null;
}

/** The match column that the configuration or an earlier run gave to a table of the file. */
export function knownMatch(file: Connection, name: string, rules: ReferenceRules): string | null {
  return rules.find(name)?.options.match ?? matchColumnOf(file, name);
}

/** Plans rows, with what the origin says now. @throws RowsyncError of the origin. */
export async function makePlan(
  place: PutbackPlace,
  lost: LostRows,
  given: ReturnType<typeof chooseRows> & {
    readonly config: { readonly tables: ReferenceRules };
    /** Where the content of attached files may be. */
    readonly folders: readonly string[];
    /** Whether older revisions of files are attached, too. */
    readonly revisions: boolean;
  },
): Promise<PutbackPlan> {
  const { rows, references, config, folders, revisions } = given;
  const orphaned = findOrphans(lost, rows, references);
  const ids = new Set([...rows, ...orphaned].map(({ tableId }) => tableId));
  const taking = lost.tables.filter(({ id }) => ids.has(id));
  await describeTables(
    place,
    taking.map(({ id, name }) => {
      const own = rows.filter(({ tableId }) => tableId === id);
      const unique = uniqueColumn(readColumns(lost.main, id), lost.keyOf(id)?.id ?? null, own);
      return { name, match: knownMatch(place.push.replica, name, config.tables) ?? unique };
    }),
  );
  const { planned, unwritable } = await planRows(place, rows, {
    references,
    isLiveKey: (tableId, key) => lost.isLiveKey(tableId, key),
    lostIdOf: (tableId, key) => lost.idOf(tableId, key),
    filesOf: fileFinder(lost.readers(), folders, { revisions }),
  });
  return {
    rows: planned,
    orphans: orphaned.flatMap((orphan) => writableOrphan(orphan, planned, planTable(place, orphan.tableId))),
    guessed: references.filter(
      ({ isConfigured, tableId, toId }) => !isConfigured && (ids.has(tableId) || ids.has(toId)),
    ),
    unwritable,
    missing: [],
    nameOf: (tableId) => lost.nameOf(tableId),
  };
}

/** Plans rows of described tables, by the ids of the tables and columns there. @throws RowsyncError of the origin. */
export async function planRows(
  place: PutbackPlace,
  rows: readonly LostRow[],
  facts: Pick<PlanFacts, 'references' | 'isLiveKey' | 'lostIdOf' | 'filesOf'>,
): Promise<Pick<PutbackPlan, 'unwritable'> & { readonly planned: readonly PlannedPutback[] }> {
  const tableIds = new Set(rows.map(({ tableId }) => tableId));
  const tables = new Map([...tableIds].map((id) => [id, planTable(place, id)]));
  const records = readRecords(place.push.replica).filter(
    ({ kind, state }) => kind === 'row' && state !== 'cannot' && state !== 'given up',
  );
  const before = new Map(records.map((record) => [rowName(record.tableId, record.oldId), record]));
  const there = await findThere(
    place,
    rows.filter(({ tableId, oldId }) => !before.has(rowName(tableId, oldId))),
  );
  const planned = planPutback(rows, {
    ...facts,
    tables,
    thereOf: ({ tableId, oldId }) => {
      const record = before.get(rowName(tableId, oldId));
      if (record === undefined) return there.get(rowName(tableId, oldId)) ?? null;
      const { state, newId, newKey } = record;
      return { newId, newKey, reason: state === 'done' ? `put back before as ${newId}` : `noted before: ${state}` };
    },
    earlier: new Map(
      records.flatMap(({ tableId, oldKey, oldId }) => (oldKey === null ? [] : [[rowName(tableId, oldKey), oldId]])),
    ),
  });
  return { planned, unwritable: unwritableValues(rows, tables) };
}

/** An orphan with its links to rows that are created; nothing if there are none. */
function writableOrphan(
  orphan: PlannedPutback,
  planned: readonly PlannedPutback[],
  { columns }: PlanTable,
): readonly PlannedPutback[] {
  const links = orphan.links.filter(({ toId, oldId }) =>
    planned.some((row) => row.tableId === toId && row.oldId === oldId && row.fate === 'create'),
  );
  if (links.length === 0) return [];
  const closed = columns.find(({ id, writable }) => !writable && links.some(({ columnId }) => columnId === id));
  const reason = closed === undefined ? orphan.reason : `${closed.localName} may not be written`;
  return [{ ...orphan, links, reason, fate: closed === undefined ? 'create' : 'cannot' }];
}

function planTable(place: PutbackPlace, tableId: number): PlanTable {
  const { localName, allowsAdd, matchColumn, columns } = stagedTable(place, tableId);
  const matchId = columns.find(({ name }) => name === matchColumn)?.id ?? null;
  // A masked column has no options here, but the origin may require it.
  const required = requiredColumnsOf(place, tableId);
  return {
    id: tableId,
    localName,
    keyId: keyColumnOf(place, tableId),
    allowsAdd,
    matchId,
    columns: columns.map((column) => ({ ...column, required: column.required || required.has(column.id) })),
  };
}

function unwritableValues(
  rows: readonly LostRow[],
  tables: ReadonlyMap<number, PlanTable>,
): ReadonlyMap<string, readonly string[]> {
  const left = [...tables.values()].map(({ id, localName, columns }) => {
    const own = rows.filter(({ tableId }) => tableId === id);
    const names = columns.filter(({ id: columnId, writable, type }) => {
      const isNotSent = !writable || type === 'Autonumber';
      return isNotSent && own.some(({ values }) => (values.get(columnId) ?? null) !== null);
    });
    return [localName, names.map((column) => column.localName)] as const;
  });
  return new Map(left.filter(([, names]) => names.length > 0));
}
