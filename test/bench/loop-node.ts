/**
 * The loop that someone writes in ten minutes in Node: one page after the other with `fetch`, one prepared insert a row. Input: what
 * process.ts passes as JSON. Output: a SQLite file. It trusts every answer and can only begin anew.
 */
import Database from 'better-sqlite3';
import type { LoopJob } from './process.ts';

const { url, token, columns, rowCount, pageRows, out } = JSON.parse(process.argv[2] ?? '') as LoopJob;
const db = new Database(out);
db.exec(`CREATE TABLE "Sale" (_id INTEGER PRIMARY KEY, ${columns.map((name) => `"${name}"`).join(', ')})`);
const insert = db.prepare(`INSERT INTO "Sale" VALUES (?${', ?'.repeat(columns.length)})`);
const query = [...columns.map((name) => `column=${encodeURIComponent(name)}`), 'sort=Id', `top=${pageRows}`].join('&');
for (let skip = 0; skip < rowCount; skip += pageRows) {
  const answer = await fetch(`${url}?${query}&skip=${skip}`, { headers: { Authorization: `Bearer ${token}` } });
  const rows = (await answer.json()) as Record<string, unknown>[];
  db.transaction(() => {
    for (const row of rows) {
      const values = columns.map((name) => (typeof row[name] === 'boolean' ? Number(row[name]) : row[name]));
      insert.run(row['@row.id'], ...values);
    }
  })();
}
db.close();
