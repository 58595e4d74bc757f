/**
 * The last result of a drill: a small file beside the backups, so a restart of the daemon does not forget a bad one.
 * The drill itself is in another file, which `rowsync status` need not load.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { plural } from '../../base/text.ts';
import type { Config } from '../../config/load.ts';
import { datedBackups } from './replica-copy.ts';

export interface Drill {
  readonly at: string;
  readonly path: string;
  readonly tableCount: number;
  /** As `rowsync backup` counts: with new rows, without those deleted here. */
  readonly rowCount: number;
  /** New rows among them that the origin did not have. */
  readonly newRowCount: number;
  /** Rows deleted here that the origin still had, so that they are not among them. */
  readonly deletedRowCount: number;
  /** Tables checked against the history since; others have no complete history since the backup, or edits under way. */
  readonly tracedCount: number;
  readonly fileCount: number;
  readonly readFileCount: number;
  /** Files that the replica should have had, and had not, when the backup was made. */
  readonly notHereCount: number;
  /** What is wrong; null if nothing is. */
  readonly problem: string | null;
}

/** The file of the last result; null without a folder of backups. */
function resultPath({ replica, origin, extras }: Config): string | null {
  const folder = extras.backup?.folder ?? null;
  if (folder === null) return null;
  const { path } = datedBackups(replica.path, { folder, database: origin.database, nowMs: 0 });
  return path.replace(/\d{8}T\d{6}Z\.db$/, 'drill.json');
}

export function storeDrill(config: Config, drill: Drill): void {
  const path = resultPath(config);
  if (path === null) return;
  writeFileSync(`${path}.partial`, `${JSON.stringify(drill, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${path}.partial`, path);
}

export function lastDrill(config: Config): Drill | null {
  const path = resultPath(config);
  if (path === null || !existsSync(path)) return null;
  try {
    const drill: unknown = JSON.parse(readFileSync(path, 'utf8'));
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nobody else writes this file
    return typeof drill === 'object' && drill !== null && 'problem' in drill ? (drill as Drill) : null;
  } catch {
    return null; // an unreadable file counts as no result; the next drill replaces it
  }
}

export function drillText({ at, path, problem, ...counts }: Drill): string {
  if (problem !== null) return `${at} failed: ${basename(path)}: ${problem}`;
  const { tableCount, rowCount, newRowCount, deletedRowCount, tracedCount } = counts;
  const { fileCount, readFileCount, notHereCount } = counts;
  const edits = [
    ...(newRowCount === 0 ? [] : [`including ${plural(newRowCount, 'row')} added here`]),
    ...(deletedRowCount === 0 ? [] : [`without ${plural(deletedRowCount, 'row')} deleted here`]),
  ];
  const unsent = edits.length === 0 ? '' : ` (${edits.join(' and ')}, not pushed yet)`;
  const traced = tracedCount === 0 ? '' : ` (${plural(tracedCount, 'table')} checked against the history since)`;
  const files = fileCount === 0 ? 'no files' : `${readFileCount} of ${plural(fileCount, 'file')} read`;
  const notHere =
    notHereCount === 0
      ? ''
      : `, ${plural(notHereCount, 'file')} ${notHereCount === 1 ? 'was' : 'were'} not here when it was made`;
  return `${at} ${basename(path)} is whole: ${plural(tableCount, 'table')}, ${plural(rowCount, 'row')}${unsent}${traced}, ${files}${notHere}`;
}
