/**
 * One run of the questions that need a written row. It announces what it will do, asks the questions, and cleans up at
 * the end, also after Ctrl-C or a failure.
 */
import { EXIT, usageError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { plural, printable } from '../../base/text.ts';
import { writeProse } from '../../cli/terminal/session.ts';
import type { Config } from '../../config/load.ts';
import type { Invocation } from '../../extra.ts';
import {
  cleanUp,
  CLEAN_UP_REQUESTS_MAX,
  cleanUpCommand,
  cleanUpText,
  failedText,
  type MadeRows,
  type MarkedTable,
  noMadeRows,
  readMarked,
} from './clean-up.ts';
import type { OriginQuestion } from './questions.ts';
import type { Server, TableFields } from './server.ts';
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

/** Puts the questions to a table. @throws RowsyncError of the origin; `usage.invalid` for an unsuitable table. */
export async function askByWriting(run: WriteRun, server: Server): Promise<WriteRunEnd> {
  const { agree, ask, signal } = run;
  const { clock, stderr } = run.invocation.session;
  const { recordName } = server.table;
  const plan = requirePlan(server.table);
  const table = { ...server, mark: plan.mark };
  const { ids, marked } = await readMarked(table);
  if (ids.length > marked.length) throw usageError('The table has rows that this command did not make', NEEDED);
  const marker = newMarker(() => clock.random());
  await writeProse(stderr, announcement(recordName, plan, { marker, earlierCount: marked.length }));
  if (!(await agree(`Write in "${printable(recordName)}"?`))) {
    await stderr.write('Nothing was written. Read the lines, then run it again with --confirm.\n');
    return { isAsked: false, exitCode: EXIT.needsPerson };
  }
  const cleaned = marked.length === 0 ? EXIT.done : (await clean(run, table)).exitCode;
  if (cleaned !== EXIT.done) return { isAsked: false, exitCode: cleaned };
  const made = noMadeRows();
  const sayStop = (): void =>
    void stderr.write(
      `Deleting the rows that were made. If this does not finish, ${cleanUpCommand(recordName)} deletes them.\n`,
    );
  signal.addEventListener('abort', sayStop);
  let exitCode: number = EXIT.failed;
  try {
    const origin = await openWriting(server, plan, { marker, made, nowMs: () => clock.nowMs(), signal });
    for (const question of WRITING_QUESTIONS) await ask(question, origin);
  } finally {
    signal.removeEventListener('abort', sayStop);
    ({ exitCode } = await clean(run, table, made));
  }
  return { isAsked: true, exitCode };
}

const NEEDED =
  'Make an empty table for it, with a Text column that is not Unique and takes 40 characters: docs/origin.md lists the others.';

function requirePlan(table: TableFields): WritingPlan {
  const plan = planWriting(table);
  if (plan !== null) return plan;
  throw usageError('The table has no column for the marker by which its rows are found again', NEEDED);
}

/** Deletes what earlier runs left. @throws RowsyncError `usage.invalid` for a table that no run can have written to. */
export function finishCleanUp(run: CleanUpRun, server: Server): Promise<CleanUpEnd> {
  return clean(run, { ...server, mark: requirePlan(server.table).mark });
}

type CleanUpRun = Pick<WriteRun, 'invocation' | 'config' | 'log'>;

interface CleanUpEnd {
  readonly message: string;
  readonly exitCode: number;
}

/** Over a connection of its own, which Ctrl-C does not close. */
async function clean(
  { invocation: { session }, config, log }: CleanUpRun,
  table: MarkedTable,
  made: MadeRows = noMadeRows(),
): Promise<CleanUpEnd> {
  const { openServer } = await import('./server.ts');
  await using server = openServer(config, { log, signal: new AbortController().signal });
  const { call } = server;
  const [message, exitCode] = await cleanUp({ ...table, call }, made, session.clock.nowMs()).then(
    (cleaned) => cleanUpText(cleaned, table.table.recordName),
    (thrown: unknown) => failedText(thrown, table),
  );
  await writeProse(session.stderr, `${printable(message)}\n`);
  return { message, exitCode };
}

function announcement(
  table: string,
  { mark, unfilled }: WritingPlan,
  { marker, earlierCount }: { readonly marker: string; readonly earlierCount: number },
): string {
  const names = unfilled.map(({ name, type }) => `"${name}" (${type})`).join(', ');
  const state =
    earlierCount === 0 ? 'has no row now' : `has ${plural(earlierCount, 'row')} of a run that was cut short`;
  const lines = [
    `In "${table}", which ${state}, up to ${ROWS_MAX} rows are made, changed and deleted again, bypassing the recycle bin. ` +
      `Each has the text ${marker} in the column "${mark.name}". Nothing else is written to.`,
    'What cannot be taken back: numbers of an Autonumber are used up, rules of the table run and may send messages, ' +
      'and an origin that does not purge keeps the rows in its recycle bin.',
    `If rowsync is killed, ${cleanUpCommand(table)} deletes the rows that are left.`,
    names &&
      `No row can be made, since there is no value for the Required ${names}: questions that need a row are not asked.`,
  ];
  return lines.map((line) => line && `${printable(line)}\n`).join('');
}
