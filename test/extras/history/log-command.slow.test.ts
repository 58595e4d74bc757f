/**
 * `rowsync log`, run by run, and `rowsync changes`, event by event.
 */
import { once } from 'node:events';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import type { Clock } from '../../../src/base/clock.ts';
import { startRowsync } from '../../support/child.ts';
import { HISTORY_TWO_WAY, startHistory } from '../../support/history-workspace.ts';
import { runCli } from '../../support/session.ts';

test('log lists runs, the newest first, and rows where a table or a run is named', async () => {
  await using history = await startHistory();

  const all = await history.run(['log']);
  const since = await history.run(['log', '--since', '15m', '--json']);
  const until = await history.run(['log', '--until', '2026-11-25T08:10:00Z', '--json']);
  const run = await history.run(['log', '--run', '2']);
  const table = await history.run(['log', '--table', 'Note', '--json']);
  const none = await history.run(['log', '--run', '99']);

  expect(all.stdout.match(/^run \d+/gm)).toEqual(['run 4', 'run 3', 'run 2', 'run 1']);
  expect(all.stdout).toContain('run 4, pull  2026');
  expect(all.stdout).toContain('  Note: 1 deleted, found at the origin\n');
  expect(all.stdout).toContain('  Note: history begins\n');
  expect(all.stdout).not.toContain('Title');
  expect(JSON.parse(since.stdout)).toEqual({
    runs: [
      {
        runId: 4,
        work: 'pull',
        from: '2026-11-25T08:30:00Z',
        to: '2026-11-25T08:30:00Z',
        schemaChanges: [],
        changes: [
          { table: 'Note', kind: 'insert', cause: 'pull', isAnswer: false, count: 1 },
          { table: 'Note', kind: 'update', cause: 'pull', isAnswer: false, count: 1 },
        ],
      },
    ],
  });
  expect((JSON.parse(until.stdout) as { runs: { runId: number }[] }).runs.map(({ runId }) => runId)).toEqual([2, 1]);
  expect(run.stdout).toContain(
    '    Note 1: changed by Alice Martin <alice.martin@example.com>, found at the origin (run 2)\n',
  );
  expect(run.stdout).toContain('Title: "title 1" → "one", Count: ');
  expect((JSON.parse(table.stdout) as { runs: { entries: unknown[] }[] }).runs.map((r) => r.entries.length)).toEqual([
    2, 2, 1, 1,
  ]);
  expect(none).toMatchObject({ exitCode: 2, stdout: '' });
  expect(none.stderr).toContain('There is no run 99');
  const ahead = await history.run(['log', '--since', '2099-01-01']);
  expect(ahead).toMatchObject({ exitCode: 2, stdout: '' });
  expect(ahead.stderr).toContain('--since: 2099-01-01T00:00:00Z lies ahead');
  const turned = await history.run(['log', '--since', '10m', '--until', '20m']);
  expect(turned).toMatchObject({ exitCode: 2, stdout: '' });
  expect(turned.stderr).toContain('--since 2026-11-25T08:30:00Z is later than --until 2026-11-25T08:20:00Z');
  await history.run(['pull']);
  expect(await history.run(['log', '--run', '5'])).toMatchObject({ exitCode: 0, stdout: 'No changes\n' });
});

test('log says whose edit is in no run, in order, and fits the terminal', async () => {
  await using history = await startHistory(HISTORY_TWO_WAY);
  const db = new Database(join(history.folder, 'replica.db'));
  db.exec(`UPDATE "Note" SET "Body" = 'a text of many words, more than one line of a terminal takes' WHERE _id = 3`);
  db.close();
  await history.run(['discard', 'Note', '3']);

  const log = await runCli(['log', '--table', 'Note'], { ...history, width: 60 });

  expect(log.stdout.split('\n').filter((line) => line.length > 60)).toEqual([]);
  expect(log.stdout).toContain(
    'edited here  2026-11-25T08:40:00Z\n  Note: 1 changed, edited here\n' +
      '  Note: 1 changed, an edit discarded by a person here\n',
  );
});

test('log whose reader goes away ends without a word', async () => {
  await using history = await startHistory();
  const args = ['log', '--table', 'Note', '--json'];

  const whole = await history.run(args);
  const left = await runCli(args, {
    folder: history.folder,
    clock: history.clock,
    isReaderGone: (text) => text !== '',
  });

  expect((JSON.parse(whole.stdout) as { runs: unknown[] }).runs.length).toBeGreaterThan(2);
  expect(left).toMatchObject({ exitCode: 0, stderr: '' });
  expect(left.stdout.length).toBeLessThan(whole.stdout.length);
});

test('changes prints every entry as an event, in order, behind a number', async () => {
  await using history = await startHistory();

  const all = (await history.run(['changes', '--after', '0'])).stdout.trimEnd().split('\n');
  const last = await history.run(['changes', '--after', '4']);

  const events = all.map((line) => JSON.parse(line) as { id: string; source: string });
  expect(events.map(({ id }) => id)).toEqual(['1', '2', '3', '4', '5', '6']);
  expect(events.slice(0, 2)).toMatchObject([
    { specversion: '1.0', type: 'rowsync.history.begin', subject: 'Note', time: '2026-11-25T08:00:00Z' },
    {
      type: 'rowsync.row.updated',
      subject: 'Note/1',
      datacontenttype: 'application/json',
      data: { id: 2, table: 'Note', rowId: 1, kind: 'update', after: { Title: 'one' } },
    },
  ]);
  expect(events[1]?.source).toMatch(/^file:\/\/\/.*replica\.db$/);
  expect(last.stdout.trimEnd().split('\n')).toEqual(all.slice(4));
});

test('changes --follow waits for more, and ends when it is asked to', async () => {
  await using history = await startHistory();
  const { folder, sandbox } = history;
  const stop = new AbortController();
  let looks = 0;
  const clock: Clock = {
    ...history.clock,
    sleep: async () => {
      looks += 1;
      if (looks === 2) return stop.abort();
      sandbox.store.update('Note', 3, { Title: 'three' });
      await history.run(['pull']);
    },
  };

  const followed = await runCli(['changes', '--after', '6', '--follow'], { folder, clock, signal: stop.signal });

  expect(followed.exitCode).toBe(0);
  expect(followed.stdout.trimEnd().split('\n')).toEqual([expect.stringContaining('"subject":"Note/3"')]);
});

test('changes --follow as a process ends with a signal, with exit code 0', async () => {
  await using history = await startHistory();
  const child = startRowsync(['changes', '--after', '0', '--follow'], { folder: history.folder });
  child.process.stdout?.once('data', () => child.process.kill('SIGINT'));

  const { exitCode, stdout } = await child.end;

  expect(exitCode).toBe(0);
  expect(stdout.trimEnd().split('\n')).toHaveLength(6);
});

test('changes --follow ends when its reader goes away', async () => {
  await using history = await startHistory();
  const child = startRowsync(['changes', '--after', '0', '--follow'], { folder: history.folder });
  await once(child.process.stdout ?? child.process, 'data');
  child.process.stdout?.destroy();
  history.sandbox.store.update('Note', 3, { Title: 'three' });
  await history.run(['pull']);

  const { exitCode, stderr } = await child.end;

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
});
