/**
 * What commands share: the configuration with its warnings, the origin and the replica for the time of a work, and
 * results.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import {
  loadNamedConfig,
  numberArgument,
  openExistingReplica,
  printJson,
  printResult,
  requireReplica,
  sayWaits,
  withOrigin,
  withResources,
} from '../../../src/cli/runtime/invocation.ts';
import { openReplica } from '../../../src/replica/database.ts';
import { isInUse } from '../../../src/replica/lock.ts';
import { makeWorkspace } from '../../support/child.ts';
import { testClock } from '../../support/clock.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { collectingOutput } from '../../support/session.ts';
import { extraWith, invocationIn } from '../../support/invocation.ts';

let folder: string;
let path: string;
beforeEach(() => {
  const workspace = makeWorkspace({ url: 'http://127.0.0.1:9', database: '1', token: 'a-token' });
  onTestFinished(() => workspace[Symbol.dispose]());
  ({ folder } = workspace);
  path = join(folder, 'replica.db');
});

/** Replaces a text of the configuration. */
function edit(from: string, to: string): void {
  const file = join(folder, 'rowsync.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace(from, to));
}

describe('the configuration', () => {
  test('is found in the folder of the session, or under the name that is given', async () => {
    const { invocation } = invocationIn(folder);
    writeFileSync(join(folder, 'other.yaml'), readFileSync(join(folder, 'rowsync.yaml'), 'utf8').replace('"1"', '"2"'));

    const own = await loadNamedConfig(invocation, { needsCredentials: true });
    const named = await loadNamedConfig({ ...invocation, configPath: 'other.yaml' }, { needsCredentials: true });

    expect([own.origin.database, named.origin.database]).toEqual(['1', '2']);
    expect(own.origin.credentials).toEqual({ kind: 'bearer', token: 'a-token' });
  });

  test('is loaded without secrets where none is needed', async () => {
    edit('tokenFile: token', 'tokenFile: nowhere');
    const { invocation } = invocationIn(folder);

    expect((await loadNamedConfig(invocation, { needsCredentials: false })).origin.credentials).toBeNull();
    await expect(loadNamedConfig(invocation, { needsCredentials: true })).rejects.toMatchObject({
      code: 'config.secret',
    });
  });

  test('says what is allowed in it but unwise, in characters that can be printed', async () => {
    edit('http://127.0.0.1:9', 'http://example.net');
    const { invocation, stdout, stderr } = invocationIn(folder);

    await loadNamedConfig(invocation, { needsCredentials: false });

    expect(stderr.text()).toBe(
      'warning: origin.url: http sends the credentials and every row unencrypted; use https\n',
    );
    expect(stdout.text()).toBe('');
  });
});

describe('the replica', () => {
  test('is not made by a command that needs one', async () => {
    const { invocation } = invocationIn(folder);
    const config = await loadNamedConfig(invocation, { needsCredentials: false });

    await expect(requireReplica(config)).rejects.toMatchObject({ code: 'replica.path' });
    await expect(openExistingReplica(invocation, config)).rejects.toMatchObject({ code: 'replica.path' });

    expect(existsSync(path)).toBe(false);
  });

  test('that is opened is prepared by every extra first', async () => {
    openReplica(path, { clock: testClock() }).close();
    const prepared: string[] = [];
    const extra = extraWith({ loadPrepare: async () => async (replica) => void prepared.push(replica.path) });
    const { invocation } = invocationIn(folder, { extras: [extra, extraWith({}), extra] });
    const config = await loadNamedConfig(invocation, { needsCredentials: false });

    using replica = await openExistingReplica(invocation, config);

    expect(prepared).toEqual([replica.path, replica.path]);
    expect(isInUse(path)).toBe(true);
  });
});

describe('work', () => {
  test('has the origin and the replica for its time, and gives both back, also where it fails', async () => {
    const { invocation, stderr } = invocationIn(folder);
    const config = await loadNamedConfig(invocation, { needsCredentials: true });
    const seen: unknown[] = [];

    const failing = withResources(invocation, config, async ({ pull, push, files }) => {
      seen.push(
        isInUse(path),
        [push, files].every((context) => context.replica === pull.replica),
      );
      seen.push(pull.origin);
      throw new Error('a bug');
    });

    await expect(failing).rejects.toThrow('a bug');
    expect(seen.slice(0, 2)).toEqual([true, true]);
    expect(isInUse(path)).toBe(false);
    const [, , origin] = seen as [unknown, unknown, { user(): Promise<unknown> }];
    await expect(origin.user()).rejects.toMatchObject({ code: 'origin.stopped' });
    expect(stderr.text()).toBe('');
  });

  test('logs nothing, and with --verbose every request, without the token', async () => {
    await using sandbox = await startTestSandbox({ tables: [] });
    using workspace = makeWorkspace(sandbox);
    const ask = async (isVerbose: boolean): Promise<string> => {
      const { invocation, stderr } = invocationIn(workspace.folder, { isVerbose });
      const config = await loadNamedConfig(invocation, { needsCredentials: true });
      await withOrigin(invocation, config, async ({ origin, log }) => {
        await origin.user();
        log.warn('origin.retry', { message: `you sent ${sandbox.token}` });
      });
      return stderr.text();
    };

    expect(await ask(false)).toBe('');
    const log = await ask(true);
    expect(log).toContain('"origin.request"');
    expect(log).toContain('you sent');
    expect(log).not.toContain(sandbox.token);
  });
});

test('that it waits for another program is said once, after a second', () => {
  const [pipe, terminal] = [collectingOutput(), collectingOutput(80)];
  for (const stderr of [pipe, terminal]) {
    const say = sayWaits({ stderr }, '/data/re\u0007plica.db');
    for (const waitedMs of [0, 999, 1_000, 60_000]) say(waitedMs);
  }

  expect(pipe.text()).toMatch(/^waiting for another program that writes to \/data\/re\\u0007plica\.db; .*\n$/);
  // The line of a progress bar is cleared first.
  expect(terminal.text()).toBe(`\r\u001B[K${pipe.text()}`);
});

describe('results', () => {
  test('in JSON have whole milliseconds, and nothing that a terminal acts on', async () => {
    const { invocation, stdout } = invocationIn(folder);

    await printJson(invocation, { durationMs: 1.6, share: 1.6, name: '\u001B[2J', nested: [{ waitMs: 2.4 }] });

    expect(JSON.parse(stdout.text())).toEqual({
      durationMs: 2,
      share: 1.6,
      name: '\u001B[2J',
      nested: [{ waitMs: 2 }],
    });
    expect(stdout.text()).not.toContain('\u001B');
    expect(stdout.text().endsWith('}\n')).toBe(true);
  });

  test('are one JSON document, or text for people, of which lines are made printable', async () => {
    const shown = async (isJson: boolean, text: string | readonly string[]): Promise<string> => {
      const { invocation, stdout } = invocationIn(folder, { isJson });
      await printResult(invocation, { a: 1 }, text);
      return stdout.text();
    };

    expect(await shown(true, 'text')).toBe('{\n  "a": 1\n}\n');
    expect(await shown(false, 'text\n')).toBe('text\n');
    expect(await shown(false, ['one', 'two\u0007'])).toBe('one\ntwo\\u0007\n');
  });
});

test.each(['', 'x', '1.5', '1e3', '0x10', ' 1 x', '９'])('%j is not a whole number', (text) => {
  expect(() => numberArgument(text, 'number of a row')).toThrow(
    expect.objectContaining({
      code: 'usage.invalid',
      message: expect.stringContaining('the number of a row') as string,
    }) as Error,
  );
});

test.each([
  ['0', 0],
  ['12', 12],
  ['-3', -3],
])('%j is the number %i', (text, number) => {
  expect(numberArgument(text, 'number of a row')).toBe(number);
});
