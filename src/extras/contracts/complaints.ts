/**
 * Complaints about registered queries, stored in the replica file so that every process can see them. The table is
 * created with the first complaint.
 */
import { sql } from '../../base/sql.ts';
import type { Complaint } from '../../reconcile/account/facts.ts';
import type { Connection, Tx } from '../../replica/connection.ts';
import { queryAll, queryAny } from '../../replica/query.ts';
import { hasTable } from '../../replica/schema-objects.ts';

/** `code`: contract.breaks · contract.changed · contract.fails · contract.oldName */
const COMPLAINTS = sql`
  CREATE TABLE _rowsync_contracts (
    name TEXT NOT NULL, code TEXT NOT NULL, message TEXT NOT NULL, hint TEXT NOT NULL, since TEXT NOT NULL,
    PRIMARY KEY (name, code)
  ) STRICT, WITHOUT ROWID`;

/** What is wrong with one registered query. */
export interface ContractComplaint extends Complaint {
  readonly name: string;
  readonly since: string;
}

/** All of them. */
export function readContractComplaints(from: Connection): readonly ContractComplaint[] {
  if (!hasTable(from, '_rowsync_contracts')) return [];
  const text = sql`SELECT name, code, message, hint, since FROM _rowsync_contracts ORDER BY name, code`;
  return queryAll(from, text) as ContractComplaint[];
}

export function storeContractComplaints(tx: Tx, complaints: readonly ContractComplaint[]): void {
  if (!hasTable(tx, '_rowsync_contracts')) tx.prepare(COMPLAINTS).run();
  tx.prepare(sql`DELETE FROM _rowsync_contracts`).run();
  const store = tx.prepare(
    sql`INSERT INTO _rowsync_contracts (name, code, message, hint, since) VALUES (@name, @code, @message, @hint, @since)`,
  );
  for (const complaint of complaints) store.run(complaint);
}

/** Checks that were run, with the text that they had. */
const CHECKED = sql`
  CREATE TABLE _rowsync_contracts_checked (name TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID`;

/** Whether a check was run as it is now. */
export function isChecked(from: Connection, { name, text }: { readonly name: string; readonly text: string }): boolean {
  if (!hasTable(from, '_rowsync_contracts_checked')) return false;
  return queryAny(from, sql`SELECT 1 FROM _rowsync_contracts_checked WHERE (name, text) = (?, ?)`, [name, text]);
}

/** Notes checks that were run, and forgets those that are no longer registered: one that comes back was not run yet. */
export function storeChecked(
  tx: Tx,
  checks: readonly { readonly name: string; readonly text: string }[],
  registered: readonly { readonly name: string }[],
): void {
  if (!hasTable(tx, '_rowsync_contracts_checked')) {
    if (checks.length === 0) return;
    tx.prepare(CHECKED).run();
  }
  const names = JSON.stringify(registered.map(({ name }) => name));
  tx.prepare(sql`DELETE FROM _rowsync_contracts_checked WHERE name NOT IN (SELECT value FROM json_each(?))`).run(names);
  const store = tx.prepare(sql`INSERT OR REPLACE INTO _rowsync_contracts_checked (name, text) VALUES (?, ?)`);
  for (const { name, text } of checks) store.run(name, text);
}
