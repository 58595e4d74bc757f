/**
 * Editing the replica as any SQL client does, through a connection of its own that knows nothing of rowsync: triggers see it, and
 * refuse what they refuse everybody. For the demo, which has no other client at hand.
 */
import Database from 'better-sqlite3';
import { replicaError } from './failures.ts';

/** Runs statements in one transaction. @throws RowsyncError `replica.failed` with the words of SQLite or of a trigger. */
export function executeAsClient(path: string, statements: string): void {
  const db = new Database(path, { fileMustExist: true });
  try {
    db.transaction(() => db.exec(statements)).immediate();
  } catch (thrown) {
    throw replicaError(thrown, `Editing ${path}`);
  } finally {
    db.close();
  }
}
