/**
 * Which edits can be pushed, as SQL conditions over the new value of a column, each with the sentence that refuses the edit. They
 * stand in triggers, so that whoever edits learns at once what the origin would say hours later, and in the words of the
 * table. Pure.
 */
import { ident, literal, sql, type Sql } from '../base/sql.ts';
import { baseName } from '../replica/tables.ts';
import { isTextType, TYPE_RULES, UPLOAD_PREFIX } from '../wire/column-types.ts';
import type { Mask } from '../wire/schema.ts';
import type { TwoWayColumn, TwoWayTable } from './table.ts';

/** A reason to refuse a value; the condition is over `NEW`. */
export interface CellRule {
  readonly isBroken: Sql;
  readonly sentence: string;
}

/** What a value must be, for a column that may be written; null is judged by `missingRule`. */
export function valueRules(table: TwoWayTable, column: TwoWayColumn): readonly CellRule[] {
  const value = sql`NEW.${ident(column.localName)}`;
  const name = cellName(table, column);
  const form = column.type === 'Attachment' ? uploadRule(table, column, value) : formRule(column, value);
  return [
    ...(form === null ? [] : [{ isBroken: form.isBroken, sentence: `${name} ${form.sentence}` }]),
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

/**
 * Refuses a missing value where the origin requires one; null where it may be missing. A new row may lack what the origin
 * gives itself, and the match column, whose value push makes.
 */
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
  column: { readonly localName: string; readonly mask: Mask | null },
): string {
  if (column.mask !== null) return `${cellName(table, column)} cannot be changed here: it is masked`;
  return `${cellName(table, column)} cannot be changed here: the origin computes it, or does not let you write it`;
}

/** A column as sentences about its cells begin. */
export function cellName(table: TwoWayTable, { localName }: { readonly localName: string }): string {
  return `"${localName}" of ${table.localName}`;
}

/** A value of the origin's names a file there; what is attached is a file here. Setting the origin's value back is no edit. */
function uploadRule(table: TwoWayTable, { localName }: TwoWayColumn, value: Sql): CellRule {
  const before = sql`(SELECT ${ident(localName)} FROM ${ident(baseName(table.id))} WHERE _id = NEW._id)`;
  return {
    isBroken: sql`${value} NOT GLOB ${literal(`${UPLOAD_PREFIX}?*`)} AND ${value} IS NOT ${before}`,
    sentence: `takes ${UPLOAD_PREFIX} and the name of a file to attach, such as 'file:/path/to/photo.jpg', or NULL to take the file away`,
  };
}

/** The form that values of a type have; null for text, where SQLite itself refuses anything else. */
function formRule({ type }: TwoWayColumn, value: Sql): CellRule | null {
  const { cellForm } = TYPE_RULES[type];
  return cellForm && { isBroken: cellForm.isBroken(value), sentence: cellForm.sentence };
}
