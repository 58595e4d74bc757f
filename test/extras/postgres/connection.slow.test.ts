/**
 * One connection to PostgreSQL: what it sets, transactions, COPY, and errors that never repeat a value of a row.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql } from '../../../src/base/sql.ts';
import { connect } from '../../../src/extras/postgres/connection.ts';
import { noPostgres, startPostgres, type PostgresServer } from '../../support/postgres.ts';

let server: PostgresServer;

describe.skipIf(noPostgres !== null)('a connection', () => {
  beforeAll(async () => {
    server = await startPostgres();
  }, 60_000);
  afterAll(() => server[Symbol.asyncDispose]());

  test('has the settings that rows are written with, whatever the database says', async () => {
    const address = await server.database();
    await server.rows(address, `ALTER DATABASE ${address.database} SET TimeZone = 'Asia/Tokyo'`);
    await server.rows(address, `ALTER DATABASE ${address.database} SET DateStyle = 'German'`);

    await using session = await connect(address);

    const [row] = await session.query(
      sql`SELECT current_setting('TimeZone') AS zone, current_setting('DateStyle') AS style, current_setting('lock_timeout') AS lock`,
    );
    expect(row).toEqual({ zone: 'UTC', style: 'ISO, YMD', lock: '5s' });
    expect(session.version).toMatch(/^\d+/);
    expect([session.isEncrypted, session.isBroken]).toEqual([false, false]);
  });

  test('counts what a statement changed, and binds values of every type', async () => {
    await using session = await connect(await server.database());
    await session.query(sql`CREATE TABLE t (id bigint, word text)`);

    const made = await session.change(sql`INSERT INTO t SELECT * FROM unnest($1::bigint[], $2::text[])`, [
      [1, 2],
      ['a', `it's`],
    ]);
    const none = await session.change(sql`UPDATE t SET word = 'x' WHERE id = $1`, [9n]);
    const large = await session.query(sql`SELECT $1::bigint AS large, $2::bool AS yes, $3::text AS nothing`, [
      9007199254740993n,
      true,
      null,
    ]);

    expect([made, none]).toEqual([2, 0]);
    expect(large).toEqual([{ large: '9007199254740993', yes: true, nothing: null }]);
  });

  test('keeps all of a transaction or nothing of it, and goes on after a failure', async () => {
    const address = await server.database();
    await using session = await connect(address);
    await session.query(sql`CREATE TABLE t (id int PRIMARY KEY)`);
    const insert = (id: number): Promise<unknown> => session.query(sql`INSERT INTO t VALUES ($1)`, [id]);

    const result = await session.transact(async () => {
      await insert(1);
      return 'done';
    });
    const failed = session.transact(async () => {
      await insert(2);
      await insert(1);
    });
    await expect(failed).rejects.toMatchObject({ code: 'sink.refused' });
    const stopped = session.transact(async () => {
      await insert(3);
      throw new RangeError('of the caller');
    });
    await expect(stopped).rejects.toThrow('of the caller');
    await session.transact(() => insert(4));

    expect(result).toBe('done');
    expect(await server.rows(address, 'SELECT id FROM t ORDER BY 1')).toEqual([{ id: 1 }, { id: 4 }]);
  });

  test('copies lines in pieces, and none of them where one is refused', async () => {
    const address = await server.database();
    await using session = await connect(address);
    await session.query(sql`CREATE TABLE t (id int PRIMARY KEY, word text)`);
    const copy = (...chunks: readonly string[]): Promise<void> =>
      session.copy(sql`COPY t (id, word) FROM STDIN`, chunks);

    await copy('1\ta\n2\t', '\\N\n', '3\tx\\ty\n');
    await expect(copy('4\ta\n', '1\tsecret\n')).rejects.toMatchObject({ code: 'sink.refused' });
    await expect(copy('five\ta\n')).rejects.toMatchObject({ code: 'sink.refused' });

    expect(await server.rows(address, 'SELECT id, word FROM t ORDER BY 1')).toEqual([
      { id: 1, word: 'a' },
      { id: 2, word: null },
      { id: 3, word: 'x\ty' },
    ]);
  });

  test('says what was refused and where, without the value', async () => {
    await using session = await connect(await server.database());
    await session.query(sql`CREATE TABLE t (id int PRIMARY KEY, word text CONSTRAINT short CHECK (length(word) < 5))`);

    const messages: string[] = [];
    for (const text of [
      sql`INSERT INTO t VALUES (1, 'the secret')`,
      sql`INSERT INTO t VALUES ('the secret'::int)`,
      sql`INSERT INTO t VALUES (NULL, 'the')`,
    ]) {
      const refusal = await session.query(text).catch((thrown: unknown) => thrown);
      expect(refusal).toMatchObject({ code: 'sink.refused' });
      messages.push((refusal as Error).message);
    }

    expect(messages.filter((message) => message.includes('secret'))).toEqual([]);
    expect(messages[0]).toContain('short');
  });

  test('is broken once the server ends it, and says that it cannot be reached', async () => {
    const address = await server.database();
    await using session = await connect(address);

    const work = session.transact(async () => {
      await server.cut(address);
      await session.query(sql`SELECT 1`);
    });

    await expect(work).rejects.toMatchObject({ code: 'sink.unreachable' });
    expect(session.isBroken).toBe(true);
  });

  test.each([
    ['a user that is not there', { user: 'nobody-here' }, 'sink.login'],
    ['a database that is not there', { database: 'nowhere' }, 'sink.login'],
    ['a port where nothing listens', { port: 1 }, 'sink.unreachable'],
    ['a folder without a socket', { host: '/nowhere' }, 'sink.unreachable'],
    ['a server without TLS where it is required', { sslMode: 'require' }, 'sink.tls'],
    ['a certificate that cannot be read', { sslMode: 'verify-full', sslRoot: '/nowhere/ca.pem' }, 'sink.tls'],
  ] as const)('to %s fails', async (_what, change, code) => {
    const address = await server.database();

    await expect(connect({ ...address, ...change })).rejects.toMatchObject({ code });
  });

  test.each(['prefer', 'allow'] as const)(
    'is made without TLS where the server has none, with sslmode=%s',
    async (sslMode) => {
      await using session = await connect({ ...(await server.database()), sslMode });

      expect(session.isEncrypted).toBe(false);
    },
  );
});
