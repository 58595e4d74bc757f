/**
 * Attached files under a daemon: with the rows, or on a schedule of their own.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { startDaemon, type TestDaemon } from '../support/daemon.ts';
import { startTestSandbox, type TestSandbox } from '../support/sandbox.ts';

function album(name: string): TableSpec {
  return {
    name,
    columns: [
      { name: 'Title', type: 'Text' },
      { name: 'Photo', type: 'Attachment' },
    ],
    rows: [{ Title: 'a', Photo: { name: 'a.png', mediaType: 'image/png', bytes: Buffer.from(`photo of ${name}`) } }],
  };
}

function startSandbox(): Promise<TestSandbox> {
  return startTestSandbox({ tables: [album('Album'), album('Badge')] });
}

/** How many files of each table are here. */
function filesHere(daemon: TestDaemon): Readonly<Record<string, number>> {
  const rows = daemon.rows(`SELECT "table", count(*) AS n FROM sync_files WHERE state = 'here' GROUP BY 1 ORDER BY 1`);
  return Object.fromEntries((rows as { table: string; n: number }[]).map(({ table, n }) => [table, n]));
}

function workDone(daemon: TestDaemon): readonly unknown[] {
  return daemon.events('work.finished').map(({ work }) => work);
}

test('files come with the rows where nothing is said of when', async () => {
  await using sandbox = await startSandbox();
  await using daemon = startDaemon(sandbox, 'schedule: { sync: "0 * * * *" }\n');
  await daemon.idle();

  expect(filesHere(daemon)).toEqual({ Album: 1, Badge: 1 });
  expect(workDone(daemon)).toEqual(['pull']);
});

test('files on a schedule of their own come on that one, and pulls leave them alone', async () => {
  await using sandbox = await startSandbox();
  await using daemon = startDaemon(sandbox, 'schedule: { sync: "*/5 * * * *", files: "30 * * * *" }\n');
  await daemon.elapse(20);
  const before = filesHere(daemon);
  await daemon.elapse(15);

  expect(before).toEqual({});
  expect(filesHere(daemon)).toEqual({ Album: 1, Badge: 1 });
  expect(workDone(daemon).filter((work) => work === 'files')).toHaveLength(1);
  expect(daemon.rows('SELECT count(*) AS n FROM "Album"')).toEqual([{ n: 1 }]);
});

test('a pattern of tables has a schedule for its files, or none', async () => {
  await using sandbox = await startSandbox();
  await using daemon = startDaemon(
    sandbox,
    'schedule: { sync: "*/5 * * * *", files: "30 * * * *" }\ntables: { "*": { schedule: { files: false } }, Badge: { schedule: { files: "10 * * * *" } } }\n',
  );
  await daemon.elapse(45);

  expect(filesHere(daemon)).toEqual({ Badge: 1 });
});

test('a cycle that a person asks for brings the files as well', async () => {
  await using sandbox = await startSandbox();
  await using daemon = startDaemon(sandbox, 'schedule: { sync: "0 * * * *", files: "0 3 * * *" }\n');
  await daemon.idle();

  daemon.cycle();
  await daemon.seconds(2);

  expect(workDone(daemon)).toEqual(['pull', 'pull', 'files']);
  expect(filesHere(daemon)).toEqual({ Album: 1, Badge: 1 });
});

test('files that cannot be stored keep no row from coming', async () => {
  await using sandbox = await startSandbox();
  await using daemon = startDaemon(sandbox, 'schedule: { sync: "*/5 * * * *", files: "*/10 * * * *" }\n', {
    prepare: (folder) => writeFileSync(join(folder, 'replica.db.files'), 'in the way'),
  });
  await daemon.elapse(10);
  sandbox.store.insert('Album', { Title: 'b' });
  await daemon.elapse(10);

  expect(daemon.events('work.failed')[0]).toMatchObject({ work: 'files' });
  expect(daemon.events('circuit.opened')).toEqual([]);
  expect(daemon.rows('SELECT count(*) AS n FROM "Album"')).toEqual([{ n: 2 }]);
});
