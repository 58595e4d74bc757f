/**
 * The two-way part of `rowsync demo`: edits in plain SQL, the plan, a colleague who edits the same cell, and a row
 * that the origin refuses. Both are settled in the end.
 */
import { executeAsClient } from '../shared/sql-client.ts';
import { openReader } from '../../replica/reader.ts';
import type { PushReport } from '../../push/report.ts';
import type { Invocation } from '../../extra.ts';
import { answerAsTable } from '../../cli/terminal/table.ts';
import { planText, pushText } from '../../cli/report/push-report.ts';
import type { RunningSandbox } from './sandbox.ts';
import { runPlan, runPush } from '../../cli/commands/push.ts';

/** What the demo's tables need to be edited; lines of its configuration. */
export const EDITED_TABLES: readonly string[] = [
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
export const NEW_BADGE = {
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
export interface Stage {
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
export async function tellEdits({ invocation, sandbox, path, rowsync, number, say }: Stage): Promise<PushReport> {
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
export function indented(text: string): string {
  return text
    .split('\n')
    .map((line) => `   ${line}\n`)
    .join('');
}
