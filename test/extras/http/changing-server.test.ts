/**
 * A server whose address the configuration names: what opens and closes when that changes, and when a change is given
 * back.
 */
import { expect, test } from 'vitest';
import { silentLogger } from '../../../src/base/log.ts';
import type { Config } from '../../../src/config/load.ts';
import type { DaemonView } from '../../../src/daemon/context.ts';
import { changingServer } from '../../../src/extras/http/changing-server.ts';
import type { ListenAddress } from '../../../src/extras/shared/linked-extra.ts';

/** A server that notes what is done; a configuration is the path of its socket, or null for nowhere. */
function startPart() {
  const steps: string[] = [];
  const reachable = new Map<string, boolean>();
  let refusal: Error | null = null;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- all that it reads
  const view = { resources: () => ({ log: silentLogger }) } as unknown as DaemonView;
  const prepare = changingServer(view, {
    listensAt: (config) => (config as unknown as { readonly at: ListenAddress | null }).at,
    open: (address) => {
      if (refusal !== null) return Promise.reject(refusal);
      const path = address.kind === 'socket' ? address.path : '';
      steps.push(`open ${path}`);
      reachable.set(path, true);
      return Promise.resolve({
        address: path,
        isReachable: () => reachable.get(path) === true,
        close: () => Promise.resolve(void steps.push(`close ${path}`)),
      });
    },
  });
  return {
    steps,
    prepare: (path: string | null) => {
      const at: ListenAddress | null = path === null ? null : { kind: 'socket', path };
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only its address is read
      return prepare({ at } as unknown as Config);
    },
    end: () => prepare(null),
    /** Someone removes its socket. */
    lose: (path: string) => void reachable.set(path, false),
    refuse: (error: Error | null) => void (refusal = error),
  };
}

test('another address is opened before the old one is closed, which happens once it is in use', async () => {
  const { steps, prepare } = startPart();
  await (await prepare('a')).use();

  const next = await prepare('b');
  steps.push('now');
  await next.use();
  await (await prepare(null)).use();

  expect(steps).toEqual(['open a', 'open b', 'now', 'close a', 'close b']);
});

test('an address that stays keeps its server, also where the change is given back', async () => {
  const { steps, prepare, end } = startPart();
  await (await prepare('a')).use();

  await (await prepare('a')).use();
  await (await prepare('a')).giveBack();
  await (await end()).use();

  expect(steps).toEqual(['open a', 'close a']);
});

test('a change that is given back closes what was opened for it, and what was there stays', async () => {
  const { steps, prepare, end } = startPart();
  await (await prepare('a')).use();

  await (await prepare('b')).giveBack();
  await (await end()).use();

  expect(steps).toEqual(['open a', 'open b', 'close b', 'close a']);
});

test('a server whose socket was removed is closed before one opens at the same address', async () => {
  const { steps, prepare, lose } = startPart();
  await (await prepare('a')).use();
  lose('a');

  await prepare('a');

  expect(steps).toEqual(['open a', 'close a', 'open a']);
});

test('an address that cannot be used leaves the server that is there', async () => {
  const { steps, prepare, refuse, end } = startPart();
  await (await prepare('a')).use();
  refuse(new Error('taken'));

  await expect(prepare('b')).rejects.toThrow('taken');
  refuse(null);
  await (await prepare('a')).use();
  await (await end()).use();

  expect(steps).toEqual(['open a', 'close a']);
});

test('a daemon that listens nowhere opens and closes nothing', async () => {
  const { steps, prepare, end } = startPart();

  await (await prepare(null)).use();
  await (await end()).use();

  expect(steps).toEqual([]);
});
