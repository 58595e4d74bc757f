/**
 * Other servers than the usual one: a second version of PostgreSQL, and one that speaks TLS, with every sslmode.
 */
import { execFileSync } from 'node:child_process';
import { chownSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { SslMode } from '../../../src/extras/postgres/context.ts';
import { connect } from '../../../src/extras/postgres/connection.ts';
import { noPostgres, noSecondPostgres, startPostgres, unpackSecond } from '../../support/postgres.ts';
import { startFixture, temporaryFolder } from '../../support/replica.ts';
import { openWriter, replicaCells, targetCells } from '../../support/sink.ts';
import { NOTE } from '../../support/two-way.ts';

test.skipIf(noSecondPostgres !== null)(
  'a second version of PostgreSQL takes the same rows',
  async () => {
    using folder = temporaryFolder();
    await using server = await startPostgres({ bin: unpackSecond(folder.path) });
    await using fixture = await startFixture({ tables: [NOTE] });
    const address = await server.database();
    const writer = await openWriter(fixture, address);
    await fixture.pull();
    await writer.work();
    fixture.sandbox.store.update('Note', 1, { Title: 'changed', Count: 1.5 });
    fixture.sandbox.store.delete('Note', 2);
    fixture.sandbox.store.renameColumn('Note', 'Body', 'Text');
    await fixture.pull();

    await writer.work();

    expect(await targetCells(server, address)).toEqual(replicaCells(fixture.path));
    expect(await server.rows(address, `SELECT current_setting('server_version_num')::int >= 180000 AS is_new`)).toEqual(
      [{ is_new: true }],
    );
    await writer.close();
  },
  60_000,
);

test.skipIf(noPostgres !== null)(
  'sslmode means what it means to libpq',
  async () => {
    using folder = temporaryFolder();
    const [key, cert] = [join(folder.path, 'key.pem'), join(folder.path, 'cert.pem')];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
    execFileSync(
      'openssl',
      ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', key, '-out', cert, ...subject],
      { stdio: 'pipe' },
    );
    execFileSync('chmod', ['755', folder.path]);
    if (process.geteuid?.() === 0) chownSync(key, 65_534, 65_534);
    await using secured = await startPostgres({ settings: ['ssl=on', `ssl_cert_file=${cert}`, `ssl_key_file=${key}`] });
    await using plain = await startPostgres();
    const address = await secured.database();
    const without = await plain.database();
    const outcome = async (
      mode: SslMode,
      { host = 'localhost', root = null as string | null, isPlain = false } = {},
    ): Promise<string> => {
      const at = isPlain ? without : address;
      try {
        const connection = await connect({ ...at, host, sslMode: mode, sslRoot: root });
        await connection.close();
        return connection.isEncrypted ? 'encrypted' : 'plain';
      } catch (thrown) {
        return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : String(thrown);
      }
    };

    expect(await outcome('disable')).toBe('plain');
    expect(await outcome('allow')).toBe('plain');
    expect(await outcome('prefer')).toBe('encrypted');
    expect(await outcome('prefer', { isPlain: true })).toBe('plain');
    expect(await outcome('require')).toBe('encrypted');
    expect(await outcome('require', { isPlain: true })).toBe('sink.tls');
    expect(await outcome('verify-ca')).toBe('sink.tls');
    expect(await outcome('verify-ca', { root: cert, host: '127.0.0.1' })).toBe('encrypted');
    expect(await outcome('verify-full', { root: cert })).toBe('encrypted');
    expect(await outcome('verify-full', { root: cert, host: '127.0.0.1' })).toBe('sink.tls');
    expect(await outcome('verify-full')).toBe('sink.tls');
  },
  60_000,
);
