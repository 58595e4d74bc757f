/**
 * The systemd service: the units against systemd's own checks, and `rowsync service` into a folder that stands for a
 * machine. What needs systemd's programs is skipped by name where they are missing.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { NODE_FLAGS } from '../../../src/base/node-flags.ts';
import { temporaryFolder } from '../../support/replica.ts';
import { runCli, type RunResult } from '../../support/session.ts';

vi.setConfig({ testTimeout: 30_000 });

const UNITS = ['rowsync@.service', 'rowsync-sync@.service', 'rowsync-sync@.timer'];
/** What keeps a defect of the program, or of a package of its, from doing harm. */
const HARDENING = [
  'LimitCORE=0',
  'UMask=0007',
  'NoNewPrivileges=yes',
  'CapabilityBoundingSet=',
  'AmbientCapabilities=',
  'RestrictSUIDSGID=yes',
  'ProtectSystem=strict',
  'ProtectHome=yes',
  'PrivateTmp=yes',
  'PrivateDevices=yes',
  'DevicePolicy=closed',
  'PrivateMounts=yes',
  'PrivateUsers=yes',
  'PrivateIPC=yes',
  'ProtectProc=invisible',
  'ProcSubset=pid',
  'RemoveIPC=yes',
  'KeyringMode=private',
  'ProtectClock=yes',
  'ProtectHostname=yes',
  'ProtectKernelLogs=yes',
  'ProtectKernelModules=yes',
  'ProtectKernelTunables=yes',
  'ProtectControlGroups=yes',
  'RestrictNamespaces=yes',
  'RestrictRealtime=yes',
  'LockPersonality=yes',
  'RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX',
  'SystemCallArchitectures=native',
  'SystemCallFilter=@system-service',
  'SystemCallFilter=~@privileged @resources',
];

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
/** Making users and owners in a folder needs root as well. */
const canInstall = hasSystemd && process.getuid?.() === 0 && spawnSync('systemd-sysusers', ['--version']).status === 0;

function unit(name: string): string {
  return readFileSync(join('systemd', name), 'utf8');
}

/** The units as installed on this machine, as instances. */
function renderUnits(folder: string): readonly string[] {
  return UNITS.map((name) => {
    const path = join(folder, name.replace('@', '@main'));
    const text = unit(name).replace('ExecStart=/usr/bin/rowsync', `ExecStart=${process.execPath}`);
    writeFileSync(path, text);
    writeFileSync(join(folder, name), text);
    return path;
  });
}

test.skipIf(!hasSystemd)('systemd finds nothing wrong with the units', () => {
  using folder = temporaryFolder();

  const { status, stderr } = spawnSync('systemd-analyze', ['verify', ...renderUnits(folder.path)], {
    encoding: 'utf8',
  });

  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});

test.skipIf(!hasSystemd).each([0, 1])('systemd rates the exposure of service %i at 1.5 at most', (index) => {
  using folder = temporaryFolder();
  const path = renderUnits(folder.path)[index] ?? '';

  const { status, stdout } = spawnSync('systemd-analyze', ['security', '--offline=true', '--threshold=15', path], {
    encoding: 'utf8',
  });

  expect(stdout).toContain('Overall exposure level');
  expect(status).toBe(0);
});

test('both services have the same rights', () => {
  const directives = (name: string): readonly string[] =>
    unit(name)
      .slice(unit(name).indexOf('User=rowsync'))
      .split('\n[Install]')[0]
      ?.split('\n')
      .filter((line) => /^\w+=/.test(line)) ?? [];

  expect(directives('rowsync-sync@.service')).toEqual(directives('rowsync@.service'));
  expect(directives('rowsync@.service').length).toBeGreaterThan(30);
});

test.each(UNITS.slice(0, 2))('%s dumps no memory, gains no right and sees nothing but its own', (name) => {
  const lines = unit(name).split('\n');

  expect(HARDENING.filter((line) => !lines.includes(line))).toEqual([]);
  // A dump would hold rows and the token.
  expect(lines.filter((line) => /^\w.*(?:heapsnapshot|heap-prof|inspect|LimitCORE=(?!0$))/.test(line))).toEqual([]);
});

test('the flags that Node gets are ones that it knows, and the program runs under them', () => {
  const text = execFileSync(process.execPath, [...NODE_FLAGS, 'src/cli/main.ts', '--version'], { encoding: 'utf8' });

  expect(text).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test.each([
  ['a configuration', ['install', '--token-file', 'token'], '--url'],
  ['a token', ['install', '--url', 'https://a.example', '--database', '1'], '--token-file'],
  [
    'an address that makes sense',
    ['install', '--url', 'nonsense', '--database', '1', '--token-file', 'token'],
    '--url',
  ],
  ['a name that systemd takes', ['install', '../x', '--token-file', 'token'], 'lower-case'],
])('needs %s', async (_what, args, hint) => {
  using folder = temporaryFolder();

  const { exitCode, stderr } = await runCli(['service', ...args, '--root', folder.path], { folder: folder.path });

  expect(exitCode).toBe(2);
  expect(stderr).toContain(hint);
  expect(readdirSync(folder.path)).toEqual([]);
});

test.each([
  { flags: [], steps: [] },
  { flags: ['--dry-run'], steps: ['would: write /etc/rowsync/nowhere.token (mode 600)'] },
])('without systemd nothing is begun, nor said to be possible: $flags', async ({ flags, steps }) => {
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, 'token'), 'a-token\n');
  const origin = [
    '--url',
    'https://www.teamdesk.net',
    '--database',
    '21995',
    '--token-file',
    join(folder.path, 'token'),
  ];
  vi.stubEnv('PATH', folder.path);
  onTestFinished(() => void vi.unstubAllEnvs());

  const result = await runCli(['service', 'install', 'nowhere', ...origin, ...flags], { folder: folder.path });

  expect(result.exitCode).toBe(2);
  expect(result.stdout.split('\n').filter((line) => line.includes('nowhere.token'))).toEqual(steps);
  expect(result.stdout === '').toBe(steps.length === 0);
  expect(result.stderr).toContain('this machine does not run systemd');
  expect(readdirSync(folder.path)).toEqual(['token']);
});

describe.skipIf(!canInstall)('into a folder that stands for a machine', () => {
  const prepare = (path: string): ((...args: string[]) => Promise<RunResult>) => {
    writeFileSync(join(path, 'token'), 'a-token\n');
    const root = join(path, 'root');
    mkdirSync(join(root, 'etc'), { recursive: true });
    mkdirSync(join(root, 'var', 'lib'), { recursive: true });
    // systemd's programs look users up in the files of the machine that is set up.
    for (const name of ['passwd', 'group', 'shadow', 'gshadow'])
      writeFileSync(join(root, 'etc', name), '', { mode: 0o600 });
    const origin = ['--url', 'https://www.teamdesk.net', '--database', '21995', '--token-file', join(path, 'token')];
    return (...args) =>
      runCli(['service', ...args, '--root', root, ...(args[0] === 'install' ? origin : [])], { folder: path });
  };

  test('install writes user, folders, configuration, token and units, and enables the service', async () => {
    using folder = temporaryFolder();
    const service = prepare(folder.path);
    const at = (path: string): string => join(folder.path, 'root', path);

    const { exitCode, stderr } = await service('install');

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(readFileSync(at('etc/passwd'), 'utf8')).toMatch(/^rowsync:/m);
    expect(statSync(at('etc/rowsync/main.token')).mode & 0o777).toBe(0o600);
    expect(statSync(at('etc/rowsync/main.mask-key')).mode & 0o777).toBe(0o600);
    expect(readFileSync(at('etc/rowsync/main.mask-key'), 'utf8')).toMatch(/^[\w-]{43}\n$/);
    expect(statSync(at('etc/rowsync')).mode & 0o777).toBe(0o750);
    expect(readFileSync(at('etc/rowsync/main.yaml'), 'utf8')).toContain('https://www.teamdesk.net');
    expect(readFileSync(at('etc/systemd/system/rowsync@.service'), 'utf8')).toContain(
      `ExecStart=${process.execPath} ${NODE_FLAGS.join(' ')} `,
    );
    expect(existsSync(at('etc/systemd/system/multi-user.target.wants/rowsync@main.service'))).toBe(false);
    expect(readdirSync(at('etc/systemd/system/multi-user.target.wants'))).toEqual(['rowsync@main.service']);
  });

  test('a second install changes nothing, and keeps what an administrator wrote', async () => {
    using folder = temporaryFolder();
    const service = prepare(folder.path);
    await service('install');
    const config = join(folder.path, 'root/etc/rowsync/main.yaml');
    writeFileSync(config, '# mine\n');

    const { stdout } = await service('install');

    expect(stdout.split('\n').filter((line) => line.includes(' write ') && !line.startsWith('unchanged'))).toEqual([]);
    expect(readFileSync(config, 'utf8')).toBe('# mine\n');
  });

  test('a dry run says what it would do, and does nothing', async () => {
    using folder = temporaryFolder();
    const service = prepare(folder.path);

    const { stdout, exitCode } = await service('install', '--dry-run');

    expect(exitCode).toBe(0);
    expect(stdout).toContain('would: write /etc/systemd/system/rowsync@.service');
    expect(stdout).not.toContain('a-token');
    expect(existsSync(join(folder.path, 'root/etc/systemd'))).toBe(false);
  });

  test('uninstall removes the units, and leaves configuration and token', async () => {
    using folder = temporaryFolder();
    const service = prepare(folder.path);
    await service('install');

    const first = await service('uninstall');
    const second = await service('uninstall');

    expect([first.exitCode, second.exitCode]).toEqual([0, 0]);
    const root = join(folder.path, 'root');
    expect(readdirSync(join(root, 'etc/systemd/system')).filter((name) => name.startsWith('rowsync'))).toEqual([]);
    expect(readdirSync(join(root, 'etc/rowsync')).toSorted((a, b) => (a < b ? -1 : 1))).toEqual([
      'main.mask-key',
      'main.token',
      'main.yaml',
    ]);
  });
});

test('the state of a service is said in words, and in JSON with --json', async () => {
  using folder = temporaryFolder();
  const shown = 'Id=rowsync@main.service\nLoadState=loaded\nActiveState=active\nUnitFileState=enabled\nNRestarts=0';
  const answer = `case "$1" in show) printf '${shown}\\n\\n\\n\\n' ;; *) echo 'active (running)' ;; esac`;
  writeFileSync(join(folder.path, 'systemctl'), `#!/bin/sh\n${answer}\n`, { mode: 0o755 });
  vi.stubEnv('PATH', `${folder.path}:${process.env['PATH']}`);
  onTestFinished(() => void vi.unstubAllEnvs());

  const text = await runCli(['service', 'status'], { folder: folder.path });
  const json = await runCli(['service', 'status', '--json'], { folder: folder.path });

  expect(text.stdout).toMatch(/^rowsync@main\.service is active\n[^]*\nactive \(running\)\n$/);
  expect(JSON.parse(json.stdout)).toMatchObject({
    exitCode: 0,
    isUp: true,
    findings: [{ outcome: 'ok', message: 'rowsync@main.service is active' }],
    units: ['rowsync@main.service'],
  });
  expect([text.exitCode, json.exitCode]).toEqual([0, 0]);
});

test('a dry run names a file that it cannot read among those to write, as for another user than root', async () => {
  using folder = temporaryFolder();
  const token = join(folder.path, 'etc/rowsync/main.token');
  mkdirSync(token, { recursive: true, mode: 0o600 }); // a folder cannot be read as a file, also by root
  writeFileSync(join(folder.path, 'token'), 'x'.repeat(32));
  const origin = ['--url', 'https://a.example', '--database', '1', '--token-file', join(folder.path, 'token')];

  const { exitCode, stdout } = await runCli(['service', 'install', '--dry-run', '--root', folder.path, ...origin], {
    folder: folder.path,
  });

  expect(stdout).toContain('would: write /etc/rowsync/main.token (mode 600)\n');
  expect(exitCode).toBe(0);
});
