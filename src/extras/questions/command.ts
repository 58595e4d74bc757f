/**
 * `rowsync contract`: puts the questions to the origin, one request after the other, and writes the answers down for others. It only reads.
 */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { assert } from '../../base/assert.ts';
import { EXIT, RowsyncError, usageError } from '../../base/errors.ts';
import { plural, printable } from '../../base/text.ts';
import { versionOf } from '../../cli/runtime/installation.ts';
import { loadNamedConfig, printResult, withOrigin } from '../../cli/runtime/invocation.ts';
import type { Config } from '../../config/load.ts';
import type { Invocation, Runner } from '../../extra.ts';
import { originAddress } from '../../origin/address.ts';
import { ORIGIN_LIMITS } from '../../origin/limits.ts';
import { pathSegment } from '../../wire/query.ts';
import type { TableSummary } from '../../wire/schema.ts';
import { checkNewFile, writeNewFile } from '../shared/new-file.ts';
import { isAgreed } from '../shared/prompts.ts';
import { answerOf, type OriginQuestion, QUESTIONS, REQUESTS_MAX } from './questions.ts';
import { openServer, type Server, type TableFields } from './server.ts';

const EXAMPLES = `
Asks the origin what no documentation of its API says, and compares the answers with what rowsync assumes. It only reads, one request
after the other, at most ${REQUESTS_MAX} of them: a few pages of one table. What only writing shows is not asked.

The lines have no value of a row, no name of a table, a column or a person, and no address. --report writes them into a file after you have read them,
for whoever collects such answers: docs/origin.md.

Examples:
  rowsync contract                                ask about the first table with two rows
  rowsync contract Order                          ask about this one; choose one with many types of columns
  rowsync contract --report answers.txt           write what you have read, if you say yes
  rowsync contract --report answers.txt --confirm write it without asking`;

interface ContractOptions {
  readonly report?: string;
  readonly confirm?: boolean;
}

/** What became of one question. */
interface QuestionOutcome {
  readonly question: string;
  readonly outcome: 'as assumed' | 'differs' | 'not asked';
  readonly answer: string;
  readonly durationMs: number;
}

/** Adds the command. */
export function addContractCommand(program: Command, runner: Runner): void {
  program
    .command('contract')
    .argument('[table]', 'the table to ask about (default: the first with two rows)')
    .description('ask the origin what no documentation says, and compare with what rowsync assumes')
    .option('--report <file>', 'write the answers, which have no value and no name of yours, into a new file')
    .option('--confirm', 'write the file without asking')
    .addHelpText('after', EXAMPLES)
    .action(runner(askAll));
}

async function askAll(
  invocation: Invocation,
  tableName: string | undefined,
  options: ContractOptions,
): Promise<number> {
  const { session, isJson } = invocation;
  const file = options.report === undefined ? null : resolve(session.folder, options.report);
  if (file !== null) checkNewFile(file);
  const config = await loadNamedConfig(invocation, { needsCredentials: true });
  const signal = session.stopSignal();
  const lines: string[] = [];
  const say = async (line: string): Promise<void> => {
    lines.push(`${line}\n`);
    if (!isJson) await session.stdout.write(`${line}\n`);
  };
  const outcomes: QuestionOutcome[] = [];
  try {
    await say(headingOf(config, session.clock.nowMs()));
    await withOrigin(
      invocation,
      config,
      async ({ origin, log }) => {
        // The client says in a sentence what is wrong with the credentials, the database or the table.
        await origin.user({ signal });
        const { value: database } = await origin.describeDatabase({ signal });
        await using server = openServer(config, { log, signal });
        const bounded = withBudget(server, REQUESTS_MAX - origin.counters().requestCount - 1);
        const chosen = await chooseTable(bounded, database.tables, tableName);
        await origin.describeTable({ name: chosen.recordName, alias: chosen.alias }, { signal });
        const described = await bounded.call(`${pathSegment(chosen.alias)}/describe.json`);
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the client has just read it
        const table = JSON.parse(described.text) as TableFields;
        for (const question of QUESTIONS) {
          const outcome = await put(question, { ...bounded, table }, session.clock);
          outcomes.push(outcome);
          await say(lineOf(outcome, question));
        }
      },
      { retry: { ...ORIGIN_LIMITS.retry, attemptsMax: 1 } },
    );
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
    const done = `Stopped after ${outcomes.length} of ${QUESTIONS.length} questions. Nothing was changed at the origin`;
    await session.stderr.write(`${done}${file === null ? '' : ', and no report was written'}.\n`);
    return EXIT.tryLater;
  }
  await say(sumOf(outcomes));
  const isWritten = file !== null && (await mayWrite(invocation, file, options));
  if (isWritten) writeNewFile(file, lines.join(''));
  const exitCode = file === null || isWritten ? EXIT.done : EXIT.needsPerson;
  const json = { exitCode, answers: outcomes, report: isWritten ? file : null };
  await printResult(invocation, json, isWritten ? [`Written to ${file}`] : []);
  return exitCode;
}

/** The vendor's own hosts may be named; any other would say whose database it is. */
function headingOf(config: Config, nowMs: number): string {
  const { host } = originAddress(config.origin);
  const where = /(?:^|\.)(?:teamdesk|dbflex)\.net$/.test(host) ? "the vendor's host" : 'a host of its own';
  const day = new Date(nowMs).toISOString().slice(0, 10);
  return (
    `rowsync ${versionOf()} asks ${where} on ${day}: ${QUESTIONS.length} questions, at most ${REQUESTS_MAX} requests, ` +
    'one after the other, all of which only read'
  );
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

/** The table of a name, or the first with two rows. */
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

async function put(asked: OriginQuestion, server: Server, clock: { monotonicMs(): number }): Promise<QuestionOutcome> {
  const { question, assumed } = asked;
  const startMs = clock.monotonicMs();
  const outcome = (kind: QuestionOutcome['outcome'], answer: string): QuestionOutcome => ({
    question,
    outcome: kind,
    answer,
    durationMs: Math.round(clock.monotonicMs() - startMs),
  });
  try {
    const answer = await answerOf(asked, server);
    if (answer === null) return outcome('not asked', 'the table has nothing to ask it of');
    const isAssumed = answer.split(':', 1)[0] === assumed;
    return outcome(isAssumed ? 'as assumed' : 'differs', answer);
  } catch (thrown) {
    if (thrown instanceof RowsyncError) throw thrown;
    // What it could not read may have values, so it is not repeated.
    return outcome('not asked', 'the answer was none of those that are known');
  }
}

function lineOf({ outcome, answer, durationMs }: QuestionOutcome, { question, assumed }: OriginQuestion): string {
  const other = outcome === 'differs' ? `; rowsync assumes: ${assumed}` : '';
  return printable(`${outcome.padEnd(10)}  ${question} ${answer}${other} (${durationMs} ms)`);
}

function sumOf(outcomes: readonly QuestionOutcome[]): string {
  const count = (kind: QuestionOutcome['outcome']): number => outcomes.filter(({ outcome }) => outcome === kind).length;
  return `${count('as assumed')} as assumed, ${plural(count('differs'), 'difference')}, ${count('not asked')} not asked`;
}

async function mayWrite({ session, isJson }: Invocation, file: string, { confirm }: ContractOptions): Promise<boolean> {
  if (confirm === true) return true;
  if (session.stdin.isTTY === true && !isJson && (await isAgreed(session, `Write these lines to ${file}?`)))
    return true;
  await session.stderr.write(`${printable(file)} was not written. Read the lines, then run it again with --confirm.\n`);
  return false;
}
