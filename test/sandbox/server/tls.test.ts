import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';

let folder = '';
let tls = { certPath: '', keyPath: '' };

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowsync-sandbox-tls-'));
  tls = { certPath: join(folder, 'cert.pem'), keyPath: join(folder, 'key.pem') };
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const files = ['-keyout', tls.keyPath, '-out', tls.certPath];
  execFileSync('openssl', ['req', '-x509', ...kind, ...files, ...subject], { stdio: 'pipe' });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function getUser(sandbox: TestSandbox): Promise<{ status: number | undefined; text: string }> {
  const headers = { Authorization: `Bearer ${sandbox.token}` };
  const options = { ca: readFileSync(tls.certPath), headers, agent: false };
  return new Promise((resolve, reject) => {
    const sent = request(`${sandbox.url}/secure/api/v2/${sandbox.database}/user.json`, options, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
      response.on('end', () => resolve({ status: response.statusCode, text }));
    });
    sent.on('error', reject);
    sent.end();
  });
}

test('speaks https with the certificate that it was given', async () => {
  await using sandbox = await startTestSandbox({ tables: [], tls });

  const answer = await getUser(sandbox);

  expect(sandbox.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
  expect(answer.status).toBe(200);
  expect(JSON.parse(answer.text)).toMatchObject({ email: sandbox.user.email });
});

test('carries faults out over https too', async () => {
  await using sandbox = await startTestSandbox({ tables: [], tls, faults: { faults: [{ fault: 'resetBefore' }] } });

  await expect(getUser(sandbox)).rejects.toThrow(/ECONNRESET|socket hang up/);
});

test.each([
  ['a file that does not exist', () => ({ ...tls, certPath: join(folder, 'none.pem') }), /none\.pem: ENOENT/],
  ['the files in the wrong order', () => ({ certPath: tls.keyPath, keyPath: tls.certPath }), /not a certificate/],
])('does not start with %s', async (_what, files, message) => {
  await expect(startTestSandbox({ tables: [], tls: files() })).rejects.toMatchObject({
    code: 'sandbox.option',
    message: expect.stringMatching(message) as string,
  });
});
