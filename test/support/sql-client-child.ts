/**
 * A SQL client on better-sqlite3 in a process of its own, for machines without Python or the sqlite3 shell. Speaks what
 * `sql-client.py` speaks: a JSON line in for every transaction, one out for what became of it, and one before where it
 * is held open.
 */
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import Database from 'better-sqlite3';
import type { Transaction } from './sql-clients.ts';

const db = new Database(process.argv[2] ?? '', { timeout: 20_000 });
for await (const line of createInterface({ input: process.stdin })) {
  const job = JSON.parse(line) as Transaction;
  let error: string | null = null;
  try {
    db.exec(job.begin);
    for (const statement of job.statements) db.exec(statement);
    // Blocks on purpose: this process has nothing else to do, and holds the lock meanwhile.
    if (job.holdMs > 0) {
      writeSync(1, `${JSON.stringify({ held: true })}\n`);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, job.holdMs);
    }
    db.exec(job.end);
  } catch (thrown) {
    error = thrown instanceof Error ? thrown.message : String(thrown);
    if (db.inTransaction) db.exec('ROLLBACK');
  }
  process.stdout.write(`${JSON.stringify({ error })}\n`);
}
