/**
 * The triggers of a two-way table. They mark rows that a user edits, give new rows a negative `_id`, and refuse at once
 * what cannot be pushed. So a person learns it before the origin says so hours later. They do nothing while rowsync
 * writes. Marks are hints only: the comparison with base is the truth.
 *
 * Ids of new rows: only a BEFORE trigger knows whether a statement gives an `_id` (it sees -1 if not). Only an AFTER
 * trigger may renumber the row. The first leaves a note for the second, which replaces it by the id that the row gets.
 * A negative id is never reused, because its row may still be on its way to the origin. No trigger uses an OR clause,
 * since the clause of the statement would override it. Pure.
 */
import { NO_INSERTS } from '../reconcile/push-plan.ts';
import { nextRowState, ROW_STATES } from '../reconcile/row-state.ts';
import { onceFor } from '../base/memoize.ts';
import { ident, joinSql, literal, sql, type Sql } from '../base/sql.ts';
import { baseName } from '../replica/user-tables.ts';
import { NOT_OURS, type Trigger } from '../replica/triggers.ts';
import type { TwoWayColumn, TwoWayTable } from './two-way-table.ts';
import { isTextType, TYPE_RULES, UPLOAD_PREFIX } from '../wire/column-types.ts';
import { UNKNOWN_KIND } from '../wire/write-rights.ts';
import type { Mask } from '../wire/schema.ts';

/** Our ids count downwards from the lowest one that a user gave, and must stay exact as doubles. */
const GIVEN_ID_MIN = -(2 ** 52);

/** Every trigger of a two-way table. Their texts are long, and are compared in each pull. */
export const captureTriggers = onceFor((table: TwoWayTable): readonly Trigger[] => [
  trigger(table, 'given', sql`BEFORE INSERT`, [noteGivenId(table)]),
  trigger(table, 'insert', sql`AFTER INSERT`, insertedRow(table)),
  trigger(table, 'update', sql`AFTER UPDATE`, [
    mark(table, sql`NEW._id`, { rules: changeRules(table), from: versions(table) }),
  ]),
  trigger(table, 'delete', sql`AFTER DELETE`, [
    mark(table, sql`OLD._id`, {
      rules: [
        {
          isBroken: sql`instr(OLD._allow, 'Delete') = 0`,
          sentence: `this row of ${table.localName} may not be deleted by you`,
        },
      ],
    }),
  ]),
]);

function trigger(table: TwoWayTable, what: string, event: Sql, steps: readonly Sql[]): Trigger {
  const name = `_rowsync_capture_${what}_${table.id}`;
  const body = steps.reduce<Sql>(
    (text, step) => sql`${text}
      ${step};`,
    sql``,
  );
  const text = sql`CREATE TRIGGER ${ident(name)} ${event} ON ${ident(table.localName)}
    WHEN ${NOT_OURS} BEGIN${body}
    END`;
  return { name, text };
}

function refuse(condition: Sql, sentence: string): Sql {
  return sql`SELECT RAISE(ABORT, ${literal(sentence)}) WHERE ${condition}`;
}

/** The value, unless a rule is broken. SQLite packs a CASE in an expression; SELECTs took twice the memory. */
function judged(value: Sql, rules: readonly CellRule[]): Sql {
  if (rules.length === 0) return value;
  const cases = rules.reduce<Sql>(
    (text, { isBroken, sentence, sqlAdvice }) => {
      const words = sqlAdvice === undefined ? sentence : `${sentence}; ${sqlAdvice}`;
      return sql`${text}
          WHEN ${isBroken} THEN RAISE(ABORT, ${literal(words)})`;
    },
    sql`CASE`,
  );
  return sql`${cases} ELSE ${value} END`;
}

/** strftime() took a third of the time of a mark; a julian day is a number, a few microseconds off. */
const NOW_SECONDS = sql`CAST((julianday('now') - 2440587.5) * 86400 + 0.0005 AS INTEGER)`;

/** Marks an edited row, unless a rule is broken; conditions may read `from`, a FROM clause that yields one row. */
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
          ${NOW_SECONDS}${from} WHERE 1
        ON CONFLICT (table_id, row_id) DO UPDATE SET state = excluded.state
          WHERE state IN (${joinSql(unparked.map((state) => literal(state)))})`;
}

function noteGivenId(table: TwoWayTable): Sql {
  return sql`UPDATE _rowsync_local_ids SET given_id = coalesce(NEW._id, -1) WHERE table_id = ${table.id}`;
}

/** The statement gave the `_id`; -1 means none, also if SQLite counted up from -2. Read while the note is there. */
const IS_GIVEN = sql`NEW._id <> -1 AND NEW._id IS given_id`;

/**
 * A row that the statement gave no `_id` gets the next negative one, by an UPDATE, which judges and marks it. An INSERT
 * with the `_id` of a row that the base has is an edit of its cells. An UPDATE restores those that it left out.
 */
function insertedRow(table: TwoWayTable): readonly Sql[] {
  const [here, base] = [ident(table.localName), ident(baseName(table.id))];
  const ownId = sql`(SELECT given_id FROM _rowsync_local_ids WHERE table_id = ${table.id})`;
  const [isNew, isKnown] = [sql`${ownId} <> NEW._id`, sql`EXISTS (SELECT 1 FROM ${base} WHERE _id = ${ownId})`];
  const kept = table.keptColumns.map(({ localName }) => ident(localName));
  const restored = [
    sql`_allow = ${base}._allow`,
    ...kept.map((name) => sql`${name} = ${base}.${name}`),
    // A statement that names a row by _id and leaves out its key or a file does not mean to empty them.
    ...table.columns
      .filter(({ writable, automatic, type }) => !writable || automatic || type === 'Attachment')
      .map(({ localName }) => {
        const name = ident(localName);
        return sql`${name} = coalesce(${here}.${name}, ${base}.${name})`;
      }),
  ];
  const own = [
    sql`_id = ${ownId}`,
    sql`_allow = NULL`,
    ...kept.map((name) => sql`${name} = iif(${isNew}, ${name}, NULL)`),
  ];
  return [
    sql`UPDATE _rowsync_local_ids SET given_id = iif(${IS_GIVEN}, NEW._id, last_id - 1),
          last_id = iif(${IS_GIVEN}, min(last_id, NEW._id), last_id - 1) WHERE table_id = ${table.id}`,
    refuse(
      sql`NEW._id < ${GIVEN_ID_MIN} OR ${ownId} > 0 AND NOT ${isKnown}`,
      `_id of ${table.localName} is given by the origin: leave it out for a new row (of a file: rowsync import)`,
    ),
    ...(table.allowsAdd ? [] : [refuse(isNew, `${table.localName}: ${NO_INSERTS}`)]),
    // Of several tables in FROM, SQLite makes one with all of their columns, which may be too many.
    sql`UPDATE ${here} SET ${joinSql(restored)} FROM ${base} WHERE ${base}._id = ${ownId} AND ${here}._id = NEW._id`,
    sql`UPDATE ${here} SET ${joinSql(own)} WHERE _id = NEW._id AND NOT ${isKnown}`,
    // With a positive id it would be mistaken for the origin's row of that id.
    refuse(
      sql`${isNew} AND EXISTS (SELECT 1 FROM ${here} WHERE _id = NEW._id)`,
      `a trigger of another program keeps the new row of ${table.localName} from getting its number: drop that trigger first`,
    ),
    sql`UPDATE _rowsync_local_ids SET given_id = -1 WHERE table_id = ${table.id}`,
  ];
}

/** The base of an updated row (`b`). `i.table_id`: it was just inserted, so `OLD` lacks its former values. */
function versions(table: TwoWayTable): Sql {
  return sql` FROM (SELECT 1) LEFT JOIN _rowsync_local_ids i ON i.table_id = ${table.id} AND i.given_id = NEW._id
        LEFT JOIN ${ident(baseName(table.id))} b ON b._id = NEW._id`;
}

/** Whether a row came that is neither here nor at the origin. */
const IS_NEW = sql`i.table_id AND b._id IS NULL`;

/** Judges cells that an UPDATE changed, or in which a new row differs from its base. One trigger, to save memory. */
function changeRules(table: TwoWayTable): readonly CellRule[] {
  const cells = table.columns.flatMap((column): readonly CellRule[] => {
    if (!column.writable) return [keptCell(table, column)];
    const isJudged = column.type === 'Autonumber' ? IS_NEW : isCellChanged(column);
    const values = valueRules(table, column).map((rule) => ({
      ...rule,
      isBroken: sql`${isJudged} AND (${rule.isBroken})`,
    }));
    if (column.type !== 'Autonumber') return [...values, ...missingCell(table, column)];
    // A new row may bring its number, which no edit changes.
    const { isBroken, sentence } = keptCell(table, column);
    return [{ isBroken: sql`${isBroken} AND (b._id IS NOT NULL OR i.table_id IS NULL)`, sentence }, ...values];
  });
  return [
    {
      isBroken: sql`NEW._id IS NOT OLD._id AND (NEW._id = -1 OR i.last_id IS NOT NEW._id)`,
      sentence: `_id of ${table.localName} cannot be changed: the origin gives it`,
    },
    {
      isBroken: isKeptChanged({ localName: '_allow' }),
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

/** Whether an UPDATE changed a cell, or an inserted row differs there from the base. */
function isCellChanged({ localName }: { readonly localName: string }): Sql {
  const name = ident(localName);
  return sql`NEW.${name} IS NOT iif(i.table_id, b.${name}, OLD.${name})`;
}

/** Refuses that a required cell is emptied, or missing in a new row. */
function missingCell(table: TwoWayTable, column: TwoWayColumn): readonly CellRule[] {
  const rule = missingRule(table, column, 'known');
  if (rule === null) return [];
  const isEmptied = isCellChanged(column);
  const mayLack = missingRule(table, column, 'new') === null;
  const isJudged = mayLack ? sql`${isEmptied} AND NOT (${IS_NEW})` : sql`(${isEmptied} OR ${IS_NEW})`;
  return [{ isBroken: sql`${isJudged} AND (${rule.isBroken})`, sentence: rule.sentence }];
}

/** Refuses another value in a column that may not be written. */
function keptCell(table: TwoWayTable, column: Parameters<typeof keptSentence>[1]): CellRule {
  return { isBroken: isKeptChanged(column), sentence: keptSentence(table, column) };
}

/** Changed, and not to what the origin has: setting it back is no edit. */
function isKeptChanged(column: { readonly localName: string }): Sql {
  const name = ident(column.localName);
  return sql`${isCellChanged(column)} AND NEW.${name} IS NOT b.${name}`;
}

/** A reason to refuse a value; the condition is over `NEW`. */
export interface CellRule {
  readonly isBroken: Sql;
  readonly sentence: string;
  /** Behind the sentence, where the value was written with SQL. */
  readonly sqlAdvice?: string;
}

/** The rules for values of a writable column; `missingRule` judges null. */
export function valueRules(table: TwoWayTable, column: TwoWayColumn): readonly CellRule[] {
  const value = sql`NEW.${ident(column.localName)}`;
  const name = cellName(table, column);
  const form = column.type === 'Attachment' ? uploadRule(table, column, value) : formRule(column, value);
  return [
    ...(form === null ? [] : [{ ...form, sentence: `${name} ${form.sentence}` }]),
    ...(column.width !== null && column.width > 0 && isTextType(column.type)
      ? [
          {
            isBroken: sql`length(${value}) > ${column.width}`,
            sentence: `${name} takes at most ${column.width} characters`,
          },
        ]
      : []),
  ];
}

/** Refuses a missing required value; null if it may be missing. In new rows, the origin or push gives some values. */
export function missingRule(table: TwoWayTable, column: TwoWayColumn, row: 'new' | 'known'): CellRule | null {
  if (!column.required && !column.automatic) return null;
  if (row === 'new' && (column.automatic || column.name === table.matchColumn)) return null;
  const value = sql`NEW.${ident(column.localName)}`;
  const isBroken = isTextType(column.type) ? sql`coalesce(${value}, '') = ''` : sql`${value} IS NULL`;
  return { isBroken, sentence: `${cellName(table, column)} must have a value` };
}

/** Why a column that may not be written keeps its value. */
export function keptSentence(
  table: TwoWayTable,
  column: {
    readonly localName: string;
    readonly mask: Mask | null;
    readonly kind?: string | null;
    readonly type?: string;
  },
): string {
  if (column.mask !== null) return `${cellName(table, column)} cannot be changed here: it is masked`;
  if (column.kind === UNKNOWN_KIND)
    return `${cellName(table, column)} cannot be changed here yet: the origin shows what you may write only once the table has a row`;
  if (column.type === 'Autonumber')
    return `${cellName(table, column)} cannot be changed here: it is an autonumber, which only a new row may bring along`;
  return `${cellName(table, column)} cannot be changed here: the origin computes it, or does not let you write it`;
}

/** A column as sentences about its cells begin. */
export function cellName(table: TwoWayTable, { localName }: { readonly localName: string }): string {
  return `"${localName}" of ${table.localName}`;
}

/** The origin's values name files there; an attachment is a file here. Setting the origin's value back is no edit. */
function uploadRule(table: TwoWayTable, { localName }: TwoWayColumn, value: Sql): CellRule {
  const before = sql`(SELECT ${ident(localName)} FROM ${ident(baseName(table.id))} WHERE _id = NEW._id)`;
  return {
    isBroken: sql`${value} NOT GLOB ${literal(`${UPLOAD_PREFIX}?*`)} AND ${value} IS NOT ${before}`,
    sentence: `takes ${UPLOAD_PREFIX} and the name of a file to attach, such as 'file:/path/to/photo.jpg', or NULL to take the file away`,
  };
}

/** The form of values of a type; null for text, where SQLite itself refuses anything else. */
function formRule({ type }: TwoWayColumn, value: Sql): CellRule | null {
  const { cellForm } = TYPE_RULES[type];
  return cellForm && { ...cellForm, isBroken: cellForm.isBroken(value) };
}
