/**
 * What befalls a service for years, on a clean Debian with a real systemd. Crashes, hangs, a stop in the middle of a
 * push, wrong configurations and credentials, an upgrade and a downgrade. Each test has an instance of its own
 * (rowsync@NAME); the origin is a sandbox in the same machine. Skipped by name where no machine can be booted.
 */
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import { FROM_ORIGIN, startServiceMachine, type ServiceMachine } from '../support/service-machine.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 60_000 });

const started = await startServiceMachine();
const reason = 'reason' in started ? started.reason : null;

/** Answers to pushes that take longer than any stop may. */
const SLOW = { fault: 'delay', method: 'upsert', ms: 120_000 };

describe.skipIf(reason !== null)(`on a clean Debian${reason === null ? '' : ` (not here: ${reason})`}`, () => {
  const machine = started as ServiceMachine;
  const { shell, attempt, until, property, sql } = machine;
  const replica = (name: string): string => `/var/lib/rowsync/${name}/replica.db`;
  const pushed = (name: string): Promise<void> =>
    until(`[ "$(sqlite3 ${replica(name)} 'SELECT count(*) FROM sync_changes')" = 0 ]`);
  const inFlight = (name: string): Promise<void> =>
    until(`[ "$(sqlite3 ${replica(name)} 'SELECT count(*) FROM _rowsync_batches')" = 1 ]`);

  afterEach(async () => machine.faults());
  afterAll(async () => machine.stop());

  test('a process that is stuck is killed by the watchdog and started again', async () => {
    await machine.install('stuck', { unit: 'WatchdogSec=10\nRestartSec=1' });
    const before = await property('rowsync@stuck', 'MainPID');

    await shell(`kill -STOP ${before}`);
    await until(
      `[ "$(systemctl show --value -p NRestarts rowsync@stuck)" -ge 1 ] && systemctl is-active -q rowsync@stuck`,
    );

    expect(await property('rowsync@stuck', 'MainPID')).not.toBe(before);
    const words = (await machine.journal('rowsync@stuck')).map(({ message }) => message).join('\n');
    expect(words).toContain('Watchdog timeout');
    expect(await shell('rowsync service status stuck')).toContain('was restarted');
  });

  test('another client that holds the replica for longer than the watchdog waits is no reason to restart', async () => {
    await machine.install('locked', { unit: 'WatchdogSec=8' });
    const before = await property('rowsync@locked', 'MainPID');
    await sql('locked', "INSERT INTO Product (SKU, Name) VALUES ('LOCKED', 'while it is locked')");

    await shell(`printf 'BEGIN IMMEDIATE;\\n.shell sleep 20\\nCOMMIT;\\n' | sqlite3 ${replica('locked')}`, 'ann');
    await pushed('locked');

    expect(await property('rowsync@locked', 'MainPID')).toBe(before);
    expect(await machine.product('LOCKED')).toMatchObject({ Name: 'while it is locked' });
  });

  test('after kill -9 in the middle of a push, it starts again and nothing is lost', async () => {
    await machine.install('killed', { unit: 'RestartSec=1' });
    await machine.faults(SLOW);
    await sql('killed', "INSERT INTO Product (SKU, Name) VALUES ('KILLED', 'before')");
    await inFlight('killed');
    await sql('killed', "UPDATE Product SET Name = 'edited in flight' WHERE SKU = 'KILLED'");

    await shell('systemctl kill --signal=KILL --kill-whom=main rowsync@killed');
    await machine.faults();
    await pushed('killed');

    expect(await machine.product('KILLED')).toMatchObject({ Name: 'edited in flight' });
    expect(await property('rowsync@killed', 'NRestarts')).toBe('1');
    expect(await shell(`sqlite3 ${replica('killed')} 'PRAGMA integrity_check'`)).toBe('ok\n');
  });

  test('a stop in the middle of a push ends in time and in good order, and the next start goes on', async () => {
    await machine.install('stopped');
    await machine.faults(SLOW);
    await sql('stopped', "INSERT INTO Product (SKU, Name) VALUES ('STOPPED', 'before the stop')");
    await inFlight('stopped');

    const startedMs = Date.now();
    await shell('systemctl stop rowsync@stopped');
    const tookMs = Date.now() - startedMs;

    expect(tookMs).toBeLessThan(30_000);
    expect(await property('rowsync@stopped', 'Result')).toBe('success');
    await machine.faults();
    await shell('systemctl start rowsync@stopped');
    await pushed('stopped');
    expect(await machine.product('STOPPED')).toMatchObject({ Name: 'before the stop' });
  });

  test('it is ready although the origin does not answer, and says so', async () => {
    await machine.install('alone');
    await shell("sed -i 's/:8100/:8199/' /etc/rowsync/alone.yaml; systemctl restart rowsync@alone");

    await until('systemctl show --value -p StatusText rowsync@alone | grep -q "no connection"');

    expect(await property('rowsync@alone', 'ActiveState')).toBe('active');
    expect((await attempt('rowsync status --config /etc/rowsync/alone.yaml', 'ann')).text).toContain('no connection');
  });

  test('what keeps it from starting is tried again until it has passed', async () => {
    await machine.install('patient', { unit: 'RestartSec=1' });
    await shell("sed -i 's#patient/replica.db#patient/later/replica.db#' /etc/rowsync/patient.yaml");

    await attempt('systemctl restart rowsync@patient');
    await until('[ "$(systemctl show --value -p NRestarts rowsync@patient)" -ge 6 ]');
    expect((await attempt('rowsync service status patient')).text).toContain('is started again and again');
    await shell('mkdir /var/lib/rowsync/patient/later; chown rowsync: /var/lib/rowsync/patient/later');

    await until('systemctl is-active -q rowsync@patient');
  });

  test('a reload with a wrong configuration is refused, and the one before stays in force', async () => {
    await machine.install('reloaded');
    const before = await property('rowsync@reloaded', 'MainPID');
    await shell("echo 'nonsense: 1' >> /etc/rowsync/reloaded.yaml; systemctl reload rowsync@reloaded");
    await until('journalctl -u rowsync@reloaded -p err | grep -q config.refused');

    await sql('reloaded', "INSERT INTO Product (SKU, Name) VALUES ('RELOADED', 'as before')");
    await pushed('reloaded');

    expect(await property('rowsync@reloaded', 'MainPID')).toBe(before);
    expect(await machine.product('RELOADED')).toMatchObject({ Name: 'as before' });
  });

  test('a start with a wrong configuration is not tried again, and the status says what to do', async () => {
    await machine.install('wrong', { unit: 'RestartSec=1' });
    await shell("echo 'nonsense: 1' >> /etc/rowsync/wrong.yaml");

    expect((await attempt('systemctl restart rowsync@wrong')).exitCode).not.toBe(0);

    expect(await property('rowsync@wrong', 'ActiveState')).toBe('failed');
    expect(await property('rowsync@wrong', 'NRestarts')).toBe('0');
    const { exitCode, text } = await attempt('rowsync service status wrong');
    expect(exitCode).toBe(1);
    expect(text).toContain('its configuration is wrong');
    expect(text).toContain('rowsync check --config /etc/rowsync/wrong.yaml');
    const said = (await machine.journal('rowsync@wrong')).filter(({ message }) => message.includes('nonsense'));
    expect(said.map(({ priority }) => priority)).toEqual([3]);
  });

  test('a token that is open to others is closed by install, and a missing one is named', async () => {
    await machine.install('token');
    await shell('chmod 644 /etc/rowsync/token.token');

    expect(await shell('rowsync service install token')).toContain('done: protect /etc/rowsync/token.token (mode 600)');
    expect(await shell('stat -c %a /etc/rowsync/token.token')).toBe('600\n');
    await shell('rm /etc/rowsync/token.token');
    expect((await attempt('systemctl restart rowsync@token')).exitCode).not.toBe(0);
    expect((await attempt('rowsync service status token')).text).toContain('/etc/rowsync/token.token');
  });

  test('without its key of masks it starts, hashes nothing, and says what is missing', async () => {
    const keyFile = '\\${CREDENTIALS_DIRECTORY:-/etc/rowsync}/keyless.mask-key';
    await machine.install('keyless');
    await shell(`systemctl stop rowsync@keyless; rm -rf ${replica('keyless')}*
      sed -i 's#^  Product: .*#  Product: { mask: { Name: hash } }#' /etc/rowsync/keyless.yaml
      sed -i "s#^replica:#replica:\\n  maskKeyFile: ${keyFile}#" /etc/rowsync/keyless.yaml
      systemctl start rowsync@keyless`);

    await until('journalctl -u rowsync@keyless | grep -q "fewer than 16 characters"');

    expect(await property('rowsync@keyless', 'ActiveState')).toBe('active');
    const isThere = "SELECT count(*) FROM sqlite_schema WHERE name = 'Product'";
    expect(await shell(`sqlite3 ${replica('keyless')} "${isThere}"`)).toBe('0\n');
    expect((await attempt('rowsync status --config /etc/rowsync/keyless.yaml', 'ann')).text).toContain('maskKeyFile');
  });

  test('what root does with the replica while the service is stopped leaves it to the service', async () => {
    await machine.install('rooted');
    await shell('systemctl stop rowsync@rooted');
    await sql('rooted', "INSERT INTO Product (SKU, Name) VALUES ('ROOTED', 'by root')");

    await shell('rowsync sync --config /etc/rowsync/rooted.yaml; systemctl start rowsync@rooted');

    expect(await machine.product('ROOTED')).toMatchObject({ Name: 'by root' });
    expect(await shell('find /var/lib/rowsync/rooted ! -user rowsync -o ! -group rowsync')).toBe('');
    await sql('rooted', "UPDATE Product SET Name = 'by ann' WHERE SKU = 'ROOTED'");
    await pushed('rooted');
  });

  test('a program where services cannot see it is refused', async () => {
    await shell('cp /usr/local/bin/node ~ann/node');
    const program = '~ann/node /usr/local/lib/node_modules/rowsync/dist/cli/main.cjs';

    const { exitCode, text } = await attempt(`${program} service install hidden ${FROM_ORIGIN}`);

    expect(exitCode).not.toBe(0);
    expect(text).toMatch(/^error: Services cannot see \S+ann.node$/m);
  });

  test('an upgrade goes on where the version before stopped, and its own downgrade works as long as the replica allows', async () => {
    await machine.install('upgraded');
    const [newer, older] = [await machine.packageOf('0.99.0'), await machine.packageOf('0.98.0')];
    const upgrade = async (command: string, name: string): Promise<void> => {
      await sql('upgraded', `INSERT INTO Product (SKU, Name) VALUES ('${name}', 'around ${name}')`);
      await shell(`${command}; rowsync service install upgraded`);
      await pushed('upgraded');
      expect(await machine.product(name)).toMatchObject({ Name: `around ${name}` });
    };

    await upgrade(newer, 'UPGRADE');
    expect(await shell('rowsync --version')).toBe('0.99.0\n');
    await upgrade(older, 'DOWNGRADE');
    expect(await shell('rowsync --version')).toBe('0.98.0\n');
    expect(await shell('systemctl is-active rowsync@upgraded')).toBe('active\n');
  });

  test('a replica of a newer version is left alone: the service stays stopped, and the status says why', async () => {
    await machine.install('newer', { unit: 'RestartSec=1' });
    await shell(`systemctl stop rowsync@newer; sqlite3 ${replica('newer')} 'PRAGMA user_version = 9999'`);
    const before = await shell(`sha256sum ${replica('newer')}`);

    expect((await attempt('systemctl start rowsync@newer')).exitCode).not.toBe(0);

    expect(await property('rowsync@newer', 'ExecMainStatus')).toBe('78');
    expect(await property('rowsync@newer', 'NRestarts')).toBe('0');
    expect(await property('rowsync@newer', 'ActiveState')).toBe('failed');
    const { text } = await attempt('rowsync service status newer');
    expect(text).toContain('is not started again');
    expect(text).toContain('replica.newer');
    expect(await shell(`sha256sum ${replica('newer')}`)).toBe(before);
  });
});
