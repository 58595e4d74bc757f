/**
 * Messages to systemd, as it would receive them: on a datagram socket of a Python process, since Node has none.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test, vi } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { openNotifier } from '../../../src/extras/service/notifier.ts';
import { makeWorkspace, startRowsync } from '../../support/child.ts';
import { temporaryFolder } from '../../support/replica.ts';
import { startTestSandbox } from '../../support/sandbox.ts';

vi.setConfig({ testTimeout: 60_000 });

/** Prints every message as a line of JSON; a descriptor that comes along (the sender's barrier) is closed at once. */
const LISTENER = `
import json, os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print('"bound"', flush=True)
while True:
    data, fds, _, _ = socket.recv_fds(s, 65536, 4)
    for fd in fds: os.close(fd)
    print(json.dumps(data.decode()), flush=True)
`;

function has(...command: readonly [string, ...string[]]): boolean {
  try {
    execFileSync(command[0], command.slice(1), { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const canListen = has('systemd-notify', '--version') && has('python3', '-c', 'import socket; socket.recv_fds');

/** A socket as systemd has it, and the messages that came. */
async function startListener(path: string) {
  const python = spawn('python3', ['-c', LISTENER, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  const messages: string[] = [];
  const lines = createInterface({ input: python.stdout });
  await once(lines, 'line');
  const watchers = new Set<() => void>();
  lines.on('line', (line) => {
    messages.push(JSON.parse(line) as string);
    for (const look of watchers) look();
  });
  return {
    messages,
    until: (isThere: (message: string) => boolean) =>
      new Promise<void>((resolve) => {
        const look = (): void => {
          if (messages.some(isThere)) resolve();
        };
        watchers.add(look);
        look();
      }),
    [Symbol.dispose]: () => void python.kill(),
  };
}

test.skipIf(!canListen)('a daemon says that it is ready, how it stands, that it lives and that it stops', async () => {
  using folder = temporaryFolder();
  const socket = join(folder.path, 'notify');
  using listener = await startListener(socket);
  await using sandbox = await startTestSandbox({ tables: [{ name: 'Note', columns: [], rows: [{}] }] });
  using workspace = makeWorkspace(sandbox);
  const env = { NOTIFY_SOCKET: socket, WATCHDOG_USEC: '400000' };

  const daemon = startRowsync(['daemon'], { ...workspace, env });
  await listener.until((message) => message.startsWith('STATUS=ok'));
  expect(listener.messages[0]).toContain('EXTEND_TIMEOUT_USEC=');
  expect(listener.messages.some((message) => message.startsWith('READY=1'))).toBe(true);
  listener.messages.length = 0;
  await listener.until((message) => message.includes('WATCHDOG=1'));
  daemon.process.kill('SIGTERM');
  await listener.until((message) => message.includes('STOPPING=1'));

  expect((await daemon.end).exitCode).toBe(0);
});

test.skipIf(!canListen)('messages come in order, with what systemd has to know before', async () => {
  using folder = temporaryFolder();
  const socket = join(folder.path, 'notify');
  using listener = await startListener(socket);
  vi.stubEnv('NOTIFY_SOCKET', socket);

  const notifier = openNotifier({ NOTIFY_SOCKET: socket }, silentLogger);
  notifier?.starting();
  notifier?.ready();
  notifier?.status('two\nlines');
  notifier?.stopping();
  await notifier?.flush();
  vi.unstubAllEnvs();
  await listener.until((message) => message.includes('STOPPING'));

  const said = listener.messages.filter((message) => !message.startsWith('BARRIER')).map((message) => message.trim());
  expect(said).toEqual([
    'EXTEND_TIMEOUT_USEC=600000000\nSTATUS=opening the replica',
    'READY=1',
    'STATUS=two lines',
    'STOPPING=1\nSTATUS=stopping',
  ]);
});

test('nothing is said where nobody listens', () => {
  expect(openNotifier({}, silentLogger)).toBeNull();
});

test.each([
  ['half of what systemd waits', { WATCHDOG_USEC: '120000000' }, [60_000]],
  ['never without a watchdog', {}, []],
  ['never for another process', { WATCHDOG_USEC: '120000000', WATCHDOG_PID: '1' }, []],
  ['for this process', { WATCHDOG_USEC: '120000000', WATCHDOG_PID: String(process.pid) }, [60_000]],
  ['never for nonsense', { WATCHDOG_USEC: 'soon' }, []],
])('the watchdog is told every so often: %s', async (_what, environment, expected) => {
  const ended = new AbortController();
  const slept: number[] = [];
  const sleep = async (ms: number): Promise<void> => {
    slept.push(ms);
    ended.abort();
  };

  const notifier = openNotifier({ NOTIFY_SOCKET: '/nowhere', ...environment }, silentLogger);
  await notifier?.watch({ ...systemClock, sleep }, ended.signal, () => false);

  expect(slept).toEqual(expected);
});
