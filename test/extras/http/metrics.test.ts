/**
 * The metrics of the daemon: what each one counts, and that no value of a row is in them.
 */
import type { ServerResponse } from 'node:http';
import Database from 'better-sqlite3';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { metricsText, readReplicaMeasures } from '../../../src/extras/http/metrics.ts';
import { openReader } from '../../../src/replica/reader.ts';
import { startFixture } from '../../support/replica.ts';
import type { SeenRequest } from '../../../src/sandbox/server/requests.ts';
import { MEASURES, TABLE_STATUS } from '../../support/measures.ts';
import { startDaemon, type TestDaemon } from '../../support/daemon.ts';
import { startTestSandbox } from '../../support/sandbox.ts';

const LISTEN = 'http: { listen: "127.0.0.1:0" }\n';
const PUSHED = `${LISTEN}push: { delay: false }\ntables: { "*": { push: true, conflict: ask } }\n`;
const spec = { name: 'Note', columns: [{ name: 'Title', type: 'Text' }], rows: [{ Title: 'a' }, { Title: 'b' }] };

/** The lines of a scrape, without comments. */
async function scrape(daemon: TestDaemon): Promise<readonly string[]> {
  const address = String(daemon.events('http.listening')[0]?.['path']);
  const text = await (await fetch(`http://${address}/metrics`)).text();
  return text.split('\n').filter((line) => line.startsWith('rowsync_'));
}

/** What `promtool check metrics` objects to in a name, given the kind of the metric. */
function objections(name: string, kind: string): readonly string[] {
  const parts = name.split('_');
  const units = [
    'ms',
    'us',
    'ns',
    's',
    'sec',
    'milliseconds',
    'minutes',
    'hours',
    'days',
    'kb',
    'mb',
    'gb',
    'kilobytes',
    'megabytes',
  ];
  return [
    ...parts.filter((part) => units.includes(part)).map((part) => `${part} is no base unit`),
    ...(kind === 'counter' && !name.endsWith('_total') ? ['a counter ends in _total'] : []),
    ...(kind !== 'counter' && name.endsWith('_total') ? ['only a counter ends in _total'] : []),
    ...(/_(?:count|sum|bucket|info)$/.test(name) ? ['the ending has another meaning'] : []),
    ...parts.filter((part) => ['counter', 'gauge', 'histogram', 'summary'].includes(part)),
    ...(/[A-Z:]/.test(name) ? ['it is not in snake case'] : []),
  ];
}

test('every name keeps to the rules of promtool', async () => {
  const text = await metricsText(MEASURES);
  const metrics = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', kind = '']) => [name, kind] as const);

  expect(metrics.length).toBeGreaterThan(20);
  expect(text).not.toMatch(/[{,](?:quantile|le)="/); // of summaries and histograms only
  expect(metrics.flatMap(([name, kind]) => objections(name, kind).map((why) => `${name}: ${why}`))).toEqual([]);
});

test('names of tables are escaped', async () => {
  const text = await metricsText({ ...MEASURES, tables: [{ ...TABLE_STATUS, table: 'a\n"\\' }] });

  expect(text).toContain('rowsync_rows{table="a\\n\\"\\\\"} 1\n');
});

test('edits that wait are counted, with the age of the oldest', async () => {
  await using sandbox = await startTestSandbox({ tables: [spec] });
  await using daemon = startDaemon(sandbox, PUSHED);
  await daemon.idle();
  daemon.execute(`UPDATE "Note" SET "Title" = 'edited' WHERE "Title" = 'a';
    UPDATE _rowsync_rows SET since = unixepoch('2026-06-01T11:01:00Z')`);

  const lines = await scrape(daemon);

  expect(lines).toContain('rowsync_pending_edits{table="Note"} 1');
  expect(lines).toContain('rowsync_oldest_pending_seconds{table="Note"} 3600');
  expect(lines).toContain('rowsync_parked_rows{table="Note"} 0');
  expect(lines).toContain('rowsync_uncertain_creates{table="Note"} 0');
});

test('conflicts are counted while they are open and for good, without their values', async () => {
  await using sandbox = await startTestSandbox({ tables: [spec] });
  await using daemon = startDaemon(sandbox, PUSHED);
  await daemon.idle();
  daemon.execute(`UPDATE "Note" SET "Title" = 'here' WHERE "Title" = 'a'`);
  sandbox.store.update('Note', 1, { Title: 'there' });
  await daemon.elapse(5);

  const lines = await scrape(daemon);

  expect(lines).toContain('rowsync_conflicts{table="Note"} 1');
  expect(lines).toContain('rowsync_conflicts_total{table="Note",winner="nobody"} 1');
  expect(lines.join('\n')).not.toMatch(/here|there/);
});

test('requests are counted by the class of their answer, and a wait that the origin asked for shows', async () => {
  let isBusy = false;
  const intercept = (_request: SeenRequest, response: ServerResponse): boolean => {
    if (isBusy) response.writeHead(429, { 'Retry-After': '30' }).end();
    return isBusy;
  };
  await using sandbox = await startTestSandbox({ tables: [spec], intercept });
  await using daemon = startDaemon(sandbox, `${LISTEN}schedule: { pull: "0 * * * *" }\n`);
  await daemon.idle();
  const before = await scrape(daemon);
  isBusy = true;
  daemon.cycle();
  await daemon.idle();

  const lines = await scrape(daemon);

  expect(before.find((line) => line.includes('{class="2xx"}'))).toMatch(/ [1-9]\d*$/);
  expect(before).toContain('rowsync_http_requests_total{class="4xx"} 0');
  expect(before).toContain('rowsync_retry_after_seconds 0');
  expect(lines.find((line) => line.includes('{class="4xx"}'))).toMatch(/ [1-9]\d*$/);
  expect(lines.find((line) => line.startsWith('rowsync_retry_after_seconds '))).toMatch(
    / (?:[1-9]|[12]\d|30)(?:\.\d+)?$/,
  );
});

test('edits around the triggers are counted when a comparison finds them', async () => {
  await using sandbox = await startTestSandbox({ tables: [spec] });
  await using daemon = startDaemon(sandbox, PUSHED);
  await daemon.idle();
  expect(await scrape(daemon)).toContain('rowsync_shadow_diff_uncaptured_total 0');
  const [{ sql } = { sql: '' }] = daemon.rows(
    `SELECT group_concat('DROP TRIGGER "' || name || '"', ';') AS sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'Note'`,
  ) as { sql: string }[];
  daemon.execute(`${sql}; UPDATE "Note" SET "Title" = 'unseen' WHERE "Title" = 'a'`);
  await daemon.elapse(5);

  expect(await scrape(daemon)).toContain('rowsync_shadow_diff_uncaptured_total 1');
});

test('what verify found to differ is counted', async () => {
  await using sandbox = await startTestSandbox({ tables: [spec] });
  await using daemon = startDaemon(sandbox, `${LISTEN}schedule: { pull: "0 0 1 1 *", verify: "*/5 * * * *" }\n`);
  await daemon.idle();
  daemon.execute(`INSERT INTO _rowsync_writer VALUES (1); UPDATE "Note" SET "Title" = 'rotten' WHERE "Title" = 'a';
    DELETE FROM _rowsync_writer`);
  await daemon.elapse(5);

  expect(await scrape(daemon)).toContain('rowsync_audit_mismatch_total 1');
});

test('the log of writes that are not in the file yet is measured', async () => {
  await using sandbox = await startTestSandbox({ tables: [spec] });
  await using daemon = startDaemon(sandbox, LISTEN);
  await daemon.idle();
  const reader = new Database(join(daemon.folder, 'replica.db'), { readonly: true });
  reader.exec('BEGIN; SELECT 1 FROM "Note"');

  const lines = await scrape(daemon);

  reader.close();
  expect(lines.find((line) => line.startsWith('rowsync_checkpoint_pending_frames '))).toMatch(/ [1-9]\d*$/);
  expect(lines.find((line) => line.startsWith('rowsync_eventloop_delay_p99 '))).toMatch(/ \d/);
});

test('the last backup is told by its date, 0 before the first, and not at all without a folder', async () => {
  await using sandbox = await startTestSandbox({ tables: [spec] });
  await using without = startDaemon(sandbox, LISTEN);
  await using daemon = startDaemon(sandbox, `${LISTEN}backup: { folder: . }\nschedule: { backup: '5 12 * * *' }\n`);
  await Promise.all([without.idle(), daemon.idle()]);
  const isOfBackup = (line: string): boolean => line.startsWith('rowsync_last_backup');

  const never = (await scrape(daemon)).filter(isOfBackup);
  await daemon.elapse(10);
  const made = (await scrape(daemon)).filter(isOfBackup);

  expect((await scrape(without)).filter(isOfBackup)).toEqual([]);
  expect(never).toEqual(['rowsync_last_backup_timestamp_seconds 0']);
  expect(made).toEqual([`rowsync_last_backup_timestamp_seconds ${Date.UTC(2026, 5, 1, 12, 5) / 1000}`]);
});

test('what is counted in the replica is by table: full reads that were begun, and conflicts by who won', async () => {
  await using fixture = await startFixture({ tables: [spec, { ...spec, name: 'Another' }] });
  await fixture.pull();
  await fixture.pull({ tables: ['Note'] });
  const conflicts = ['origin', 'origin', 'nobody'].map(
    (winner) => `INSERT INTO _rowsync_conflicts (table_id, table_name, row_id, kind, column_name, winner, at, state)
      SELECT id, local_name, 1, 'cell', 'Title', '${winner}', '2026-06-01T12:00:00Z', 'decided' FROM _rowsync_tables WHERE name = 'Note';`,
  );
  fixture.execute(conflicts.join('\n'));
  using reader = openReader(fixture.path);

  const { sweeps, conflicts: counts, driftCount } = readReplicaMeasures(reader);

  expect(sweeps).toEqual([
    { table: 'Another', count: 1 },
    { table: 'Note', count: 2 },
  ]);
  expect(counts).toEqual([
    { table: 'Note', winner: 'nobody', count: 1 },
    { table: 'Note', winner: 'origin', count: 2 },
  ]);
  expect(driftCount).toBe(0);
  fixture.sandbox.store.dropTable('Another');
  await fixture.pull();
  expect(readReplicaMeasures(reader).driftCount).toBe(1);
});
