/**
 * `rowsync sql --at`: the answer to a query as of an earlier time.
 */
import type { Command } from 'commander';
import { momentOf, MOMENT_FORMS } from './time-argument.ts';
import type { QueryAnswer, ReplicaReader } from '../../replica/reader.ts';
import { queryPast } from './past-tables.ts';

const HELP = `
  rowsync sql --at '2026-11-01 08:00' 'SELECT * FROM "Order"'    # with history for the table

--at takes ${MOMENT_FORMS}.
Tables have the columns that they have now. Edits since the last pull or push are shown as they are now. So are the views of rowsync,
such as sync_status, and main."Order" is the table as it is now.`;

export function addAtOption(program: Command): void {
  program.commands
    .find((command) => command.name() === 'sql')
    ?.option('--at <time>', 'tables as they were here at that moment; only tables with history')
    .addHelpText('after', HELP);
}

/** @throws RowsyncError `history.unknown`, and as a query. */
export async function queryAt(reader: ReplicaReader, text: string, at: string, nowMs: number): Promise<QueryAnswer> {
  return queryPast(reader, text, { moment: momentOf(at, { name: '--at', nowMs }), nowMs });
}
