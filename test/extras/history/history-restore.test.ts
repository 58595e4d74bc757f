/**
 * A backup with history that is restored: the journal continues from it, says so, and no reader of the feed misses it.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { makeWorkspace } from '../../support/child.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';
import { runCli } from '../../support/session.ts';
import { NOTE } from '../../support/two-way.ts';

interface World extends AsyncDisposable {
  readonly sandbox: TestSandbox;
  /** Runs a command at a minute after 2026-11-25 08:00 UTC; its output. @throws Error where it fails. */
  at(minute: number, ...args: readonly string[]): Promise<string>;
  switchHistoryOn(): void;
}

async function startWorld(yaml: string): Promise<World> {
  let nowMs = 0;
  const clock = { ...systemClock, nowMs: () => nowMs };
  const sandbox = await startTestSandbox({ tables: [NOTE], clock });
  const made = makeWorkspace(sandbox, yaml);
  return {
    sandbox,
    at: async (minute, ...args) => {
      nowMs = Date.parse('2026-11-25T08:00:00Z') + minute * 60_000;
      const { exitCode, stdout, stderr } = await runCli(args, { folder: made.folder, clock });
      if (exitCode !== 0) throw new Error(stderr);
      return stdout;
    },
    switchHistoryOn: () => {
      const path = join(made.folder, 'rowsync.yaml');
      writeFileSync(path, readFileSync(path, 'utf8').replace('history: false', 'history: true'));
    },
    [Symbol.asyncDispose]: async () => {
      made[Symbol.dispose]();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}

function eventsIn(lines: string): readonly { readonly id: string; readonly type: string; readonly data: unknown }[] {
  return lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { id: string; type: string; data: unknown });
}

const RESTORED_AND_ROWS = ['rowsync.history.restored', 'rowsync.row.updated', 'rowsync.row.updated'];

test('history continues from a restored backup behind an entry that says so, and a feed misses nothing of it, twice', async () => {
  await using world = await startWorld('tables: { Note: { history: true } }\n');
  await world.at(0, 'pull');
  await world.at(10, 'backup', 'copy.db');
  world.sandbox.store.update('Note', 1, { Title: 'one' });
  await world.at(20, 'pull');
  world.sandbox.store.update('Note', 2, { Title: 'two' });
  await world.at(30, 'pull');

  await world.at(40, 'restore', 'copy.db');
  await world.at(41, 'pull');
  const first = eventsIn(await world.at(42, 'changes', '--after', '3'));
  const gap = await world.at(43, 'diff', '--from', '2026-11-25T08:20:00Z').catch((thrown: Error) => thrown.message);
  await world.at(50, 'restore', 'copy.db');
  await world.at(51, 'pull');
  const second = eventsIn(await world.at(52, 'changes', '--after', first.at(-1)?.id ?? ''));
  const verified = await world.at(53, 'verify');

  expect(first.map(({ type }) => type)).toEqual(RESTORED_AND_ROWS);
  expect(first[0]?.data).toMatchObject({ at: '2026-11-25T08:41:00Z', note: { knownUntil: '2026-11-25T08:00:00Z' } });
  expect(gap).toContain('an older copy was restored at 2026-11-25T08:41:00Z');
  expect(second.map(({ type }) => type)).toEqual(RESTORED_AND_ROWS);
  expect(verified).not.toContain('journal');
});

test('a feed learns of a restored backup that is from before its history began', async () => {
  await using world = await startWorld('tables: { Note: { history: false } }\n');
  await world.at(0, 'pull');
  await world.at(10, 'backup', 'copy.db');
  world.switchHistoryOn();
  await world.at(11, 'pull');
  world.sandbox.store.update('Note', 1, { Title: 'one' });
  await world.at(20, 'pull');
  await world.at(30, 'restore', 'copy.db');
  await world.at(31, 'pull');

  const events = eventsIn(await world.at(32, 'changes', '--after', '2'));

  expect(events.map(({ type }) => type)).toContain('rowsync.history.restored');
});
