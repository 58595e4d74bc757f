/**
 * Checks the history: which tables have one, what it takes, and the bounds that it never grows beyond. Reads the
 * replica only.
 */
import { bytesText, plural } from '../../base/text.ts';
import type { Config } from '../../config/load.ts';
import { pullSettings } from '../../config/settings.ts';
import { findTable } from '../../replica/bookkeeping/tables.ts';
import { readJournals } from '../../replica/bookkeeping/history.ts';
import type { ReplicaReader } from '../../replica/reader.ts';
import { ok, type CheckResult } from '../../cli/runtime/check-result.ts';

/** Tables named, each with its bounds. */
const NAMES_MAX = 8;

/** The journals of tables, with their sizes and bounds; nothing without history. */
export function checkHistory(reader: ReplicaReader, config: Config): readonly CheckResult[] {
  const { tableOptions } = pullSettings(config);
  const texts = readJournals(reader).flatMap(({ tableId, bytes }) => {
    const table = findTable(reader, tableId);
    const bounds = table === null ? null : (tableOptions(table.name)?.history ?? null);
    if (table === null || bounds === null) return [];
    const { keepDays, bytesMax } = bounds;
    return [
      `${table.localName} takes ${bytesText(bytes)} and keeps ${plural(keepDays, 'day')}, at most ${bytesText(bytesMax)}`,
    ];
  });
  if (texts.length === 0) return [];
  const rest = texts.length > NAMES_MAX ? `; and ${plural(texts.length - NAMES_MAX, 'more table')}` : '';
  return [ok('history', `${texts.slice(0, NAMES_MAX).join('; ')}${rest}`)];
}
