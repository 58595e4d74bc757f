/**
 * The benchmark of many small tables: what a pull that finds nothing new costs where all of them are two-way, beside
 * the same tables as mirrors. It shows whether work that grows with the whole schema is done once for each table.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { takeTurns, timeMs, type Figure } from './measure.ts';
import { openPull } from './ours.ts';
import type { TwoWayContext } from './two-way.ts';

const ROWS = 10;
/** Rounds for each that was asked for: one takes a fraction of a second. */
const SHORT_ROUNDS = 3;

const COLUMNS = [
  'Id INTEGER PRIMARY KEY',
  'Name TEXT',
  'Count INTEGER',
  'Price DECIMAL(12,2)',
  'Paid BOOLEAN',
  'Due DATE',
];

/** A file of so many tables of the same columns, for a sandbox to serve. */
function writeTables(path: string, tableCount: number): void {
  const db = new Database(path);
  try {
    db.transaction(() => {
      for (let number = 1; number <= tableCount; number += 1) {
        db.exec(`CREATE TABLE Part${number} (${COLUMNS.join(', ')})`);
        const insert = db.prepare(`INSERT INTO Part${number} (Id, Name, Count) VALUES (?, ?, ?)`);
        for (let id = 1; id <= ROWS; id += 1) insert.run(id, `Name ${id}`, id);
      }
    })();
  } finally {
    db.close();
  }
}

/** `manyTables.ratio`: an unchanged pull of 300 two-way tables ÷ of 300 mirrors. */
export async function manyTablesBench(context: TwoWayContext): Promise<readonly Figure[]> {
  const tableCount = context.isSmoke ? 30 : 300;
  const origin = await context.origins.serveFile('many-tables', (path) => writeTables(path, tableCount));
  const open = async (name: string, isTwoWay: boolean): Promise<ReturnType<typeof openPull>> => {
    const opened = openPull(origin, join(context.folder, `many-${name}.db`), { compress: false, isTwoWay });
    await opened.pull();
    return opened;
  };
  // Both sides keep their connections between rounds, as a daemon does.
  const mirrors = await open('mirrors', false);
  const twoWay = await open('two-way', true);
  try {
    const { oursMs, bareMs } = await takeTurns(context.roundCount * SHORT_ROUNDS, {
      ours: () => timeMs(() => twoWay.pull()),
      bare: () => timeMs(() => mirrors.pull()),
    });
    return [
      {
        name: 'manyTables.ratio',
        value: oursMs / bareMs,
        unit: '×',
        bound: { kind: 'atMost', value: 1.5 },
        note: `an unchanged pull of ${tableCount} two-way tables of ${ROWS} rows ÷ of as many mirrors`,
      },
    ];
  } finally {
    await mirrors.close();
    await twoWay.close();
  }
}
