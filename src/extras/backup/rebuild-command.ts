/**
 * `rowsync rebuild`: moves a damaged replica aside, so that the next pull makes a new one. Edits that are not at the origin go into a SQL script
 * first. History and decided conflicts stay in the old file.
 */
import type { Command } from 'commander';
import { asRowsyncError, EXIT, RowsyncError } from '../../base/errors.ts';
import { stampFromMs } from '../../base/clock.ts';
import { plural, printable, printableJson } from '../../base/text.ts';
import { scriptOfTable, standInForBooks } from './edit-script.ts';
import { readTwoWayTables } from '../../capture/table.ts';
import { isUnopenedCopy } from '../../replica/copies.ts';
import { openReader, type ReplicaReader } from '../../replica/reader.ts';
import { baseName } from '../../replica/tables.ts';
import { damagedAmong } from '../../replica/wholeness.ts';
import { loadNamedConfig, printJson } from '../../cli/runtime/invocation.ts';
import type { Invocation, Runner } from '../../extra.ts';
import { closeSync, existsSync, openSync, rmSync, writeSync } from 'node:fs';
import { resolve } from 'node:path';
import { moveAside } from './replica-copy.ts';
import { freeName, PARTIAL, takeName } from '../../replica/copy-file.ts';
import { takeLock } from '../../replica/lock.ts';
import { replicaError } from '../../replica/failures.ts';

const HELP = `
For a replica that is damaged (exit code 78). Nothing is changed unless every edit can be read: then they go into
REPLICA.edits-DATE.sql, the file is moved aside, and the next pull makes a new one. Stop the daemon first.

Example:
  systemctl stop rowsync@main
  rowsync rebuild && rowsync pull
  sqlite3 replica.db < replica.db.edits-20260601T120000Z.sql
  rowsync push --dry-run`;

/** What a rebuild wrote down and could not read. */
interface RebuildCounts {
  editCount: number;
  problemCount: number;
  readonly unread: string[];
}

/** Adds the command. */
export function addRebuildCommand(program: Command, runner: Runner): void {
  program
    .command('rebuild')
    .description('save the edits made here, and make room for a new replica')
    .option('--give-up-edits', 'continue although some edits cannot be read; the others are written down')
    .addHelpText('after', HELP)
    .action((options: { giveUpEdits?: boolean }, command: Command) =>
      runner(command, (invocation) => rebuild(invocation, options.giveUpEdits === true)),
    );
}

async function rebuild(invocation: Invocation, givesUp: boolean): Promise<number> {
  const { session, isJson } = invocation;
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  const stamp = stampFromMs(session.clock.nowMs()).replaceAll(/[-:]/g, '');
  const tally: RebuildCounts = { editCount: 0, problemCount: 0, unread: [] };
  const { path } = config.replica;
  const aside = moveAsideWithScript(path, stamp, (file, write) => {
    writeEdits(file, tally, write);
    if (tally.unread.length > 0 && !givesUp) throw unreadError(path, tally.unread);
  });
  const { editCount, problemCount, unread } = tally;
  const report = { path, ...aside, editCount, problemCount, unread };
  const lines = [
    `the old replica is now ${aside.asidePath}; its sync_history, sync_deleted and decided conflicts are only there`,
    aside.scriptPath === null
      ? 'it had no unpushed edits'
      : `${plural(editCount, 'edit')} and ${plural(problemCount, 'problem')} are in ${aside.scriptPath}`,
    ...unread.map((what) => `could not be read: ${what}`),
    'run rowsync pull: it makes a new replica; then look through the script and run it with the sqlite3 shell',
  ];
  const text = lines.map((line) => `${printable(line)}\n`).join('');
  await (isJson ? printJson(invocation, report) : session.stdout.write(text));
  return EXIT.done;
}

function unreadError(path: string, unread: readonly string[]): RowsyncError {
  return new RowsyncError('replica', 'replica.damaged', {
    message: `${path}: not every edit can be read (${unread.join('; ')}); nothing was changed`,
    hint: 'Restore a backup (rowsync restore), or run rowsync rebuild --give-up-edits, which writes down what can be read.',
  });
}

/** Writes all that the origin does not have; what cannot be read is said in the tally and in the script. */
function writeEdits(path: string, tally: RebuildCounts, write: (line: string) => void): void {
  const attempt = (what: string, work: () => void): void => {
    try {
      work();
    } catch (thrown) {
      const { message } = asRowsyncError(thrown);
      tally.unread.push(what);
      write(`-- could not be read: ${printable(what)}: ${printable(message)}`);
    }
  };
  attempt('the file', () => {
    const reader = openReader(path);
    try {
      const lost = standInForBooks(reader);
      for (const name of lost) write(`-- ${name} is missing: new rows may have reached the origin already`);
      const isCopy = lost.length > 0 || isUnopenedCopy(reader, path);
      for (const { id, localName } of readTwoWayTables(reader)) {
        attempt(`the edits of ${localName}`, () => {
          const names = [localName, baseName(id), '_rowsync_rows', '_rowsync_columns'];
          const damage = damagedAmong(path, names);
          if (damage.length > 0) {
            tally.unread.push(`${localName}: damaged parts: ${damage.join(', ')}`);
            write(`-- ${printable(localName)} is damaged: rows may be missing that were not deleted; check each line`);
          }
          for (const line of scriptOfTable(reader, id, { isDamaged: damage.length > 0, isCopy })) {
            if (!line.startsWith('SELECT')) tally.editCount += 1;
            write(line);
          }
        });
      }
      writeProblems(reader, { tally, write, attempt });
    } finally {
      reader.close();
    }
  });
}

/** Rows and conflicts that wait, as JSON in comments. Decided conflicts stay in the former replica. */
function writeProblems(
  reader: ReplicaReader,
  {
    tally,
    write,
    attempt,
  }: { tally: RebuildCounts; write: (line: string) => void; attempt: (what: string, work: () => void) => void },
): void {
  const writeAll = (what: string, lines: readonly unknown[]): void => {
    for (const line of lines) {
      tally.problemCount += 1;
      write(`-- ${what} ${printableJson(JSON.stringify(line))}`);
    }
  };
  attempt('the failures', () => writeAll('failure', reader.failures()));
  attempt('the conflicts', () => writeAll('conflict', reader.conflicts({ all: false })));
}

/** Where things are after the old replica was moved aside. */
interface Aside {
  readonly asidePath: string;
  /** Null where there was nothing to write. */
  readonly scriptPath: string | null;
}

/**
 * Moves a replica aside once `writeScript` has written its lines. @throws RowsyncError `replica.inUse`, `replica.path` if there is none, and errors
 * of `writeScript`; then nothing is moved.
 */
export function moveAsideWithScript(
  target: string,
  stamp: string,
  writeScript: (path: string, write: (line: string) => void) => void,
): Aside {
  const path = resolve(target);
  if (!existsSync(path)) {
    throw new RowsyncError('replica', 'replica.path', {
      message: `There is no replica at ${path}`,
      hint: 'Make it with `rowsync pull`.',
    });
  }
  const lock = takeLock(path, 0o600);
  const scriptPath = freeName((number) => `${path}.edits-${stamp}${number}.sql`);
  const partial = scriptPath + PARTIAL;
  try {
    rmSync(partial, { force: true });
    const file = openSync(partial, 'wx', 0o600);
    let lineCount = 0;
    try {
      writeScript(path, (line) => {
        lineCount += 1;
        writeSync(file, `${line}\n`);
      });
    } finally {
      closeSync(file);
    }
    if (lineCount === 0) rmSync(partial);
    else takeName(partial, scriptPath);
    const asidePath = moveAside(path, stamp) ?? path;
    return { asidePath, scriptPath: lineCount === 0 ? null : scriptPath };
  } catch (thrown) {
    rmSync(partial, { force: true });
    throw replicaError(thrown, `Making room for a new replica at ${path}`);
  } finally {
    lock.close();
  }
}
