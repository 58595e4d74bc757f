/** What the daemon does about its terminal. */
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { run } from '../../../src/cli/program.ts';
import { makeWorkspace } from '../../support/child.ts';
import { testClock } from '../../support/clock.ts';
import { EXTRAS } from '../../../src/extras.ts';
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
