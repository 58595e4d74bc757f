/**
 * Which tables a sink gets. An excluding name that no table has stops the sink, because a table that is meant to stay
 * here must not be sent. Either the name is misspelt, or the table was renamed at the origin.
 */
import { RowsyncError } from '../../base/errors.ts';
import { sql } from '../../base/sql.ts';
import { someOf } from '../../base/text.ts';
import { guessText, strayKeys } from '../../reconcile/option-bindings.ts';
import { boundNameOf, readDescribed } from '../../replica/bookkeeping/described-tables.ts';
import { readTables } from '../../replica/bookkeeping/tables.ts';
import type { Connection } from '../../replica/connection.ts';
import { queryTexts } from '../../replica/query.ts';
import { readSources, type SinkSource } from '../shared/confirmed-rows.ts';
import type { SinkSettings } from './context.ts';

/** The tables of the replica that are sent. @throws RowsyncError `config.invalid` for a name of no table. */
export function chosenSources(from: Connection, settings: SinkSettings): readonly SinkSource[] {
  const complaint = complaintAbout(from, settings);
  if (complaint !== null) {
    throw new RowsyncError('config', 'config.invalid', {
      message: complaint,
      hint: 'It is misspelt, or the table was renamed. Nothing is sent until it names a table, or is gone.',
    });
  }
  return readSources(from).filter(({ table: { name } }) => isSent(settings, [name, boundNameOf(from, name)]));
}

/**
 * The tables of which nothing is sent, also not in `sync_history`, by their names here. Of a table that was pruned
 * here, too: which rules it was under is not known any more.
 */
export function keptOut(from: Connection, settings: SinkSettings): ReadonlySet<string> {
  const tables = readTables(from);
  const out = tables.filter(({ name }) => !isSent(settings, [name, boundNameOf(from, name)]));
  const here = new Set(tables.map(({ localName }) => localName));
  const pruned = queryTexts(from, sql`SELECT name FROM _rowsync_history_names WHERE column_seq = 0`);
  return new Set([...out.map(({ localName }) => localName), ...pruned.filter((name) => !here.has(name))]);
}

/** Whether a table is sent, by its name and the name it is bound to; a key that is one of them outranks patterns. */
function isSent({ tables: { byName } }: SinkSettings, names: readonly string[]): boolean {
  const keys = names.flatMap((name) => byName.find(name) ?? []);
  const own = keys.filter(({ key }) => names.some((name) => name.normalize('NFC') === key));
  const deciding = own.length > 0 ? own : keys;
  return deciding.length > 0 && deciding.every(({ says }) => says !== 'false');
}

/** The names that keep a table out, and that no table has; null for none, or before the first pull. */
function complaintAbout(from: Connection, { name, tables }: SinkSettings): string | null {
  const described = readDescribed(from);
  const known = described.map((table) => table.name);
  const stray = strayKeys(tables.byName, described)
    .filter(({ key, excludes }) => excludes && !key.includes('*'))
    .map(({ key }) => key + guessText(key, known));
  if (described.length === 0 || stray.length === 0) return null;
  return `sinks.${name}.tables: no table is called ${someOf(stray)}`;
}
