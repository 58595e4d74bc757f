/**
 * Colleagues who change rows at the origin while a daemon runs, in virtual time in which every request takes a while.
 * Half of the changes, drawn by lot, ring; the rings of the others are dropped. Before each change come ten forged
 * rings, with a wrong secret or of a table that is not there.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { Random } from '../../src/sandbox/data/random.ts';
import { testClock } from './clock.ts';
import { startDaemon } from './daemon.ts';
import { ask, portOf } from './http.ts';
import { startTestSandbox } from './sandbox.ts';

/** What came of it. */
interface Ringing {
  /** Milliseconds of virtual time from each change that rang to its arrival, in order; Infinity where it never came. */
  readonly rungMs: readonly number[];
  readonly droppedCount: number;
  /** Changes that never came, rung or not. */
  readonly missingCount: number;
  /** Rings by what the daemon says it made of them. */
  readonly heard: Readonly<Record<'rung' | 'secret' | 'table' | 'many', number>>;
  /** Reads that rings caused. */
  readonly readCount: number;
  readonly requestCount: number;
  readonly writeCount: number;
  /** From the first change to the end. */
  readonly seconds: number;
  readonly isSame: boolean;
}

interface Change {
  readonly table: string;
  readonly title: string;
  readonly atMs: number;
  readonly rings: boolean;
  cameMs: number;
}

const STEP_MS = 50; // 20 changes a second
const REQUEST_MS = 20;
const FORGED_EACH = 10;
/** The last changes whose rings were dropped come by the poll of every minute. */
const AFTERWARDS_MS = 75_000;
const NAMES = ['Order', 'Customer', 'Note'];
const ROWS = 40;
const YAML = `http: { listen: "127.0.0.1:0", doorbell: true }
schedule: { sync: "0 * * * *", follow: "* * * * *" }
`;

/** Plays so many changes, an even number, and requires what the doorbell promises. */
export async function proveRinging(changeCount: number): Promise<void> {
  const { rungMs, heard, droppedCount, missingCount, ...played } = await play(changeCount);
  const half = changeCount / 2;

  // Half of the changes rang; each had ten forged rings before it, of either kind by turns.
  expect([rungMs.length, droppedCount]).toEqual([half, half]);
  expect(heard).toEqual({ rung: half, secret: 5 * changeCount, table: 5 * changeCount, many: 0 });
  expect(rungMs[Math.ceil(rungMs.length * 0.99) - 1]).toBeLessThanOrEqual(2_000);
  expect([missingCount, played.isSame, played.writeCount]).toEqual([0, true, 0]);
  // A table is read at most once a second because of rings, and once a minute by the poll; either costs three requests
  // at most.
  expect(played.readCount).toBeLessThanOrEqual(NAMES.length * played.seconds);
  const pollCount = NAMES.length * Math.ceil(played.seconds / 60);
  expect(played.requestCount).toBeLessThanOrEqual(3 * (played.readCount + pollCount));
}

async function play(changeCount: number): Promise<Ringing> {
  const clock = testClock({ sleepsAdvance: false, startMs: Date.UTC(2026, 5, 1, 12, 1) });
  const timed = { now: false };
  const intercept = (): boolean => {
    if (timed.now) clock.advance(REQUEST_MS);
    return false;
  };
  const columns = [{ name: 'Title', type: 'Text' }];
  const rows = Array.from({ length: ROWS }, (_, index) => ({ Title: `first ${index}` }));
  await using sandbox = await startTestSandbox({
    tables: NAMES.map((name) => ({ name, columns, rows })),
    clock,
    intercept,
  });
  await using daemon = startDaemon(sandbox, YAML, { clock });
  await daemon.idle();
  clock.advance(1_000);
  const port = portOf(daemon);
  const secret = readFileSync(join(daemon.folder, 'replica.db.doorbell-secret'), 'utf8').trim();
  const ring = (given: string, table: string) => ask({ port }, `/ring/${given}/${table}`, { method: 'POST' });
  sandbox.requests.clear();
  timed.now = true;
  const beganMs = clock.monotonicMs();

  let open: Change[] = [];
  /** Lets all work that is due end, and notes what came. */
  const settle = async (): Promise<void> => {
    const isBusy = (): boolean => daemon.events('work.started').length > daemon.events('work.finished').length;
    do for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    while (isBusy());
    const here = new Set(
      NAMES.flatMap((name) => daemon.rows(`SELECT "Title" FROM "${name}"`).map((row) => (row as Titled).Title)),
    );
    for (const change of open) if (here.has(change.title)) change.cameMs = clock.monotonicMs();
    open = open.filter(({ cameMs }) => cameMs === Infinity);
  };
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await settle();
  };

  const lots = drawLots(changeCount);
  const changes: Change[] = [];
  for (const [index, rings] of lots.entries()) {
    const forged = Array.from({ length: FORGED_EACH }, (_, turn) =>
      turn % 2 === 0 ? ring(`forged-${index}-${turn}`, 'Note') : ring(secret, `Forged ${turn}`.replace(' ', '%20')),
    );
    await Promise.all(forged);
    const table = NAMES[index % NAMES.length] ?? '';
    const title = `change ${index}`;
    // No row is changed twice, so that each change can be told from the next one.
    if (index < ROWS) sandbox.store.update(table, index + 1, { Title: title });
    else sandbox.store.insert(table, { Title: title });
    const change: Change = { table, title, atMs: clock.monotonicMs(), rings, cameMs: Infinity };
    changes.push(change);
    open.push(change);
    if (rings) await ring(secret, table);
    await pass(STEP_MS);
  }
  for (let passed = 0; passed < AFTERWARDS_MS; passed += 1_000) await pass(1_000);
  const seconds = (clock.monotonicMs() - beganMs) / 1_000;

  const { requests, store } = sandbox;
  const metrics = (await ask({ port }, '/metrics')).body;
  const metric = (name: string): number => Number(metrics.split(`rowsync_doorbell_${name} `)[1]?.split('\n')[0]);
  return {
    rungMs: changes
      .filter(({ rings }) => rings)
      .map(({ atMs, cameMs }) => cameMs - atMs)
      .toSorted((a, b) => a - b),
    droppedCount: changes.filter(({ rings }) => !rings).length,
    missingCount: open.length,
    heard: {
      rung: metric('rings_total{outcome="rung"}'),
      secret: metric('rings_total{outcome="secret"}'),
      table: metric('rings_total{outcome="table"}'),
      many: metric('rings_total{outcome="many"}'),
    },
    readCount: metric('reads_total{brought="yes"}') + metric('reads_total{brought="no"}'),
    requestCount: requests.all.length,
    writeCount: ['create', 'update', 'upsert', 'delete'].reduce((sum, method) => sum + requests.count({ method }), 0),
    seconds,
    isSame: NAMES.every((name) => {
      const here = daemon.rows(`SELECT "Title" FROM "${name}" ORDER BY _id`).map((row) => (row as Titled).Title);
      return JSON.stringify(here) === JSON.stringify(store.rows(name).map(({ values }) => values['Title']));
    }),
  };
}

interface Titled {
  readonly Title: string;
}

/**
 * For each change whether it rings: exactly half of them do, in an order without a pattern that is the same every time.
 */
function drawLots(count: number): readonly boolean[] {
  const random = new Random(1);
  return Array.from({ length: count }, (_, index) => ({ rings: index % 2 === 0, drawn: random.next() }))
    .toSorted((a, b) => a.drawn - b.drawn)
    .map(({ rings }) => rings);
}
