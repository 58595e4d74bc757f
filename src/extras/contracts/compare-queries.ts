/**
 * Compares registered queries before and after a change of names. A query may then read another column under the same
 * name, or its answer may have other columns. Both compile, so SQLite does not report them.
 */
import { foldIdent } from '../../base/sql.ts';
import { someOf } from '../../base/text.ts';
import type { Connection } from '../../replica/connection.ts';
import type { ContractComplaint } from './complaints.ts';
import type { Contract } from './judge-queries.ts';
import { readNames, type SchemaNames } from './old-names.ts';
import { SchemaModel } from './schema-model.ts';

type Before = ReturnType<typeof lookBefore>;

export function lookBefore(from: Connection, contracts: readonly Contract[]) {
  using model = new SchemaModel(from);
  return {
    names: readNames(from),
    answers: new Map(contracts.map(({ name, text }) => [name, model.compile(text).columns])),
  };
}

export function changesSince(
  { names, answers }: Before,
  given: { readonly contracts: readonly Contract[]; readonly model: SchemaModel; readonly after: SchemaNames },
  since: string,
): readonly ContractComplaint[] {
  const { contracts, model, after } = given;
  const moved = movedColumns(names, after);
  return contracts.flatMap(({ name, kind, text }) => {
    const [then, now] = [answers.get(name) ?? null, model.compile(text).columns];
    if (then === null || now === null) return [];
    const left = then.filter((column) => !now.includes(column));
    // A view follows its columns where they are renamed or set aside; what it reads by then is judged.
    const other =
      kind === 'view'
        ? []
        : moved.filter(({ table, column }) => model.names(text, table, column) || model.takesAll(text, table, column));
    const words = [
      ...other.map(({ words: one }) => one),
      ...(left.length === 0 ? [] : [`its answer has no column ${someOf(left)} any more, but ${someOf(now)}`]),
    ];
    const hint = 'Check that the query still says what you mean. This notice ends after seven days.';
    const message = `${name} answers differently: ${someOf(words)}`;
    return words.length === 0 ? [] : [{ name, code: 'contract.changed', message, hint, since }];
  });
}

/** SchemaNames of columns under which another column is now, or the same of another type. */
function movedColumns(
  before: SchemaNames,
  after: SchemaNames,
): readonly { table: string; column: string; words: string }[] {
  const keyOf = (tableId: number, localName: string): string => `${tableId} ${foldIdent(localName)}`;
  const formerByKey = new Map([...before.columns.values()].map((one) => [keyOf(one.tableId, one.localName), one]));
  return [...after.columns.values()].flatMap(({ tableId, localName: column, seq, type }) => {
    const former = formerByKey.get(keyOf(tableId, column));
    if (former === undefined || (former.seq === seq && former.type === type)) return [];
    const table = after.tables.get(tableId)?.localName ?? '';
    const what =
      former.type === type ? 'is a different column now' : `was of type ${former.type}, and is of type ${type}`;
    return [{ table, column, words: `${table}.${column} ${what}` }];
  });
}
