/**
 * A doorbell between colleagues and a replica, in virtual time: every request takes a while, some rings are lost, others are forged, and tables are
 * polled every minute.
 */
import { Doorbell } from '../../src/extras/doorbell/doorbell.ts';
import { pull } from '../../src/pull/pull.ts';
import { readTables } from '../../src/replica/bookkeeping/tables.ts';
import { testClock } from './clock.ts';
import { startFixture } from './replica.ts';

/** How a proof went. */
export interface Ringing {
  /** Milliseconds of virtual time from a change to its arrival, of those that rang; null where one never came. */
  readonly rungMs: readonly (number | null)[];
  readonly lostCount: number;
  readonly requestCount: number;
  readonly readCount: number;
  readonly seconds: number;
  readonly writeCount: number;
  readonly isSame: boolean;
}

/** A change of a colleague. */
interface Change {
  readonly table: string;
  readonly id: number;
  readonly title: string;
  readonly atMs: number;
  readonly rings: boolean;
  cameMs: number | null;
}

const STEP_MS = 50; // 20 changes a second
const REQUEST_MS = 20;
const POLL_MS = 60_000;
const NAMES = ['Order', 'Customer', 'Note'];
const ROWS = 40;

/** Plays so many changes, half of which ring. */
export async function playRinging(changeCount: number): Promise<Ringing> {
  const clock = testClock({ sleepsAdvance: false, startMs: Date.UTC(2026, 5, 1, 12) });
  const columns = [{ name: 'Title', type: 'Text' }];
  const rows = Array.from({ length: ROWS }, (_, index) => ({ Title: `first ${index}` }));
  const isTimed = { now: false };
  const intercept = (): boolean => {
    if (isTimed.now) clock.advance(REQUEST_MS);
    return false;
  };
  const options = { tables: NAMES.map((name) => ({ name, columns, rows })), clock, intercept };
  await using fixture = await startFixture(options, { settings: { follows: 'all' }, clock });
  await fixture.pull();
  fixture.sandbox.requests.clear();
  isTimed.now = true;
  const changes: Change[] = [];
  let open: Change[] = [];
  let reading: Promise<unknown> = Promise.resolve();
  const read = async (tables: readonly string[]) => {
    const report = await pull(
      { ...fixture.context(), settings: { ...fixture.context().settings, compares: false } },
      { tables, confirm: false, follow: true },
    );
    for (const change of open) {
      const [row] = fixture.rows(
        `SELECT 1 FROM "${change.table}" WHERE _id = ? AND "Title" = ?`,
        change.id,
        change.title,
      );
      if (row !== undefined) change.cameMs = clock.monotonicMs();
    }
    open = open.filter(({ cameMs }) => cameMs === null);
    const nameOf = new Map(readTables(fixture.replica).map(({ localName, name }) => [localName, name]));
    return report.tables.map(({ table, insertedCount, updatedCount, deletedCount, error, held, stamps }) => ({
      name: nameOf.get(table) ?? table,
      localName: table,
      error,
      held,
      isFollowed: true,
      stamps,
      counts: { insertedCount, updatedCount, deletedCount },
    }));
  };
  /** One read after the other, as the daemon's loop does. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const result = reading.then(work);
    reading = result.catch(() => undefined);
    return result;
  };
  const stop = new AbortController();
  const doorbell = new Doorbell({
    clock,
    stop: stop.signal,
    originNowMs: () => clock.nowMs(),
    refresh: (tables) => inTurn(() => read(tables)),
  });
  const rest = async (): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve));
    await reading;
    await new Promise((resolve) => setImmediate(resolve));
  };
  const tick = async (): Promise<void> => {
    const before = clock.monotonicMs();
    clock.advance(STEP_MS);
    await rest();
    if (Math.floor(before / POLL_MS) < Math.floor(clock.monotonicMs() / POLL_MS)) await inTurn(() => read(NAMES));
  };

  for (let index = 0; index < changeCount; index += 1) {
    const table = NAMES[index % NAMES.length] ?? '';
    const title = `change ${index}`;
    // Every row is changed once, or added, so that each change can be told from the next one.
    const id = index < ROWS ? index + 1 : fixture.sandbox.store.insert(table, { Title: title });
    if (index < ROWS) fixture.sandbox.store.update(table, id, { Title: title });
    const change = { table, id, title, atMs: clock.monotonicMs(), rings: index % 2 === 0, cameMs: null };
    changes.push(change);
    open.push(change);
    if (change.rings) doorbell.ring(table);
    await tick();
  }
  // The last rings are tried again, and the last lost ones wait for the poll.
  for (let passed = 0; passed < POLL_MS + 15_000; passed += STEP_MS) await tick();
  stop.abort();
  await rest();

  const { requests, store } = fixture.sandbox;
  const isSame = NAMES.every((name) => {
    const here = fixture
      .rows(`SELECT "Title" FROM "${name}" ORDER BY _id`)
      .map((row) => (row as { Title: string }).Title);
    return JSON.stringify(here) === JSON.stringify(store.rows(name).map(({ values }) => values['Title']));
  });
  return {
    rungMs: changes.filter(({ rings }) => rings).map(({ atMs, cameMs }) => (cameMs === null ? null : cameMs - atMs)),
    lostCount: changes.filter(({ cameMs }) => cameMs === null).length,
    requestCount: requests.all.length,
    readCount: doorbell.readCount,
    seconds: clock.monotonicMs() / 1_000,
    writeCount: ['create', 'update', 'upsert', 'delete'].reduce((sum, method) => sum + requests.count({ method }), 0),
    isSame,
  };
}
