/**
 * Checks what every pull relies on: rows come in the same order twice, an ETag is honoured, and "not modified" is
 * true.
 *
 * It reads a bounded number of pages: the first page of a few tables, and a sample of the stored pages. Changes by
 * people meanwhile do not count: a page that looks wrong is requested again with its ETag.
 */
import { asRowsyncError } from '../../base/errors.ts';
import type { Clock } from '../../base/clock.ts';
import type { Answer, Etag } from '../../origin/answers.ts';
import type { SelectRequest } from '../../origin/rows.ts';
import { planSelection } from '../../reconcile/column-selection.ts';
import { readColumns } from '../../replica/bookkeeping/columns.ts';
import { baseTarget } from '../../replica/base-comparison.ts';
import { readTables } from '../../replica/bookkeeping/tables.ts';
import { readPages, countPages } from '../../replica/bookkeeping/pages.ts';
import type { ReplicaReader } from '../../replica/reader.ts';
import { readRowsById, type RowTarget } from '../../replica/rows.ts';
import { hasBase } from '../../replica/user-tables.ts';
import { columnType, type ColumnShape, type RowPage, type TableDescriptor } from '../../wire/schema.ts';
import { fail, failed, ok, warn, ofSome, type CheckResult } from '../shared/linked-extra.ts';
import { sumOf } from '../../base/sum.ts';
import { plural, shellWord, someOf, printable, bytesText, countText } from '../../base/text.ts';
import type { Config } from '../../config/load.ts';
import type { Address } from '../../origin/address.ts';
import type { Origin } from '../../origin/client.ts';
import { compareDays, DayTally, planMeasures, readMeasures, type MeasurePlan } from '../../reconcile/fingerprint.ts';
import { columnReference, timestampLiteral } from '../../wire/formula.ts';
import { TOP_MAX } from '../../wire/request-paths.ts';
import { isZone } from '../../wire/time-zones.ts';
import type { Schedule } from '../../config/cron-times.ts';
import { jobsOf } from '../../daemon/jobs.ts';
import { stampColumn } from '../../reconcile/follow.ts';
import { createdColumn, pageSkip } from '../../reconcile/windows.ts';
import { differingRows } from '../../reconcile/merge.ts';

/** Tables whose first page is requested three times. */
const TABLES_MAX = 3;
/** The part of the stored pages that is read again, and how many pages that are at most. */
const SAMPLE_PART = 0.01;
const SAMPLE_PAGES_MAX = 20;

export async function* checkAnswers(
  parts: AnswerParts,
  { tables, zone }: { readonly tables: readonly TableDescriptor[]; readonly zone: string },
): AsyncGenerator<CheckResult> {
  if (tables.length === 0) return;
  try {
    yield* await checkFirstPages(parts, tables.slice(0, TABLES_MAX));
    if (parts.reader !== null) yield* await checkStoredPages(parts, parts.reader, tables);
    yield* checkWindows(tables);
    yield await checkFollow(parts, tables);
    yield await checkAggregates(parts, tables, zone);
  } catch (thrown) {
    yield failed('etags', asRowsyncError(thrown));
  }
}

async function checkFirstPages(
  parts: AnswerParts,
  tables: readonly TableDescriptor[],
): Promise<readonly CheckResult[]> {
  const names = {
    unstable: [] as string[],
    without: [] as string[],
    ignored: [] as string[],
    honoured: [] as string[],
  };
  for (const table of tables) {
    const name = table.recordName;
    const first = await ask(parts, table);
    const second = await ask(parts, table);
    if (isOtherOrder(first.value.ids, second.value.ids)) names.unstable.push(name);
    if (second.etag === null) names.without.push(name);
    else if ((await ask(parts, table, { etag: second.etag })).kind === 'notModified') names.honoured.push(name);
    // A row may have changed in between, but hardly twice in a row at this moment.
    else if (await isHonoured(parts, table)) names.honoured.push(name);
    else names.ignored.push(name);
  }
  const { unstable, without, ignored, honoured } = names;
  return [
    unstable.length === 0
      ? ok('order', 'rows come in the same order twice')
      : warn(
          'order',
          `the same rows came in another order the second time: ${someOf(unstable)}`,
          'Set sort for these tables to columns whose order never changes, such as the key.',
        ),
    ...ofSome(honoured, (some) => ok('etags', `honoured: ${some}`)),
    ...ofSome(without, (some) =>
      warn(
        'etags',
        `rows come without an ETag: ${some}`,
        'Every pull reads these tables whole. The likely cause is a proxy that strips the header.',
      ),
    ),
    ...ofSome(ignored, (some) =>
      warn(
        'etags',
        `rows come again although their ETag was sent: ${some}`,
        'Every pull reads these tables whole. The likely cause is a column whose formula depends on the time, or a proxy.',
      ),
    ),
  ];
}

async function isHonoured(parts: AnswerParts, table: TableDescriptor): Promise<boolean> {
  const { etag } = await ask(parts, table);
  return etag !== null && (await ask(parts, table, { etag })).kind === 'notModified';
}

/** The same rows in another order; other rows are someone's work. */
function isOtherOrder(one: readonly number[], other: readonly number[]): boolean {
  const isSameSet = one.length === other.length && new Set([...one, ...other]).size === one.length;
  return isSameSet && one.some((id, index) => other[index] !== id);
}

interface StoredPage {
  readonly table: TableDescriptor;
  readonly stored: RowTarget;
  /** In the order of the stored values. */
  readonly columns: readonly ColumnShape[];
  readonly page: number;
  readonly etag: string;
}

async function checkStoredPages(
  parts: AnswerParts,
  reader: ReplicaReader,
  tables: readonly TableDescriptor[],
): Promise<readonly CheckResult[]> {
  const all = tables.flatMap((table) => storedPages(parts, reader, table));
  const sample = draw(all, Math.min(SAMPLE_PAGES_MAX, Math.ceil(all.length * SAMPLE_PART)), parts.clock);
  const wrong: string[] = [];
  for (const page of sample) if (await isLie(parts, reader, page)) wrong.push(page.table.recordName);
  if (sample.length === 0) return [];
  if (wrong.length === 0) {
    return [
      ok('honesty', `${plural(sample.length, 'stored page')} of ${all.length} read again: "not modified" is true`),
    ];
  }
  const names = [...new Set(wrong)];
  return [
    fail(
      'honesty',
      `the origin says "not modified" of pages whose rows differ from the replica: ${someOf(names)}`,
      `Run rowsync resync ${names.map(shellWord).join(' ')} and rowsync pull, then rowsync verify; look for a cache between here and the origin.`,
    ),
  ];
}

/** The pages of a table that would be asked for with an ETag, as the replica has them. */
function storedPages(parts: AnswerParts, reader: ReplicaReader, table: TableDescriptor): readonly StoredPage[] {
  const known = readTables(reader).find(({ id }) => id === table.id);
  if (known === undefined || known.isDistrusted) return [];
  const live = readColumns(reader, known.id).filter(({ state }) => state === 'live');
  if (live.length !== table.columns.length) return []; // the next pull changes its shape
  const target = { id: known.id, localName: known.localName, columns: live };
  const stored = known.push !== 'off' && hasBase(reader, known.id) ? baseTarget(target) : target;
  const columns = live.map(({ name, type, mask }) => ({ name, type, mask }));
  return readPages(reader, known.id).flatMap(({ page, etag, url }) =>
    etag !== null && url === pageUrl(parts, table, page) ? [{ table, stored, columns, page, etag }] : [],
  );
}

/** Whether the origin answered "not modified" for a page that differs from the stored one. */
async function isLie(parts: AnswerParts, reader: ReplicaReader, known: StoredPage): Promise<boolean> {
  const { table, page, etag, stored, columns } = known;
  if ((await ask(parts, table, { page, etag })).kind === 'ok') return false; // it changed since the last pull
  const { value: now } = await ask(parts, table, { page, columns });
  return isDifferent(reader, stored, now) && (await ask(parts, table, { page, etag })).kind === 'notModified';
}

function isDifferent(reader: ReplicaReader, stored: RowTarget, { rows }: RowPage): boolean {
  const ids = rows.map(({ id }) => id);
  return differingRows(rows, readRowsById(reader, stored, ids)).length > 0;
}

/** Some of a list, each with the same chance. */
function draw<T>(items: readonly T[], count: number, clock: Clock): readonly T[] {
  return items
    .map((item) => ({ item, at: clock.random() }))
    .toSorted((a, b) => a.at - b.at)
    .slice(0, count)
    .map(({ item }) => item);
}

function queryOf({ config }: AnswerParts, table: TableDescriptor, page: number): SelectRequest['query'] {
  const { pageRows } = config.limits;
  const { selection } = planSelection(table, config.tables.find(table.recordName)?.options.sort ?? null);
  const sort = selection.sort.map((column) => ({ column }));
  return { columns: selection.columns, sort, top: pageRows, skip: pageSkip(page, pageRows) };
}

function pageUrl(parts: AnswerParts, table: TableDescriptor, page: number): string {
  return parts.origin.selectUrl(addressOf(parts, table), queryOf(parts, table, page));
}

/** A page as the origin has it now. */
async function ask<E extends Etag = undefined>(
  parts: AnswerParts,
  table: TableDescriptor,
  { page = 0, etag, columns = shapesOf(table) }: PageReadOptions<E> = {},
): Promise<Answer<RowPage, E>> {
  const request = { table: addressOf(parts, table), columns, query: queryOf(parts, table, page) };
  return await parts.origin.select(request, { etag, signal: parts.signal });
}

interface PageReadOptions<E extends Etag> {
  readonly page?: number;
  readonly etag?: E;
  readonly columns?: readonly ColumnShape[];
}

/** Without masks: no value is kept or shown, and the first check comes before there is a key. */
function shapesOf({ columns }: TableDescriptor): readonly ColumnShape[] {
  return columns.map(({ name, type }) => ({ name, type: columnType(type) }));
}

export interface AnswerParts {
  readonly origin: Origin;
  readonly config: Config;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Null before the first pull. */
  readonly reader: ReplicaReader | null;
}

function addressOf({ config }: Pick<AnswerParts, 'config'>, table: TableDescriptor): Address {
  const { recordName: name, alias } = table;
  return { name, alias, rows: config.tables.find(name)?.options.rows };
}

const NAME = 'aggregates';

/** Leaves out rows without a creation time. */
const EVER = timestampLiteral('1970-01-01T00:00:00Z');

/** Whether what the origin says of a day agrees with the rows of that day. */
async function checkAggregates(
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

/** Tables whose costs are listed, the largest first. */
const LISTED_MAX = 3;
/** Runs whose bytes are averaged. */
const RUNS_MAX = 50;
/** Requests of a follow that finds nothing new. */
const FOLLOW_REQUESTS = 2;

const SHOW_STAMPS =
  'Show Date Modified to the role of the calling user. If the origin does not tell which columns are its own, it must have that name.';

/** Tables that are read as one window, because they show no time of creation. */
function checkWindows(tables: readonly TableDescriptor[]): readonly CheckResult[] {
  const names = tables.filter(({ columns }) => createdColumn(columns) === null).map(({ recordName }) => recordName);
  return ofSome(names, (some) => ok('windows', `none, since no Date Created is shown: ${some}`));
}

/** Whether changed rows can be asked for: the columns of every table, and what the origin answers for one of them. */
async function checkFollow(parts: AnswerParts, tables: readonly TableDescriptor[]): Promise<CheckResult> {
  const { origin, config, signal } = parts;
  const stamped = tables.flatMap((table) => {
    const column = stampColumn(table.columns);
    return column === null ? [] : [{ table, column }];
  });
  const [first] = stamped;
  const isAsked = config.schedule.follow !== 'auto' && config.schedule.follow !== false;
  const say = isAsked ? warn : (name: string, message: string) => ok(name, message);
  if (first === undefined) return say('follow', 'no table says when a row was changed', SHOW_STAMPS);
  const { table, column } = first;
  const filter = `${columnReference(column.name)} >= ${EVER}`;
  const columns = [{ name: column.name, type: columnType(column.type) }];
  const query = { columns: [column.name], sort: [{ column: column.name, descending: true }], filter, top: 1 };
  try {
    await origin.select({ table: addressOf(parts, table), columns, query }, { signal });
  } catch (thrown) {
    const error = asRowsyncError(thrown);
    if (error.kind !== 'originRefused') throw error;
    return say('follow', `the origin refuses to look for changed rows: ${error.message}`, error.hint);
  }
  const count = await origin.count({ table: addressOf(parts, table), column: table.key }, { signal });
  const tablesText = `${plural(tables.length, 'table')}, of which ${stamped.length} can be followed`;
  const costText = costsText(parts);
  if (count === null)
    return say(
      'follow',
      `${tablesText}; the origin does not count rows`,
      'Deletes are found by the next full pull only.',
    );
  return ok('follow', `${tablesText}; ${costText}`);
}

/** What the tables cost an hour, in words. */
function costsText({ config, clock, reader }: AnswerParts): string {
  if (reader === null) return 'two requests each without changes';
  const jobs = jobsOf(config);
  const perHour = (kind: 'pull' | 'follow', name: string): number => {
    const schedule = jobs.find(kind, name)?.schedule;
    return schedule === undefined ? 0 : ticksOfDay(schedule, clock.nowMs()) / 24;
  };
  const costs = readTables(reader)
    .filter(({ state }) => state !== 'gone')
    .map(({ id, name, localName, watermark }) => {
      const following = watermark === null ? 0 : perHour('follow', name) * FOLLOW_REQUESTS;
      return { localName, following, sweeping: perHour('pull', name) * countPages(reader, id) };
    })
    .toSorted((one, other) => other.sweeping - one.sweeping);
  const listed = costs.slice(0, LISTED_MAX).map(({ localName, following, sweeping }) => {
    const follow = following === 0 ? 'not followed' : `${countText(Math.round(following))} when followed`;
    return `${printable(localName)} ${follow}, ${countText(Math.round(sweeping))} for full pulls`;
  });
  const { length } = costs;
  const rest = length > LISTED_MAX ? `; ${plural(length - LISTED_MAX, 'more table')} less` : '';
  return `requests an hour: ${listed.join('; ')}${rest}${bytesOfRuns(reader)}`;
}

function ticksOfDay(schedule: Schedule, nowMs: number): number {
  const endMs = nowMs + 86_400_000;
  let count = 0;
  for (let at = schedule.nextMs(nowMs); at <= endMs; at = schedule.nextMs(at)) count += 1; // at most one a minute
  return count;
}

function bytesOfRuns(reader: NonNullable<AnswerParts['reader']>): string {
  const runs = reader.runs(RUNS_MAX).filter(({ kind, outcome }) => kind === 'pull' && outcome === 'done');
  if (runs.length === 0) return '';
  const average = bytesText(sumOf(runs, ({ receivedBytes }) => receivedBytes) / runs.length);
  return runs.length === 1
    ? `; the last pull received ${average}`
    : `; the last ${countText(runs.length)} pulls received ${average} on average`;
}
