/** What the daemon does about its terminal and its log. */
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { run } from '../../../src/cli/program.ts';
import { outputTo } from '../../../src/cli/terminal/session.ts';
import { makeWorkspace } from '../../support/child.ts';
import { testClock } from '../../support/clock.ts';
import { EXTRAS } from '../../../src/extras.ts';
import { temporaryFolder } from '../../support/replica.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { collectingOutput } from '../../support/session.ts';

/** Runs a daemon at a terminal that `close` takes away; `hangUp` sends the signal. */
async function startAtTerminal(sandbox: Parameters<typeof makeWorkspace>[0]) {
  const { folder } = makeWorkspace(sandbox, '');
  const clock = testClock({ sleepsAdvance: false });
  const stopping = new AbortController();
  const stdout = collectingOutput();
  let hasTerminal = true;
  let hangUp = (): void => undefined;
  const ended = run(
    ['daemon', '--config', join(folder, 'rowsync.yaml')],
    {
      stdout,
      stderr: collectingOutput(),
      stdin: new PassThrough(),
      clock,
      stopSignal: () => stopping.signal,
      hasTerminal: () => hasTerminal,
      onSignal: (name, listener) => {
        if (name === 'SIGHUP') hangUp = listener;
      },
      folder,
    },
    EXTRAS,
  );
  await clock.sleeper();
  return { ended, stdout, stop: () => stopping.abort(), close: () => (hasTerminal = false), hangUp: () => hangUp() };
}

test('a daemon ends with its terminal, and reloads on the same signal while it is there', async () => {
  await using sandbox = await startTestSandbox({ tables: [] });
  const daemon = await startAtTerminal(sandbox);

  daemon.hangUp();
  daemon.close();
  daemon.hangUp();

  expect(await daemon.ended).toBe(0);
  expect(daemon.stdout.text()).toContain('daemon.stopped');
});

test('a log that could not be written is written again once that is possible', () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'log');
  writeFileSync(path, '');
  // A descriptor that takes nothing stands for a full disk; then the same one takes text.
  const file = openSync(path, 'r');
  const output = outputTo(Object.assign(new PassThrough(), { fd: file }));
  output.log('lost\n');
  const failure = output.logFailure;
  closeSync(file);
  expect(openSync(path, 'a')).toBe(file);

  output.log('again\n');
  output.log('and on\n');

  closeSync(file);
  expect(failure).toContain('EBADF');
  expect(output.logFailure).toBeNull();
  expect([output.failure, output.isClosed]).toEqual([null, false]);
  expect(readFileSync(path, 'utf8')).toBe('\nagain\nand on\n');
});
