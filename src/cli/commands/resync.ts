/**
 * `rowsync resync`: helps where an ETag seems to be wrong. Forgets what is known of the pages, so that the next pull
 * reads them whole. Changes no row, and does not ask the origin.
 */
import type { Command } from 'commander';
import { EXIT } from '../../base/errors.ts';
import { loadNamedConfig, openExistingReplica, printResult } from '../runtime/invocation.ts';
import type { Invocation, Runner } from '../../extra.ts';
import { printable } from '../../base/text.ts';
import type { Replica } from '../../replica/database.ts';
import { forgetDescriptor } from '../../replica/bookkeeping/descriptors.ts';
import { chooseTables, storeFacts } from '../../replica/bookkeeping/tables.ts';
import { isMade } from '../../replica/user-tables.ts';
import { distrustRows, distrustBase } from '../../replica/bookkeeping/pages.ts';

const EXAMPLES = `
Examples:
  rowsync resync Customer && rowsync pull Customer`;

export function addResyncCommand(program: Command, runner: Runner): void {
  program
    .command('resync')
    .argument('<table...>', 'tables, as named at the origin or in the replica')
    .description('forget the ETags of tables: the next pull reads all')
    .addHelpText('after', EXAMPLES)
    .action(runner(forgetEtags));
}

async function forgetEtags(invocation: Invocation, names: readonly string[]): Promise<number> {
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  using replica = await openExistingReplica(invocation, config);
  const tables = await resync(replica, names);
  const text = `The next pull reads these tables whole: ${tables.map(printable).join(', ')}\n`;
  await printResult(invocation, { tables }, text);
  return EXIT.done;
}

/** Forgets the ETags of the named tables, or of all. Returns their names here. @throws RowsyncError `usage.invalid`. */
export async function resync(replica: Replica, names: readonly string[]): Promise<readonly string[]> {
  const chosen = chooseTables(replica, names);
  await replica.writeDurably('Forgetting ETags', (tx) => {
    for (const table of chosen) {
      forgetDescriptor(tx, table.id);
      storeFacts(tx, table.id, { page_rows: null });
      // A table that another client dropped is made again, and read whole, in any case.
      if (!isMade(tx, table)) continue;
      if (table.push === 'on') distrustBase(tx, table);
      else distrustRows(tx, table);
    }
  });
  return chosen.map(({ localName }) => localName);
}
