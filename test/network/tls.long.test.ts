/** Certificates and handshakes. Whoever does not prove to be the host is sent nothing, not even once. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

import { http, json, startFaultServer, type FaultAnswer } from '../support/fault-server.ts';
import { endingOf } from '../support/network.ts';

const WHOLE = json([{ '@row.id': 1, Title: 'a', status: 200, id: 1 }]);

/** What a certificate says; signed by our own authority unless it says otherwise. */
interface CertificateSpec {
  readonly names: string;
  /** As openssl writes times. */
  readonly from?: string;
  readonly to?: string;
  readonly signer?: 'authority' | 'itself' | 'stranger-authority';
}

const FOR_US = 'IP:127.0.0.1,DNS:localhost';

const SPECS = {
  good: { names: FOR_US },
  expired: { names: FOR_US, from: '20200101000000Z', to: '20200201000000Z' },
  early: { names: FOR_US, from: '20990101000000Z', to: '20990201000000Z' },
  otherHost: { names: 'DNS:example.org' },
  otherAddress: { names: 'IP:127.0.0.2' },
  wildcard: { names: 'DNS:*' },
  itself: { names: FOR_US, signer: 'itself' },
  stranger: { names: FOR_US, signer: 'stranger-authority' },
} as const satisfies Record<string, CertificateSpec>;

type SpecName = keyof typeof SPECS;

let folder = '';
const trusted = getCACertificates('default');
const certificates = new Map<SpecName, { key: string; cert: string }>();

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowsync-certificates-'));
  for (const name of ['authority', 'stranger-authority']) makeAuthority(name);
  for (const [name, spec] of Object.entries(SPECS)) certificates.set(name as SpecName, makeCertificate(name, spec));
  setDefaultCACertificates([...trusted, read('authority.pem')]);
});

afterAll(() => {
  setDefaultCACertificates(trusted);
  rmSync(folder, { recursive: true, force: true });
});

function openssl(...args: readonly string[]): void {
  execFileSync('openssl', args, { stdio: 'pipe', cwd: folder });
}

function read(name: string): string {
  return readFileSync(join(folder, name), 'utf8');
}

const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'] as const;

/** The only way in which openssl 3.0 signs with any time: as an authority that keeps books. */
const BOOKS = `[ca]
default_ca = here
[here]
dir = .
database = ./index.txt
new_certs_dir = .
rand_serial = yes
default_md = sha256
policy = names
unique_subject = no
[names]
commonName = supplied
`;

function makeAuthority(name: string): void {
  writeFileSync(join(folder, 'books.cnf'), BOOKS);
  writeFileSync(join(folder, 'index.txt'), '');
  openssl('req', '-x509', ...EC, '-days', '3', '-keyout', `${name}.key`, '-out', `${name}.pem`, '-subj', `/CN=${name}`);
}

function makeCertificate(name: string, spec: CertificateSpec): { key: string; cert: string } {
  const { names, from, to, signer = 'authority' } = spec;
  openssl('req', ...EC, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`);
  writeFileSync(join(folder, `${name}.ext`), `subjectAltName=${names}\n`);
  const by =
    signer === 'itself'
      ? ['-selfsign', '-keyfile', `${name}.key`]
      : ['-cert', `${signer}.pem`, '-keyfile', `${signer}.key`];
  const when = from === undefined || to === undefined ? ['-days', '2'] : ['-startdate', from, '-enddate', to];
  const files = ['-in', `${name}.csr`, '-extfile', `${name}.ext`, '-out', `${name}.crt`, '-notext'];
  openssl('ca', '-batch', '-config', 'books.cnf', ...files, ...by, ...when);
  return { key: read(`${name}.key`), cert: read(`${name}.crt`) };
}

function tlsOf(name: SpecName): { key: string; cert: string } {
  const tls = certificates.get(name);
  if (tls === undefined) throw new Error(`no certificate ${name}`);
  return tls;
}

describe('certificates', () => {
  test.each<[string, SpecName, RegExp]>([
    ['that has expired', 'expired', /clock of this machine.*must renew/],
    ['that is not valid yet', 'early', /clock of this machine/],
    ['for another name', 'otherHost', /for another name than 127\.0\.0\.1/],
    ['for another address', 'otherAddress', /for another name than/],
    ['for every name', 'wildcard', /for another name than/],
    ['signed by itself', 'itself', /origin\.caFile/],
    ['signed by a stranger', 'stranger', /origin\.caFile/],
  ])('one %s ends every call at once, and nothing is sent', async (_title, name, hint) => {
    await using server = await startFaultServer(() => WHOLE, { tls: tlsOf(name) });

    for (const call of ['select', 'upsert', 'delete', 'attachment'] as const) {
      expect(await endingOf(server.url, call, {}, hint)).toBe('originRefused origin.tls');
    }

    expect(server.requests).toEqual([]);
    expect(server.connectionCount).toBeLessThanOrEqual(4); // one for each call: none is tried again
  });

  test('one that does not hold is refused whatever NODE_TLS_REJECT_UNAUTHORIZED says', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    await using server = await startFaultServer(() => WHOLE, { tls: tlsOf('stranger') });

    const ending = await endingOf(server.url, 'upsert');
    vi.unstubAllEnvs();

    expect(ending).toBe('originRefused origin.tls');
    expect(server.requests).toEqual([]);
  });

  test('one that holds is taken', async () => {
    await using server = await startFaultServer(() => WHOLE, { tls: tlsOf('good') });

    expect(await endingOf(server.url, 'select')).toBe('done');
    expect(await endingOf(server.url, 'upsert')).toBe('done');
  });

  test.each([301, 302, 307, 308])('a redirect with %i from TLS to the clear is not followed', async (status) => {
    await using clear = await startFaultServer(() => WHOLE);
    await using server = await startFaultServer(() => http(status, { Location: `${clear.url}/secure/x` }), {
      tls: tlsOf('good'),
    });

    expect(await endingOf(server.url, 'select')).toBe('originRefused origin.redirect');
    expect(await endingOf(server.url, 'upsert')).toMatch(/origin\.redirect$/);

    expect(clear.connectionCount).toBe(0);
  });
});

describe('handshakes', () => {
  const limits = {
    connectTimeoutMs: 300,
    headersTimeoutMs: 300,
    deadlineMs: 2_000,
    retry: { attemptsMax: 2, baseWaitMs: 1, waitMsMax: 1, totalMs: 60_000 },
  };
  const alert = (code: number): Buffer => Buffer.from([0x15, 3, 3, 0, 2, 2, code]);

  /** What comes for the greeting of a client, and how a select ends, and a change too: nothing can have happened. */
  test.each<[string, FaultAnswer, string]>([
    ['cut at once', { bytes: Buffer.alloc(0), ending: 'end' }, 'originDown origin.unreachable'],
    ['reset at once', 'reset', 'originDown origin.unreachable'],
    [
      'cut within the greeting',
      { bytes: Buffer.from([0x16, 3, 3, 0, 80, 2, 0]), ending: 'end' },
      'originDown origin.unreachable',
    ],
    ['without an answer', 'hang', 'originDown origin.unreachable'],
    ['refused by an alert', alert(40), 'originRefused origin.tls'],
    ['refused for the version', alert(70), 'originRefused origin.tls'],
    ['answered in the clear', WHOLE, 'originRefused origin.tls'],
    ['answered with a page', http(400, { 'Content-Type': 'text/html' }, '<html>'), 'originRefused origin.tls'],
    ['answered with zeros', Buffer.alloc(512), 'originRefused origin.tls'],
    [
      'answered by a mail server',
      (socket: Socket) => void socket.end('220 mail ESMTP\r\n'),
      'originRefused origin.tls',
    ],
  ])('one %s', async (_title, answer, ending) => {
    await using server = await startFaultServer(() => answer, { answersAnything: true });
    const url = server.url.replace('http:', 'https:');

    expect(await endingOf(url, 'select', limits)).toBe(ending);
    expect(await endingOf(url, 'upsert', limits)).toBe(ending);
  });
});
