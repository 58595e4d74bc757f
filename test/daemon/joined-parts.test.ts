/**
 * Parts that extras join to a daemon: each hears everything, and one that fails or is slow holds up nothing for ever.
 */
import { expect, test } from 'vitest';
import { loggerOf, silentLogger } from '../../src/base/log.ts';
import type { Config } from '../../src/config/load.ts';
import type { DaemonPart, DaemonView, Prepared } from '../../src/daemon/context.ts';
import { JoinedParts } from '../../src/daemon/joined-parts.ts';
import type { Resources } from '../../src/daemon/resources.ts';
import { testClock } from '../support/clock.ts';

// Parts get what the daemon gives them; it is never looked at on the way.
const VIEW = {} as DaemonView;
const CONFIG = {} as Config;
const RESOURCES = {} as Resources;

async function joined(...parts: readonly DaemonPart[]): Promise<JoinedParts> {
  const all = new JoinedParts();
  await all.join([...parts.map((part) => ({ join: async () => part })), {}], VIEW);
  return all;
}

/** A part that notes what is done with what it prepared. */
function preparing(name: string, steps: string[]): DaemonPart {
  const prepared: Prepared = {
    use: async () => void steps.push(`${name} used`),
    giveBack: async () => void steps.push(`${name} given back`),
  };
  return {
    prepare: async (config) => {
      steps.push(config === null ? `${name} closes` : `${name} opens`);
      return prepared;
    },
  };
}

test('a configuration is used once every part could open what it wants', async () => {
  const steps: string[] = [];
  const parts = await joined(preparing('one', steps), {}, preparing('other', steps));

  const prepared = await parts.prepare(CONFIG);
  expect(steps).toEqual(['one opens', 'other opens']);
  await prepared.use();

  expect(steps.slice(2)).toEqual(['one used', 'other used']);
});

test('what was opened already is given back where a later part fails', async () => {
  const steps: string[] = [];
  const failing: DaemonPart = { prepare: () => Promise.reject(new Error('no port')) };
  const parts = await joined(preparing('one', steps), failing, preparing('other', steps));

  await expect(parts.prepare(CONFIG)).rejects.toThrow('no port');

  expect(steps).toEqual(['one opens', 'one given back']);
});

test('a prepared configuration can be given back as well', async () => {
  const steps: string[] = [];
  const parts = await joined(preparing('one', steps));

  await (await parts.prepare(null)).giveBack();

  expect(steps).toEqual(['one closes', 'one given back']);
});

test('every part does its short work, and one that left edits is enough', async () => {
  const turns: string[] = [];
  const part = (name: string, leaves?: boolean): DaemonPart =>
    leaves === undefined ? {} : { betweenWork: async () => turns.push(name) > 0 && leaves };

  expect(await (await joined(part('a', true), part('b', false), part('c'))).betweenWork(RESOURCES)).toBe(true);
  expect(await (await joined(part('d', false), part('e'))).betweenWork(RESOURCES)).toBe(false);
  expect(turns).toEqual(['a', 'b', 'd']);
});

test('every event reaches the log and then each part, with its facts', async () => {
  const heard: unknown[] = [];
  const parts = new JoinedParts();
  const log = parts.heard(loggerOf((level) => (event, facts) => void heard.push([level, event, facts])));
  log.info('daemon.started');
  await parts.join([{ join: async () => ({ takeEvent: (event, facts) => void heard.push([event, facts]) }) }], VIEW);

  log.warn('guard.waits', { table: 'Note' });

  expect(heard).toEqual([
    ['info', 'daemon.started', {}],
    ['warn', 'guard.waits', { table: 'Note' }],
    ['guard.waits', { table: 'Note' }],
  ]);
  expect(() => parts.heard(silentLogger).info('daemon.stopped')).not.toThrow();
});

test('the words of all parts are put together', async () => {
  const complaint = {
    about: 'config.refused',
    subject: null,
    code: 'x',
    message: 'm',
    hint: 'h',
    since: null,
  } as const;
  const parts = await joined(
    { word: () => ({ lines: ['page: up'], complaints: [] }) },
    { word: () => ({ complaints: [complaint] }) },
    {},
  );

  expect(parts.words()).toEqual({ notes: ['page: up'], complaints: [complaint] });
});

test('the end waits five seconds for a part, and no longer', async () => {
  const clock = testClock({ sleepsAdvance: false });
  const parts = await joined({ close: () => new Promise(() => {}) }, {});

  const closing = parts.close(clock);
  await clock.sleeper();
  clock.advance(5_000);
  await closing;

  expect(clock.waits).toEqual([5_000]);
});

test('the end does not wait once all parts are closed', async () => {
  const closed: string[] = [];
  const clock = testClock({ sleepsAdvance: false });
  const parts = await joined(
    { close: async () => void closed.push('one') },
    { close: async () => void closed.push('two') },
  );

  await parts.close(clock);

  expect(closed).toEqual(['one', 'two']);
});
