/**
 * `rowsync demo`: the whole story in one command, on this machine alone. Starts the sandbox, pulls it with the real commands and
 * a real configuration file, and asks a question in SQL. Then colleagues work, their changes are followed, and everything is
 * compared. The replica stays in a temporary folder for the reader to open.
 */
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { RowsyncError } from '../../base/errors.ts';
import { systemCode } from '../../config/secrets.ts';
import type { PullReport } from '../../pull/report.ts';
import { openReader } from '../../replica/reader.ts';
import { isCheckout } from '../../cli/runtime/installation.ts';
import { exitCodeOf, printJson } from '../../cli/runtime/invocation.ts';
import type { Invocation, Runner } from '../../extra.ts';
import { answerAsTable } from '../../cli/terminal/table.ts';
import { startSandbox, type RunningSandbox } from './sandbox.ts';
import { pushFailures, pushJson, planText, pushText } from '../../cli/report/push-report.ts';
import { durationText, plural } from '../../base/text.ts';
import { cycleFailures, cycleJson, cycleText, runPull } from '../../cli/commands/pull.ts';
import { verifyFailures } from '../../pull/verify.ts';
import { runVerify, verifyText } from '../../cli/commands/verify.ts';
import { executeAsClient } from '../shared/sql-client.ts';
import type { PushReport } from '../../push/report.ts';
import { runPlan, runPush } from '../../cli/commands/push.ts';

/** What colleagues do between the two pulls: enough to see, in a few of the tables. */
const CHANGES = 12;

/** Decides which rows colleagues change, so that the demo shows the same story every time. */
const SEED = 7;

/** What the reader has to type in front of a command; in a checkout there is no `rowsync` on the path. */
const ROWSYNC = isCheckout ? 'npm run -s rowsync --' : 'rowsync';

/** A question that the Records API cannot answer: it joins and sums. */
const QUERY = `SELECT c."Segment", count(DISTINCT o."Order No.") AS "Orders",
       round(sum(l."Quantity" * l."Unit Price")) AS "Revenue"
FROM "Order" o
JOIN "Customer" c ON c."Id" = o."Customer"
JOIN "Order Line" l ON l."Order" = o."Order No."
WHERE o."Ordered At" >= '2025-01-01'
GROUP BY c."Segment" ORDER BY "Revenue" DESC`;

/** What becomes of a picture: every revision, with where its content is. */
const PHOTO_QUERY = `SELECT e."Full Name", f.revision, f.name, f.bytes, f.state
FROM sync_files f JOIN "Employee" e ON e._id = f.row_id
WHERE f."column" = 'Photo' AND e._id = (SELECT min(row_id) FROM sync_files WHERE revision = 2)
ORDER BY f.revision`;

/** A picture that a colleague attaches. */
const PHOTO = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><circle cx="4" cy="4" r="4"/></svg>';

const DESCRIPTION = `
Everything happens on this machine: a sandbox stands in for the hosted service. It takes a few seconds, needs no terminal
and no configuration, and leaves the replica in a temporary folder for you to open.`;

/** Adds the command. */
export function addDemoCommand(program: Command, runner: Runner): void {
  program
    .command('demo')
    .description('see the whole story in seconds, without a hosted database')
    .addHelpText('after', DESCRIPTION)
    .action((_options: unknown, command: Command) => runner(command, runDemo));
}

async function runDemo(invocation: Invocation): Promise<number> {
  const sandbox = await startSandbox({ clock: invocation.session.clock, seed: SEED });
  try {
    return await tellStory(invocation, sandbox);
  } finally {
    await sandbox.stop();
  }
}

async function tellStory(invocation: Invocation, sandbox: RunningSandbox): Promise<number> {
  const { clock, stdout } = invocation.session;
  const startedMs = clock.monotonicMs();
  const folder = makeFolder(sandbox);
  const inDemo: Invocation = { ...invocation, configPath: join(folder, 'rowsync.yaml') };
  const say = async (text: string): Promise<void> => {
    if (!invocation.isJson) await stdout.write(text);
  };

  await say(openingText(sandbox));
  await say(`\n2. Pull it into a SQLite file\n   $ ${ROWSYNC} pull\n\n`);
  const first = await runPull(inDemo, { tables: [], confirm: false });
  await say(cycleText(first, stdout.width()));

  await say(`\n3. Ask it a question, in SQL, without the network\n\n${indented(QUERY)}\n`);
  await say(queryAnswer(join(folder, 'replica.db'), QUERY, stdout.width()));

  const { updatedCount, insertedCount, deletedCount } = sandbox.playActivity(CHANGES);
  const played = `${plural(updatedCount, 'row')} changed, ${insertedCount} added, ${deletedCount} deleted`;
  attachPhoto(sandbox);
  await say(`\n4. Meanwhile, colleagues work in the hosted database: ${played}, and a new photo\n`);

  await say(
    `\n5. Follow them: each page is asked for with its ETag, and only what changed is sent\n   $ ${ROWSYNC} sync\n\n`,
  );
  const second = await runPull(inDemo, { tables: [], confirm: false });
  await say(`${cycleText(second, stdout.width())}${skippedText(first.rows, second.rows)}`);
  await say(`\n   The photo was downloaded too; the earlier one stays\n\n${indented(PHOTO_QUERY)}\n`);
  await say(queryAnswer(join(folder, 'replica.db'), PHOTO_QUERY, stdout.width()));

  await say(`\n6. Verify: compare every cell with the hosted database, without ETags\n   $ ${ROWSYNC} verify\n\n`);
  const verified = await runVerify(inDemo, []);
  await say(verifyText(verified, stdout.width()));

  const pushed = await tellEdits({
    invocation: inDemo,
    sandbox,
    path: join(folder, 'replica.db'),
    rowsync: ROWSYNC,
    number: 7,
    say,
  });

  const failures = [
    ...cycleFailures(first),
    ...cycleFailures(second),
    ...verifyFailures(verified),
    ...pushFailures(pushed),
  ];
  const durationMs = clock.monotonicMs() - startedMs;
  await say(closingText(folder, durationMs));
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

/** A folder with the configuration and the token that the demo's commands use, and where the replica will be. */
function makeFolder({ url, database, token }: RunningSandbox): string {
  try {
    const folder = mkdtempSync(join(tmpdir(), 'rowsync-demo-'));
    writeFileSync(join(folder, 'token'), `${token}\n`, { mode: 0o600 });
    chmodSync(join(folder, 'token'), 0o600);
    const lines = [
      'origin:',
      `  url: ${url}`,
      `  database: "${database}"`,
      '  tokenFile: token',
      'replica:',
      '  path: replica.db',
      ...EDITED_TABLES,
    ];
    writeFileSync(join(folder, NEW_BADGE.name), NEW_BADGE.text);
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

/** Attaches a photo to an employee who has one already. */
function attachPhoto({ store }: RunningSandbox): void {
  const employee = store.rows('Employee').find(({ values }) => values['Photo'] !== null);
  const photo = { name: 'new photo.svg', mediaType: 'image/svg+xml', bytes: Buffer.from(PHOTO) };
  if (employee !== undefined) store.update('Employee', employee.id, { Photo: photo });
}

function queryAnswer(path: string, query: string, width: number | null): string {
  const reader = openReader(path);
  try {
    return [...answerAsTable(reader.query(query), width)].join('');
  } finally {
    reader.close();
  }
}

function openingText({ url, database }: RunningSandbox): string {
  return `rowsync follows a hosted table database into a SQLite file on your machine.

1. Start a stand-in for the hosted service: the sandbox, with sample data
   ${url}, database ${database}
`;
}

function skippedText(first: PullReport, second: PullReport): string {
  const pagesOf = (report: PullReport, pick: 'pagesReadCount' | 'pagesNotModifiedCount'): number =>
    report.tables.reduce((sum, table) => sum + table[pick], 0);
  const skipped = pagesOf(second, 'pagesNotModifiedCount');
  const all = skipped + pagesOf(second, 'pagesReadCount');
  const percent = Math.round((second.receivedBytes / Math.max(1, first.receivedBytes)) * 100);
  return `${skipped} of ${all} pages were skipped by ETag; ${percent} % of the first pull's bytes came over the wire\n`;
}

function closingText(folder: string, durationMs: number): string {
  const config = join(folder, 'rowsync.yaml');
  return `
That was all, in ${durationText(durationMs)}. The sandbox has stopped; the replica stays until you remove it:
   ${folder}

Look at it with any SQL tool, or:
   ${ROWSYNC} sql --config ${config} 'SELECT * FROM sync_status'

Next, with your own database: put an API token into the file token, and this into rowsync.yaml

   origin:
     url: https://www.teamdesk.net
     database: "21995"          # the number in the address of your database
     tokenFile: token           # chmod 600 token
   replica:
     path: replica.db

Then type:
   ${ROWSYNC} check
   ${ROWSYNC} pull
   ${ROWSYNC} sql 'SELECT * FROM sync_status'
`;
}

/** What the demo's tables need to be edited; lines of its configuration. */
const EDITED_TABLES: readonly string[] = [
  'tables:',
  '  "*": { history: true }',
  '  Customer: { push: true, conflict: ask, history: true }',
  '  Employee: { push: true, match: E-Mail, history: true }',
  'files: { uploadDir: . }',
];

/** What someone types into their SQL tool. Employees 2 and 3 then have one address, which the origin does not allow. */
const EDITS = `UPDATE "Customer" SET "Phone" = '+33 1 23 45 67 89' WHERE _id IN (1, 2);
INSERT INTO "Customer" ("Name", "Segment") VALUES ('Café Demo', 'Retail');
DELETE FROM "Customer" WHERE _id = 3;
UPDATE "Employee" SET "E-Mail" = (SELECT "E-Mail" FROM "Employee" WHERE _id = 3) WHERE _id = 2;`;

const CONFLICTS = `SELECT "table", row_id, "column", base, local, remote FROM sync_conflicts WHERE state = 'open'`;
const RESOLUTION = `UPDATE sync_conflicts SET resolution = 'local' WHERE state = 'open'`;
const FAILURES = `SELECT "table", row_id, kind, status, reason FROM sync_failures`;

/** A picture to attach, in the demo's folder. */
const NEW_BADGE = {
  name: 'new badge.svg',
  text: '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><rect width="9" height="9" rx="2"/></svg>\n',
};

/** Settles what was refused, and attaches a picture to an employee who has one. */
const MENDED = `UPDATE "Employee" SET "E-Mail" = 'new.address@example.com' WHERE _id = 2;
UPDATE "Employee" SET "Photo" = 'file:${NEW_BADGE.name}'
WHERE _id = (SELECT max(row_id) FROM sync_files WHERE "table" = 'Employee');`;

const REVISIONS = `SELECT row_id, revision, name, bytes, state FROM sync_files
WHERE row_id = (SELECT row_id FROM sync_files WHERE name = '${NEW_BADGE.name}') AND "table" = 'Employee'
ORDER BY revision`;

/** Where the story is told. */
interface Stage {
  readonly invocation: Invocation;
  readonly sandbox: RunningSandbox;
  /** Of the replica. */
  readonly path: string;
  /** What the reader types in front of a command. */
  readonly rowsync: string;
  /** The number of the next part of the story. */
  readonly number: number;
  readonly say: (text: string) => Promise<void>;
}

/** Tells the part about edits; returns what the last push did. */
async function tellEdits({ invocation, sandbox, path, rowsync, number, say }: Stage): Promise<PushReport> {
  const width = invocation.session.stdout.width();
  const ask = (query: string): string => {
    const reader = openReader(path);
    try {
      return [...answerAsTable(reader.query(query), width)].join('');
    } finally {
      reader.close();
    }
  };
  const push = { tables: [], confirm: false };

  await say(`\n${number}. Edit it, in SQL: two tables of this demo say push: true\n\n${indented(EDITS)}`);
  executeAsClient(path, EDITS);
  await say(`\n   $ ${rowsync} plan\n\n${planText(await runPlan(invocation, []))}`);

  sandbox.store.update('Customer', 2, { Phone: '+44 20 7946 0018' });
  await say(
    `\n${number + 1}. Push it. A colleague has just changed one of the same phone numbers\n   $ ${rowsync} push\n\n`,
  );
  await say(pushText(await runPush(invocation, push), width));

  await say(`\n   The conflict waits for a person. No other row has to wait for it:\n\n${ask(CONFLICTS)}`);
  await say(`\n   ... who decides in SQL, or with ${rowsync} resolve:\n\n${indented(RESOLUTION)}`);
  executeAsClient(path, RESOLUTION);
  await say(`   A refused row waits too, with the reason, until it is edited:\n\n${ask(FAILURES)}`);
  await say(`\n   A file is attached in SQL, too; this one lies beside the replica:\n\n${indented(MENDED)}`);
  await say(`   $ ${rowsync} push\n\n`);
  executeAsClient(path, MENDED);
  const report = await runPush(invocation, push);
  await say(pushText(report, width));
  await say(
    `\n   The replica has both revisions, and nothing had to be downloaded:\n\n${indented(REVISIONS)}\n${ask(REVISIONS)}`,
  );
  return report;
}

/** Text set in from the left. */
function indented(text: string): string {
  return text
    .split('\n')
    .map((line) => `   ${line}\n`)
    .join('');
}
