/**
 * A SQLite file with one table of 12 columns, one of every kind that `--data` knows, for a sandbox to serve. The rows
 * are the same in every run.
 */
import Database from 'better-sqlite3';

/** The table in the file. */
export const TABLE = 'Sale';

const COLUMNS = [
  'Id INTEGER PRIMARY KEY',
  'Customer TEXT NOT NULL',
  'Email TEXT',
  'City TEXT',
  'Remarks TEXT',
  'Quantity INTEGER',
  'Price DECIMAL(12,2)',
  'Discount REAL',
  'Paid BOOLEAN',
  'Ordered DATE',
  'Pickup TIME',
  'Shipped DATETIME',
];

const CITIES = ['Århus', 'Besançon', 'Graz', 'Köln', 'Lyon', 'Oslo', 'Porto', 'Turin', 'Zürich', 'Łódź'];
const WORDS = ['blue', 'fragile', 'gift', 'heavy', 'insured', 'late', 'repeat', 'returned', 'sample', 'urgent'];

/** A number from 0 to `end` - 1 that depends on its arguments alone (a multiplicative hash, Knuth 6.4). */
function pick(row: number, salt: number, end: number): number {
  return Math.floor((((row * 2_654_435_761 + salt * 40_503) >>> 0) / 2 ** 32) * end);
}

function pad(number: number): string {
  return String(number).padStart(2, '0');
}

function rowOf(id: number): readonly (string | number | null)[] {
  const date = `20${pad(10 + pick(id, 1, 16))}-${pad(1 + pick(id, 2, 12))}-${pad(1 + pick(id, 3, 28))}`;
  const time = `${pad(pick(id, 4, 24))}:${pad(pick(id, 5, 60))}:00`;
  const words = [6, 7, 8].map((salt) => WORDS[pick(id, salt, WORDS.length)]);
  return [
    id,
    `Customer ${pick(id, 9, 5000)}`,
    `customer${pick(id, 9, 5000)}@example.com`,
    CITIES[pick(id, 10, CITIES.length)] ?? null,
    pick(id, 11, 4) === 0 ? null : words.join(' '),
    1 + pick(id, 12, 100),
    pick(id, 13, 1_000_000) / 100,
    pick(id, 14, 3) === 0 ? null : pick(id, 15, 1000) / 1000,
    pick(id, 16, 2),
    date,
    time,
    pick(id, 17, 5) === 0 ? null : `${date} ${time}`,
  ];
}

/** Writes the file. */
export function writeDataFile(path: string, rowCount: number): void {
  const db = new Database(path);
  try {
    db.pragma('journal_mode = off');
    db.pragma('synchronous = off');
    db.exec(`CREATE TABLE ${TABLE} (${COLUMNS.join(', ')})`);
    const insert = db.prepare(`INSERT INTO ${TABLE} VALUES (${COLUMNS.map(() => '?').join(', ')})`);
    db.transaction(() => {
      for (let id = 1; id <= rowCount; id += 1) insert.run(rowOf(id));
    })();
  } finally {
    db.close();
  }
}
