/**
 * Checks the columns that are left out or masked, and gives the table as a pull would read it. Makes no key of masks:
 * the check may run as another user than the pull.
 */
import { existsSync } from 'node:fs';
import { findMaskKey } from '../../config/mask-key.ts';
import type { Config } from '../../config/load.ts';
import { columnChoice } from '../../config/settings.ts';
import type { TableRule } from '../../config/tables.ts';
import { chooseColumns, uselessPatterns, type Chosen, type Choosing } from '../../reconcile/choose.ts';
import { readColumns } from '../../replica/bookkeeping/columns.ts';
import { readDescribed, type DescribedTable } from '../../replica/bookkeeping/described.ts';
import { readTables, readSelection } from '../../replica/bookkeeping/tables.ts';
import { openReader } from '../../replica/reader.ts';
import { maskKeyDigest } from '../../wire/mask.ts';
import { hasOption, type TableDescriptor } from '../../wire/schema.ts';
import { fail, ok, warn, type CheckResult } from '../../cli/runtime/check-result.ts';
import { someOf } from '../../base/text.ts';

/** What the replica remembers of the columns of a table, by its id. */
export type KnownChoices = ReadonlyMap<number, Pick<Choosing, 'leftOut' | 'known'>>;

/** What the replica remembers of tables; nothing without a replica, or for one of an earlier version. */
export function readKnownTables({ replica: { path } }: Config): {
  readonly choices: KnownChoices;
  readonly described: readonly DescribedTable[];
} {
  const none = { choices: new Map(), described: [] };
  if (!existsSync(path)) return none;
  try {
    const reader = openReader(path);
    try {
      if (reader.isOlder()) return none;
      const tables = readTables(reader);
      const choices = new Map(
        tables.map(({ id }) => [id, { leftOut: readSelection(reader, id).leftOut, known: readColumns(reader, id) }]),
      );
      return { choices, described: readDescribed(reader) };
    } finally {
      reader.close();
    }
  } catch {
    return none; // the check of the replica says what is wrong with it
  }
}

/** A table with the columns that come, and what is to be said of the others. */
export function checkChoice(
  described: TableDescriptor,
  { config, rule, known }: { readonly config: Config; readonly rule: TableRule | null; readonly known: KnownChoices },
): { readonly descriptor: TableDescriptor; readonly results: readonly CheckResult[] } {
  const choice = rule === null ? null : columnChoice(rule);
  if (rule === null || choice === null) return { descriptor: described, results: [] };
  const key = config.replica.maskKey ?? findMaskKey(config.replica.maskKeyFile);
  const before = known.get(described.id) ?? { leftOut: [], known: [] };
  const chosen = chooseColumns(described, {
    choice,
    ...before,
    keyDigest: () => (key === null ? '' : maskKeyDigest(key)),
  });
  const useless = uselessPatterns(described, choice);
  const name = described.recordName;
  return {
    descriptor: key === null ? withoutHashes(chosen.descriptor) : chosen.descriptor,
    results: [
      ...chosen.problems.map((problem) => fail('columns', `${name}: ${problem}`, `Correct tables.${rule.pattern}.`)),
      ...choiceResults(described, chosen),
      ...(useless.length === 0
        ? []
        : [
            warn('columns', `${name}: no column matches ${someOf(useless)}`, `Correct tables.${rule.pattern}.columns.`),
          ]),
      ...(rule.options.push === true ? requiredResults(described, chosen) : []),
    ],
  };
}

/** Without a key, nothing can be hashed; then there is no replica either that could have hashes. */
function withoutHashes(descriptor: TableDescriptor): TableDescriptor {
  const columns = descriptor.columns.map((column) =>
    column.mask?.kind === 'hash' ? { ...column, mask: { ...column.mask, kind: 'null' as const } } : column,
  );
  return { ...descriptor, columns };
}

function choiceResults(described: TableDescriptor, { descriptor, leftOut, kept }: Chosen): readonly CheckResult[] {
  const out = new Set(leftOut.map(({ id }) => id));
  const left = described.columns.filter(({ id }) => out.has(id)).map((column) => column.name);
  const masked = descriptor.columns.flatMap(({ name, mask }) => (mask === undefined ? [] : [`${name} (${mask.kind})`]));
  const parts = [
    ...(left.length === 0 ? [] : [`left out: ${someOf(left)}`]),
    ...(masked.length === 0 ? [] : [`masked: ${someOf(masked)}`]),
    ...(kept.length === 0 ? [] : [`come in any case: ${someOf(kept.map(({ name, why }) => `${name} (${why})`))}`]),
  ];
  return parts.length === 0 ? [] : [ok('columns', `${described.recordName}: ${parts.join('; ')}`)];
}

/** Columns without which the origin takes no new row, and that cannot be given one here. */
function requiredResults(described: TableDescriptor, { descriptor }: Chosen): readonly CheckResult[] {
  const writable = new Set(descriptor.columns.flatMap(({ id, mask }) => (mask === undefined ? [id] : [])));
  const missing = described.columns.filter(
    ({ id, dataOptions }) => !writable.has(id) && hasOption(dataOptions, 'Required'),
  );
  if (missing.length === 0) return [];
  const names = someOf(missing.map(({ name }) => name));
  return [
    warn(
      'push',
      `${described.recordName}: the origin requires ${names}, which new rows cannot be given here`,
      'Rows that are inserted here will be refused, unless the origin has a default.',
    ),
  ];
}
