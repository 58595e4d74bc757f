/**
 * Streaming into PostgreSQL: a first load against `psql \copy` of the same rows into a table with the same key, changes
 * applied a second, how far behind a steady trickle is, and memory. The replica is written directly, since no origin
 * takes part. Skipped where there is no server.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { tableRules } from '../../src/config/table-patterns.ts';
import { silentLogger } from '../../src/base/log.ts';
import { openReplica, type Replica } from '../../src/replica/database.ts';
import { upsertRows, type RowTarget } from '../../src/replica/rows.ts';
import { ensureSinks } from '../../src/extras/shared/sinks.ts';
import { addColumns, enterTable } from '../../src/replica/user-tables.ts';
import { sql } from '../../src/base/sql.ts';
import type { PgAddress } from '../../src/extras/postgres/context.ts';
import { startSinks } from '../../src/extras/postgres/runner.ts';
import { SinkWriter } from '../../src/extras/postgres/sink.ts';
import { columnType, type Row, type Value } from '../../src/wire/schema.ts';
import { noPostgres, startPostgres, type PostgresServer } from '../support/postgres.ts';
import { median, peakBytesOf, takeTurns, timeMs, type Figure } from './measure.ts';

const TYPES = [
  'Text',
  'Text',
  'Text',
  'EMail',
  'Multiline',
  'Numeric',
  'Numeric',
  'Numeric',
  'Checkbox',
  'Date',
  'Time',
  'Timestamp',
];
const TARGET: RowTarget = {
  id: 7,
  localName: 'Sale',
  columns: TYPES.map((type, index) => ({ localName: `C${index}`, type: columnType(type) })),
};

function rowOf(id: number, change: number): Row {
  const values: Value[] = [
    `name ${id}`,
    `city ${id % 997}`,
    `state ${change}`,
    `p${id}@example.com`,
    `first line\nsecond line of ${id}`,
    id,
    id / 8 + change,
    id % 7,
    id % 2 === 0,
    '2026-11-21',
    '17:05:00',
    '2026-11-21T17:05:00Z',
  ];
  return { id, allow: 'Edit,Delete', values };
}

/** Opens a replica with so many rows in one table. */
async function makeReplica(path: string, rowCount: number): Promise<Replica> {
  const replica = openReplica(path, { clock: systemClock });
  await ensureSinks(replica, ['bench']);
  await replica.write('Making a table', (tx) => {
    enterTable(tx, { id: TARGET.id, name: 'Sale', alias: 't_7', localName: 'Sale' }, '2026-11-21T12:00:00Z');
    const described = TYPES.map((type, position) => ({
      descriptor: {
        id: position + 1,
        name: `C${position}`,
        alias: `f_${position}`,
        type,
        dataOptions: [],
        displayOptions: [],
        width: null,
        kind: null,
        readOnly: null,
        other: {},
      },
      localName: `C${position}`,
      position,
    }));
    addColumns(tx, TARGET, described, '2026-11-21T12:00:00Z');
  });
  await writeRange(replica, 1, rowCount, 0);
  await replica.write('Ending the first sweep', (tx) =>
    tx.prepare(sql`UPDATE _rowsync_tables SET state = 'steady'`).run(),
  );
  return replica;
}

async function writeRange(replica: Replica, from: number, count: number, change: number): Promise<void> {
  for (let at = from; at < from + count; at += 500) {
    const rows = Array.from({ length: Math.min(500, from + count - at) }, (_, index) => rowOf(at + index, change));
    await replica.write('Writing rows', (tx) => upsertRows(tx, TARGET, rows));
  }
}

/** A writer of the bench; the same in the process that measures memory. */
export function benchWriter(replica: Replica, address: PgAddress): SinkWriter {
  const settings = {
    name: 'bench',
    address,
    schema: 'bench',
    tables: tableRules({ '*': {} }),
    deletes: 'remove' as const,
  };
  return new SinkWriter({ replica, clock: systemClock, log: silentLogger, settings });
}

async function load(replica: Replica, address: PgAddress): Promise<void> {
  const writer = benchWriter(replica, address);
  await writer.work();
  await writer.close();
}

async function loadFigure(
  server: PostgresServer,
  path: string,
  { rowCount, roundCount }: { rowCount: number; roundCount: number },
): Promise<readonly Figure[]> {
  const replica = await makeReplica(path, rowCount);
  const first = await server.database();
  await load(replica, first);
  const file = `${path}.copy`;
  const psql = (address: PgAddress, command: string): void => {
    execFileSync(
      'psql',
      ['-q', '-h', address.host, '-p', String(server.port), '-U', address.user, '-d', address.database, '-c', command],
      { stdio: 'pipe' },
    );
  };
  psql(first, `\\copy bench."Sale" TO '${file}'`);
  const { oursMs, bareMs } = await takeTurns(roundCount, {
    ours: async () => {
      const address = await server.database();
      return timeMs(() => load(replica, address));
    },
    bare: async () => {
      const address = await server.database();
      await server.rows(
        address,
        `CREATE TABLE sale (_id bigint PRIMARY KEY, _allow text, c0 text, c1 text, c2 text, c3 text, c4 text, c5 numeric, c6 numeric, c7 numeric, c8 boolean, c9 date, c10 time, c11 timestamptz)`,
      );
      return timeMs(async () => psql(address, `\\copy sale FROM '${file}'`));
    },
  });
  const note = `rows/s of a first load ÷ of psql \\copy of the same rows into a table with a key; ${rowCount} rows of 12 columns`;
  const change = rowCount / 10;
  const writer = benchWriter(replica, await server.database());
  await writer.work();
  const times: number[] = [];
  for (let round = 1; round <= roundCount; round += 1) {
    await writeRange(replica, 1, change, round);
    times.push(await timeMs(() => writer.work()));
  }
  await writer.close();
  replica.close();
  return [
    { name: 'sink.loadRatio', value: bareMs / oursMs, unit: '×', bound: { kind: 'atLeast', value: 0.5 }, note },
    {
      name: 'sink.loadRowsPerSecond',
      value: (rowCount / oursMs) * 1000,
      unit: 'rows/s',
      bound: null,
      note: 'the first load',
    },
    {
      name: 'sink.applyRowsPerSecond',
      value: (change / median(times)) * 1000,
      unit: 'rows/s',
      bound: null,
      note: `${change} changed rows in one round`,
    },
  ];
}

async function lagFigure(server: PostgresServer, path: string, seconds: number): Promise<Figure> {
  const replica = await makeReplica(path, 1_000);
  const address = await server.database();
  const settings = {
    name: 'bench',
    address,
    schema: 'bench',
    tables: tableRules({ '*': {} }),
    deletes: 'remove' as const,
  };
  const sinks = startSinks([settings], { replica, clock: systemClock, log: silentLogger });
  const isThere = async (): Promise<boolean> =>
    (await server.rows(address, `SELECT to_regclass('bench."Sale"') IS NOT NULL AS there`))[0]?.['there'] === true;
  while (!(await isThere())) await systemClock.sleep(100);
  let id = 10_000;
  const endMs = systemClock.nowMs() + seconds * 1000;
  // A hundred a second, in tens.
  while (systemClock.nowMs() < endMs) {
    const stamp = systemClock.nowMs();
    const rows = Array.from({ length: 10 }, () => {
      const row = rowOf((id += 1), 0);
      return { ...row, values: row.values.map((value, index) => (index === 5 ? stamp : value)) };
    });
    await replica.write('Writing rows', (tx) => upsertRows(tx, TARGET, rows));
    await systemClock.sleep(100);
  }
  await systemClock.sleep(3_000);
  await sinks.stop();
  replica.close();
  const [row] = await server.rows(
    address,
    `SELECT percentile_cont(0.99) WITHIN GROUP (ORDER BY extract(epoch FROM pg_xact_commit_timestamp(xmin)) * 1000 - "C5") AS p99 FROM bench."Sale" WHERE _id > 10000`,
  );
  return {
    name: 'sink.lagP99',
    value: Number(row?.['p99']) / 1000,
    unit: 's',
    bound: { kind: 'atMost', value: 2 },
    note: 'from the write here to the commit there, at 100 changes a second',
  };
}

async function memoryFigure(server: PostgresServer, folder: string, isSmoke: boolean): Promise<Figure> {
  const peaks: number[] = [];
  const counts = isSmoke ? [1_000, 5_000] : [50_000, 1_000_000];
  for (const rowCount of counts) {
    const path = join(folder, `sink-memory-${rowCount}.db`);
    (await makeReplica(path, rowCount)).close();
    peaks.push(await peakBytesOf({ sink: { path, address: await server.database() } }));
  }
  const [small = Number.NaN, large = Number.NaN] = peaks;
  return {
    name: 'sink.memoryGrowth',
    value: (large - small) / 1024 ** 2,
    unit: 'MiB',
    bound: { kind: 'atMost', value: 32 },
    note: `peak of a first load of ${counts.join(' and ')} rows`,
  };
}

/** The benchmark; nothing where there is no server. */
export async function sinkBench({
  folder,
  roundCount,
  isSmoke,
}: {
  readonly folder: string;
  readonly roundCount: number;
  readonly isSmoke: boolean;
}): Promise<readonly Figure[]> {
  if (noPostgres !== null) return [];
  await using server = await startPostgres({ settings: ['track_commit_timestamp=on'] });
  const loaded = await loadFigure(server, join(folder, 'sink-load.db'), {
    rowCount: isSmoke ? 5_000 : 200_000,
    roundCount,
  });
  return [
    ...loaded,
    await lagFigure(server, join(folder, 'sink-lag.db'), isSmoke ? 2 : 20),
    await memoryFigure(server, folder, isSmoke),
  ];
}
