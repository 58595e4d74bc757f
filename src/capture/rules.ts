/**
 * Which edits can be pushed, as SQL conditions over the new value of a column, each with the sentence that refuses the edit. Triggers contain them,
 * so that a person learns at once what the origin would say hours later. Pure.
 */
import { ident, literal, sql, type Sql } from '../base/sql.ts';
import { baseName } from '../replica/tables.ts';
import { isTextType, TYPE_RULES, UPLOAD_PREFIX } from '../wire/column-types.ts';
import { UNKNOWN_KIND } from '../wire/rights.ts';
import type { Mask } from '../wire/schema.ts';
import type { TwoWayColumn, TwoWayTable } from './table.ts';

/** A reason to refuse a value; the condition is over `NEW`. */
export interface CellRule {
  readonly isBroken: Sql;
  readonly sentence: string;
}

/** The rules for values of a writable column; `missingRule` judges null. */
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
 * Refuses a missing required value; null if the value may be missing. A new row may lack values that the origin gives, and the match value, which
 * push generates.
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
  column: { readonly localName: string; readonly mask: Mask | null; readonly kind?: string | null },
): string {
  if (column.mask !== null) return `${cellName(table, column)} cannot be changed here: it is masked`;
  if (column.kind === UNKNOWN_KIND)
    return `${cellName(table, column)} cannot be changed here yet: the origin shows what you may write only once the table has a row`;
  return `${cellName(table, column)} cannot be changed here: the origin computes it, or does not let you write it`;
}

/** A column as sentences about its cells begin. */
export function cellName(table: TwoWayTable, { localName }: { readonly localName: string }): string {
  return `"${localName}" of ${table.localName}`;
}

/** A value of the origin names a file there; an attachment is a file here. Setting the origin's value back is no edit. */
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
  return cellForm && { isBroken: cellForm.isBroken(value), sentence: cellForm.sentence };
}
