/**
 * Work on the replica beside that of the daemon: when it runs.
 */
import { expect, test } from 'vitest';
import type { Config } from '../../../src/config/load.ts';
import type { DaemonView } from '../../../src/daemon/context.ts';
import { workBeside } from '../../../src/extras/shared/work-beside.ts';

/** A part whose work notes its beginning and its end, under the configurations `a` and `b`. */
function startPart() {
  const steps: string[] = [];
  let now = 'a';
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- all that it reads
  const view = { resources: () => ({ config: { file: now } }) } as DaemonView;
  const part = workBeside(view, async ({ config }) => {
    const name = config.file;
    steps.push(`begins ${name}`);
    return { stop: () => void steps.push(`ends ${name}`) };
  });
  const prepare = async (name: string | null) => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only whether there is one counts
    const prepared = await part.prepare?.(name === null ? null : ({ file: name } as Config));
    return {
      use: async () => {
        now = name ?? '';
        await prepared?.use();
      },
      giveBack: () => prepared?.giveBack(),
    };
  };
  return { steps, prepare };
}

test('work ends before the next configuration is used, and when the daemon ends', async () => {
  const { steps, prepare } = startPart();

  await (await prepare('a')).use();
  const next = await prepare('b');
  steps.push('changes');
  await next.use();
  await (await prepare(null)).use();

  expect(steps).toEqual(['begins a', 'ends a', 'changes', 'begins b', 'ends b']);
});

test('work begins again where a new configuration cannot be used', async () => {
  const { steps, prepare } = startPart();

  await (await prepare('a')).use();
  await (await prepare('b')).giveBack();

  expect(steps).toEqual(['begins a', 'ends a', 'begins a']);
});

test('no work begins where the first configuration cannot be used', async () => {
  const { steps, prepare } = startPart();

  await (await prepare('a')).giveBack();

  expect(steps).toEqual([]);
});
