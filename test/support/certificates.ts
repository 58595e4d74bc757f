/**
 * Certificates of an authority of one's own, made by openssl in a temporary folder. `trusted.pem` is the authority,
 * `server.crt` and `server.key` a server on this machine that it signed.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** An authority and a server that it vouches for. */
export interface Certificates {
  readonly folder: string;
  /** The path of the authority's certificate, and its text. */
  readonly caPath: string;
  readonly ca: string;
  /** For a server at 127.0.0.1 and localhost. */
  readonly certPath: string;
  readonly keyPath: string;
  readonly cert: string;
  readonly key: string;
  [Symbol.dispose](): void;
}

/** Makes both; takes some tens of milliseconds. */
export function makeCertificates(): Certificates {
  const folder = mkdtempSync(join(tmpdir(), 'rowsync-certificates-'));
  const openssl = (...args: readonly string[]): void => {
    execFileSync('openssl', args, { stdio: 'pipe', cwd: folder });
  };
  const fresh = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  writeFileSync(join(folder, 'names'), 'subjectAltName=IP:127.0.0.1,DNS:localhost\n');
  openssl('req', '-x509', ...fresh, '-days', '2', '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=authority');
  openssl('req', ...fresh, '-keyout', 'server.key', '-out', 'server.csr', '-subj', '/CN=server');
  const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'names'];
  openssl('x509', '-req', '-in', 'server.csr', ...signed, '-out', 'server.crt');
  const at = (name: string): string => join(folder, name);
  return {
    folder,
    caPath: at('ca.pem'),
    ca: readFileSync(at('ca.pem'), 'utf8'),
    certPath: at('server.crt'),
    keyPath: at('server.key'),
    cert: readFileSync(at('server.crt'), 'utf8'),
    key: readFileSync(at('server.key'), 'utf8'),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
