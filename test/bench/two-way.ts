/**
 * The benchmarks of two-way tables: what capturing costs whoever edits, what comparing with base costs, and what the
 * merge costs a pull. Each figure is a ratio to the same work without rowsync, on a table of the size and shape that it
 * is asked about.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { systemClock } from '../../src/base/clock.ts';
import { captureChanges } from '../../src/capture/find-edits.ts';
import { readTwoWayTables, type TwoWayTable } from '../../src/capture/two-way-table.ts';
import { must } from '../../src/base/assert.ts';
import { openReplica } from '../../src/replica/database.ts';
import { baseName } from '../../src/replica/user-tables.ts';
import { TABLE } from './data.ts';
import { median, takeTurns, timeMs, type Figure } from './measure.ts';
import type { Origins } from './origin.ts';
import { pullOnce } from './ours.ts';
import { storeFacts } from '../../src/replica/bookkeeping/tables.ts';

/** What these benchmarks need of what every benchmark is given. */
export interface TwoWayContext {
  readonly origins: Origins;
  readonly folder: string;
  readonly roundCount: number;
  readonly isSmoke: boolean;
}

let fileCount = 0;

function newPath(folder: string): string {
  fileCount += 1;
  return join(folder, `two-way-${fileCount}.db`);
}

async function pulledTwoWay(context: TwoWayContext, rowCount: number): Promise<string> {
  const path = newPath(context.folder);
  await pullOnce(await context.origins.serve(rowCount), path, { compress: false, isTwoWay: true });
  return path;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** `capture.ratio`: an UPDATE of 100,000 rows of a two-way table ÷ the same on a plain copy of it. */
export async function captureBench(context: TwoWayContext): Promise<readonly Figure[]> {
  const rowCount = context.isSmoke ? 2000 : 100_000;
  const path = await pulledTwoWay(context, rowCount);
  const db = new Database(path);
  const { sql } = db.prepare<[string], { sql: string }>('SELECT sql FROM sqlite_schema WHERE name = ?').get(TABLE) ?? {
    sql: '',
  };
  db.exec(sql.replace(quoted(TABLE), 'plain'));
  db.exec(`INSERT INTO plain SELECT * FROM ${quoted(TABLE)}`);
  let round = 0;
  const update = (table: string): Promise<number> =>
    timeMs(async () => {
      round += 1;
      db.exec(`BEGIN; UPDATE ${table} SET "Remarks" = 'round ${round}'; COMMIT`);
    });
  try {
    const { oursMs, bareMs } = await takeTurns(context.roundCount, {
      ours: () => {
        db.exec('DELETE FROM _rowsync_rows'); // so that every round marks every row
        return update(quoted(TABLE));
      },
      bare: () => update('plain'),
    });
    return [
      {
        name: 'capture.ratio',
        value: oursMs / bareMs,
        unit: '×',
        bound: { kind: 'atMost', value: 2 },
        note: `UPDATE of ${rowCount} rows of a two-way table ÷ of a plain one`,
      },
    ];
  } finally {
    db.close();
  }
}

/** `diff.seconds1M` and `diff.ratio`: the full comparison of a table with its base ÷ a bare join of the two. */
export async function diffBench(context: TwoWayContext): Promise<readonly Figure[]> {
  const rowCount = context.isSmoke ? 4000 : 1_000_000;
  const path = await pulledTwoWay(context, rowCount);
  const replica = openReplica(path, { clock: systemClock });
  const [table] = readTwoWayTables(replica);
  const db = new Database(path);
  const bare = db.prepare(bareJoin(must(table, 'the table was pulled')));
  try {
    const { oursMs, bareMs } = await takeTurns(context.roundCount, {
      ours: () =>
        timeMs(() =>
          replica.write('Comparing', (tx) => {
            const compared = must(table, 'the table was pulled');
            storeFacts(tx, compared.id, { compare_due: 1 });
            captureChanges(tx, compared, '2026-11-21T00:00:00Z');
          }),
        ),
      bare: () => timeMs(async () => bare.all()),
    });
    return [
      {
        name: 'diff.seconds1M',
        value: (oursMs / 1000) * (1_000_000 / rowCount),
        unit: 's',
        bound: null,
        note: `full comparison of ${rowCount} rows of 17 columns with their base, per 1,000,000`,
      },
      {
        name: 'diff.ratio',
        value: oursMs / bareMs,
        unit: '×',
        bound: { kind: 'atMost', value: 1.3 },
        note: 'the same ÷ a bare join of the two tables',
      },
    ];
  } finally {
    db.close();
    replica.close();
  }
}

function bareJoin(table: TwoWayTable): string {
  const differs = table.columns.map(({ localName }) => `l.${quoted(localName)} IS NOT b.${quoted(localName)}`);
  return `SELECT l._id FROM ${quoted(table.localName)} l JOIN ${quoted(baseName(table.id))} b ON b._id = l._id
    WHERE ${differs.join(' OR ')}`;
}

/** `pullTwoWay.ratio`: rows/s of reading every page of a two-way table again ÷ of the same table as a mirror. */
export async function pullTwoWayBench(context: TwoWayContext): Promise<readonly Figure[]> {
  const rowCount = context.isSmoke ? 4000 : 100_000;
  const origin = await context.origins.serve(rowCount);
  const mirror = newPath(context.folder);
  await pullOnce(origin, mirror, { compress: false });
  const twoWay = await pulledTwoWay(context, rowCount);
  const firstMs: { ours: number[]; bare: number[] } = { ours: [], bare: [] };
  const again = (path: string, isTwoWay: boolean): Promise<number> => {
    forgetPages(path);
    return timeMs(() => pullOnce(origin, path, { compress: false, isTwoWay }));
  };
  const { oursMs, bareMs } = await takeTurns(context.roundCount, {
    ours: async () => {
      firstMs.ours.push(await timeMs(() => pulledTwoWay(context, rowCount)));
      return again(twoWay, true);
    },
    bare: async () => {
      firstMs.bare.push(await timeMs(() => pullOnce(origin, newPath(context.folder), { compress: false })));
      return again(mirror, false);
    },
  });
  const bound = { kind: 'atLeast', value: 0.5 } as const;
  return [
    {
      name: 'pullTwoWay.ratio',
      value: median(firstMs.bare) / median(firstMs.ours),
      unit: '×',
      bound,
      note: `rows/s of a first pull of ${rowCount} rows, two-way ÷ mirror`,
    },
    {
      name: 'pullTwoWay.againRatio',
      value: bareMs / oursMs,
      unit: '×',
      bound,
      note: 'the same where every row stands here already and every page is read again',
    },
  ];
}

/** The next pull reads every page again. */
function forgetPages(path: string): void {
  const db = new Database(path);
  try {
    db.exec('UPDATE _rowsync_pages SET etag = NULL');
  } finally {
    db.close();
  }
}
