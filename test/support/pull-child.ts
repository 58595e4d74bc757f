/**
 * A pull in a process of its own, to be killed. Started with one JSON argument (`ChildJob`). It loads everything,
 * prints `ready`, and waits for a line on its standard input, which says when to begin. Then it opens the replica,
 * prints `open`, pulls, and prints the outcome as JSON. With `filesFolder` it brings all revisions of files there too.
 * With `hold` it keeps the replica open instead, until its input ends.
 */
import { flushCompileCache } from 'node:module';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { systemClock } from '../../src/base/clock.ts';
import { asRowsyncError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import type { FilesContext, FilesReport } from '../../src/files/context.ts';
import { pullFiles } from '../../src/files/download.ts';
import { openOrigin } from '../../src/origin/client.ts';
import { pull } from '../../src/pull/pull.ts';
import { openReplica } from '../../src/replica/database.ts';
import type { ChildJob, ChildOutcome } from './pull-process.ts';

const job = JSON.parse(process.argv[2] ?? '{}') as ChildJob;
const lines = createInterface({ input: process.stdin });
const said = lines[Symbol.asyncIterator]();

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function pullOnce(): Promise<ChildOutcome> {
  const { url, database, token, concurrency, pageRows } = job;
  const replica = openReplica(job.path, { clock: systemClock });
  say('open');
  if (job.hold) {
    await said.next();
    replica.close();
    return { codes: [], exitCode: 0 };
  }
  const origin = openOrigin(
    { url, database, credentials: { kind: 'bearer', token }, concurrency },
    { clock: systemClock, log: silentLogger },
  );
  try {
    const settings = { pageRows, maxDeletePercent: 50, concurrency, tableOptions: () => ({ sort: null }) };
    const context = { origin, replica, clock: systemClock, log: silentLogger, settings };
    const report = await pull(context, { tables: [], confirm: false });
    const files = job.filesFolder === undefined ? null : await pullFilesInto(job.filesFolder, { origin, replica });
    const errors = [report.error, ...report.tables.flatMap(({ error, held }) => [error, held]), files?.error];
    return { codes: errors.flatMap((error) => error?.code ?? []), exitCode: 0 };
  } finally {
    replica.close();
    await origin.close();
  }
}

function pullFilesInto(
  folder: string,
  { origin, replica }: Pick<FilesContext, 'origin' | 'replica'>,
): Promise<FilesReport> {
  const rule = { mode: 'all', maxFileBytes: null, types: null, name: 'files' } as const;
  const settings = { folder, bytesMax: null, concurrency: job.concurrency, rule: () => rule };
  const context = { origin, replica, clock: systemClock, log: silentLogger, settings };
  return pullFiles(context, { tables: [], retryNow: true });
}

flushCompileCache(); // who is killed writes none at its end
say('ready');
const { value: beginMs } = await said.next();
await setTimeout(Number(beginMs) - Date.now());
try {
  say(JSON.stringify(await pullOnce()));
} catch (thrown) {
  const { code, exitCode } = asRowsyncError(thrown);
  say(JSON.stringify({ codes: [code], exitCode } satisfies ChildOutcome));
  process.exitCode = exitCode;
}
lines.close();
process.stdin.destroy();
