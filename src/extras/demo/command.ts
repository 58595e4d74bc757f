/**
 * `rowsync demo`: pull, edit, push and verify on this machine alone. Starts the sandbox and runs the real commands with
 * a real configuration file, while simulated colleagues work. The daemon and `rowsync doorbell` run in this process
 * with their output caught. The replica stays in a temporary folder for the reader to open.
 */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { styleText } from 'node:util';
import type { Command } from 'commander';
import { exitCodeOf, RowsyncError } from '../../base/errors.ts';
import { systemCode } from '../../config/secrets.ts';
import type { PullReport } from '../../pull/report.ts';
import { openReader } from '../../replica/reader.ts';
import { ROWSYNC } from '../../cli/runtime/installation.ts';
import { loadNamedConfig, printJson } from '../../cli/runtime/invocation.ts';
import type { Invocation, Runner } from '../../extra.ts';
import { run } from '../../cli/program.ts';
import { outputTo, type Output, type Session } from '../../cli/terminal/session.ts';
import { answerAsTable } from '../../cli/terminal/table.ts';
import { startSandbox, type RunningSandbox } from '../shared/sandbox.ts';
import { failuresOf } from '../../cli/report/pull-report.ts';
import { pushJson, planText, pushText } from '../../cli/report/push-report.ts';
import { sumOf } from '../../base/sum.ts';
import { durationText, plural, printableLines } from '../../base/text.ts';
import { cycleFailures, cycleJson, cycleText, runCycle } from '../../cli/commands/pull.ts';
import { verifyFailures } from '../verify/verify.ts';
import { runVerify, verifyText } from '../verify/command.ts';
import { executeAsClient } from '../shared/sql-client.ts';
import type { PushReport } from '../../push/report.ts';
import { runPlan, runPush } from '../../cli/commands/push.ts';
import type { Config } from '../../config/load.ts';

/** What colleagues do between the two pulls: enough to see, in a few of the tables. */
const CHANGES = 12;

/** Decides which rows colleagues change, so that the demo shows the same story every time. */
const SEED = 7;

/** A question that the Records API cannot answer: it joins and sums. */
const QUERY = `SELECT c."Segment", round(sum(l."Quantity" * l."Unit Price")) AS "Revenue"
FROM "Order Line" l JOIN "Order" o ON o."Order No." = l."Order"
JOIN "Customer" c ON c."Id" = o."Customer" GROUP BY 1 ORDER BY 2 DESC LIMIT 3`;

/** What a line of the story looks like, also in the picture of it: typed commands and headings stand out. */
export const LINE_STYLES = [
  { name: 'command', pattern: /^ {3}\$ /, colours: ['bold', 'green'] },
  { name: 'heading', pattern: /^\d+\. /, colours: ['bold'] },
  { name: 'sql', pattern: /^ {3}/, colours: ['yellow'] },
  { name: 'frame', pattern: /^[┌├└]/, colours: ['gray'] },
] as const;

const DESCRIPTION = `
Everything happens on this machine: a sandbox stands in for the hosted service. It takes a few seconds, needs no terminal
and no configuration, and leaves the replica in a temporary folder for you to open.`;

export function addDemoCommand(program: Command, runner: Runner): void {
  program
    .command('demo')
    .description('try pull, edit and push in seconds, without a hosted database')
    .addHelpText('after', DESCRIPTION)
    .action(runner(runDemo));
}

async function runDemo(invocation: Invocation): Promise<number> {
  const { clock, stdout } = invocation.session;
  await using sandbox = await startSandbox({ clock, seed: SEED });
  const startedMs = clock.monotonicMs();
  const port = await freePort();
  const folder = makeFolder(sandbox, port);
  const path = join(folder, 'replica.db');
  const inDemo: Invocation = { ...invocation, configPath: join(folder, 'rowsync.yaml') };
  const config = await loadNamedConfig(inDemo, { needsCredentials: true });
  const say = async (text: string): Promise<void> => {
    if (!invocation.isJson) await stdout.write(stdout.isTerminal ? coloured(text) : text);
  };
  const width = widthOf(stdout);
  const ask = (query: string): string => answerText(path, query, width);

  await say(`rowsync keeps a hosted table database in a SQLite file on your machine.
Here a sandbox plays the hosted one: ${sandbox.url}

1. Pull it into a SQLite file
   $ ${ROWSYNC} pull
`);
  const first = await runCycle(inDemo, config, { tables: [], confirm: false });
  await say(withoutTable(cycleText(first, width)));

  await say(`\n2. Ask it a question, in SQL, without the network\n${indented(QUERY)}${ask(QUERY)}`);

  const { updatedCount, insertedCount, deletedCount } = sandbox.playActivity(CHANGES);
  const played = `${plural(updatedCount, 'row')} changed, ${insertedCount} added, ${deletedCount} deleted`;
  await say(`\n3. Follow colleagues and compare every cell: ${played}\n   $ ${ROWSYNC} sync\n`);
  const second = await runCycle(inDemo, config, { tables: [], confirm: false });
  await say(`${withoutTable(cycleText(second, width))}${skippedText(first.rows, second.rows)}`);

  await say(`   $ ${ROWSYNC} verify\n`);
  const verified = await runVerify(inDemo, config, []);
  await say(withoutTable(verifyText(verified, width)));

  await say(`\n4. Let the origin ring when a colleague edits a row\n   $ ${ROWSYNC} daemon\n`);
  await say(await letItRing(inDemo, sandbox, path));

  const pushed = await tellEdits({ invocation: inDemo, config, sandbox, path, say, ask });

  const failures = [
    ...cycleFailures(first),
    ...cycleFailures(second),
    ...verifyFailures(verified),
    ...failuresOf(pushed),
  ];
  const durationMs = clock.monotonicMs() - startedMs;
  await say(closingText({ folder, port, durationMs }));
  if (invocation.isJson) {
    const exitCode = exitCodeOf(failures);
    const activity = { updatedCount, insertedCount, deletedCount };
    await printJson(invocation, {
      exitCode,
      folder,
      first: cycleJson(first, false),
      activity,
      second: cycleJson(second, false),
      push: pushJson(pushed, true),
    });
  }
  return exitCodeOf(failures);
}

/** A text with the colours of its lines; styleText leaves them out where the terminal or NO_COLOR says so. */
function coloured(text: string): string {
  const lines = text.split('\n').map((line) => {
    const style = LINE_STYLES.find(({ pattern }) => pattern.test(line));
    return style === undefined ? line : styleText([...style.colours], line);
  });
  return lines.join('\n');
}

/** The sums of a report: its table would take a screen. */
function withoutTable(text: string): string {
  return text.replaceAll(/^(?:[┌│├└].*|.* without changes|.* listed by the origin: .*|[\d,]+ requests?\b.*)\n/gm, '');
}

function makeFolder({ url, database, token }: RunningSandbox, port: number): string {
  try {
    const folder = mkdtempSync(join(tmpdir(), 'rowsync-demo-'));
    writeFileSync(join(folder, 'token'), `${token}\n`, { mode: 0o600 });
    const lines = [
      'origin:',
      `  url: ${url}`,
      `  database: "${database}"`,
      '  tokenFile: token',
      'replica:',
      '  path: replica.db',
      ...OTHER_OPTIONS,
      `http: { listen: 127.0.0.1:${port}, doorbell: true }`,
    ];
    writeFileSync(join(folder, 'rowsync.yaml'), `${lines.join('\n')}\n`);
    return folder;
  } catch (cause) {
    throw new RowsyncError('replica', 'replica.path', {
      message: `Making a folder for the demo in ${tmpdir()} failed: ${systemCode(cause)}`,
      hint: 'Set TMPDIR to a folder that can be written.',
      cause,
    });
  }
}

/** The demo shows what a terminal would, also in a pipe. */
function widthOf(stdout: Output): number {
  return stdout.width() ?? Infinity;
}

/** The answer to a question without its number of rows: a table, or plain lines where its only column is a text. */
function answerText(path: string, query: string, width: number): string {
  using reader = openReader(path);
  const answer = reader.query(query);
  if (answer.columns.length === 1)
    return [...answer.rows].map(([text]) => `${printableLines(String(text))}\n`).join('');
  return [...answerAsTable(answer, width)].join('').replace(/\d+ rows?\n$/, '');
}

function skippedText(first: PullReport, second: PullReport): string {
  const pagesOf = (report: PullReport, pick: 'pagesReadCount' | 'pagesNotModifiedCount'): number =>
    sumOf(report.tables, (table) => table[pick]);
  const skipped = pagesOf(second, 'pagesNotModifiedCount');
  const all = skipped + pagesOf(second, 'pagesReadCount');
  const percent = Math.round((second.receivedBytes / Math.max(1, first.receivedBytes)) * 100);
  return `${skipped} of ${all} pages were skipped by ETag; ${percent} % of the first pull's bytes were sent\n`;
}

function closingText(given: { readonly folder: string; readonly port: number; readonly durationMs: number }): string {
  const { folder, port, durationMs } = given;
  return `
That was all, in ${durationText(durationMs)}. The replica stays until you remove it:
   ${folder}
Next: your own database (in an empty folder), the page with this data
(http://127.0.0.1:${port}/, key in replica.db.page-key), a sandbox to try.
   $ ${ROWSYNC} init
   $ ${ROWSYNC} daemon -c ${join(folder, 'rowsync.yaml')}
   $ ${ROWSYNC} sandbox
`;
}

/** What the demo's tables need to be edited, and when the daemon works: only when it is rung. */
const OTHER_OPTIONS: readonly string[] = [
  'tables:',
  '  "*": { history: true }',
  '  Customer: { push: true, conflict: ask, history: true }',
  '  Employee: { push: true, match: E-Mail, history: true }',
  'schedule: { sync: false, follow: auto }',
];

/** What someone types into their SQL tool. Employees 2 and 3 then have one address, which the origin does not allow. */
const EDITS = `UPDATE "Customer" SET "Phone" = '+33 1 23 45' WHERE _id IN (1, 2);
INSERT INTO "Customer" ("Name", "Segment") VALUES ('Café Demo', 'Retail');
DELETE FROM "Customer" WHERE _id = 3;
UPDATE "Employee" SET "E-Mail" =
  (SELECT "E-Mail" FROM "Employee" WHERE _id = 3) WHERE _id = 2;`;

const CONFLICTS = `SELECT row_id, "column", base, local, remote FROM sync_conflicts WHERE state = 'open'`;
const FAILURES = `SELECT "table" || ' ' || row_id || ' was refused:' || char(10) || reason FROM sync_failures`;

/** What a person decides: the conflict, in favour of the value here, and another address for the employee. */
const DECISIONS = `UPDATE sync_conflicts SET resolution = 'local' WHERE state = 'open';
UPDATE "Employee" SET "E-Mail" = 'new.address@example.com' WHERE _id = 2;`;

interface Stage {
  readonly invocation: Invocation;
  readonly config: Config;
  readonly sandbox: RunningSandbox;
  readonly path: string;
  readonly say: (text: string) => Promise<void>;
  readonly ask: (query: string) => string;
}

/** Tells the part about edits; returns what the last push did. */
async function tellEdits({ invocation, config, sandbox, path, say, ask }: Stage): Promise<PushReport> {
  const width = widthOf(invocation.session.stdout);
  const push = { tables: [], confirm: false };

  await say(`\n5. Edit it, in SQL: two tables of this demo say push: true\n${indented(EDITS)}`);
  executeAsClient(path, EDITS);
  await say(`   $ ${ROWSYNC} plan\n${planText(await runPlan(invocation, []), width).replaceAll('\n\n', '\n')}`);

  sandbox.store.update('Customer', 2, { Phone: '+44 20 7946 0018' });
  await say(`\n6. Push it. A colleague has just changed one of the same phone numbers\n   $ ${ROWSYNC} push\n`);
  await say(pushText(await runPush(invocation, config, push), width));

  await say(`\n7. Decide what waits. A conflict and a refused row hold up no other row\n`);
  await say(`${ask(CONFLICTS)}${ask(FAILURES)}${indented(DECISIONS)}   $ ${ROWSYNC} push\n`);
  executeAsClient(path, DECISIONS);
  const report = await runPush(invocation, config, push);
  await say(withoutTable(pushText(report, width)));
  return report;
}

function indented(text: string): string {
  return text
    .split('\n')
    .map((line) => `   ${line}\n`)
    .join('');
}

/** What the colleague edits: a row of a table that is large enough to be followed. */
const [TABLE, ROW, COLUMN, VALUE] = ['Order', 7, 'Comment', 'rings'] as const;

/** How long the row may take, and how often it is looked for. */
const ARRIVAL_MS_MAX = 20_000;
const LOOK_MS = 20;

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' ? (address?.port ?? 0) : 0;
}

/** Lets the row come; returns what happened, in a line. @throws RowsyncError where it does not come. */
export async function letItRing(
  { session, extras, configPath = '' }: Invocation,
  sandbox: RunningSandbox,
  path: string,
): Promise<string> {
  const { clock } = session;
  const stop = new AbortController();
  const signal = AbortSignal.any([session.stopSignal(), stop.signal]);
  const quiet: Session = { ...session, stopSignal: () => signal, onSignal: () => undefined };
  let shown = '';
  const forAddress = outputTo(catcher((text) => (shown += text)));
  await run(['doorbell', 'show', TABLE, '--config', configPath], { ...quiet, stdout: forAddress }, extras);
  const [url = ''] = /http:\S+\/ring\/\S+/.exec(shown) ?? [];
  const listening = Promise.withResolvers<void>();
  const forLog = outputTo(catcher((line) => line.includes('"http.listening"') && listening.resolve()));
  const ended = run(['daemon', '--config', configPath], { ...quiet, stdout: forLog }, extras);
  try {
    const exitCode = await Promise.race([listening.promise, ended]);
    if (typeof exitCode === 'number') throw endedError(exitCode);
    sandbox.ringAt(url);
    const startedMs = clock.monotonicMs();
    sandbox.store.update(TABLE, ROW, { [COLUMN]: VALUE });
    while (!isHere(path)) {
      if (clock.monotonicMs() - startedMs > ARRIVAL_MS_MAX) throw lateError();
      await clock.sleep(LOOK_MS);
    }
    const seconds = ((clock.monotonicMs() - startedMs) / 1_000).toFixed(1);
    return `${TABLE} ${ROW} was here ${seconds} s after the edit\n`;
  } finally {
    stop.abort();
    await ended;
  }
}

function isHere(path: string): boolean {
  using reader = openReader(path);
  const { rows } = reader.query(`SELECT 1 FROM "${TABLE}" WHERE _id = ${ROW} AND "${COLUMN}" = '${VALUE}'`);
  return [...rows].length > 0;
}

function endedError(exitCode: number): RowsyncError {
  return new RowsyncError('originDown', 'origin.timeout', {
    message: `The daemon of the demo ended with the exit code ${exitCode}`,
    hint: 'What it said above tells why.',
  });
}

function lateError(): RowsyncError {
  return new RowsyncError('originDown', 'origin.timeout', {
    message: `The daemon of the demo did not bring ${TABLE} ${ROW} within ${ARRIVAL_MS_MAX / 1_000} seconds`,
    hint: 'The machine may be very busy: try again.',
  });
}

/** A stream that hands over what is written. */
function catcher(onText: (text: string) => void): Writable {
  return new Writable({
    write: (chunk, _encoding, done) => {
      onText(String(chunk));
      done();
    },
  });
}
