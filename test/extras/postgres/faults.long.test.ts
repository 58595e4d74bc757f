/**
 * Temporary obstacles for a sink: a full disk, a lock, a rename in the middle of a load. None of them loses a row.
 */
import Database from 'better-sqlite3';
import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clientOf, noPostgres, startPostgres, type PostgresServer } from '../../support/postgres.ts';
import { startFixture } from '../../support/replica.ts';
import { openWriter, replicaCells, targetCells } from '../../support/sink.ts';
import { canMount, mountTmpfs } from '../../support/tmpfs.ts';
import { NOTE } from '../../support/two-way.ts';

let server: PostgresServer;

/** Renames columns of Note in one transaction, as a pull of the daemon does beside the sink; `from>to` each. */
function renameColumns(path: string, renames: readonly string[]): void {
  const db = new Database(path);
  try {
    db.transaction(() => {
      for (const [from = '', to = ''] of renames.map((text) => text.split('>'))) {
        db.exec(`ALTER TABLE "Note" RENAME COLUMN "${from}" TO "${to}"`);
        db.prepare(`UPDATE _rowsync_columns SET local_name = @to, name = @to WHERE local_name = @from`).run({
          from,
          to,
        });
      }
    })();
  } finally {
    db.close();
  }
}

describe.skipIf(noPostgres !== null)('a sink', () => {
  beforeAll(async () => {
    server = await startPostgres();
  }, 60_000);
  afterAll(() => server[Symbol.asyncDispose]());

  test('waits no longer than some seconds for a lock of a reader, and holds up no other table', async () => {
    await using fixture = await startFixture({
      tables: [NOTE, { name: 'Person', columns: [{ name: 'Name', type: 'Text' }], rows: [{ Name: 'Ann' }] }],
    });
    const address = await server.database();
    const writer = await openWriter(fixture, address);
    await fixture.pull();
    await writer.work();
    const reader = clientOf(address);
    await reader.connect();
    await reader.query('BEGIN; LOCK TABLE crm."Note" IN ACCESS EXCLUSIVE MODE');
    fixture.sandbox.store.update('Note', 1, { Title: 'later' });
    fixture.sandbox.store.update('Person', 1, { Name: 'Bea' });
    await fixture.pull();

    const { tables } = await writer.work();

    expect(tables).toMatchObject([{ state: 'held', problem: { code: 'sink.busy' } }, { state: 'live' }]);
    await reader.query('COMMIT');
    expect(await server.rows(address, `SELECT "Name" FROM crm."Person"`)).toEqual([{ Name: 'Bea' }]);
    await reader.end();
    await writer.close();
    const next = await openWriter(fixture, address);
    await next.work();
    expect(await targetCells(server, address)).toEqual(replicaCells(fixture.path));
    await next.close();
  }, 30_000);

  test('begins a load anew that was broken off, also where columns were renamed meanwhile', async () => {
    const rows = Array.from({ length: 60_000 }, (_, index) => ({ Title: `t ${index}` }));
    await using fixture = await startFixture({ tables: [{ ...NOTE, rows }] });
    const address = await server.database();
    await fixture.pull();
    const stopping = new AbortController();
    const first = await openWriter(fixture, address, {
      signal: stopping.signal,
      onStep: (step) => {
        if (step === 'part') stopping.abort();
      },
    });
    await expect(first.work()).rejects.toThrow('asked to stop');
    await first.close();
    // Nobody sees half a table.
    expect(await server.rows(address, `SELECT to_regclass('crm."Note"') AS note`)).toEqual([{ note: null }]);
    fixture.sandbox.store.renameColumn('Note', 'Title', 'Heading');
    fixture.sandbox.store.renameTable('Note', 'Remark');
    fixture.sandbox.store.update('Remark', 7, { Heading: 'changed' });
    await fixture.pull();
    const second = await openWriter(fixture, address);

    expect(await second.work()).toMatchObject({ loadedRows: 60_000 });

    expect(await targetCells(server, address)).toEqual(replicaCells(fixture.path));
    await second.close();
  }, 60_000);

  test.each([
    { name: 'exchange their names', renames: ['Title>Between', 'Body>Title', 'Between>Body'] },
    { name: 'get another name', renames: ['Title>Heading'] },
  ])('begins a load anew where columns $name while it reads', { timeout: 60_000 }, async ({ renames }) => {
    const rows = Array.from({ length: 60_000 }, (_, index) => ({ Title: `t ${index}`, Body: `b ${index}` }));
    await using fixture = await startFixture({ tables: [{ ...NOTE, rows }] });
    const address = await server.database();
    await fixture.pull();
    let isRenamed = false;
    const writer = await openWriter(fixture, address, {
      onStep: (step) => {
        if (step === 'part' && !isRenamed) renameColumns(fixture.path, renames);
        isRenamed ||= step === 'part';
      },
    });

    const report = await writer.work();

    expect(isRenamed).toBe(true);
    expect(report).toMatchObject({ loadedRows: 60_000, tables: [{ state: 'live', problem: null }] });
    expect(await targetCells(server, address)).toEqual(replicaCells(fixture.path));
    await writer.close();
  });

  test.skipIf(!canMount)(
    'outlives a disk of the server that is full',
    async () => {
      using disk = mountTmpfs(300 * 1024);
      const folder = disk.path;
      {
        execFileSync('chmod', ['777', folder]);
        await using small = await startPostgres({ folder });
        await using fixture = await startFixture({ tables: [NOTE] });
        const address = await small.database();
        const writer = await openWriter(fixture, address);
        await fixture.pull();
        await writer.work();
        execFileSync('sh', ['-c', `cat /dev/zero > ${folder}/filler 2>/dev/null || true`]);
        const rows = Array.from({ length: 20_000 }, (_, index) => ({
          Title: `more ${index}`,
          Body: `${index} `.repeat(40),
        }));
        fixture.sandbox.store.insertMany('Note', rows);
        await fixture.pull();
        const failed = await writer.work().then(
          ({ tables }) => tables[0]?.problem?.code ?? null,
          (thrown: unknown) => (thrown instanceof Error && 'code' in thrown ? thrown.code : null),
        );
        expect(['sink.full', 'sink.unreachable', 'sink.busy']).toContain(failed);
        execFileSync('rm', [`${folder}/filler`]);
        await small.crash(); // a server whose log found no space ends by itself
        await writer.close();
        const next = await openWriter(fixture, address);
        await next.work();
        expect(await targetCells(small, address)).toEqual(replicaCells(fixture.path));
        await next.close();
      }
    },
    60_000,
  );
});
