/**
 * What `npm run dist` makes, as users get it: one executable on a Debian without Node, the Debian package in a booted
 * systemd from its installation to its purge, and the root of the container. Skipped by name where no machine can be
 * booted or a program is missing.
 */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { makeRelease } from '../../packaging/release.ts';
import { bootMachine, machineRoot, type Machine } from '../support/machine.ts';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 600_000 });

const TOKEN = '5ec2e7c0ffee5ec2e7c0ffee5ec2e7c0';
const REPLICA = '/var/lib/rowsync/main/replica.db';
const INSTALL = readFileSync(new URL('../../docs/install.md', import.meta.url), 'utf8');
const runFile = promisify(execFile);

/** The command of docs/install.md that begins so, for root. */
function documented(begin: string): string {
  const commands = INSTALL.split('\n').flatMap((line) => [line, ...line.split('`')]);
  const command = commands.find((one) => one.startsWith(begin));
  if (command === undefined) throw new Error(`docs/install.md has no command that begins with ${begin}`);
  return command.replace('sudo ', '');
}

/** The same package with a later version. */
async function makeLater(deb: string, later: string): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'rowsync-later-'));
  const control = join(root, 'DEBIAN/control');
  await runFile('dpkg-deb', ['--raw-extract', deb, root]);
  writeFileSync(control, readFileSync(control, 'utf8').replace(/^Version: .*$/m, 'Version: 99.0.0'));
  await runFile('dpkg-deb', ['--root-owner-group', '-Znone', '--build', root, later]);
  rmSync(root, { recursive: true });
}

const lacking = ['strip', 'aarch64-linux-gnu-strip', 'dpkg-deb', 'git'].filter(
  (program) => spawnSync('which', [program]).status !== 0,
);
const made = lacking.length > 0 ? { reason: `${lacking.join(', ')} not installed` } : await machineRoot();
const reason = 'reason' in made ? made.reason : null;

describe.skipIf(reason !== null)(`what is handed to users${reason === null ? '' : ` (not here: ${reason})`}`, () => {
  const release = mkdtempSync(join(tmpdir(), 'rowsync-release-'));
  let machine: Machine;
  let deb = '';

  beforeAll(async () => {
    await makeRelease(release);
    deb = readdirSync(release).find((name) => name.endsWith('_amd64.deb')) ?? '';
    await makeLater(join(release, deb), join(release, 'later.deb'));
    const booted = await bootMachine({ shown: { '/media/release': release } });
    if ('reason' in booted) throw new Error(booted.reason);
    machine = booted;
    // Nothing may need to run what stands in /tmp.
    await machine.shell('mount --types tmpfs --options noexec,nosuid tmpfs /tmp; ! command -v node');
  });

  afterAll(async () => {
    await machine.stop();
    rmSync(release, { recursive: true, force: true });
  });

  test('the list of what is in it names Node, SQLite and every package in the bundle, with hash and license', () => {
    const sbom = JSON.parse(readFileSync(join(release, 'rowsync.cdx.json'), 'utf8')) as {
      components: { name: string; hashes?: unknown[]; licenses: unknown[] }[];
    };
    const names = sbom.components.map(({ name }) => name);

    expect(names).toEqual(expect.arrayContaining(['node', 'better-sqlite3', 'undici', 'zod']));
    expect(sbom.components.filter(({ hashes, licenses }) => hashes === undefined || licenses.length === 0)).toEqual([]);
  });

  test.skipIf(spawnSync('which', ['lintian']).status !== 0)('lintian finds nothing in the Debian package', async () => {
    const { stdout } = await runFile('lintian', ['--fail-on', 'none', join(release, deb)]);

    expect(stdout).toBe('');
  });

  test('the executable alone tells the whole story on a Debian without Node', async () => {
    const text = await machine.shell(`
      cd /media/release
      ${documented('sudo install rowsync-linux-x64')}
      rowsync demo 2>&1`);

    expect(text).toContain('$ rowsync sandbox');
    await machine.shell('rm /usr/local/bin/rowsync; rm -rf "$HOME"/.cache');
  });

  test.skipIf(spawnSync('which', ['qemu-aarch64']).status !== 0)(
    'the executable for ARM64 tells the whole story under emulation (needs qemu-aarch64)',
    { timeout: 600_000 },
    async () => {
      const arm = ['-L', '/usr/aarch64-linux-gnu', join(release, 'rowsync-linux-arm64')];
      const { stdout } = await runFile('qemu-aarch64', [...arm, 'demo']);

      // The machine in the header of ELF: 183 is AArch64.
      expect(readFileSync(join(release, 'rowsync-linux-arm64')).readUInt16LE(18)).toBe(183);
      expect(stdout).toContain('5 edits: 3 arrived, 1 in conflict, 1 refused');
      expect(stdout).toContain('$ rowsync sandbox');
      const architecture = async (name: string): Promise<string> =>
        (await runFile('dpkg-deb', ['--field', join(release, name), 'Architecture'])).stdout.trim();
      const debs = readdirSync(release).filter((name) => /_\w+\.deb$/.test(name));
      expect(await Promise.all(debs.toSorted().map(architecture))).toEqual(['amd64', 'arm64']);
    },
  );

  test('apt installs the package, and two commands set the service up', async () => {
    const install = documented('sudo apt-get install').replace('install', 'install --yes');
    await machine.shell(`cd /media/release; ${install}`);
    await machine.shell(`
      systemd-run --quiet --unit=origin -p StandardOutput=file:/run/origin.json \
        rowsync sandbox --json --port 8100 --token ${TOKEN}`);
    await machine.until('[ -s /run/origin.json ]');

    await machine.shell(`
      cd /srv
      echo ${TOKEN} | ${documented('(umask 077')}
      ${documented('sudo rowsync service install').replace('https://www.teamdesk.net', 'http://127.0.0.1:8100')}`);

    await machine.until(`[ "$(sqlite3 ${REPLICA} 'SELECT count(*) FROM Product')" = 400 ]`);
    expect(await machine.shell('systemctl is-active rowsync@main; ls /etc/systemd/system/rowsync* || true')).toMatch(
      /^active\nls: cannot access/,
    );
    expect(await machine.shell('zgrep --count . /usr/share/man/man1/rowsync.1.gz; ls "$HOME"/.cache || true')).toMatch(
      /^\d{3,}\nls: cannot/,
    );
  });

  test('an edit is pushed by the executable', async () => {
    await machine.shell(`
      printf 'tables:\\n  Product: { push: true, match: SKU }\\npush: { delay: 1 }\\n' >> /etc/rowsync/main.yaml
      systemctl reload rowsync@main`);
    await machine.until(
      `sqlite3 ${REPLICA} "SELECT mode FROM sync_status WHERE \\"table\\" = 'Product'" | grep -q two-way`,
    );
    await machine.shell(`sqlite3 -cmd '.timeout 5000' ${REPLICA} "UPDATE Product SET Name = 'Renamed' WHERE _id = 1"`);

    await machine.until(`[ "$(sqlite3 ${REPLICA} 'SELECT count(*) FROM sync_changes')" = 0 ]`);
    expect(
      await machine.shell(`curl -sf -H 'Authorization: Bearer ${TOKEN}' \
        'http://127.0.0.1:8100/secure/api/v2/21995/Product/retrieve.json?id=1&column=Name'`),
    ).toContain('Renamed');
  });

  test('an upgrade starts the service anew, and its replica goes on', async () => {
    const pid = await machine.shell('systemctl show --value --property=MainPID rowsync@main');

    await machine.shell('apt-get install --yes /media/release/later.deb');

    await machine.until('systemctl is-active --quiet rowsync@main');
    expect(await machine.shell('systemctl show --value --property=MainPID rowsync@main')).not.toBe(pid);
    expect(await machine.shell(`sqlite3 ${REPLICA} 'SELECT Name FROM Product WHERE _id = 1'`)).toBe('Renamed\n');
  });

  test('a removal ends the service and keeps the configuration; a purge keeps the replica', async () => {
    await machine.shell('systemctl stop origin; apt-get remove --yes rowsync');

    expect(await machine.shell('systemctl is-active rowsync@main || true; ls /etc/rowsync')).toBe(
      'inactive\nmain.mask-key\nmain.token\nmain.yaml\n',
    );

    const text = await machine.shell('apt-get purge --yes rowsync');

    expect(text).toContain('kept: /var/lib/rowsync');
    expect(await machine.shell(`ls -d /etc/rowsync /usr/lib/rowsync ${REPLICA} 2>/dev/null || true`)).toBe(
      `${REPLICA}\n`,
    );
  });

  test.skipIf(spawnSync('which', ['buildah']).status !== 0)(
    'the container is built from its recipe, looks after itself, and runs as a user without rights (needs buildah)',
    // Without an overlay every layer is a copy of the whole root.
    { timeout: 480_000 },
    async () => {
      const { root } = made as { root: string };
      const work = mkdtempSync(join(tmpdir(), 'rowsync-container-'));
      const folders = ['--root', join(work, 'root'), '--runroot', join(work, 'run'), '--storage-driver', 'vfs'];
      const buildah = async (...args: readonly string[]): Promise<string> =>
        (await runFile('buildah', [...folders, ...args])).stdout.trim();
      try {
        // No image is fetched: the Debian that machines boot from stands in for the one that the recipe names.
        await runFile('tar', ['-C', root, '-cf', join(work, 'debian.tar'), '.']);
        const base = await buildah('from', 'scratch');
        await buildah('add', '--quiet', base, join(work, 'debian.tar'), '/');
        await buildah('commit', '--quiet', base, 'docker.io/library/debian:trixie-slim');
        const how = ['--pull-never', '--isolation', 'chroot', '--format', 'docker', '--quiet'];

        await buildah('build', ...how, '--tag', 'rowsync', release);

        const container = await buildah('from', '--pull-never', 'localhost/rowsync');
        const script = 'id -un; pwd; rowsync demo 2>&1';
        const text = await buildah('run', '--isolation', 'chroot', container, '--', 'sh', '-euc', script);
        expect(text).toMatch(/^rowsync\n\/var\/lib\/rowsync\n/);
        expect(text).toContain('$ rowsync sandbox');
        const format = '{{.Docker.Config.Healthcheck.Test}} {{.Docker.Config.Entrypoint}} {{.Docker.Config.Cmd}}';
        expect(await buildah('inspect', '--type', 'image', '--format', format, 'rowsync')).toBe(
          '[CMD rowsync status --exit-code --config /etc/rowsync/rowsync.yaml] [rowsync] [daemon --config /etc/rowsync/rowsync.yaml]',
        );
      } finally {
        rmSync(work, { recursive: true, force: true });
      }
    },
  );
});
