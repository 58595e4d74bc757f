/**
 * How each table is kept up to date, in words, and when the log is told.
 */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freshnessText, type RefreshFacts } from '../../src/daemon/freshness-text.ts';
import { readTables, type TableRecord } from '../../src/replica/bookkeeping/tables.ts';
import { must } from '../../src/base/assert.ts';
import { openReader } from '../../src/replica/reader.ts';
import { startDaemon } from '../support/daemon.ts';
import { startFixture } from '../support/replica.ts';
import { startTestSandbox } from '../support/sandbox.ts';
import { readAges } from '../../src/extras/shared/fresh-tables.ts';

const columns = [{ name: 'Title', type: 'Text' }];
const note = { name: 'Note', columns, rows: [{ Title: 'a' }, { Title: 'b' }] };

/** The ledger of a table that can be followed. */
async function followedTable(): Promise<TableRecord> {
  await using fixture = await startFixture({ tables: [note] }, { settings: { follows: 'all' } });
  await fixture.pull();
  return must(readTables(fixture.replica)[0], 'it was pulled');
}

test('a sentence says when a table is followed and swept, or why it is only swept', async () => {
  const table = await followedTable();
  const text = (facts: Partial<RefreshFacts>, ledger: Partial<TableRecord> = {}): string =>
    freshnessText({
      follow: '* * * * *',
      sweep: '0 * * * *',
      follows: 'large',
      waitsForRings: false,
      hasStamp: () => true,
      isLarge: () => false,
      ...facts,
      table: { ...table, ...ledger },
    });

  expect(text({})).toBe('followed every minute, pulled every hour');
  expect(text({ sweep: null })).toBe('followed every minute, not pulled on schedule');
  expect(text({ waitsForRings: true })).toBe(
    'followed every minute (every 10 minutes while rings bring its changes), pulled every hour',
  );
  expect(text({ follow: null })).toBe('pulled every hour');
  expect(text({}, { sweptAt: null, watermark: null })).toBe(
    'pulled every hour, not followed (not read completely yet)',
  );
  expect(text({}, { watermark: null })).toBe('pulled every hour, not followed (its rows fill fewer than 8 pages)');
  expect(text({ isLarge: () => true }, { watermark: null })).toMatch(/not followed \(from the next pull on\)$/);
  expect(text({ follows: 'all' }, { watermark: null })).toMatch(/not followed \(from the next pull on\)$/);
  expect(text({ hasStamp: () => false }, { watermark: null })).toMatch(/\(no Date Modified is shown\)$/);
  expect(text({ follow: null }, { oneWindow: 'hidden' })).toBe(
    'pulled every hour as one range (no Date Created is shown)',
  );
  expect(text({}, { endProven: false })).toMatch(/not followed \(not proven until the next pull\)$/);
});

test('a table keeps the name that the configuration gives it in runs without it', async () => {
  await using sandbox = await startTestSandbox({ tables: [note, { ...note, name: 'Other' }] });
  const tables = `tables: { '*': {}, Note: { name: remark }, Other: { schedule: { pull: "*/5 * * * *" } } }\n`;
  await using daemon = startDaemon(sandbox, `schedule: { sync: "0 0 * * *", follow: false }\n${tables}`);
  await daemon.idle();

  await daemon.elapse(10);

  expect(daemon.rows('SELECT count(*) AS n FROM remark')).toEqual([{ n: 2 }]);
  expect(daemon.rows('SELECT "table" FROM sync_status ORDER BY 1')).toEqual([{ table: 'Other' }, { table: 'remark' }]);
});

test('the log is told once, and again where something else is done', async () => {
  await using sandbox = await startTestSandbox({ tables: [note] });
  await using daemon = startDaemon(sandbox, 'schedule: { follow: "* * * * *", pull: "*/5 * * * *" }\n');
  await daemon.idle();
  await daemon.elapse(3);
  const ways = (): readonly unknown[] => daemon.events('table.way').map(({ table, way }) => [table, way]);
  expect(ways()).toEqual([['Note', 'followed every minute, pulled every 5 minutes']]);

  daemon.reload('schedule: { follow: false, pull: "*/5 * * * *" }\n');
  await daemon.elapse(5);

  expect(ways().at(-1)).toEqual(['Note', 'pulled every 5 minutes']);
  expect(ways()).toHaveLength(2);
});

test('a reload leaves tables with another filter without an age, also while the origin is away', async () => {
  await using sandbox = await startTestSandbox({ tables: [note, { ...note, name: 'Other' }] });
  const yaml = 'http: { listen: "127.0.0.1:0" }\nschedule: { sync: "0 0 * * *", follow: false }\n';
  await using daemon = startDaemon(sandbox, yaml);
  await daemon.idle();
  const ages = (): readonly unknown[] => {
    const reader = openReader(join(daemon.folder, 'replica.db'));
    try {
      return readAges(reader, ['Note', 'Other']).map(({ asOf }) => asOf !== null);
    } finally {
      reader.close();
    }
  };
  await sandbox.stop();
  daemon.cycle();
  await daemon.elapse(10);
  expect(daemon.events('circuit.opened').length).toBeGreaterThan(0);
  expect(ages()).toEqual([true, true]);

  daemon.reload(`${yaml}tables: { '*': {}, Note: { rows: '[Title] = "a"' } }\n`);
  await daemon.elapse(60); // the cycle that was asked for is being tried again
  expect(daemon.events('config.reloaded')).toHaveLength(1);

  await daemon.idle();
  expect(ages()).toEqual([false, true]);
});
