/**
 * The work of `schedule.verify`. A table that differs waits for a person: waiting does not help, and the next pull includes the table.
 */
import { isEnd, outcomeOfTables, type ExtraWork, type WorkOutcome } from '../../daemon/work-kinds.ts';
import { finishPushes } from '../../push/push.ts';
import { differenceOf, verify } from './verify.ts';

export const verifyOnSchedule: ExtraWork = async ({ pull: context, push: pushing }): Promise<WorkOutcome> => {
  await finishPushes(pushing);
  const { error, requestCount, tables: reports } = await verify(context, { tables: [] });
  const tables = reports.map((table) => ({ ...table, held: differenceOf(table) ?? table.held }));
  const rowCount = reports.reduce((sum, { comparedCount }) => sum + comparedCount, 0);
  const facts = { requestCount, tableCount: tables.length, rowCount };
  return { ...outcomeOfTables(context, error, tables, facts), isOver: isEnd(error) };
};
