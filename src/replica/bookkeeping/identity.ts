/**
 * The user that the replica was last pulled as. An ETag is valid only for who got it: another caller discards them all.
 */
import { RowsyncError } from '../../base/errors.ts';
import { isCallerChanged, type Identity } from '../../reconcile/guards.ts';
import type { NameStyle } from '../../reconcile/naming.ts';
import { sql } from '../../base/sql.ts';
import type { Connection, Tx } from '../connection.ts';
import { forgetDescriptors } from './descriptors.ts';
import { forgetAllEtags } from './pages.ts';
import { doubtIdentity } from './sweeps.ts';
import { queryAny, queryFirst } from '../query.ts';

/**
 * One row.
 *
 *    url, database, user_id, role   the identity itself
 *    user_email, time_zone          for people; the zone in which the origin sends this user's timestamps
 *    admin                          administrative permissions, separated by commas; null where they were not noted
 *    names                          how tables and columns are called here (reconcile/naming.ts)
 */
export const IDENTITY = sql`
  CREATE TABLE _rowsync_identity (
    lock INTEGER PRIMARY KEY CHECK (lock = 1),
    url TEXT NOT NULL, database TEXT NOT NULL, user_id INTEGER NOT NULL, role TEXT NOT NULL,
    user_email TEXT NOT NULL, time_zone TEXT NOT NULL,
    admin TEXT, names TEXT NOT NULL DEFAULT 'origin' CHECK (names IN ('origin', 'snake'))
  ) STRICT`;

/** The identity of the last pull, or null before the first. */
export function readIdentity(from: Connection): Identity | null {
  const text = sql`SELECT url, database, user_id AS userId, role, time_zone AS timeZone, admin FROM _rowsync_identity`;
  const row = queryFirst(from, text) as (Omit<Identity, 'admin'> & { readonly admin: string | null }) | null;
  if (row === null) return null;
  return { ...row, admin: row.admin === null ? null : row.admin.split(',').filter((name) => name !== '') };
}

/** Whether the caller changed since the last pull. @throws RowsyncError `replica.otherDatabase`. */
export function isOtherCaller(replica: Connection & { readonly path: string }, present: Identity): boolean {
  const stored = readIdentity(replica);
  if (stored === null) return false;
  if (stored.database !== present.database) {
    throw new RowsyncError('replica', 'replica.otherDatabase', {
      message: `${replica.path} holds database ${stored.database}, the configuration names ${present.database}`,
      hint: 'Nothing was changed. Give each database a replica of its own (replica.path).',
    });
  }
  return isCallerChanged(stored, present);
}

export function readNameStyle(from: Connection): NameStyle {
  const row = queryFirst(from, sql`SELECT names FROM _rowsync_identity`) as { readonly names: NameStyle } | null;
  return row?.names ?? 'origin';
}

/** Stores the naming style of tables and columns; every table must then be described again. */
export function storeNameStyle(tx: Tx, style: NameStyle): void {
  tx.prepare(sql`UPDATE _rowsync_identity SET names = ?`).run(style);
  forgetDescriptors(tx);
}

/** An identity, with the e-mail that is only displayed. */
type Caller = Identity & { readonly userEmail: string };

/** Whether exactly this identity is already stored. */
export function isIdentityStored(from: Connection, caller: Caller): boolean {
  const text = sql`SELECT 1 FROM _rowsync_identity
    WHERE (url, database, user_id, role, user_email, time_zone, admin)
      IS (@url, @database, @userId, @role, @userEmail, @timeZone, @admin)`;
  return queryAny(from, text, [callerParameters(caller)]);
}

function callerParameters(caller: Caller): Readonly<Record<string, number | string | null>> {
  return { ...caller, admin: caller.admin?.join(',') ?? null };
}

/** Stores the identity. After a change nothing stored is trusted, consents lapse, and deletes wait once. */
export function storeIdentity(tx: Tx, caller: Caller, { changed }: { readonly changed: boolean }): void {
  tx.prepare(
    sql`INSERT INTO _rowsync_identity (lock, url, database, user_id, role, user_email, time_zone, admin)
        VALUES (1, @url, @database, @userId, @role, @userEmail, @timeZone, @admin)
        ON CONFLICT (lock) DO UPDATE SET url = excluded.url, database = excluded.database, user_id = excluded.user_id,
          role = excluded.role, user_email = excluded.user_email, time_zone = excluded.time_zone, admin = excluded.admin`,
  ).run(callerParameters(caller));
  if (!changed) return;
  forgetAllEtags(tx);
  forgetDescriptors(tx);
  doubtIdentity(tx);
}
