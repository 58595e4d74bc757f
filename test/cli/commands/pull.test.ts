/**
 * `rowsync pull` and `rowsync sync`: what one run did to rows, edits and files, in words, as JSON and as an exit code.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { cycleFailures, cycleJson, cycleText, type CycleReport } from '../../../src/cli/commands/pull.ts';
import { printJson } from '../../../src/cli/runtime/invocation.ts';
import { makeWorkspace } from '../../support/child.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { collectingOutput, runCli } from '../../support/session.ts';
import { NOTE } from '../../support/two-way.ts';
import { failure, pullReport, tableReport } from '../../support/pull-reports.ts';

const down = failure('originDown', 'origin.timeout');
const refused = failure('originRefused', 'origin.refused');
const guard = failure('needsPerson', 'guard.deletes');

const cycleOf = (changes: Partial<CycleReport> = {}): CycleReport => ({
  rows: pullReport([tableReport('A')]),
  pushed: null,
  files: null,
  moment: null,
  unproven: null,
  lost: [],
  ...changes,
});

test('the JSON of a pull holds every count, every problem, the exit code, and whole milliseconds', async () => {
  const stdout = collectingOutput();
  const rows = pullReport([tableReport('A', { held: guard })], down);
  const cycle = cycleJson(cycleOf({ rows }), false);
  await printJson({ session: { stdout } }, cycle);

  expect(JSON.parse(stdout.text())).toEqual({
    exitCode: 3,
    runId: 1,
    stop: null,
    lost: [],
    push: null,
    files: null,
    requestCount: 12,
    notModifiedCount: 9,
    receivedBytes: 2_048,
    notes: [],
    schemaChanges: [],
    removedEntryCount: 0,
    durationMs: 2_300,
    error: { code: 'origin.timeout', kind: 'originDown', message: 'origin.timeout happened', hint: 'do this' },
    tables: [
      {
        ...tableReport('A'),
        durationMs: 10,
        held: { code: 'guard.deletes', kind: 'needsPerson', message: 'guard.deletes happened', hint: 'do this' },
      },
    ],
  });
});

test('a run says what it did to rows, and at which moment all tables were so', () => {
  const moment = { at: '2026-11-21T12:00:00Z', tables: ['A', 'D'], notCovered: ['B', 'C'] };

  expect(cycleText(cycleOf(), null)).not.toContain('as they were');
  expect(cycleText(cycleOf({ moment }), null)).toMatch(
    /\nAll 2 tables are as they were at 2026-11-21T12:00:00Z; not covered: B, C\n$/,
  );
  expect(cycleText(cycleOf({ moment: { ...moment, tables: ['A'], notCovered: [] } }), null)).toMatch(
    /\nThe table is as it was at 2026-11-21T12:00:00Z\n$/,
  );
  expect(cycleJson(cycleOf({ moment }), false)).toMatchObject({ moment });
  expect(cycleJson(cycleOf(), false)).not.toHaveProperty('moment');
});

test('every part of a run can fail, and a moment that could not be proven is a failure', () => {
  const pushed = { runId: 2, tables: [], requestCount: 0, durationMs: 0, error: refused, stop: null };

  expect(cycleFailures(cycleOf({ rows: pullReport([], down), pushed, unproven: guard }))).toEqual([
    down,
    refused,
    guard,
  ]);
  expect(cycleFailures(cycleOf())).toEqual([]);
});

test('sync pulls and then pushes; pull leaves the edits where they are', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using workspace = makeWorkspace(sandbox, 'tables: { Note: { push: true } }\n');
  await runCli(['pull'], workspace);
  const db = new Database(join(workspace.folder, 'replica.db'));
  db.exec(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  db.close();
  const title = () => sandbox.store.rows('Note')[0]?.values['Title'];

  const pulled = await runCli(['pull', '--json'], workspace);
  expect([pulled.exitCode, title()]).toEqual([0, 'title 1']);
  expect(JSON.parse(pulled.stdout)).toMatchObject({ exitCode: 0, push: null, problems: [] });
  const synced = await runCli(['sync', '--json'], workspace);

  expect([synced.exitCode, title()]).toEqual([0, 'mine']);
  expect(JSON.parse(synced.stdout)).toMatchObject({ exitCode: 0, push: { tables: [{ updatedCount: 1 }] } });
});

test('a name that no table has, and patterns that match none, are mistakes in what was written', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using workspace = makeWorkspace(sandbox);

  const named = await runCli(['pull', 'Nothing'], workspace);
  const file = join(workspace.folder, 'rowsync.yaml');
  const { url, database } = sandbox;
  const origin = `origin: { url: "${url}", database: "${database}", tokenFile: token }\nreplica: { path: replica.db }\n`;
  writeFileSync(file, `${origin}tables: { Nothing: {} }\n`);
  const matched = await runCli(['pull'], workspace);

  expect([named.exitCode, matched.exitCode]).toEqual([2, 2]);
  expect(named.stderr).toContain('code: usage.invalid');
  expect(matched.stdout + matched.stderr).toContain('No table matches the patterns under tables');
});
