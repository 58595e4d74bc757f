/**
 * The first minutes of the service on a clean Debian with a real systemd. From the packed package to an edit that
 * arrives at the origin, and to the end. The tests follow each other on one machine, as an administrator's day would;
 * the origin is a sandbox in the same machine. Skipped by name where no machine can be booted.
 */
import { afterAll, describe, expect, test, vi } from 'vitest';
import { FROM_ORIGIN, startServiceMachine, TOKEN, type ServiceMachine } from '../support/service-machine.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 60_000 });

const started = await startServiceMachine();
const reason = 'reason' in started ? started.reason : null;

describe.skipIf(reason !== null)(`on a clean Debian${reason === null ? '' : ` (not here: ${reason})`}`, () => {
  const machine = started as ServiceMachine;
  const { shell, attempt, until } = machine;

  afterAll(async () => machine.stop());

  test('npm puts a program in place that says its version', async () => {
    expect(await shell('rowsync --version')).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  test('a dry run prints the steps, and leaves the machine as it was', async () => {
    const before = await shell('find /etc /var/lib -newer /srv/token | sort');

    const text = await shell(`rowsync service install --dry-run ${FROM_ORIGIN}`);

    expect(text).toContain('would: write /etc/rowsync/main.token (mode 600)');
    expect(text).toContain('would: systemctl enable rowsync@main.service');
    expect(text).not.toContain(TOKEN);
    expect(await shell('find /etc /var/lib -newer /srv/token | sort')).toBe(before);
    expect((await attempt('id rowsync')).exitCode).not.toBe(0);
  });

  test('whoever is not root is told to become it', async () => {
    const { exitCode, text } = await attempt(
      'cd; echo x > token; rowsync service install --url http://127.0.0.1:8100 --database 21995 --token-file token',
      'ann',
    );

    expect(exitCode).not.toBe(0);
    expect(text).toContain('Run it as root (sudo)');
    expect(text).not.toContain('done:');
  });

  test('install makes user, folders, configuration and token, and ends when the service is up', async () => {
    const text = await shell(`rowsync service install ${FROM_ORIGIN}`);

    expect(await shell('systemctl is-active rowsync@main; systemctl is-enabled rowsync@main')).toBe(
      'active\nenabled\n',
    );
    expect(await machine.property('rowsync@main', 'Type')).toBe('notify');
    expect(
      await shell(
        'cd /; stat -c "%n %a %U:%G" etc/rowsync etc/rowsync/* var/lib/rowsync var/lib/rowsync/main run/rowsync/main',
      ),
    ).toBe(
      [
        'etc/rowsync 750 root:rowsync',
        'etc/rowsync/main.mask-key 600 root:root',
        'etc/rowsync/main.token 600 root:root',
        'etc/rowsync/main.yaml 644 root:root',
        'var/lib/rowsync 750 rowsync:rowsync',
        'var/lib/rowsync/main 2770 rowsync:rowsync',
        'run/rowsync/main 750 rowsync:rowsync',
        '',
      ].join('\n'),
    );
    expect(text).not.toContain(TOKEN);
  });

  test('the first cycle fills the replica, which members of the group may read and nobody else', async () => {
    await until(
      "rowsync sql --config /etc/rowsync/main.yaml --format csv 'SELECT outcome FROM sync_runs' | grep -q done",
    );
    const query = "sqlite3 /var/lib/rowsync/main/replica.db 'SELECT count(*) FROM Product'";

    const outsider = await attempt(query, 'ann');
    await shell('usermod -aG rowsync ann');
    const member = await shell(query, 'ann');

    expect(outsider.exitCode).not.toBe(0);
    expect(Number(member)).toBeGreaterThan(100);
    expect(await shell('stat -c "%a %U:%G" /var/lib/rowsync/main/replica.db')).toBe('660 rowsync:rowsync\n');
  });

  test('a second install changes nothing', async () => {
    const text = await shell(`rowsync service install`);

    expect(text.split('\n').filter((line) => /write|protect/.test(line) && !line.startsWith('unchanged'))).toEqual([]);
    await until('systemctl is-active --quiet rowsync@main');
  });

  test('after an edit of the configuration and a reload, an edit at the sqlite3 shell arrives at the origin', async () => {
    await shell(`
      printf 'tables:\\n  Product: { push: true, match: SKU }\\npush: { delay: 1 }\\n' >> /etc/rowsync/main.yaml
      systemctl reload rowsync@main`);
    await until(
      'sqlite3 /var/lib/rowsync/main/replica.db "SELECT mode FROM sync_status WHERE \\"table\\" = \'Product\'" | grep -q two-way',
    );
    const sku = (await machine.sql('main', 'SELECT SKU FROM Product ORDER BY _id LIMIT 1')).trim();

    await machine.sql('main', `UPDATE Product SET Name = 'Renamed by ann' WHERE SKU = '${sku}'`);
    await until(`[ "$(sqlite3 /var/lib/rowsync/main/replica.db 'SELECT count(*) FROM sync_changes')" = 0 ]`);

    expect(await machine.product(sku)).toMatchObject({ Name: 'Renamed by ann' });
  });

  test('members of the group may ask it how it is over its socket', async () => {
    const curl = 'curl -sf --unix-socket /run/rowsync/main/http.sock http://localhost';

    expect(await shell(`${curl}/livez; ${curl}/readyz`, 'ann')).toBe('ok\nok\n');
    expect(await shell(`${curl}/metrics`, 'ann')).toContain('rowsync_');
    expect(await shell('rowsync status --config /etc/rowsync/main.yaml', 'ann')).toMatch(/^daemon +ok/m);
    expect((await attempt(`${curl}/livez`, 'nobody')).exitCode).not.toBe(0);
  });

  test('the token stands in no environment, no command line, no log and no file but its own', async () => {
    const text = await shell(`
      pid=$(systemctl show --value --property=MainPID rowsync@main)
      tr '\\0' '\\n' < /proc/$pid/environ; tr '\\0' ' ' < /proc/$pid/cmdline
      journalctl --no-pager --unit=rowsync@main
      curl -s --unix-socket /run/rowsync/main/http.sock http://localhost/status http://localhost/metrics
      systemctl show rowsync@main; grep -i core /proc/$pid/limits`);

    expect(text).toContain('CREDENTIALS_DIRECTORY=');
    expect(text).not.toContain(TOKEN);
    expect(text).toMatch(/Max core file size +0 +0/);
    expect((await attempt(`grep -rl ${TOKEN} /etc /var`)).text).toBe('/etc/rowsync/main.token\n');
  });

  test('systemd finds nothing wrong with what is installed, and the process has no rights to lose', async () => {
    const status = await shell('cat /proc/$(systemctl show --value -p MainPID rowsync@main)/status');

    expect(await shell('systemd-analyze verify rowsync@main.service rowsync-sync@main.timer')).toBe('');
    expect(await shell('systemd-analyze security --threshold=15 rowsync@main.service')).toContain('Overall exposure');
    expect(await shell('systemd-analyze security --threshold=15 rowsync-sync@main.service')).toContain(
      'Overall exposure',
    );
    expect(status).toMatch(/^CapEff:\s0+$/m);
    expect(status).toMatch(/^CapBnd:\s0+$/m);
    expect(status).toMatch(/^NoNewPrivs:\s1$/m);
    expect(status).toMatch(/^Seccomp:\s2$/m);
  });

  test('journald knows the priority of every line', async () => {
    const lines = await machine.journal('rowsync@main');

    const ours = lines.flatMap(({ priority, message }) => {
      const [, level, event] = /^\{"level":"(\w+)".*"event":"([\w.]+)"/.exec(message) ?? [];
      return level === undefined || event === undefined ? [] : [{ priority, level, event }];
    });
    expect(ours.map(({ event }) => event)).toEqual(expect.arrayContaining(['daemon.started', 'config.reloaded']));
    expect(ours.filter(({ priority, level }) => priority !== { error: 3, warn: 4, info: 6 }[level])).toEqual([]);
  });

  test('service status shows how it is, and check finds the unit and the daemon well', async () => {
    expect(await shell('rowsync service status', 'ann')).toContain('active (running)');
    const { text } = await attempt('rowsync check --config /etc/rowsync/main.yaml');
    expect(text).toContain('rowsync@main.service is active');
    expect(text).toContain(' 0 failed');
  });

  test("systemd's own timer runs cycles instead, with the same rights", async () => {
    await shell('rowsync service install --timer');
    expect((await attempt('systemctl is-active rowsync@main')).text).toBe('inactive\n');
    expect(await machine.property('rowsync-sync@main.timer', 'ActiveState')).toBe('active');
    const sku = (await machine.sql('main', 'SELECT SKU FROM Product ORDER BY _id DESC LIMIT 1')).trim();
    await machine.sql('main', `UPDATE Product SET Name = 'By the timer' WHERE SKU = '${sku}'`);

    await shell('systemctl start rowsync-sync@main.service');

    expect(await machine.product(sku)).toMatchObject({ Name: 'By the timer' });
    expect(await machine.property('rowsync-sync@main', 'Result')).toBe('success');
    expect(await shell('rowsync service status')).toContain('rowsync-sync@main.timer is active');
  });

  test('uninstall stops it, and says what it leaves behind', async () => {
    const text = await shell('rowsync service uninstall');

    expect(text).toContain('kept: /var/lib/rowsync/main');
    expect((await attempt('systemctl is-active rowsync@main')).exitCode).not.toBe(0);
    expect(await shell('ls /etc/rowsync /var/lib/rowsync/main')).toMatch(/main\.token\nmain\.yaml\n[^]*replica\.db\n/);
    expect(await shell('find /etc/systemd -name "rowsync*"')).toBe('');
    expect(await shell('systemctl --no-pager --plain --no-legend list-units "rowsync*"')).toBe('');
  });
});
