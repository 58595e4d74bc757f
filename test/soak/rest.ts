/**
 * The end of a soak: faults and colleagues stop, and cycles run until nothing waits any more. Then everything is
 * checked that has to be true of a replica at rest.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { brokenPages, integrity, withDatabase, wrongCounts } from '../support/compare.ts';
import { runCycle, type DaemonProcess } from '../support/daemon-process.ts';
import { ledgerProblems, pendingCount, waitingTables } from '../support/ledger.ts';
import type { Answer } from './origin-child.ts';
import type { SoakOrigin } from './origin.ts';
import { FOLLOWED } from './world.ts';

/** More than may be needed, so that one cycle too many can be told from none that is enough. */
const CYCLES_MAX = 8;
/** Edits wait a second before they are pushed, and are looked for once a second. */
const QUIET_MS = 3_000;

/** Ends the faults and runs whole cycles; how many it took until nothing waited, null if it was not enough. */
export async function comeToRest(parts: {
  readonly replica: string;
  readonly origin: SoakOrigin;
  readonly daemon: DaemonProcess;
  readonly say: (line: string) => void;
}): Promise<number | null> {
  const { replica, origin, daemon, say } = parts;
  await origin.obey({ kind: 'colleagues', areAtWork: false });
  await origin.obey({ kind: 'access', isGranted: true });
  await origin.obey({ kind: 'faults', plan: { faults: [] } });
  await wait(QUIET_MS);
  for (let cycle = 1; cycle <= CYCLES_MAX; cycle += 1) {
    await runCycle(daemon);
    const [waiting, moved] = [pendingCount(replica), await isMoving(parts)];
    say(`cycle ${cycle}: ${waiting} rows pending, ${moved ? 'the sides differ' : 'the sides agree'}`);
    if (waiting === 0 && !moved) {
      // What that push deleted still stands in the map of pages, until they are read again.
      await runCycle(daemon);
      return cycle;
    }
  }
  return null;
}

/** Whether rows differ that wait for nobody. */
async function isMoving({ replica, origin }: { replica: string; origin: SoakOrigin }): Promise<boolean> {
  const { rows } = await origin.obey({ kind: 'rows' });
  const { storePath } = origin;
  const problems = ledgerProblems({
    replicaPath: replica,
    storePath,
    tables: FOLLOWED,
    origin: rows ?? {},
    confirmed: new Set(),
  });
  return problems.some((problem) => problem.startsWith('I1'));
}

/** What is not as it has to be, in words. */
export async function problemsAtRest(parts: {
  readonly folder: string;
  readonly replica: string;
  readonly origin: SoakOrigin;
  readonly confirmed: ReadonlySet<string>;
}): Promise<readonly string[]> {
  const { folder, replica, origin, confirmed } = parts;
  const { rows, files } = await origin.obey({ kind: 'rows' });
  const rest = { replicaPath: replica, storePath: origin.storePath, tables: FOLLOWED, origin: rows ?? {}, confirmed };
  const structure = integrity(replica);
  const waiting = waitingTables(replica);
  const isQuiet = (problem: string): boolean => ![...waiting].some((table) => problem.startsWith(table));
  return [
    ...(structure === 'ok' ? [] : [`integrity_check: ${String(structure)}`]),
    ...[...brokenPages(replica), ...wrongCounts(replica)].filter(isQuiet),
    ...ledgerProblems(rest),
    ...fileProblems(replica, files),
    ...backupProblems(join(folder, 'backups')),
  ];
}

/** I15: every file that a cell names now is here, with the content that it has at the origin. */
function fileProblems(replica: string, files: Answer['files']): readonly string[] {
  interface HeldFile {
    readonly cell: string;
    readonly sha256: string | null;
    readonly path: string | null;
    readonly state: string;
    readonly reason: string | null;
  }
  const held = withDatabase(replica, (db) =>
    db
      .prepare<[], HeldFile>(
        `SELECT name || ';' || revision || ';' || guid AS cell, sha256, path, state, reason FROM sync_files WHERE vanished IS NULL`,
      )
      .all(),
  );
  const byCell = new Map(held.map((file) => [file.cell, file]));
  return Object.entries(files).flatMap(([cell, sha256]) => {
    const file = byCell.get(cell);
    if (file === undefined) return [`I15: no file for ${cell}`];
    // One that failed in a storm says so, and waits for its next try, which may be hours away.
    if (file.state === 'failed' && file.reason !== null) return [];
    if (file.state !== 'here' || file.sha256 !== sha256) return [`I15: ${cell} is ${file.state}, or is another file`];
    const content = readFileSync(file.path ?? '');
    return createHash('sha256').update(content).digest('hex') === sha256 ? [] : [`I15: ${cell} has other content`];
  });
}

function backupProblems(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.db'))
    .flatMap((name) => {
      const structure = integrity(join(folder, name));
      return structure === 'ok' ? [] : [`backup ${name}: ${String(structure)}`];
    });
}
