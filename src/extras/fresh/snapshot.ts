/**
 * Leaves a reader in a transaction in which a question may be answered. That is so with young tables (`--fresh`), or
 * while the tables are as they all were at one moment (`--moment`). Older tables are read first, by the daemon or,
 * where none runs, by this command; an older answer is never given.
 */
import { RowsyncError, asRowsyncError } from '../../base/errors.ts';
import { REQUEST_RETRIES } from '../../base/retries.ts';
import { ident, sql } from '../../base/sql.ts';
import { printable, someOf } from '../../base/text.ts';
import type { Config } from '../../config/load.ts';
import type { HeldQuestion, Invocation } from '../../extra.ts';
import {
  ageBound,
  type FilterOf,
  readLastMoment,
  readRefiltered,
  requireFresh,
  staleTables,
} from '../shared/fresh-tables.ts';
import { oldestOf, type AgedTable } from '../shared/freshness.ts';
import { readTables } from '../../replica/bookkeeping/tables.ts';
import { type ProvenMoment } from '../../replica/bookkeeping/changed-rows.ts';
import type { ReplicaReader } from '../../replica/reader.ts';
import { baseName, hasBase } from '../../replica/user-tables.ts';
import { loadNamedConfig, withResources } from '../../cli/runtime/invocation.ts';
import { askDaemonToRead, failureOf, hearDaemonWork } from '../shared/daemon-client.ts';
import { isInUse } from '../../replica/lock.ts';
import { boundTo } from '../../config/settings.ts';
import { httpOf } from '../shared/http-settings.ts';

/** What an answer says of its age; null if unasked. @throws RowsyncError `fresh.stale|moved`, `usage.invalid`. */
export async function hold(
  invocation: Invocation,
  config: Config,
  { reader, reads, options: { fresh, moment = false } }: HeldQuestion,
): Promise<object | null> {
  if (moment) {
    reader.prepare(sql`BEGIN`).run();
    const { at, notCovered } = requireMoment(reader, filtersOf(reader, config));
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

/** What a configuration selects, of tables as they are called now. */
function filtersOf(reader: ReplicaReader, config: Config): FilterOf {
  const { tables } = boundTo(reader, config);
  return (name) => {
    const rule = tables.find(name);
    return rule === null ? undefined : (rule.options.rows ?? null);
  };
}

/** The moment that the replica is now. @throws RowsyncError `fresh.moved`. */
function requireMoment(reader: ReplicaReader, filterOf: FilterOf): ProvenMoment {
  const last = reader.isOlder() ? null : readLastMoment(reader);
  const refiltered = last?.tables.filter((table) => readRefiltered(reader, filterOf).has(table)) ?? [];
  if (last?.holds === true && refiltered.length === 0) return last;
  throw new RowsyncError('originDown', 'fresh.moved', {
    message:
      last === null
        ? 'The replica was never proven to be as the origin was at one moment'
        : refiltered.length > 0
          ? `The configuration has another filter now (rows) than when ${refiltered.join(', ')} was read`
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

/** Leaves the reader in a transaction with young tables. @throws RowsyncError `fresh.stale`, `usage.invalid`, …. */
async function freshen(
  invocation: Invocation,
  config: Config,
  { reader, reads, within }: Pick<HeldQuestion, 'reader' | 'reads'> & { readonly within: string },
): Promise<readonly AgedTable[]> {
  const bound = ageBound(within, invocation.session.clock.nowMs(), filtersOf(reader, config));
  const stale = staleTables(reader, reads(), bound);
  const failure = stale.length === 0 ? null : await readNow(invocation, config, { stale, withinMs: bound.withinMs });
  return requireFresh(reader, { names: reads, bound, failure });
}

/** Reads tables now; returns why that failed, if known. Requests are retried no longer than an answer may be old. */
async function readNow(
  invocation: Invocation,
  config: Config,
  { stale, withinMs }: { readonly stale: readonly AgedTable[]; readonly withinMs: number },
): Promise<RowsyncError | null> {
  const atOrigin = stale.map(({ name }) => name);
  const here = stale.map(({ localName }) => localName);
  const { listen } = httpOf(config);
  if (isInUse(config.replica.path)) {
    if (listen !== null)
      await invocation.session.stderr.write(printable(`asking the daemon to read ${someOf(here)}`) + '\n');
    const isRead = await askDaemonToRead(config, atOrigin);
    const heard = await hearDaemonWork(config, 'pull');
    if (isRead) return heard?.failure == null ? null : failureOf(heard.failure);
    if (heard !== null) {
      const late = {
        message: 'the daemon did not finish reading in time',
        hint: 'It goes on reading: try again in a while.',
      };
      return new RowsyncError('replica', 'replica.inUse', late);
    }
    return new RowsyncError('replica', 'replica.inUse', {
      message: 'another rowsync process works on the replica, and cannot be asked',
      hint:
        listen === null
          ? 'Set http.listen, so that the daemon can be asked.'
          : 'A command ends by itself: try again then. A daemon answers those who may read the key of its page, beside the replica.',
    });
  }
  try {
    const hasCredentials = config.origin.credentials !== null;
    const full = hasCredentials ? config : await loadNamedConfig(invocation, { needsCredentials: true });
    await invocation.session.stderr.write(printable(`asking ${full.origin.url} for ${someOf(here)}`) + '\n');
    const retry = { ...REQUEST_RETRIES, totalMs: Math.min(REQUEST_RETRIES.totalMs, withinMs) };
    const { readTablesNow } = await import('./moment.ts'); // pulls and pushes, which few questions need
    return await withResources(invocation, full, (contexts) => readTablesNow(contexts, here), { retry });
  } catch (thrown) {
    return asRowsyncError(thrown);
  }
}
