/**
 * A soak: the real daemon between a real origin under faults and SQL clients at work, for minutes or days. Then the
 * faults stop, and what everybody wrote is compared with what became of it. Takes how long, and a seed; produces
 * findings (report.ts).
 *
 * Every actor is a loop of its own that ends with the run; who decides what happens draws from a sequence of its own,
 * made from the seed. Timing is real, so a seed repeats what is done, not when.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Random } from '../../src/sandbox/data/random.ts';
import { askDaemon, startDaemonProcess, WATCHED, type DaemonProcess } from '../support/daemon-process.ts';
import { Edits } from '../support/edits.ts';
import { ask, type Asked } from '../support/http.ts';
import { prepareLedger } from '../support/ledger.ts';
import { openClient, type SqlClient } from '../support/sql-clients.ts';
import { comeToRest, problemsAtRest } from './rest.ts';
import type { Pace } from './fast-clock.ts';
import { startOrigin, type SoakOrigin } from './origin.ts';
import type { Findings } from './report.ts';
import { takeSample, type Sample } from './samples.ts';
import { drawStorm } from './storms.ts';
import { EDITED, soakConfig } from './world.ts';

/** How a soak is made. */
export interface SoakOptions {
  readonly minutes: number;
  /** How many days pass meanwhile for daemon and origin; 0 for real time. */
  readonly days: number;
  readonly seed: number;
  /** Told what happens, in a line each. */
  readonly say: (line: string) => void;
  /** Keeps the folder with replica, origin and log, and says where. */
  readonly keeps: boolean;
}

/** What all actors share. */
interface Stage {
  readonly folder: string;
  readonly origin: SoakOrigin;
  readonly daemon: DaemonProcess;
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
  readonly counts: Map<string, number>;
  readonly confirmed: Set<string>;
}

const MIRROR_ROWS = 2_000;
const STARTED_MS_MAX = 120_000;
/** systemd's limit is checked in the report; here only the soak itself must end. */
const ENDED_MS_MAX = 60_000;

const SCHEDULE = 'schedule: { sync: "* * * * *", verify: "*/3 * * * *", backup: "*/2 * * * *" }';
const SCHEDULE_OF_DAYS = 'schedule: { sync: "*/30 * * * *", verify: "0 */8 * * *", backup: "0 */6 * * *" }';
const CONFIG = `
push: { delay: 1 }
backup: { folder: backups, keep: 3 }
`;

/** Runs a soak. @throws Error when something of the soak itself does not work. */
export async function soak(options: SoakOptions): Promise<Findings> {
  const folder = mkdtempSync(join(tmpdir(), 'rowsync-soak-'));
  const storePath = join(folder, 'origin.sqlite');
  const { seed, days, minutes } = options;
  const pace: Pace = { beginMs: Date.now(), speed: days === 0 ? 1 : (days * 24 * 60) / minutes };
  const origin = await startOrigin({ storePath, seed, mirrorRows: MIRROR_ROWS, pace });
  let daemon: DaemonProcess | undefined;
  try {
    daemon = startDaemon(folder, origin, pace);
    return await runIn({ folder, origin, daemon }, options);
  } finally {
    if (daemon?.process.exitCode === null) daemon.process.kill('SIGKILL');
    await daemon?.ended;
    await origin.stop();
    if (options.keeps) options.say(`kept: ${folder}`);
    else rmSync(folder, { recursive: true, force: true });
  }
}

function startDaemon(folder: string, origin: SoakOrigin, pace: Pace): DaemonProcess {
  for (const name of ['backups', 'uploads']) mkdirSync(join(folder, name));
  writeFileSync(join(folder, 'token'), origin.token, { mode: 0o600 });
  const isFast = pace.speed > 1;
  const http = `http: { listen: "${join(folder, 'http.sock')}" }\n`;
  writeFileSync(
    join(folder, 'rowsync.yaml'),
    soakConfig(origin, (isFast ? SCHEDULE_OF_DAYS : SCHEDULE) + CONFIG + http),
  );
  const probe = fileURLToPath(new URL('probe.ts', import.meta.url));
  return startDaemonProcess(folder, {
    logPath: join(folder, 'daemon.log'),
    env: {
      // A watchdog looks at real time.
      ...(isFast ? {} : WATCHED),
      NODE_OPTIONS: `--import=${probe}`,
      ROWSYNC_SOAK_PROBE: join(folder, 'probe.json'),
      ...(isFast ? { ROWSYNC_SOAK_PACE: JSON.stringify(pace) } : {}),
    },
  });
}

async function runIn(
  { folder, origin, daemon }: { folder: string; origin: SoakOrigin; daemon: DaemonProcess },
  { minutes, days, seed, say }: SoakOptions,
): Promise<Findings> {
  const replica = join(folder, 'replica.db');
  const started = AbortSignal.timeout(STARTED_MS_MAX);
  await Promise.race([firstCycle(daemon), failsAfter(started, 'the first cycle did not end')]);
  prepareLedger(replica);
  const ending = new AbortController();
  const counts = new Map<string, number>();
  const confirmed = new Set<string>();
  const stage: Stage = { folder, origin, daemon, signal: ending.signal, say, counts, confirmed };
  const samples: Sample[] = [];
  let livezFailures = 0;
  const watching = new AbortController();
  const watched = watch(stage, watching.signal, samples).then((failures) => (livezFailures = failures));
  const actors = startActors(stage, seed);
  await Promise.race([wait(minutes * 60_000), ...actors.map(endsEarly), daemon.ended]);
  ending.abort();
  await Promise.all(actors);

  say('the faults stop');
  const restCycles = await comeToRest({ replica, origin, daemon, say });
  const problems = await problemsAtRest({ folder, replica, origin, confirmed });
  watching.abort();
  await watched;
  writeFileSync(join(folder, 'samples.json'), JSON.stringify(samples));
  const stoppedMs = performance.now();
  daemon.process.kill('SIGTERM');
  const stopCode = await Promise.race([daemon.ended, failsAfter(AbortSignal.timeout(ENDED_MS_MAX), 'SIGTERM')]);
  const { edits, requestCount } = await origin.obey({ kind: 'colleagues', areAtWork: false });
  return {
    seed,
    minutes,
    days,
    samples,
    problems,
    restCycles,
    stopMs: performance.now() - stoppedMs,
    stopCode,
    livezFailures,
    counts: {
      requests: requestCount,
      'edits by colleagues': edits,
      ...sorted(counts),
      ...sorted(new Map([...daemon.counts].filter(([name]) => name.includes('finished ')))),
    },
  };
}

function sorted(counts: ReadonlyMap<string, number>): Readonly<Record<string, number>> {
  return Object.fromEntries([...counts].toSorted(([one], [other]) => one.localeCompare(other)));
}

/** Until the tables that are edited here may be. */
async function firstCycle(daemon: DaemonProcess): Promise<void> {
  await daemon.logged('work.finished', 1, ({ work }) => work === 'push');
}

function failsAfter(signal: AbortSignal, what: string): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error(`Time is up: ${what}`)), { once: true });
  });
}

/** Rejects as its actor does, and never resolves: the clock ends a soak. */
async function endsEarly(actor: Promise<void>): Promise<never> {
  await actor;
  return new Promise(() => undefined);
}

/** Every actor, under way. */
function startActors(stage: Stage, seed: number): readonly Promise<void>[] {
  const { origin, daemon, folder, signal } = stage;
  const replica = join(folder, 'replica.db');
  let actor = 0;
  const often = async (pauseMs: readonly [number, number], act: (random: Random) => Promise<void>): Promise<void> => {
    const random = new Random(seed + 1_000 * (actor += 1));
    // Ends with the soak.
    while (!signal.aborted) {
      await pause(random.integer(...pauseMs), signal);
      if (!signal.aborted) await act(random);
    }
  };
  return [
    writer(stage, { client: openClient('shell', replica), seed: seed + 1, series: 1 }),
    writer(stage, { client: openClient('python', replica), seed: seed + 2, series: 2 }),
    reader(stage, openClient('python', replica), seed + 3),
    often([4_000, 15_000], async (random) => {
      const { name, plan } = drawStorm(random);
      await origin.obey({ kind: 'faults', plan });
      note(stage, `storms`);
      stage.say(`origin: ${name}`);
    }),
    often([20_000, 40_000], async () => {
      stage.say(`origin: ${(await origin.obey({ kind: 'schema' })).done}`);
      note(stage, 'schema changes');
    }),
    often([40_000, 90_000], async (random) => {
      stage.say((await origin.obey({ kind: 'access', isGranted: false })).done);
      await pause(random.integer(3_000, 10_000), signal);
      stage.say((await origin.obey({ kind: 'access', isGranted: true })).done);
      daemon.process.kill('SIGUSR1');
      note(stage, 'revoked tokens');
    }),
    // A person who does not wait for what waits after a failure.
    often([5_000, 12_000], async () => void daemon.process.kill('SIGUSR1')),
    often([30_000, 60_000], async () => void daemon.process.kill('SIGHUP')),
    judge(stage, openClient('shell', replica), seed + 4),
    pageReader(stage, seed + 5),
    pageReader(stage, seed + 6),
  ];
}

/** A SQL client that edits, and now and then keeps the lock for seconds. */
async function writer(
  stage: Stage,
  { client, seed, series }: { readonly client: SqlClient; readonly seed: number; readonly series: number },
): Promise<void> {
  await using open = client;
  const random = new Random(seed);
  const edits = new Edits(random, { tables: EDITED, uploads: join(stage.folder, 'uploads'), series });
  stage.say(`writer: ${open.name}`);
  while (!stage.signal.aborted) {
    const { transaction, sure } = edits.next(random.chance(0.02) ? random.integer(1_000, 4_000) : 0);
    const refusal = await open.run(transaction);
    note(stage, `transactions of ${open.name}${refusal === null ? '' : ' refused'}`);
    if (refusal === null) for (const one of sure) stage.confirmed.add(one);
    else stage.say(`writer: ${open.name}: ${refusal}`);
    await pause(random.integer(50, 600), stage.signal);
  }
}

/** A SQL client that reads one state of the file for long, so that the log cannot be taken over meanwhile. */
async function reader(stage: Stage, client: SqlClient, seed: number): Promise<void> {
  await using open = client;
  const random = new Random(seed);
  while (!stage.signal.aborted) {
    const statements = ['SELECT count(*) FROM "Archive"', 'SELECT * FROM sync_status'];
    const holdMs = random.integer(1_000, 15_000);
    await open.run({ begin: 'BEGIN', statements, holdMs, end: 'COMMIT' });
    note(stage, 'long reads');
    await pause(random.integer(500, 5_000), stage.signal);
  }
}

/** A person who decides conflicts by SQL. */
async function judge(stage: Stage, client: SqlClient, seed: number): Promise<void> {
  await using open = client;
  const random = new Random(seed);
  while (!stage.signal.aborted) {
    await pause(random.integer(5_000, 20_000), stage.signal);
    const side = random.pick(['local', 'remote']);
    // Where that cannot be done, as for a cell of a row that was deleted here, the local version can.
    const statements = [
      `UPDATE sync_conflicts SET resolution = iif(problem IS NULL, '${side}', 'local') WHERE state = 'open'`,
    ];
    await open.run({ begin: 'BEGIN IMMEDIATE', statements, holdMs: 0, end: 'COMMIT' });
  }
}

const ROW_PAGE = '/browse/Part/1';
const PAGES = ['/', '/browse', '/browse/Thing', '/browse/Archive', ROW_PAGE, '/work', '/ask'];

/** A person with a browser. */
async function pageReader(stage: Stage, seed: number): Promise<void> {
  const random = new Random(seed);
  const where = { socketPath: join(stage.folder, 'http.sock') };
  let cookie = '';
  while (!stage.signal.aborted) {
    const path = random.pick(PAGES);
    const { status } = await ask(where, path, { headers: { Host: 'localhost', Cookie: cookie } }).catch(() => NO_PAGE);
    if (status === 401) {
      note(stage, 'sign-ins');
      cookie = await signIn(stage.folder, where);
    } else {
      note(stage, 'pages read');
      // The row may have been deleted by a colleague, and has no page then.
      if (status !== 200 && !(status === 404 && path === ROW_PAGE)) note(stage, 'pages without their answer');
      if (status !== 200) stage.say(`page ${path}: ${status}`);
    }
    await pause(random.integer(200, 3_000), stage.signal);
  }
}

const NO_PAGE: Asked = { status: 0, headers: {}, body: '' };

/** The cookie of a new session. */
async function signIn(folder: string, where: { readonly socketPath: string }): Promise<string> {
  const key = readFileSync(join(folder, 'replica.db.page-key'), 'utf8').trim();
  const { headers } = await ask(where, '/sign-in', {
    method: 'POST',
    headers: {
      Host: 'localhost',
      Origin: 'http://localhost',
      'Content-Type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({ key }).toString(),
  }).catch(() => NO_PAGE);
  return headers['set-cookie']?.[0]?.split(';')[0] ?? '';
}

/** Looks at the daemon once a second; how often /livez had no good answer. */
async function watch(stage: Stage, signal: AbortSignal, samples: Sample[]): Promise<number> {
  const { folder, daemon } = stage;
  const socketPath = join(folder, 'http.sock');
  const [replica, probe, log] = ['replica.db', 'probe.json', 'daemon.log'].map((name) => join(folder, name));
  const paths = { replica: replica ?? '', probe: probe ?? '', log: log ?? '' };
  let failures = 0;
  for (let turn = 0; !signal.aborted; turn += 1) {
    const sample = takeSample(daemon.process.pid ?? 0, paths, Date.now());
    if (sample !== null) samples.push(sample);
    const [alive, ready] = await Promise.all([askDaemon(socketPath, '/livez'), askDaemon(socketPath, '/readyz')]);
    if (alive !== 200) failures += 1;
    if (ready !== 200) note(stage, 'seconds not ready');
    if (turn % 5 === 0) await Promise.all([askDaemon(socketPath, '/status'), askDaemon(socketPath, '/metrics')]);
    await pause(1_000, signal);
  }
  return failures;
}

function note({ counts }: Stage, what: string): void {
  counts.set(what, (counts.get(what) ?? 0) + 1);
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await wait(ms, undefined, { signal }).catch(() => undefined);
}
