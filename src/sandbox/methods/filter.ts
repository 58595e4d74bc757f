/**
 * The filter of a Select: from the parameter's text to a question that the store can ask about its rows. Pure; the
 * moment that `Now()` means is that of the call.
 */
import { hasOption, type Value } from '../../wire/schema.ts';
import type { MethodCall } from './call.ts';
import { evaluate, parseFormula, scopeFromColumns, type Formula, type FormulaFault } from '../formula/formula.ts';
import { foldCase } from '../formula/operators.ts';
import type { FormulaSession } from '../formula/types.ts';
import { valuesOf, visibleColumns } from './parameters.ts';
import { CODES, MethodRefusal } from './refusal.ts';
import { sessionOf } from './session.ts';
import type { StoreColumn, Table } from '../store/catalog.ts';
import type { RowFilter, RowRange } from '../store/matching.ts';
import type { RowTexts } from '../store/text-index.ts';

/** The filters that a request names; where a client repeats itself, a row must pass all of them. */
export function readFilters(call: MethodCall, table: Table): readonly RowFilter[] | MethodRefusal {
  const filters: RowFilter[] = [];
  for (const text of valuesOf(call.pairs, 'filter')) {
    const filter = filterFromText(call, visibleColumns(table, call.role), text);
    if ('offset' in filter) return filterRefusal(filter, 'filter');
    filters.push(filter);
  }
  return filters;
}

/** A filter over these columns of a table, or what is wrong with its text. */
export function filterFromText(
  call: MethodCall,
  columns: readonly StoreColumn[],
  text: string,
): RowFilter | FormulaFault {
  const variables = variablesOf(call);
  const scope = scopeFromColumns(
    columns.map(({ name, alias, valueType }) => ({ name, alias, type: valueType })),
    variables,
  );
  const formula = parseFormula(text, scope);
  if (formula.kind === 'fault') return formula;
  const session = sessionOf(call);
  // The user decides which columns a name means, and what User() is.
  const key = formula.uses.has('time') ? null : JSON.stringify([call.user.id, text, ...variables]);
  return rowFilter(formula, columns, session, key);
}

/** 400 with the place of the fault. */
function filterRefusal(fault: FormulaFault, source: string): MethodRefusal {
  const code = fault.reason === 'unknownColumn' ? CODES.noColumn : CODES.badFilter;
  const place = `at offset ${fault.offset} (line ${fault.line}, column ${fault.column})`;
  return new MethodRefusal(400, { code, message: `The filter cannot be read ${place}: ${fault.message}`, source });
}

function rowFilter(
  formula: Formula,
  columns: readonly StoreColumn[],
  session: FormulaSession,
  key: string | null,
): RowFilter {
  const indexes = [...formula.columns];
  const read = indexes.flatMap((index) => columns[index] ?? []);
  // One array for all rows: the formula looks at no other place, and keeps nothing.
  const values: Value[] = columns.map(() => null);
  return {
    columns: read,
    key,
    range: rangeOf(formula, columns, session),
    texts: textsOf(formula, columns),
    matches: (id, cells) => {
      for (const [at, index] of indexes.entries()) values[index] = cells[at] ?? null;
      return evaluate(formula, session, { id, values });
    },
  };
}

/** Computed values have no order that is kept. */
function rangeOf({ span }: Formula, columns: readonly StoreColumn[], session: FormulaSession): RowRange | null {
  const column = span === null ? undefined : columns[span.column];
  if (span === null || column === undefined || column.computed !== null) return null;
  const values: Value[] = columns.map(() => null);
  const passes = (value: Value, conditions: typeof span.from): boolean => {
    values[span.column] = value;
    return conditions.every(({ run }) => run({ session, row: { id: 0, values } }) === true);
  };
  return {
    column,
    isExact: span.isExact,
    hasBegun: (value) => value !== null && passes(value, span.from),
    hasEnded: (value) => value !== null && !passes(value, span.to),
  };
}

/** Only columns by whose values clients look rows up have an index. */
function textsOf({ texts }: Formula, columns: readonly StoreColumn[]): RowTexts | null {
  const column = texts === null ? undefined : columns[texts.column];
  if (texts === null || column === undefined || column.computed !== null) return null;
  const isUnique = column.kind === 'Key' || hasOption(column.options, 'Unique');
  return isUnique ? { column, texts: texts.texts, fold: foldCase } : null;
}

/** `var[Name]=value` sets a database variable for the call (origin facts 1.8). */
function variablesOf({ pairs }: MethodCall): ReadonlyMap<string, string> {
  const variables = new Map<string, string>();
  for (const [parameter, value] of pairs) {
    const name = /^var\[(.*)\]$/is.exec(parameter)?.[1];
    if (name !== undefined) variables.set(name, value);
  }
  return variables;
}
