/**
 * One run of the questions that writing answers: what is said before, what is asked, and the clean-up at the end, also after Ctrl-C or a failure.
 */
import { EXIT, usageError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { printable } from '../../base/text.ts';
import { loadNamedConfig, printResult, withOrigin } from '../../cli/runtime/invocation.ts';
import { writeProse } from '../../cli/terminal/session.ts';
import type { Config } from '../../config/load.ts';
import type { Invocation } from '../../extra.ts';
import { originAddress } from '../../origin/address.ts';
import {
  beginRunFile,
  CLEAN_UP,
  cleanUp,
  CLEAN_UP_REQUESTS_MAX,
  cleanUpText,
  failedText,
  findRunFile,
  holdRunFile,
  type RunFile,
} from './run-file.ts';
import { jsonOf, type OriginQuestion, tablePath } from './questions.ts';
import type { Server } from './server.ts';
import {
  newMarker,
  openWriting,
  planWriting,
  ROWS_MAX,
  type WritingPlan,
  type WritingServer,
  WRITING_QUESTIONS,
} from './writing.ts';

/** Requests at most, with the clean-ups of this run and of the one before. */
export const WRITE_REQUESTS_MAX = 63;

/** Those for the questions, and for what is looked at before them. */
export const WRITE_QUESTION_REQUESTS_MAX = WRITE_REQUESTS_MAX - 2 * CLEAN_UP_REQUESTS_MAX;

export interface WriteRun {
  readonly invocation: Invocation;
  readonly config: Config;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly agree: (question: string) => Promise<boolean>;
  readonly ask: (question: OriginQuestion<WritingServer>, origin: WritingServer) => Promise<void>;
}

/** Whether the questions were put, and the exit code of the clean-up. */
export interface WriteRunEnd {
  readonly isAsked: boolean;
  readonly exitCode: number;
}

/** Puts the questions to a table. @throws RowsyncError of the origin and of the run file, and `usage.invalid` for a table that does not serve. */
export async function askByWriting(run: WriteRun, server: Server): Promise<WriteRunEnd> {
  const { config, agree, ask, signal } = run;
  const { clock, stderr } = run.invocation.session;
  const plan = planWriting(server.table);
  if (plan === null)
    throw usageError('The table has no column for the marker by which its rows are found again', NEEDED);
  using _held = holdRunFile(runFilePath(config));
  const earlier = findRunFile(runFilePath(config), databaseOf(config));
  const cleaned = earlier === null ? EXIT.done : (await clean(run, earlier)).exitCode;
  if (cleaned !== EXIT.done) return { isAsked: false, exitCode: cleaned };
  const rows = await jsonOf<readonly unknown[]>(server, `${tablePath(server)}/select.json?top=1`);
  if (rows.length > 0) throw usageError('The table has rows that this command did not make', NEEDED);
  const { recordName, alias } = server.table;
  const marker = newMarker(() => clock.random());
  await writeProse(stderr, announcement(recordName, plan, { marker, path: runFilePath(config) }));
  if (!(await agree(`Write in "${printable(recordName)}"?`))) {
    await stderr.write('Nothing was written. Read the lines, then run it again with --confirm.\n');
    return { isAsked: false, exitCode: EXIT.needsPerson };
  }
  const head = { database: databaseOf(config), table: alias, tableName: recordName, column: plan.mark.name, marker };
  const runFile = beginRunFile(runFilePath(config), head);
  const sayStop = (): void =>
    void stderr.write(`Deleting the rows that were made. If this does not finish, ${CLEAN_UP} deletes them.\n`);
  signal.addEventListener('abort', sayStop);
  let exitCode: number = EXIT.failed;
  try {
    const origin = await openWriting(server, plan, { runFile, nowMs: () => clock.nowMs(), signal });
    for (const question of WRITING_QUESTIONS) await ask(question, origin);
  } finally {
    signal.removeEventListener('abort', sayStop);
    ({ exitCode } = await clean(run, runFile));
  }
  return { isAsked: true, exitCode };
}

const NEEDED =
  'Make an empty table for it, with a Text column that is not Unique and takes 40 characters: docs/origin.md lists the others.';

export async function finishCleanUp(invocation: Invocation): Promise<number> {
  const config = await loadNamedConfig(invocation, { needsCredentials: true });
  using _held = holdRunFile(runFilePath(config));
  const runFile = findRunFile(runFilePath(config), databaseOf(config));
  const said =
    runFile === null
      ? await say(invocation, 'No rows are left: there is no run file', EXIT.done)
      : await withOrigin(invocation, config, ({ log }) => clean({ invocation, config, log }, runFile));
  await printResult(invocation, said, []);
  return said.exitCode;
}

interface CleanUpEnd {
  readonly message: string;
  readonly exitCode: number;
}

/** Over a connection of its own, which Ctrl-C does not close. */
async function clean(
  { invocation, config, log }: Pick<WriteRun, 'invocation' | 'config' | 'log'>,
  runFile: RunFile,
): Promise<CleanUpEnd> {
  const { openServer } = await import('./server.ts');
  await using server = openServer(config, { log, signal: new AbortController().signal });
  const [line, exitCode] = await cleanUp(runFile, server, invocation.session.clock.nowMs()).then(
    (cleaned) => cleanUpText(cleaned, runFile),
    (thrown: unknown) => failedText(thrown, runFile),
  );
  return await say(invocation, line, exitCode);
}

async function say({ session }: Invocation, message: string, exitCode: number): Promise<CleanUpEnd> {
  await writeProse(session.stderr, `${printable(message)}\n`);
  return { message, exitCode };
}

function runFilePath({ replica }: Config): string {
  return `${replica.path}.contract`;
}

function databaseOf(config: Config): string {
  const { url, root } = originAddress(config.origin);
  return `${url}${root}`;
}

function announcement(
  table: string,
  { mark, unfilled }: WritingPlan,
  { marker, path }: { readonly marker: string; readonly path: string },
): string {
  const names = unfilled.map(({ name, type }) => `"${name}" (${type})`).join(', ');
  const lines = [
    `In "${table}", which has no row now, up to ${ROWS_MAX} rows are made, changed and deleted again, bypassing the recycle bin. ` +
      `Each has the text ${marker} in the column "${mark.name}". Nothing else is written to.`,
    'What cannot be taken back: numbers of an Autonumber are used up, rules of the table run and may send messages, ' +
      'and an origin that does not purge keeps the rows in its recycle bin.',
    `Each request that may make a row is noted first in ${path}. If rowsync is killed, ${CLEAN_UP} deletes the rows that are left.`,
    names &&
      `No row can be made, since there is no value for the Required ${names}: questions that need a row are not asked.`,
  ];
  return lines.map((line) => line && `${printable(line)}\n`).join('');
}
