/**
 * Which edits can be pushed, as SQL conditions over the new value of a column, each with the sentence that refuses the edit. They
 * stand in triggers, so that whoever edits learns at once what the origin would say hours later, and in the words of the
 * table. The conditions use nothing that SQLite 3.38 does not know. Pure.
 */
import { ident, literal, sql, type Sql } from '../replica/sql.ts';
import { baseName } from '../replica/tables.ts';
import { UPLOAD_PREFIX } from '../wire/values.ts';
import type { TwoWayColumn, TwoWayTable } from './table.ts';

/** A reason to refuse a value; the condition is over `NEW`. */
export interface CellRule {
  readonly isBroken: Sql;
  readonly sentence: string;
}

/** The largest double; what lies beyond is infinite, which no decimal says. */
const DOUBLE_MAX = sql`1.7976931348623157e308`;

/** What a value must be, for a column that may be written; null is judged by `missingRule`. */
export function valueRules(table: TwoWayTable, column: TwoWayColumn): readonly CellRule[] {
  const value = sql`NEW.${ident(column.localName)}`;
  const name = cellName(table, column);
  const form = column.type === 'Attachment' ? uploadRule(table, column, value) : formRule(column, value);
  return [
    ...(form === null ? [] : [{ isBroken: form.isBroken, sentence: `${name} ${form.sentence}` }]),
    ...(column.width !== null && column.width > 0 && isText(column)
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
  const isBroken = isText(column) ? sql`coalesce(${value}, '') = ''` : sql`${value} IS NULL`;
  return { isBroken, sentence: `${cellName(table, column)} must have a value` };
}

/** Why a column that may not be written keeps its value. */
export function keptSentence(table: TwoWayTable, column: { readonly localName: string }): string {
  return `${cellName(table, column)} cannot be changed here: the origin computes it, or does not let you write it`;
}

/** A column as sentences about its cells begin. */
export function cellName(table: TwoWayTable, { localName }: { readonly localName: string }): string {
  return `"${localName}" of ${table.localName}`;
}

function isText({ type }: TwoWayColumn): boolean {
  return ['Text', 'Phone', 'EMail', 'URL', 'User', 'Autonumber', 'Multiline', 'Unknown'].includes(type);
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
  switch (type) {
    case 'Checkbox':
      return { isBroken: sql`${value} NOT IN (0, 1)`, sentence: 'takes 0 or 1' };
    case 'Numeric':
    case 'Duration':
      return {
        isBroken: sql`CASE typeof(${value})
            WHEN 'integer' THEN 0 WHEN 'null' THEN 0
            WHEN 'real' THEN abs(${value}) > ${DOUBLE_MAX}
            WHEN 'text' THEN ${value} NOT GLOB '*[0-9]*' OR ${value} GLOB '*[^-0-9.]*' OR ${value} GLOB '?*-*'
              OR ${value} GLOB '*.*.*' OR length(${value}) > 1000
            ELSE 1 END`,
        sentence:
          type === 'Numeric'
            ? 'takes a number such as 12.5, without exponent'
            : 'takes a number of seconds, such as 90',
      };
    case 'Date':
      // Without a modifier, older SQLite, as other clients may have, repeats 30 February as it came.
      return { isBroken: sql`date(${value}, '+0 days') IS NOT ${value}`, sentence: 'takes a date such as 2026-11-21' };
    case 'Time':
      return {
        isBroken: sql`time(${value}, '+0 days') IS NOT ${value}`,
        sentence: 'takes a time of day such as 17:05:00',
      };
    case 'Timestamp':
      return {
        isBroken: sql`CASE WHEN ${value} IS NULL THEN 0 ELSE
            strftime('%Y-%m-%dT%H:%M:%S', substr(${value}, 1, 19), '+0 days') IS NOT substr(${value}, 1, 19)
            OR substr(${value}, 20) <> 'Z' AND (substr(${value}, 20) NOT GLOB '.[0-9]*Z'
              OR substr(${value}, 21, length(${value}) - 21) GLOB '*[^0-9]*') END`,
        sentence: "takes an instant in UTC such as 2026-11-21T17:05:00Z; strftime('%Y-%m-%dT%H:%M:%SZ', ...) makes one",
      };
    default:
      return null;
  }
}
