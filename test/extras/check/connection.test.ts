/**
 * The look at the way to the origin, against real servers on this machine.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createHttpServer, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { probeOrigin } from '../../../src/extras/check/connection.ts';
import { makeWorkspace } from '../../support/child.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { runCli } from '../../support/session.ts';

async function listen(
  server: Server,
  scheme: string,
): Promise<{ url: string; [Symbol.asyncDispose](): Promise<void> }> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `${scheme}://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function makeCertificate(): { readonly key: string; readonly cert: string } {
  const folder = mkdtempSync(join(tmpdir(), 'rowsync-tls-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  execFileSync('openssl', ['req', '-x509', ...kind, '-keyout', key, '-out', cert, ...subject], { stdio: 'pipe' });
  const pair = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  rmSync(folder, { recursive: true });
  return pair;
}

test('tells the address, the time it took and the clock, whatever is answered', async () => {
  const nowMs = Date.UTC(2026, 10, 21, 12);
  const answer = createHttpServer((_request, response) => {
    response.writeHead(404, { Date: new Date(nowMs + 90_000).toUTCString() }).end();
  });
  await using server = await listen(answer, 'http');

  const probe = await probeOrigin(server.url, { ...systemClock, nowMs: () => nowMs });

  expect(probe).toMatchObject({ address: '127.0.0.1', tls: null, clockSkewMs: 90_000 });
});

test('sends no credentials and follows no redirect', async () => {
  const seen: unknown[] = [];
  const answer = createHttpServer((request, response) => {
    seen.push([request.method, request.url, request.headers.authorization]);
    response.writeHead(302, { Location: '/elsewhere' }).end();
  });
  await using server = await listen(answer, 'http');

  await probeOrigin(server.url, systemClock);

  expect(seen).toEqual([['HEAD', '/', undefined]]);
});

test('tells the version of TLS and how long the certificate is valid', async () => {
  const pair = makeCertificate();
  const before = getCACertificates();
  setDefaultCACertificates([...before, pair.cert]);
  try {
    await using server = await listen(
      createHttpsServer(pair, (_request, response) => response.end()),
      'https',
    );

    const probe = await probeOrigin(server.url, systemClock);

    const validToMs = 'tls' in probe ? (probe.tls?.validToMs ?? 0) : 0;
    expect(probe).toMatchObject({ tls: { version: 'TLSv1.3' } });
    expect(Math.round((validToMs - Date.now()) / 86_400_000)).toBe(2);
  } finally {
    setDefaultCACertificates(before);
  }
});

test('gives the code of what went wrong', async () => {
  const pair = makeCertificate();
  await using server = await listen(createHttpsServer(pair), 'https');
  const closed = await listen(createHttpServer(), 'http');
  await closed[Symbol.asyncDispose]();

  expect(await probeOrigin(server.url, systemClock)).toEqual({ failure: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
  expect(await probeOrigin(closed.url, systemClock)).toEqual({ failure: 'ECONNREFUSED' });
});

test('check warns about clocks that are apart', async () => {
  await using sandbox = await startTestSandbox({ tables: [{ name: 'Note', columns: [], rows: [] }] });
  using workspace = makeWorkspace(sandbox);
  const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + 600_000 };

  const { exitCode, stdout } = await runCli(['check'], { folder: workspace.folder, clock });

  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^warn {2}clock +\d+ min( \d+ s)? ahead of the origin's\n +what to do: Let NTP/m);
});
