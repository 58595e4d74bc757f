/**
 * `rowsync contract`: puts the questions to the origin, one request after the other, and writes the answers down for
 * others. It only reads, unless a table to write in is named.
 */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { assert } from '../../base/assert.ts';
import { EXIT, RowsyncError, usageError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { plural, printable } from '../../base/text.ts';
import { versionOf } from '../../cli/runtime/installation.ts';
import { loadNamedConfig, printResult, withOrigin } from '../../cli/runtime/invocation.ts';
import { writeProse } from '../../cli/terminal/session.ts';
import type { Config } from '../../config/load.ts';
import type { Flags, Invocation, Runner } from '../../extra.ts';
import { originAddress } from '../../origin/address.ts';
import { ORIGIN_LIMITS } from '../../origin/limits.ts';
import { pathSegment } from '../../wire/request-paths.ts';
import type { TableSummary } from '../../wire/schema.ts';
import { checkNewFile, writeNewFile } from '../shared/new-file.ts';
import { isAgreed } from '../shared/prompts.ts';
import { answerOf, type OriginQuestion, QUESTIONS, REQUESTS_MAX, Unasked } from './questions.ts';
import type { Server, TableFields } from './server.ts';
import {
  askByWriting,
  finishCleanUp,
  WRITE_QUESTION_REQUESTS_MAX,
  WRITE_REQUESTS_MAX,
  type WriteRunEnd,
} from './write-run.ts';
import { WRITING_QUESTIONS } from './writing.ts';

const EXAMPLES = `
Asks the origin what no documentation of its API says, and compares the answers with what rowsync assumes. It only reads, one request
after the other, at most ${REQUESTS_MAX} of them: a few pages of one table.

With --write-in it asks what only writing shows, with at most ${WRITE_REQUESTS_MAX} requests. Name an empty table that was made for this: docs/origin.md
has its columns. What it is going to do is said first, and asked. Each row that it makes begins with "rowsync contract" in a column. Those rows are deleted
at the end, after Ctrl-C, by the next run, or by --clean-up.

The lines have no value of a row, no name of a table, a column or a person, and no address. --report writes them into a file after you have read them,
for whoever collects such answers: docs/origin.md.

Examples:
  rowsync contract                                ask about the first table with two rows
  rowsync contract Order                          ask about this one; choose one with many types of columns
  rowsync contract --report answers.txt           write what you have read, if you say yes
  rowsync contract --report answers.txt --confirm write it without asking
  rowsync contract --write-in "Contract Test"     ask by writing in this table
  rowsync contract --clean-up "Contract Test"     delete the rows that a killed run left there`;

type ContractOptions = Flags<'report' | 'writeIn' | 'cleanUp', 'confirm'>;

interface QuestionOutcome {
  readonly question: string;
  readonly outcome: 'as assumed' | 'differs' | 'not asked';
  readonly answer: string;
  readonly durationMs: number;
}

export function addContractCommand(program: Command, runner: Runner): void {
  program
    .command('contract')
    .argument('[table]', 'the table to ask about (default: the first with two rows)')
    .description('ask the origin what no documentation says, and compare with what rowsync assumes')
    .option('--report <file>', 'write the answers, which have no value and no name of yours, into a new file')
    .option('--write-in <table>', 'ask what writing shows, in this empty table')
    .option('--clean-up <table>', 'delete the rows that earlier runs left in this table, and nothing else')
    .option('--confirm', 'ask neither before writing in the table nor before writing the file')
    .addHelpText('after', EXAMPLES)
    .action(runner(askAll));
}

async function askAll(
  invocation: Invocation,
  tableName: string | undefined,
  options: ContractOptions,
): Promise<number> {
  const { session, isJson } = invocation;
  const { writeIn, cleanUp, report } = options;
  checkTogether(tableName, options);
  const file = report === undefined ? null : resolve(session.folder, report);
  if (file !== null) checkNewFile(file);
  const config = await loadNamedConfig(invocation, { needsCredentials: true });
  if (cleanUp !== undefined) {
    const question = { wanted: cleanUp, requestsMax: WRITE_QUESTION_REQUESTS_MAX };
    const end = await withTable(invocation, config, question, (server, log) =>
      finishCleanUp({ invocation, config, log }, server),
    );
    await printResult(invocation, end, []);
    return end.exitCode;
  }
  const signal = session.stopSignal();
  const lines: string[] = [];
  const say = async (line: string): Promise<void> => {
    lines.push(`${line}\n`);
    if (!isJson) await writeProse(session.stdout, `${line}\n`);
  };
  const outcomes: QuestionOutcome[] = [];
  const ask = async <Asked extends Server>(question: OriginQuestion<Asked>, server: Asked): Promise<void> => {
    const outcome = await put(question, server, session.clock);
    outcomes.push(outcome);
    await say(lineOf(outcome, question));
  };
  const agree = async (question: string): Promise<boolean> =>
    options.confirm === true || (session.stdin.isTTY === true && !isJson && (await isAgreed(session, question)));
  const requestsMax = writeIn === undefined ? REQUESTS_MAX : WRITE_QUESTION_REQUESTS_MAX;
  let end: WriteRunEnd = { isAsked: true, exitCode: EXIT.done };
  try {
    await say(headingOf(config, { isWriting: writeIn !== undefined, nowMs: session.clock.nowMs() }));
    await withTable(invocation, config, { wanted: writeIn ?? tableName, requestsMax }, async (server, log) => {
      if (writeIn === undefined) for (const question of QUESTIONS) await ask(question, server);
      else end = await askByWriting({ invocation, config, log, signal, agree, ask }, server);
    });
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
    const count = `${outcomes.length} of ${(writeIn === undefined ? QUESTIONS : WRITING_QUESTIONS).length} questions`;
    const unchanged = writeIn === undefined ? '. Nothing was changed at the origin' : '';
    await session.stderr.write(
      `Stopped after ${count}${unchanged}${file === null ? '' : ', and no report was written'}.\n`,
    );
    end = { isAsked: false, exitCode: EXIT.tryLater };
  }
  if (end.isAsked) await say(tallyText(outcomes));
  const wanted = end.isAsked ? file : null;
  const isWritten = wanted !== null && (await agree(`Write these lines to ${wanted}?`));
  if (isWritten) writeNewFile(wanted, lines.join(''));
  else if (wanted !== null) await session.stderr.write(`${printable(wanted)} ${NOT_WRITTEN}\n`);
  const exitCode = wanted === null || isWritten ? end.exitCode : EXIT.needsPerson;
  const json = { exitCode, answers: outcomes, report: isWritten ? wanted : null };
  await printResult(invocation, json, isWritten ? [`Written to ${wanted}`] : []);
  return exitCode;
}

/** Opens the wanted table, or the first one with two rows. @throws RowsyncError of the origin, or `usage.invalid`. */
async function withTable<T>(
  invocation: Invocation,
  config: Config,
  { wanted, requestsMax }: { readonly wanted: string | undefined; readonly requestsMax: number },
  work: (server: Server, log: Logger) => Promise<T>,
): Promise<T> {
  const signal = invocation.session.stopSignal();
  return await withOrigin(
    invocation,
    config,
    async ({ origin, log }) => {
      // The client says in a sentence what is wrong with the credentials, the database or the table.
      await origin.user({ signal });
      const { value: database } = await origin.describeDatabase({ signal });
      const { openServer } = await import('./server.ts');
      await using server = openServer(config, { log, signal });
      const bounded = withBudget(server, requestsMax - origin.counters().requestCount - 1);
      const chosen = await chooseTable(bounded, database.tables, wanted);
      await origin.describeTable({ name: chosen.recordName, alias: chosen.alias }, { signal });
      const described = await bounded.call(`${pathSegment(chosen.alias)}/describe.json`);
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the client has just read it
      return await work({ ...bounded, table: JSON.parse(described.text) as TableFields }, log);
    },
    { retry: { ...ORIGIN_LIMITS.retry, attemptsMax: 1 } },
  );
}

/** @throws RowsyncError `usage.invalid` for what excludes each other. */
function checkTogether(tableName: string | undefined, { writeIn, cleanUp, report }: ContractOptions): void {
  if ([tableName, writeIn, cleanUp].filter((given) => given !== undefined).length > 1)
    throw usageError('A table, --write-in and --clean-up exclude each other', 'Run it once for each.');
  if (cleanUp !== undefined && report !== undefined)
    throw usageError('--clean-up asks nothing that --report could write', 'Leave --report out.');
}

const NOT_WRITTEN = 'was not written. Read the lines, then run it again with --confirm.';

/** The vendor's own hosts may be named; any other would say whose database it is. */
function headingOf(
  config: Config,
  { isWriting, nowMs }: { readonly isWriting: boolean; readonly nowMs: number },
): string {
  const { host } = originAddress(config.origin);
  const where = /(?:^|\.)(?:teamdesk|dbflex)\.net$/.test(host) ? "the vendor's host" : 'a host of its own';
  const day = new Date(nowMs).toISOString().slice(0, 10);
  const [count, most, what] = isWriting
    ? [WRITING_QUESTIONS.length, WRITE_REQUESTS_MAX, 'which write in one table alone']
    : [QUESTIONS.length, REQUESTS_MAX, 'all of which only read'];
  return `rowsync ${versionOf()} asks ${where} on ${day}: ${count} questions, at most ${most} requests, one after the other, ${what}`;
}

function withBudget({ call }: Pick<Server, 'call'>, requestsMax: number): Pick<Server, 'call'> {
  let count = 0;
  return {
    call: (path, sent) => {
      count += 1;
      assert(count <= requestsMax, 'no more requests than were announced');
      return call(path, sent);
    },
  };
}

/** Tables that are looked at for one with two rows. */
const TABLES_TRIED_MAX = 5;

async function chooseTable(
  { call }: Pick<Server, 'call'>,
  tables: readonly TableSummary[],
  wanted: string | undefined,
): Promise<TableSummary> {
  if (wanted !== undefined) {
    const named = tables.find((table) => [table.recordName, table.recordsName, table.alias].includes(wanted));
    if (named !== undefined) return named;
    throw usageError('The database has no table of this name', 'Write the name as the origin shows it.');
  }
  const tried = tables.slice(0, TABLES_TRIED_MAX);
  for (const table of tried) {
    const { status, text } = await call(`${pathSegment(table.alias)}/select.json?top=2`);
    if (status === 200 && (text.match(/"@row\.id"/g) ?? []).length === 2) return table;
  }
  throw usageError(
    `None of the first ${plural(tried.length, 'table')} has two rows that you may see`,
    'Name a table: rowsync contract Order',
  );
}

async function put<Asked extends Server>(
  item: OriginQuestion<Asked>,
  server: Asked,
  clock: { monotonicMs(): number },
): Promise<QuestionOutcome> {
  const { question, assumed } = item;
  const startMs = clock.monotonicMs();
  const outcome = (kind: QuestionOutcome['outcome'], answer: string): QuestionOutcome => ({
    question,
    outcome: kind,
    answer,
    durationMs: Math.round(clock.monotonicMs() - startMs),
  });
  try {
    const answer = await answerOf(item, server);
    if (answer === null) return outcome('not asked', 'the table has nothing to ask it of');
    const isAssumed = answer.split(':', 1)[0] === assumed;
    return outcome(isAssumed ? 'as assumed' : 'differs', answer);
  } catch (thrown) {
    if (thrown instanceof RowsyncError) throw thrown;
    if (thrown instanceof Unasked) return outcome('not asked', thrown.message);
    // What it could not read may have values, so it is not repeated.
    return outcome('not asked', 'the answer is not one of the known ones');
  }
}

function lineOf(
  { outcome, answer, durationMs }: QuestionOutcome,
  { question, assumed }: Pick<OriginQuestion, 'question' | 'assumed'>,
): string {
  const other = outcome === 'differs' ? `; rowsync assumes: ${assumed}` : '';
  return printable(`${outcome.padEnd(10)}  ${question} ${answer}${other} (${durationMs} ms)`);
}

function tallyText(outcomes: readonly QuestionOutcome[]): string {
  const count = (kind: QuestionOutcome['outcome']): number => outcomes.filter(({ outcome }) => outcome === kind).length;
  return `${count('as assumed')} as assumed, ${plural(count('differs'), 'difference')}, ${count('not asked')} not asked`;
}
