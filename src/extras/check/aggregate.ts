/**
 * Checks whether the origin adds up rows as it returns them, for one day of one table; following uses such sums to
 * find windows that changed. It takes two to five requests a table until one can tell.
 */
import { asRowsyncError } from '../../base/errors.ts';
import { plural, printable, someOf } from '../../base/text.ts';
import { compareDays, DayTally, planMeasures, readMeasures, type MeasurePlan } from '../../reconcile/fingerprint.ts';
import { columnReference, timestampLiteral } from '../../wire/formula.ts';
import { TOP_MAX } from '../../wire/query.ts';
import { columnType, type TableDescriptor } from '../../wire/schema.ts';
import { isZone } from '../../wire/zone.ts';
import { addressOf, type AnswerParts } from './answer-parts.ts';
import { ok, warn, type CheckResult } from '../../cli/runtime/check-result.ts';

const NAME = 'aggregates';

/** Tables that are tried: the first day of one may have no rows, or more than a page. */
const TABLES_MAX = 3;

/** Leaves out rows without a creation time. */
const EVER = timestampLiteral('1970-01-01T00:00:00Z');

/** Whether what the origin says of a day agrees with the rows of that day. */
export async function checkAggregates(
  parts: AnswerParts,
  tables: readonly TableDescriptor[],
  zone: string,
): Promise<CheckResult> {
  for (const table of tables.slice(0, TABLES_MAX)) {
    const plan = planMeasures(table);
    if (plan === null || !isZone(zone)) continue;
    const name = printable(table.recordName);
    try {
      const first = await compareFirstDay(parts, table, { plan, zone });
      if (first === 'refused')
        return ok(NAME, `the origin does not add up rows of ${name}: only full pulls see formulas that changed`);
      if (first === null) continue;
      // Someone may have changed a row in between.
      const found = first.length === 0 ? first : await compareFirstDay(parts, table, { plan, zone });
      if (found === null || found === 'refused') continue;
      if (found.length === 0)
        return ok(NAME, `of a day of ${name} agree with its rows: ${plural(plan.measures.length, 'measure')}`);
      return warn(
        NAME,
        `of a day of ${name} do not agree with its rows: ${someOf(found.map(printable))}`,
        'Nothing is lost: such sums are ignored once their rows were read, and full pulls read everything.',
      );
    } catch (thrown) {
      const error = asRowsyncError(thrown);
      if (error.code !== 'origin.unexpected' && error.kind !== 'originRefused') throw error;
      return ok(NAME, `the origin answers for ${name} in a form that is not known: ${error.message}`);
    }
  }
  return ok(NAME, 'no table has a day whose rows fit into one page; nothing was compared');
}

/** By which measures the first day of a table differs; null where it has none, or more rows than a page. */
async function compareFirstDay(
  parts: AnswerParts,
  table: TableDescriptor,
  { plan: { created, measures }, zone }: { readonly plan: MeasurePlan; readonly zone: string },
): Promise<readonly string[] | 'refused' | null> {
  const { origin, signal } = parts;
  const filter = `${columnReference(created)} >= ${EVER}`;
  const names = [created, ...measures.map(({ column }) => column)];
  const columns = names.map((name) => {
    const type = table.columns.find((column) => column.name === name)?.type ?? 'Text';
    return { name, type: columnType(type) };
  });
  const query = { columns: [...new Set(names)], sort: [{ column: created }], filter, top: TOP_MAX };
  const { value: page } = await origin.select({ table: addressOf(parts, table), columns, query }, { signal });
  if (page.unreadable.length > 0) return null;
  const tally = new DayTally(measures, zone);
  for (const {
    values: [stamp, ...values],
  } of page.rows)
    tally.add(stamp, values);
  const [[day, here] = [null, null], ...laterDays] = tally.days;
  if (day === null || (laterDays.length === 0 && page.ids.length >= TOP_MAX)) return null;
  const group = { name: created, suffix: 'DD', type: 'Date' } as const;
  const shapes = measures.map(({ shape }) => shape);
  const sums = await origin.aggregate(
    { table: addressOf(parts, table), group, columns: shapes, filter, top: 2 },
    { signal },
  );
  if (sums === null) return 'refused';
  const there = new Map(
    sums.groups.slice(0, 1).map((first) => [String(first.group), readMeasures(measures, first.values)]),
  );
  const differing = compareDays(measures, { there, here: new Map([[day, here]]) });
  return measures.map(({ id }) => id).filter((id) => differing.some((difference) => difference.measures.includes(id)));
}
