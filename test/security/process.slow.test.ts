/**
 * What the daemon shows of itself to others on its machine. Nothing of the token in its environment, arguments and open
 * files, and no file that it makes is open to them, whatever mask it was started with.
 */
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { makeWorkspace, startRowsync } from '../support/child.ts';
import { startDaemonProcess } from '../support/daemon-process.ts';
import { fileOf } from '../support/files.ts';
import { startTestSandbox } from '../support/sandbox.ts';

vi.setConfig({ testTimeout: 60_000 });

const TABLE = {
  name: 'Note',
  columns: [
    { name: 'Title', type: 'Text' },
    { name: 'Photo', type: 'Attachment' },
  ],
  rows: [{ Title: 'a', Photo: fileOf('a.png', 'content') }],
} as const;

const YAML = `http: { listen: HOME/http.sock }
`;

/** Everything below a folder with the rights of its group and of others, but what the test itself put there. */
function openness(folder: string): Readonly<Record<string, string>> {
  const own = new Set(['rowsync.yaml', 'token', 'run', 'run/token', 'backups']);
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => !own.has(path));
  const modes = paths.map((path) => [path, lstatSync(join(folder, path)).mode & 0o077] as const);
  return Object.fromEntries(modes.filter(([, mode]) => mode !== 0).map(([path, mode]) => [path, mode.toString(8)]));
}

test.skipIf(process.platform !== 'linux').each([
  ['000', { 'http.sock': '60' }],
  ['022', { 'http.sock': '60' }],
])('the token and what the daemon makes is nobody else’s, with the mask %s', async (mask, open) => {
  await using sandbox = await startTestSandbox({ tables: [TABLE] });
  using workspace = makeWorkspace(sandbox);
  const { folder } = workspace;
  mkdirSync(join(folder, 'backups'));
  mkdirSync(join(folder, 'run'));
  writeFileSync(join(folder, 'run', 'token'), sandbox.token, { mode: 0o400 });
  const config = readFileSync(join(folder, 'rowsync.yaml'), 'utf8').replace(
    'tokenFile: token',
    'tokenFile: "${CREDENTIALS_DIRECTORY}/token"',
  );
  writeFileSync(join(folder, 'rowsync.yaml'), config + YAML.replace('HOME', folder));
  const env = {
    CREDENTIALS_DIRECTORY: join(folder, 'run'),
    NODE_OPTIONS: `--import=data:text/javascript,process.umask(0o${mask})`,
  };
  const daemon = startDaemonProcess(folder, { env });
  await daemon.logged('work.finished');
  const backup = await startRowsync(['backup', 'backups/copy.db'], { folder, env }).end;
  const proc = `/proc/${daemon.process.pid}`;

  const shown = ['environ', 'cmdline'].map((name) => readFileSync(join(proc, name), 'latin1'));
  const files = readdirSync(join(proc, 'fd')).flatMap((name) => {
    try {
      return [readlinkSync(join(proc, 'fd', name))];
    } catch {
      return []; // closed meanwhile
    }
  });
  const made = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const modes = openness(folder);
  daemon.process.kill('SIGTERM');
  await daemon.ended;

  expect(shown[0]).toContain('CREDENTIALS_DIRECTORY=');
  expect(shown.join('\n')).not.toContain(sandbox.token);
  expect(files.filter((path) => path.includes('token'))).toEqual([]);
  expect(made.filter((path) => /^(?:replica\.db|replica\.db-(?:wal|shm)|http\.sock)$/.test(path))).toHaveLength(4);
  expect(made).toEqual(
    expect.arrayContaining(['replica.db.lock', 'replica.db.sent', 'replica.db.page-key', 'replica.db.files']),
  );
  expect(made).toEqual(expect.arrayContaining(['backups/copy.db', 'backups/copy.db.files']));
  expect(made.filter((path) => /^replica\.db\.files\/..\/[0-9a-f]{64}$/.test(path))).toHaveLength(1);
  expect(modes).toEqual(open);
  expect(backup.exitCode).toBe(0);
});
