/**
 * `rowsync status` where a folder has the configurations of several services: a line for each database.
 */
import { asRowsyncError, EXIT, type RowsyncError } from '../../base/errors.ts';
import { sumOf } from '../../base/sum.ts';
import { ageText, countText } from '../../base/text.ts';
import { gather, type KeptTable, type Status } from '../../cli/commands/status.ts';
import { accountExitCode } from '../../cli/runtime/account-text.ts';
import { printResult } from '../../cli/runtime/invocation.ts';
import { listTable } from '../../cli/terminal/table.ts';
import { serviceName } from '../../config/paths.ts';
import type { Invocation } from '../../extra.ts';

/** Shows a line for each database; returns the exit code. */
export async function showStatuses(
  invocation: Invocation,
  paths: readonly string[],
  wantsCode: boolean,
): Promise<number> {
  const { clock, stdout } = invocation.session;
  const databases: DatabaseStatus[] = [];
  // One after the other: the first may turn root into the owner of the replicas.
  for (const path of paths) {
    try {
      databases.push({ name: serviceName(path), ...(await gather({ ...invocation, configPath: path })) });
    } catch (thrown) {
      databases.push({ name: serviceName(path), status: null, json: {}, error: asRowsyncError(thrown) });
    }
  }
  await printResult(
    invocation,
    {
      databases: databases.map(({ name, json, error }) => ({
        name,
        ...json,
        ...(error === null ? {} : { error }),
      })),
    },
    databasesText(databases, { nowMs: clock.nowMs(), width: stdout.width() }),
  );
  return exitCodeOfAll(databases, wantsCode);
}

/** Which of several exit codes counts: what a person must do comes before what a machine can try again. */
const EXIT_ORDER = [EXIT.unusable, EXIT.needsPerson, EXIT.usage, EXIT.failed, EXIT.tryLater, EXIT.done];

/** The exit code for several databases: of errors and of problems, by `EXIT_ORDER`. */
export function exitCodeOfAll(databases: readonly DatabaseStatus[], wantsCode: boolean): number {
  const unread = databases.filter(({ status }) => !wantsCode || status === null);
  const problems = wantsCode ? databases.flatMap(({ status }) => status?.problems ?? []) : [];
  const codes = [accountExitCode(problems), ...unread.map(({ error }) => error?.exitCode ?? EXIT.done)];
  return EXIT_ORDER.find((code) => codes.includes(code)) ?? EXIT.failed;
}

/** A database among several; no status where its configuration or its replica cannot be read. */
interface DatabaseStatus {
  readonly name: string;
  readonly status: Status | null;
  readonly json: object;
  readonly error: RowsyncError | null;
}

function steadiness(tables: readonly Pick<KeptTable, 'state'>[]): string {
  return ['dropped', 'restored'].find((found) => tables.some(({ state }) => state === found)) ?? 'steady';
}

/** A line for each database: how old its oldest table is, and the worst that is wrong. */
export function databasesText(
  databases: readonly DatabaseStatus[],
  { nowMs, width }: { readonly nowMs: number; readonly width: number | null },
): string {
  const lines = databases.map(({ name, status, error }) => {
    const { tables = [], problems = [] } = status ?? {};
    const [worst] = problems.filter(({ severity }) => severity !== 'notice');
    const [oldest = ''] = tables.map(({ freshSince }) => freshSince ?? '').toSorted();
    return [
      name,
      countText(tables.length),
      countText(sumOf(tables, ({ rowCount }) => rowCount)),
      ageText(oldest === '' ? null : oldest, nowMs),
      countText(sumOf(tables, ({ pendingCount }) => pendingCount)),
      error?.message ??
        (worst === undefined
          ? steadiness(tables)
          : [worst.table, worst.sentence].filter((word) => word !== null).join(': ')),
    ];
  });
  const titles = ['service', 'tables', 'rows', 'as of', 'edits', 'state'];
  const next = width === null ? '' : `For one of them: rowsync status --service ${databases[0]?.name ?? ''}\n`;
  return listTable(titles, lines, width) + next;
}
