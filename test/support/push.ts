/**
 * Pushes from a two-way fixture (two-way.ts), and what a test asks of both sides.
 *
 *    await using fixture = await startTwoWay({ editing: { match: 'Code' } });
 *    fixture.execute(`UPDATE "Note" SET "Title" = 'x' WHERE _id = 1`);
 *    const report = await pushNow(fixture);
 *    origin(fixture)                                  // rows at the origin, some columns of them
 */
import { silentLogger } from '../../src/base/log.ts';
import type { KeepUpload, PushContext, PushSettings, TablePush } from '../../src/push/context.ts';
import type { PushTableOptions } from '../../src/reconcile/push-plan.ts';
import { readTwoWayTables } from '../../src/capture/two-way-table.ts';
import { previewPush, type TablePreview } from '../../src/push/plan-preview.ts';
import { openUnasked } from '../../src/push/push-table.ts';
import { finishPushes, push, type PushOptions } from '../../src/push/push.ts';
import type { PullReport } from '../../src/pull/report.ts';
import type { PushReport } from '../../src/push/report.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { FaultRule } from '../../src/sandbox/server/faults.ts';
import type { Fixture } from './replica.ts';
import type { RawAnswer } from './sandbox.ts';
import { twoWayTable } from './two-way.ts';

/** Settings of a push for small tables. */
export function pushSettings(
  settings: Partial<PushSettings> = {},
  options: Partial<PushTableOptions> = {},
): PushSettings {
  return {
    maxPushRows: 1000,
    uploadDir: null,
    secrets: [],
    maxDeletePercent: 50,
    concurrency: 4,
    tableOptions: () => ({ conflict: 'origin', workflow: 'run', ...options }),
    ...settings,
  };
}

/** What a test may change of a push. */
export interface PushChoice extends Partial<PushOptions>, Partial<Pick<PushContext, 'before' | 'signal' | 'clock'>> {
  readonly keepUpload?: KeepUpload;
  readonly settings?: Partial<PushSettings>;
  readonly options?: Partial<PushTableOptions>;
}

/** The surroundings of a push from a fixture. */
export function pushContext(fixture: Fixture, choice: PushChoice = {}): PushContext {
  return {
    origin: fixture.origin,
    replica: fixture.replica,
    clock: choice.clock ?? systemClock,
    log: silentLogger,
    settings: pushSettings(choice.settings, choice.options),
    files: { keep: choice.keepUpload },
    before: choice.before,
    signal: choice.signal,
  };
}

/** Pushes; guards hold unless `confirm`. */
export function pushNow(fixture: Fixture, choice: PushChoice = {}): Promise<PushReport> {
  const { tables = [], confirm = false, takes } = choice;
  return push(pushContext(fixture, choice), { tables, confirm, takes });
}

/** The push of a table before anything is asked, for what takes one. */
export function openPush(fixture: Fixture, choice: PushChoice = {}, table = 'Note'): TablePush {
  return openUnasked(pushContext(fixture, choice), twoWayTable(fixture, table));
}

/** What a push would do now. */
export function previewNow(fixture: Fixture, choice: PushChoice = {}): Promise<readonly TablePreview[]> {
  const { replica, clock, settings } = pushContext(fixture, choice);
  return previewPush({ replica, clock, ...settings }, readTwoWayTables(replica));
}

/** Codes of everything that went wrong. */
export function codesOf(report: PushReport): readonly string[] {
  const errors = [report.error, ...report.tables.flatMap(({ error, held }) => [error, held])];
  return errors.flatMap((error) => error?.code ?? []);
}

/** Counts of a push of one table, without those that are 0. */
export function countsOf(report: PushReport): Readonly<Record<string, number>> {
  const [table] = report.tables;
  return Object.fromEntries(
    Object.entries(table ?? {}).flatMap(([name, value]) => {
      // Parts of parkedCount are left out.
      return name.endsWith('Count') && !/^parked(?!Count)/.test(name) && typeof value === 'number' && value !== 0
        ? [[name.slice(0, -'Count'.length), value]]
        : [];
    }),
  );
}

/** Rows of a table at the origin: the id and some columns of each. */
export function atOrigin(fixture: Fixture, columns: readonly string[], table = 'Note'): readonly unknown[] {
  return fixture.sandbox.store
    .rows(table)
    .map(({ id, values }) => [id, ...columns.map((column) => values[column] ?? null)]);
}

/** The same rows here. */
export function here(fixture: Fixture, columns: readonly string[], table = 'Note'): readonly unknown[] {
  const names = columns.map((column) => `"${column}"`);
  return fixture
    .rows(`SELECT _id, ${names.join(', ')} FROM "${table}" ORDER BY _id`)
    .map((row) => Object.values(row as Record<string, unknown>));
}

/** Requests that change something, as `method rows`, in order. */
export function changesSent(fixture: Fixture): readonly string[] {
  const methods = new Set(['create', 'update', 'upsert', 'delete']);
  return fixture.sandbox.requests.all.filter(({ method }) => methods.has(method)).map(({ method }) => method);
}

/** Puts faults in force at the sandbox; none ends them. */
export function setFaults(fixture: Fixture, faults: readonly FaultRule[]): void {
  fixture.sandbox.faults.replace({ faults });
}

/** An answer to the last select, with a row of this id that cannot be read. */
export async function unreadableAnswer({ sandbox }: Fixture, id: number): Promise<RawAnswer> {
  const { url, token, requests } = sandbox;
  const asked = new URL(requests.find({ method: 'select' }).at(-1)?.path ?? '', url);
  asked.searchParams.delete('skip');
  const found = await fetch(asked, { headers: { Authorization: `Bearer ${token}` } });
  const [row] = (await found.json()) as object[];
  const body = JSON.stringify([{ ...row, '@row.id': id, Done: 'maybe' }]);
  return { status: 200, headers: { 'Content-Type': 'application/json' }, body };
}

/** Pulls as the command does: what earlier pushes left behind is settled first. */
export async function finishAndPull(
  fixture: Fixture,
  options: Parameters<Fixture['pull']>[0] = {},
): Promise<PullReport> {
  await finishPushes(pushContext(fixture));
  return fixture.pull(options);
}
