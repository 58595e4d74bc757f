/**
 * A person's confirmation of what a guard holds, given while a daemon works on the replica. It is kept with the table,
 * for as many rows as were shown, or with the record of a pull that was held whole. The daemon's next run uses it up.
 */
import { sql, type Sql } from '../base/sql.ts';
import { agreeToPull } from './bookkeeping/runs.ts';
import { type ConfirmationKind } from './bookkeeping/table-errors.ts';
import { readTables, tablesNamed, storeFacts, type TableRecord } from './bookkeeping/tables.ts';
import { countSuspects } from './bookkeeping/suspects.ts';
import type { Connection } from './connection.ts';
import { withFile } from './copy-file.ts';
import { withReplicaErrors } from './sqlite-errors.ts';
import { queryNumber, queryText } from './query.ts';

/** What a person agreed to: so many rows of a table, by its name here; null for what held a pull as a whole. */
export interface GivenConfirmation {
  readonly table: string | null;
  readonly kind: ConfirmationKind;
  readonly rowCount: number;
}

/** How long to wait for the daemon to end a transaction. */
const WAIT_MS_MAX = 10_000;

/** Agrees to what is held of the named tables, or of all; returns that, perhaps nothing. @throws RowsyncError. */
export function confirmHeld(
  path: string,
  kinds: readonly ConfirmationKind[],
  names: readonly string[],
): readonly GivenConfirmation[] {
  return changeBeside(path, `Storing a confirmation in ${path}`, (to) => {
    const isAgreed = names.length === 0 && kinds.includes('pull') && agreeToPull(to, null);
    const ofPull: readonly GivenConfirmation[] = isAgreed ? [{ table: null, kind: 'pull', rowCount: 0 }] : [];
    return [...ofPull, ...storeConfirmations(to, kinds, tablesNamed(readTables(to), names))];
  });
}

/** Changes what is kept for the process at work, in one transaction. @throws RowsyncError of the replica. */
export function changeBeside<T>(path: string, what: string, change: (to: Connection) => T): T {
  const options = { fileMustExist: true, timeout: WAIT_MS_MAX };
  return withReplicaErrors(what, () => withFile(path, options, (db) => db.transaction(() => change(db)).immediate()));
}

/** Whether a message is the problem that was shown, which leaves the name of the table away. */
function isShown(message: Sql): Sql {
  return sql`coalesce(${message} IN (@problem, @table || ': ' || @problem), 0)`;
}

/** Which kind of confirmation the shown problem of a table waits for; null where the table has another by now. */
export function kindOfHold(
  from: Connection,
  shown: { readonly table: string; readonly problem: string },
): ConfirmationKind | null {
  const text = sql`SELECT CASE WHEN ${isShown(sql`problem_message`)} OR ${isShown(sql`held_message`)} THEN 'pull'
                      WHEN ${isShown(sql`push_message`)} THEN 'push' END FROM _rowsync_tables WHERE local_name = @table`;
  const kind = queryText(from, text, [{ ...shown }]);
  return kind === 'pull' || kind === 'push' ? kind : null;
}

/** The same inside of an open transaction, for the given tables. */
export function storeConfirmations(
  to: Connection,
  kinds: readonly ConfirmationKind[],
  tables: readonly TableRecord[],
): readonly GivenConfirmation[] {
  return kinds.flatMap((kind) =>
    tables.filter(IS_HELD[kind]).map(({ id, localName }) => {
      const rowCount = kind === 'pull' ? countSuspects(to, id) : queryNumber(to, EDITED, [id]);
      storeFacts(to, id, kind === 'pull' ? { pull_consent: rowCount } : { push_consent: rowCount });
      return { table: localName, kind, rowCount };
    }),
  );
}

const EDITED = sql`SELECT count(*) FROM _rowsync_rows WHERE table_id = ? AND state = 'edited'`;

const IS_HELD: Readonly<Record<ConfirmationKind, (table: TableRecord) => boolean>> = {
  pull: ({ heldCode, problemCode }) =>
    heldCode !== null || problemCode === 'guard.schema' || problemCode === 'guard.names',
  push: ({ pushCode }) => pushCode?.startsWith('guard.') === true,
};
