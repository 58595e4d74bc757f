/**
 * `rowsync failures` and `retry`: rows that could not be read or were refused, with the reason, and another try for
 * those that were refused. They never ask the origin; the next push carries the rows.
 */
import type { Command } from 'commander';
import { EXIT } from '../../base/errors.ts';
import { openReader, type FailureLine } from '../../replica/reader.ts';
import { decide } from './carry-out-decision.ts';
import { loadNamedConfig, numberArgument, printResult } from '../runtime/invocation.ts';
import type { Invocation, Runner } from '../../extra.ts';
import { listTable } from '../terminal/table.ts';
import { rowNamer } from '../../replica/bookkeeping/row-names.ts';
import { plural } from '../../base/text.ts';

const LIST_EXAMPLES = `
A refused row is tried again when it is edited, when "rowsync retry" says so, and, if waiting can help,
at the time in retry_at of sync_failures. "rowsync discard" puts it back to what the origin has.

Examples:
  rowsync failures
  rowsync failures --json | jq '.failures[] | select(.kind == "inDoubt")'`;

const RETRY_EXAMPLES = `
A create that is in doubt may have happened: look at the origin first, because another try makes another row.

Examples:
  rowsync retry            every refused row, but none that is in doubt
  rowsync retry 12 14      these, in doubt or not`;

export function addFailureCommands(program: Command, runner: Runner): void {
  program
    .command('failures')
    .description('list rows that were refused or cannot be read, and why')
    .addHelpText('after', LIST_EXAMPLES)
    .action(runner(list));
  program
    .command('retry')
    .argument('[id...]', 'numbers of failures (default: all refused rows)')
    .description('let refused rows be pushed again')
    .addHelpText('after', RETRY_EXAMPLES)
    .action(runner(retry));
}

async function list(invocation: Invocation): Promise<number> {
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  using reader = openReader(config.replica.path);
  const failures = reader.failures();
  const { stdout } = invocation.session;
  await printResult(invocation, { failures }, listText(failures, { width: stdout.width(), nameOf: rowNamer(reader) }));
  return EXIT.done;
}

function listText(
  failures: readonly FailureLine[],
  { width, nameOf }: { readonly width: number | null; readonly nameOf: ReturnType<typeof rowNamer> },
): string {
  if (failures.length === 0) return 'No failures\n';
  const titles = ['id', 'table', 'row', 'row name', 'what', 'column', 'status', 'reason', 'sent', 'tried again'];
  const cells = failures.map((line) => [
    line.id === null ? '' : String(line.id),
    line.table,
    String(line.rowId),
    nameOf(line.table, line.rowId),
    line.kind,
    line.column ?? '',
    line.status === null ? '' : String(line.status),
    line.reason,
    line.sent ?? '',
    line.retryAt ?? whenTriedAgain(line),
  ]);
  const lines = listTable(titles, cells, width);
  return width === null ? lines : `${lines}${plural(failures.length, 'failure')}\n`;
}

function whenTriedAgain({ kind }: FailureLine): string {
  if (kind === 'read') return 'with every pull';
  return kind === 'inDoubt' ? 'on retry' : 'on edit or retry';
}

async function retry(invocation: Invocation, texts: readonly string[]): Promise<number> {
  const ids = texts.map((text) => numberArgument(text, 'number of a failure', '`rowsync failures` lists them.'));
  return decide(invocation, { kind: 'retry', ids });
}
