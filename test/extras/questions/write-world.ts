/**
 * A sandbox with a table that serves every question of `rowsync contract --write-in`, and a folder that is configured
 * for it.
 */
import { join } from 'node:path';
import { systemClock, type Clock } from '../../../src/base/clock.ts';
import type { SandboxOptions } from '../../../src/sandbox/main.ts';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { makeWorkspace } from '../../support/child.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { runCli } from '../../support/session.ts';

/** A table that was made for the questions. */
export const TABLE: TableSpec = {
  name: 'Contract Test',
  columns: [
    { name: 'Canary name', type: 'Text', options: ['Required'], width: 60 },
    { name: 'Canary code', type: 'Text', options: ['Required'], width: 60 },
    { name: 'Canary id', type: 'Text', options: ['Unique'], width: 60 },
    { name: 'Notes', type: 'Multiline' },
    { name: 'Active', type: 'Checkbox' },
    { name: 'Balance', type: 'Numeric' },
    { name: 'Born', type: 'Date' },
    { name: 'Met', type: 'Timestamp' },
  ],
};

/** Another table with a row, which must stay as it is. */
const OTHER: TableSpec = {
  name: 'Canary table',
  columns: [{ name: 'Title', type: 'Text' }],
  rows: [{ Title: 'Canary' }],
};

/** A clock by which no request of before may still do anything. */
export const LATER: Clock = { ...systemClock, nowMs: () => Date.now() + 180_000 };

/** Starts it. */
export async function startWriteWorld(table: TableSpec = TABLE, intercept?: SandboxOptions['intercept']) {
  const sandbox = await startTestSandbox({ tables: [table, OTHER], ...(intercept === undefined ? {} : { intercept }) });
  const workspace = makeWorkspace(sandbox);
  const { folder } = workspace;
  return {
    sandbox,
    folder,
    report: join(folder, 'answers.txt'),
    write: (args: readonly string[] = ['--confirm'], world: Parameters<typeof runCli>[1] = {}) =>
      runCli(['contract', '--write-in', table.name, ...args], { folder, ...world }),
    cleanUp: (world: Parameters<typeof runCli>[1] = {}, args: readonly string[] = []) =>
      runCli(['contract', '--clean-up', table.name, ...args], { folder, ...world }),
    rows: () => sandbox.store.rows(table.name).length,
    /** What a run leaves: rows, and rows in the recycle bin. */
    left: async () => {
      const url = `${sandbox.url}/secure/api/v2/${sandbox.database}/Contract%20Test/deleted.json?from=1970-01-01T00:00:00Z`;
      const binned = await fetch(url, { headers: { Authorization: `Bearer ${sandbox.token}` } });
      const bin = ((await binned.json()) as readonly unknown[]).length;
      return { rows: sandbox.store.rows(table.name).length, bin };
    },
    [Symbol.asyncDispose]: async (): Promise<void> => {
      workspace[Symbol.dispose]();
      await sandbox.stop();
    },
  };
}

/** What must be left of every run. */
export const NOTHING = { rows: 0, bin: 0 };

/** The text of a row that another run made. */
export const MARKER = 'rowsync contract 0123456789ab';
