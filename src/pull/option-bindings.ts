/**
 * Binds the configuration to the tables that the origin describes (reconcile/option-bindings.ts), before anything of
 * them is read. Notes what became of tables: new, renamed, gone, back.
 */
import { isDeepStrictEqual } from 'node:util';
import { stampFromMs } from '../base/clock.ts';
import { RowsyncError } from '../base/errors.ts';
import { printable, shellWord, someOf } from '../base/text.ts';
import {
  bindTables,
  renamedSentences,
  strayKeys,
  type ConfiguredTables,
  type WaitingTable,
} from '../reconcile/option-bindings.ts';
import { readDescribed, storeDescribed, type DescribedTable } from '../replica/bookkeeping/described-tables.ts';
import { readTables, tablesNamed } from '../replica/bookkeeping/tables.ts';
import { storeSchemaChanges, type SchemaChange } from '../replica/bookkeeping/schema-changes.ts';
import { isAgreedPull } from '../replica/bookkeeping/runs.ts';
import type { DatabaseDescriptor } from '../wire/schema.ts';
import type { PullContext, PullOptions, PullSettings } from './context.ts';
import { tableChanges } from './schema-changes.ts';

/** What came of binding. */
export interface Bound {
  /** Why tables wait for a person, by their ids. */
  readonly waiting: ReadonlyMap<number, RowsyncError>;
  /** What a person should change in the configuration: a sentence each. */
  readonly notes: readonly string[];
}

/** Binds the described tables, and stores it. @throws RowsyncError `guard.keys`. */
export async function bindOptions(
  { replica, settings, clock }: PullContext,
  { tables }: DatabaseDescriptor,
  options: Pick<PullOptions, 'tables' | 'confirm'>,
): Promise<Bound> {
  const known = readDescribed(replica);
  const configured = settings.configured ?? configuredByName(settings);
  const described = tables.map(({ id, recordName }) => ({ id, name: recordName }));
  const { bindings, waiting } = bindTables(described, {
    known,
    configured,
    isConfirmed: confirmedBy(replica, options),
  });
  const strays = strayKeys(configured, bindings);
  const excluding = strays.filter(({ excludes }) => excludes);
  const isOpen = configured.keys.some(({ key, says }) => key.includes('*') && says !== 'false');
  if (excluding.length > 0 && isOpen && readTables(replica).length === 0) {
    const message = `Nothing was read, so that nothing comes in that was to stay out: ${excluding.map(({ sentence }) => sentence).join('; ')}`;
    if (!options.confirm && !isAgreedPull(replica, message))
      throw new RowsyncError('needsPerson', 'guard.keys', {
        message,
        hint: `Correct ${excluding.length === 1 ? 'the name' : 'the names'} in the configuration; the database has ${someOf(described.map(({ name }) => name))}. If it is right as it is: rowsync pull --confirm.`,
      });
  }
  const ids = new Set(described.map(({ id }) => id));
  const live = new Set(readTables(replica).flatMap(({ id, state }) => (state === 'gone' ? [] : [id])));
  // Tables that vanished, and count as gone only once a person has looked.
  const unseen = known.filter(({ id, isDescribed }) => isDescribed && !ids.has(id) && live.has(id));
  const now = [...bindings.map((binding) => ({ ...binding, isDescribed: true })), ...unseen];
  const before = known.filter(({ isDescribed }) => isDescribed);
  if (
    !isDeepStrictEqual(
      now.toSorted((a, b) => a.id - b.id),
      before,
    )
  ) {
    await replica.write('Binding the configuration to tables', (tx) => {
      storeDescribed(tx, now);
      storeSchemaChanges(tx, changesSince(known, now), stampFromMs(clock.nowMs()));
    });
  }
  return {
    waiting: new Map(waiting.map((table) => [table.id, waitingError(table)])),
    notes: [...renamedSentences(bindings), ...strays.map(({ sentence }) => sentence)],
  };
}

/** What became of tables. An earlier version did not note those that are left out, so they are not new. */
function changesSince(known: readonly DescribedTable[], now: readonly DescribedTable[]): readonly SchemaChange[] {
  const changes = tableChanges(known, now);
  const isUpgraded = known.every(({ seenKey, boundKey }) => seenKey === null && boundKey === null);
  return isUpgraded ? changes.filter(({ kind }) => kind !== 'tableNew') : changes;
}

/** For settings without patterns: what they say of a name is its own key. */
function configuredByName({ tableOptions }: PullSettings): ConfiguredTables {
  return {
    keys: [],
    find: (name) => (tableOptions(name) === null ? null : { key: name, says: '', excludes: false }),
  };
}

/** Whether a person let a held table have what is under its present name, in this run or meanwhile beside it. */
function confirmedBy(
  replica: PullContext['replica'],
  { tables, confirm }: Pick<PullOptions, 'tables' | 'confirm'>,
): (name: string) => boolean {
  const known = readTables(replica);
  const meant = new Set(tablesNamed(known, tables));
  const confirmed = known.flatMap((table) => {
    const isConfirmed = table.pullConfirmedCount !== null || (confirm && meant.has(table));
    return table.problemCode === 'guard.names' && isConfirmed ? [table.name] : [];
  });
  return (name) => confirmed.includes(name);
}

function waitingError({ name, formerName, owner }: WaitingTable): RowsyncError {
  const [now, former] = [printable(name), printable(formerName ?? '')];
  const confirm = `rowsync pull --confirm ${shellWord(name)} applies what is under ${now} as it is.`;
  if (formerName !== null) {
    return new RowsyncError('needsPerson', 'guard.names', {
      message: `${now} was called ${former}, and the configuration has both names; nothing was read`,
      hint: `Correct what is under ${now} in the configuration, and remove ${former} if no table has that name; or ${confirm}`,
    });
  }
  return new RowsyncError('needsPerson', 'guard.names', {
    message: `${now}: what the configuration says of this name belongs to the table that is now called ${printable(owner ?? '')}; nothing was read`,
    hint: `Name ${printable(owner ?? '')} in the configuration; this table then has what is under ${now}. Or ${confirm}`,
  });
}
