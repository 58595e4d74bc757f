/**
 * The triggers of a two-way table. They mark rows that a user edits, give new rows a negative `_id`, and refuse at once what
 * cannot be pushed. They do nothing while rowsync writes. Marks are hints only: the comparison with base is the truth.
 *
 * Ids of new rows: only a BEFORE trigger knows whether a statement gives an `_id` (it sees -1 if not). Only an AFTER trigger may renumber the row.
 * The first leaves a note for the second. A negative id is never reused, because its row may still be on its way to the origin. No trigger uses an OR
 * clause, since the clause of the statement would override it. Pure.
 */
import { NO_INSERTS } from '../reconcile/push-plan.ts';
import { nextRowState, ROW_STATES } from '../reconcile/row-state.ts';
import { ident, joinSql, literal, sql, type Sql } from '../base/sql.ts';
import { baseName } from '../replica/tables.ts';
import { NOT_OURS, type Trigger } from '../replica/triggers.ts';
import { keptSentence, missingRule, valueRules, type CellRule } from './rules.ts';
import type { TwoWayColumn, TwoWayTable } from './table.ts';

/** Our ids count downwards from the lowest one that a user gave, and must stay exact as doubles. */
const GIVEN_ID_MIN = -(2 ** 52);

/** Every trigger of a two-way table. */
export function captureTriggers(table: TwoWayTable): readonly Trigger[] {
  return [
    trigger(table, 'given', sql`BEFORE INSERT`, NOT_OURS, [noteGivenId(table)]),
    trigger(table, 'new', sql`AFTER INSERT`, sql`NOT (${isGiven(table)}) AND ${NOT_OURS}`, newRow(table)),
    trigger(table, 'known', sql`AFTER INSERT`, sql`${isGiven(table)} AND ${NOT_OURS}`, knownRow(table)),
    trigger(table, 'update', sql`AFTER UPDATE`, NOT_OURS, [mark(table, sql`NEW._id`, { rules: changeRules(table) })]),
    trigger(table, 'delete', sql`AFTER DELETE`, NOT_OURS, [
      mark(table, sql`OLD._id`, {
        rules: [
          {
            isBroken: sql`instr(OLD._allow, 'Delete') = 0`,
            sentence: `this row of ${table.localName} may not be deleted by you`,
          },
        ],
      }),
    ]),
  ];
}

function trigger(table: TwoWayTable, what: string, event: Sql, when: Sql, steps: readonly Sql[]): Trigger {
  const name = `_rowsync_capture_${what}_${table.id}`;
  const body = steps.reduce<Sql>(
    (text, step) => sql`${text}
      ${step};`,
    sql``,
  );
  const text = sql`CREATE TRIGGER ${ident(name)} ${event} ON ${ident(table.localName)}
    WHEN ${when} BEGIN${body}
    END`;
  return { name, text };
}

function raise(sentence: string): Sql {
  return sql`SELECT RAISE(ABORT, ${literal(sentence)})`;
}

function refuse(condition: Sql, sentence: string): Sql {
  return sql`${raise(sentence)} WHERE ${condition}`;
}

/**
 * The value, unless a rule is broken, which refuses the edit. Every connection keeps every trigger in memory. SQLite packs an expression that a
 * statement writes, but not one that a SELECT only evaluates: with a SELECT for each rule, hundreds of tables took twice the memory.
 */
function judged(value: Sql, rules: readonly CellRule[]): Sql {
  if (rules.length === 0) return value;
  const cases = rules.reduce<Sql>(
    (text, { isBroken, sentence }) => sql`${text}
          WHEN ${isBroken} THEN RAISE(ABORT, ${literal(sentence)})`,
    sql`CASE`,
  );
  return sql`${cases} ELSE ${value} END`;
}

/**
 * Marks an edited row, unless a rule is broken. Conditions of rules may read `from`, a FROM clause that yields one row. An edit moves states to the
 * one that it gives a row without a mark.
 */
function mark(
  table: TwoWayTable,
  id: Sql,
  { rules, from = sql`` }: { readonly rules: readonly CellRule[]; readonly from?: Sql },
): Sql {
  const unparked = ROW_STATES.filter((state) => state !== 'edited' && state !== 'clean').filter(
    (state) => nextRowState(state, 'localEdit') === 'edited',
  );
  return sql`INSERT INTO _rowsync_rows (table_id, row_id, state, since)
        SELECT ${table.id}, ${id}, ${judged(literal(nextRowState('clean', 'localEdit')), rules)},
          CAST(strftime('%s', 'now') AS INTEGER)${from} WHERE 1
        ON CONFLICT (table_id, row_id) DO UPDATE SET state = excluded.state
          WHERE state IN (${joinSql(unparked.map((state) => literal(state)))})`;
}

function noteGivenId(table: TwoWayTable): Sql {
  return sql`UPDATE _rowsync_local_ids SET given_id = coalesce(NEW._id, -1) WHERE table_id = ${table.id}`;
}

/** The statement gave the `_id`. -1 means none, also if SQLite counted up from -2. */
function isGiven(table: TwoWayTable): Sql {
  return sql`NEW._id <> -1 AND NEW._id IS (SELECT given_id FROM _rowsync_local_ids WHERE table_id = ${table.id})`;
}

/** A row that the origin does not know: its values are judged, then it gets the next negative id, which marks it. */
function newRow(table: TwoWayTable): readonly Sql[] {
  const cells = table.columns.flatMap((column): readonly CellRule[] => {
    if (!column.writable) return [kept(table, column)];
    return [...valueRules(table, column), ...maybe(missingRule(table, column, 'new'))];
  });
  const rules = [...cells, ...table.keptColumns.map((column) => kept(table, column))];
  return [
    ...(table.allowsAdd ? [] : [raise(`${table.localName}: ${NO_INSERTS}`)]),
    sql`UPDATE _rowsync_local_ids SET given_id = ${judged(sql`NEW._id`, rules)}, last_id = last_id - 1 WHERE table_id = ${table.id}`,
    sql`UPDATE ${ident(table.localName)} SET _allow = NULL, _id = (SELECT last_id FROM _rowsync_local_ids WHERE table_id = ${table.id})
        WHERE _id = NEW._id`,
    // Under a number of the origin's, it would be taken for that row.
    refuse(
      sql`EXISTS (SELECT 1 FROM ${ident(table.localName)} WHERE _id = NEW._id)`,
      `a trigger of another program keeps the new row of ${table.localName} from getting its number: drop that trigger first`,
    ),
    sql`UPDATE _rowsync_local_ids SET given_id = -1 WHERE table_id = ${table.id}`,
  ];
}

/** Whether a row that the origin knows keeps its value: a new one may bring its number, which no edit changes. */
function isFixed({ writable, type }: TwoWayColumn): boolean {
  return !writable || type === 'Autonumber';
}

function kept(table: TwoWayTable, column: Parameters<typeof keptSentence>[1]): CellRule {
  return { isBroken: sql`NEW.${ident(column.localName)} IS NOT NULL`, sentence: keptSentence(table, column) };
}

/** `INSERT OR REPLACE` of a known row, or `INSERT` of a row that was deleted here: an edit of that row, cell by cell. */
function knownRow(table: TwoWayTable): readonly Sql[] {
  const base = ident(baseName(table.id));
  // Compared with base, since the former row is gone: a value that the origin has is no edit.
  const from = sql` FROM (SELECT 1) LEFT JOIN ${base} b ON b._id = NEW._id`;
  const isChanged = (column: TwoWayColumn): Sql =>
    sql`NEW.${ident(column.localName)} IS NOT b.${ident(column.localName)}`;
  const stray: CellRule = {
    isBroken: sql`NEW._id < ${GIVEN_ID_MIN} OR NEW._id > 0 AND b._id IS NULL`,
    sentence: `_id of ${table.localName} is given by the origin: leave it out for a new row (of a file: rowsync import)`,
  };
  const cells = table.columns.flatMap((column): readonly CellRule[] => {
    const name = ident(column.localName);
    if (isFixed(column)) {
      const isBroken = sql`NEW.${name} IS NOT NULL AND ${isChanged(column)}`;
      return [{ isBroken, sentence: keptSentence(table, column) }];
    }
    const missing = (column.automatic ? [] : maybe(missingRule(table, column, 'known'))).map(
      ({ isBroken, sentence }) => ({
        isBroken: sql`${isBroken} AND (b._id IS NULL OR ${isChanged(column)})`,
        sentence,
      }),
    );
    const value = valueRules(table, column).map(({ isBroken, sentence }) => ({
      isBroken: sql`${isChanged(column)} AND (${isBroken})`,
      sentence,
    }));
    return [...value, ...missing];
  });
  const here = ident(table.localName);
  const restored = [
    sql`_allow = ${base}._allow`,
    ...[...table.columns.filter(({ writable }) => !writable), ...table.keptColumns].map(
      ({ localName }) => sql`${ident(localName)} = ${base}.${ident(localName)}`,
    ),
    // A statement that names a row by _id and leaves out its key or a file does not mean to empty them.
    ...table.columns
      .filter(({ writable, automatic, type }) => writable && (automatic || type === 'Attachment'))
      .map(({ localName }) => {
        const name = ident(localName);
        return sql`${name} = coalesce(${here}.${name}, ${base}.${name})`;
      }),
  ];
  return [
    mark(table, sql`NEW._id`, { rules: [stray, ...cells], from }),
    sql`UPDATE ${here} SET ${joinSql(restored)} FROM ${base} WHERE ${base}._id = NEW._id AND ${here}._id = NEW._id`,
    sql`UPDATE _rowsync_local_ids SET last_id = min(last_id, NEW._id) WHERE table_id = ${table.id}`,
  ];
}

/** Judges each cell that an UPDATE changed. One trigger does all of them: SQLite reads every trigger of the file whenever its schema changes. */
function changeRules(table: TwoWayTable): readonly CellRule[] {
  const cells = table.columns.flatMap((column): readonly CellRule[] => {
    if (isFixed(column)) return [keptCell(table, column)];
    const name = ident(column.localName);
    return [...valueRules(table, column), ...maybe(missingRule(table, column, 'known'))].map(
      ({ isBroken, sentence }) => ({
        isBroken: sql`NEW.${name} IS NOT OLD.${name} AND (${isBroken})`,
        sentence,
      }),
    );
  });
  return [
    {
      isBroken: sql`NEW._id IS NOT OLD._id AND NOT EXISTS (SELECT 1 FROM _rowsync_local_ids
            WHERE table_id = ${table.id} AND given_id = OLD._id AND last_id = NEW._id)`,
      sentence: `_id of ${table.localName} cannot be changed: the origin gives it`,
    },
    {
      isBroken: isKeptChanged(table, '_allow'),
      sentence: `_allow of ${table.localName} cannot be changed: the origin gives it`,
    },
    ...cells,
    ...table.keptColumns.map((column) => keptCell(table, column)),
    {
      isBroken: sql`instr(OLD._allow, 'Edit') = 0`,
      sentence: `this row of ${table.localName} may not be edited by you`,
    },
  ];
}

/** Refuses another value in a column that may not be written. */
function keptCell(table: TwoWayTable, column: Parameters<typeof keptSentence>[1]): CellRule {
  return { isBroken: isKeptChanged(table, column.localName), sentence: keptSentence(table, column) };
}

/** Changed, and not to what the origin has: setting it back is no edit. */
function isKeptChanged(table: TwoWayTable, localName: string): Sql {
  const name = ident(localName);
  return sql`NEW.${name} IS NOT OLD.${name}
      AND NEW.${name} IS NOT (SELECT ${name} FROM ${ident(baseName(table.id))} WHERE _id = NEW._id)`;
}

function maybe<T>(value: T | null): readonly T[] {
  return value === null ? [] : [value];
}
