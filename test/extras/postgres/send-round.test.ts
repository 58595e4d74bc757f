/**
 * A round reports the proven moment of the rows that it sends.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { proveMoment } from '../../../src/extras/fresh/moment.ts';
import { noPostgres, startPostgres, type PostgresServer } from '../../support/postgres.ts';
import { startFixture } from '../../support/replica.ts';
import { openWriter } from '../../support/sink.ts';
import { NOTE } from '../../support/two-way.ts';

let server: PostgresServer;

describe.skipIf(noPostgres !== null)('a round', () => {
  beforeAll(async () => {
    server = await startPostgres();
  }, 60_000);
  afterAll(() => server[Symbol.asyncDispose]());

  test('says of which moment the copy is, in the transaction that makes it so', async () => {
    await using fixture = await startFixture({ tables: [NOTE, { ...NOTE, name: 'Other' }, { ...NOTE, name: 'Late' }] });
    const address = await server.database();
    const moments = (): Promise<readonly unknown[]> =>
      server.rows(
        address,
        `SELECT "table", to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS moment
        FROM crm.sync_status ORDER BY 1`,
      );
    const are = (at: string | null, ofLate = at): readonly unknown[] => [
      { table: 'Late', moment: ofLate },
      { table: 'Note', moment: at },
      { table: 'Other', moment: at },
    ];
    await fixture.pull();
    const first = await openWriter(fixture, address);
    await first.work();
    expect(await moments()).toEqual(are(null));
    await first.close();

    const { at } = await proveMoment(fixture.context(), await fixture.pull());
    const writer = await openWriter(fixture, address);
    await writer.work();
    expect(await moments()).toEqual(are(at));

    // The copy of a table that is held is of no moment.
    const { store } = fixture.sandbox;
    await server.rows(address, `ALTER TABLE crm."Late" ADD CONSTRAINT theirs CHECK ("Title" <> 'refused')`);
    for (const name of ['Late', 'Note']) store.update(name, 1, { Title: 'refused' });
    const next = await proveMoment(fixture.context(), await fixture.pull());
    await writer.work();
    expect(await moments()).toEqual(are(next.at, null));

    store.update('Note', 1, { Title: 'after it' });
    await fixture.pull();
    await writer.work();
    expect(await moments()).toEqual(are(null));
    await writer.close();
  });
});
