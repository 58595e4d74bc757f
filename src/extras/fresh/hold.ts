/**
 * Leaves a reader in a transaction in which a question may be answered: with young tables (`--fresh`), or while the tables are as they all were at one
 * moment (`--moment`).
 */
import { RowsyncError } from '../../base/errors.ts';
import { ident, sql } from '../../base/sql.ts';
import { printable } from '../../base/text.ts';
import type { Config } from '../../config/load.ts';
import type { HeldQuestion, Invocation } from '../../extra.ts';
import { oldestOf } from '../../reconcile/fresh.ts';
import { readTables } from '../../replica/bookkeeping/tables.ts';
import { readLastMoment, type ProvenMoment } from '../../replica/bookkeeping/touched.ts';
import type { ReplicaReader } from '../../replica/reader.ts';
import { baseName, hasBase } from '../../replica/tables.ts';
import { freshen } from './freshen.ts';

/** What an answer says of its age; null where nothing was asked for. @throws RowsyncError `fresh.stale`, `fresh.moved`, `usage.invalid`. */
export async function hold(
  invocation: Invocation,
  config: Config,
  { reader, reads, options: { fresh, moment = false } }: HeldQuestion,
): Promise<object | null> {
  if (fresh !== undefined && moment) {
    throw new RowsyncError('usage', 'usage.invalid', {
      message: 'An answer is of a moment (--moment), or young enough (--fresh)',
      hint: 'Give one of them.',
    });
  }
  if (moment) {
    reader.prepare(sql`BEGIN`).run();
    const { at, notCovered } = requireMoment(reader);
    showConfirmed(reader);
    await invocation.session.stderr.write(`as of the moment ${at}\n`);
    return { moment: at, notCovered };
  }
  if (fresh === undefined) return null;
  const tables = await freshen(invocation, config, { reader, reads, within: fresh });
  const asOf = oldestOf(tables);
  await invocation.session.stderr.write(
    printable(asOf === null ? 'reads no table of the origin' : `as of ${asOf} or later`) + '\n',
  );
  return { asOf, tables: tables.map(({ localName: table, asOf: of }) => ({ table, asOf: of })) };
}

/** The moment that the replica is now. @throws RowsyncError `fresh.moved`. */
export function requireMoment(reader: ReplicaReader): ProvenMoment {
  const last = reader.isOlder() ? null : readLastMoment(reader);
  if (last?.holds === true) return last;
  throw new RowsyncError('originDown', 'fresh.moved', {
    message:
      last === null
        ? 'The replica was never proven to be as the origin was at one moment'
        : `Rows have changed since the last moment, which was ${last.at}`,
    hint: 'rowsync pull --moment proves one; schedule.moment does so by night.',
  });
}

/** Edits that wait are no part of a moment: what the connection shows is what the origin confirmed. */
function showConfirmed(reader: ReplicaReader): void {
  for (const { id, localName } of readTables(reader)) {
    if (!hasBase(reader, id)) continue;
    reader.prepare(sql`CREATE TEMP VIEW ${ident(localName)} AS SELECT * FROM main.${ident(baseName(id))}`).run();
  }
  reader.showViewsAgain();
}
