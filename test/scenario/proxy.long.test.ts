/**
 * A company whose proxy stands between: every command that talks to the origin goes through it, checks the certificate
 * of the origin through it, and says so where the proxy answers in the origin's place. The password of the proxy is
 * seen nowhere.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeCertificates } from '../support/certificates.ts';
import { makeWorkspace, startRowsync } from '../support/child.ts';
import { startTestProxy } from '../support/proxy.ts';
import { startTestSandbox } from '../support/sandbox.ts';
import type { RunResult } from '../support/session.ts';

const PASSWORD = 'proxy-password-31c7';
const LOGIN = { user: 'rowsync', password: PASSWORD };
const TABLES = [{ name: 'Note', columns: [{ name: 'Title', type: 'Text' }], rows: [{ Title: 'a' }] }] as const;

/** A workspace whose origin has more options. */
function workspaceOf(sandbox: Parameters<typeof makeWorkspace>[0], more: string) {
  const workspace = makeWorkspace(sandbox);
  const file = join(workspace.folder, 'rowsync.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace('tokenFile: token', `tokenFile: token, ${more}`));
  writeFileSync(join(workspace.folder, 'proxy-password'), PASSWORD, { mode: 0o600 });
  return workspace;
}

const run = (folder: string, args: readonly string[], env: Record<string, string> = {}): Promise<RunResult> =>
  startRowsync(args, { folder, env }).end;

test('pulls and checks through a proxy that wants a login, to an origin of an authority of its own', async () => {
  using certificates = makeCertificates();
  await using sandbox = await startTestSandbox({ tables: TABLES, tls: certificates });
  await using proxy = await startTestProxy({ login: LOGIN });
  const more = `proxy: { url: "${proxy.url}", user: rowsync, passwordFile: proxy-password }, caFile: "${certificates.caPath}"`;
  using workspace = workspaceOf(sandbox, more);

  const pulled = await run(workspace.folder, ['pull', '--verbose']);
  const checked = await run(workspace.folder, ['check']);

  expect(pulled).toMatchObject({ exitCode: 0 });
  expect(checked.stdout).toContain(`is reached through the proxy ${proxy.host}, and answers in`);
  expect(checked.stdout).toMatch(/tls +TLSv1\.3, the certificate is valid for 1 more day/);
  expect(checked).toMatchObject({ exitCode: 0 });
  expect(new Set(proxy.asked)).toEqual(new Set([`CONNECT ${new URL(sandbox.url).host}`]));
  expect(JSON.stringify([pulled, checked])).not.toContain(PASSWORD);
}, 60_000);

test('check names the proxy that answers in the origin’s place', async () => {
  using certificates = makeCertificates();
  await using sandbox = await startTestSandbox({ tables: TABLES, tls: certificates });
  await using proxy = await startTestProxy({ login: LOGIN });
  using workspace = workspaceOf(sandbox, `proxy: "${proxy.url}", caFile: "${certificates.caPath}"`);

  const checked = await run(workspace.folder, ['check', '--json']);

  const { checks } = JSON.parse(checked.stdout) as { checks: { name: string; outcome: string; message: string }[] };
  const [failed, ...others] = checks.filter(({ outcome }) => outcome === 'fail');
  expect(failed?.name).toBe('connection');
  expect(failed?.message).toContain(`the proxy ${proxy.host} answered 407, and made no connection to`);
  expect(others).toEqual([]);
  expect(checked.exitCode).toBe(1);
  expect(sandbox.requests.all).toEqual([]);
}, 60_000);

test('takes the proxy of the environment only where the configuration says so, and none for what NO_PROXY names', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  await using proxy = await startTestProxy({ login: LOGIN });
  const env = { http_proxy: `http://rowsync:${PASSWORD}@${proxy.host}`, no_proxy: '' };
  using silent = workspaceOf(sandbox, 'format: json');
  using told = workspaceOf(sandbox, 'proxy: environment');

  const without = await run(silent.folder, ['pull'], env);
  const askedWithout = proxy.asked.length;
  const through = await run(told.folder, ['pull'], env);
  const askedThrough = proxy.asked.length;
  const excepted = await run(told.folder, ['pull'], { ...env, no_proxy: '127.0.0.0/8' });

  expect([without.exitCode, through.exitCode, excepted.exitCode]).toEqual([0, 0, 0]);
  expect(askedWithout).toBe(0);
  expect(askedThrough).toBeGreaterThan(0);
  expect(proxy.asked).toHaveLength(askedThrough);
  expect(JSON.stringify([without, through, excepted])).not.toContain(PASSWORD);
}, 60_000);

test('a certificate that does not hold is refused through the proxy', async () => {
  using certificates = makeCertificates();
  using strangers = makeCertificates();
  await using sandbox = await startTestSandbox({ tables: TABLES, tls: certificates });
  await using proxy = await startTestProxy();
  using workspace = workspaceOf(sandbox, `proxy: "${proxy.url}", caFile: "${strangers.caPath}"`);

  const pulled = await run(workspace.folder, ['pull']);

  expect(pulled.exitCode).toBe(1);
  expect(pulled.stdout + pulled.stderr).toMatch(/the TLS handshake with 127\.0\.0\.1:\d+ failed/);
  expect(pulled.stdout + pulled.stderr).toMatch(/origin\.caFile/);
  expect(sandbox.requests.all).toEqual([]);
}, 60_000);
