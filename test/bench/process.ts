/**
 * Whole processes, as a user starts them: the packed bundle from its start to its end, beside what someone would use
 * instead. A Node that does nothing stands beside the small commands, and a hand-written loop in Node and in Python
 * beside the pull. The Python one is left out where `urllib3` or `orjson` is not installed.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { bundle } from '../../packaging/bundle.ts';
import { TOP } from '../../packaging/paths.ts';
import type { Bench, BenchContext } from './benches.ts';
import { TABLE } from './data.ts';
import { median, type Figure } from './measure.ts';
import type { BenchOrigin } from './origin.ts';
import { PAGE_ROWS } from './ours.ts';

/** What a hand-written loop is told. */
export interface LoopJob {
  readonly url: string;
  readonly token: string;
  readonly columns: readonly string[];
  readonly rowCount: number;
  readonly pageRows: number;
  readonly out: string;
}

/** One run of a process. */
interface Run {
  readonly seconds: number;
  /** The most memory that it took at a time. */
  readonly mib: number;
  readonly cpuSeconds: number;
}

/** Loaded before a program of Node, from the folder in which it runs. */
const PEAK = './peak.cjs';
/**
 * Says at the end of a process how much memory it took at most, in KiB, and its processor time in milliseconds, as the
 * last line on stderr. The system's own count of memory would begin with that of the process that started this one. A
 * module of the old kind, since what loads the others takes 6 MiB itself.
 */
const PEAK_MODULE = `process.once('exit', () => {
  const { user, system } = process.cpuUsage();
  let peak = process.resourceUsage().maxRSS;
  try {
    peak = /VmHWM:\\s+(\\d+)/.exec(require('node:fs').readFileSync('/proc/self/status', 'utf8'))[1];
  } catch {}
  require('node:fs').writeSync(2, peak + ' ' + Math.round((user + system) / 1000) + '\\n');
});`;
const LOOP_NODE = fileURLToPath(new URL('loop-node.ts', import.meta.url));
/** Programs for Python, by what they import. */
const LOOPS_PYTHON = [
  { name: 'Python', imports: 'urllib3, orjson', program: fileURLToPath(new URL('loop.py', import.meta.url)) },
  { name: 'Dlt', imports: 'dlt, sqlalchemy', program: fileURLToPath(new URL('loop-dlt.py', import.meta.url)) },
];
const NODE = process.execPath;

/** Runs a program that says its peak and its processor time on the last line of stderr. */
function runOnce(program: string, args: readonly string[], folder: string): Run {
  const startedMs = performance.now();
  const { status, stderr } = spawnSync(program, args, { cwd: folder, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  const seconds = (performance.now() - startedMs) / 1000;
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${status}: ${stderr}`);
  const [kib, cpuMs] = (stderr.trim().split('\n').at(-1) ?? '').split(' ').map(Number);
  return { seconds, mib: (kib ?? Number.NaN) / 1024, cpuSeconds: (cpuMs ?? Number.NaN) / 1000 };
}

/** Medians of several ways to do the same, in turn; the first round of each is not counted. */
function inTurn(roundCount: number, ways: readonly (() => Run)[]): readonly Run[] {
  const runs = ways.map((): Run[] => []);
  for (let round = 0; round <= roundCount; round += 1) {
    for (const [index, way] of ways.entries()) {
      const run = way();
      if (round > 0) runs[index]?.push(run);
    }
  }
  return runs.map((of) => ({
    seconds: median(of.map((run) => run.seconds)),
    mib: median(of.map((run) => run.mib)),
    cpuSeconds: median(of.map((run) => run.cpuSeconds)),
  }));
}

/** The bundle, as npm installs it, in a folder with a configuration. */
async function install({ folder }: BenchContext, origin: BenchOrigin): Promise<{ main: string; work: string }> {
  const [top, work] = [join(folder, 'package'), join(folder, 'work')];
  mkdirSync(work);
  await bundle(join(top, 'dist'));
  symlinkSync(join(TOP, 'node_modules'), join(top, 'node_modules'));
  writeFileSync(join(top, 'package.json'), readFileSync(join(TOP, 'package.json')));
  writeFileSync(join(work, PEAK), PEAK_MODULE);
  writeFileSync(join(work, 'token'), origin.token, { mode: 0o600 });
  const side = `origin: { url: "${origin.url}", database: "${origin.database}", tokenFile: token }`;
  writeFileSync(
    join(work, 'rowsync.yaml'),
    `${side}\nreplica: { path: replica.db }\ntables: { "*": {} }\nschedule: { sync: "0 0 1 1 *" }\n`,
  );
  return { main: join(top, 'dist/cli/main.cjs'), work };
}

function columnsOf(path: string): readonly string[] {
  const db = new Database(path, { readonly: true });
  try {
    const names = db.prepare('SELECT name FROM pragma_table_info(?)').pluck().all(TABLE) as string[];
    return names.filter((name) => !name.startsWith('_'));
  } finally {
    db.close();
  }
}

/** For what a daemon does at the end of its work. */
const REST_MS = 2000;

/** The memory of the daemon once its first cycle is over, in MiB; NaN where the system has no /proc. */
async function restMib(main: string, work: string): Promise<number> {
  const daemon = spawn(NODE, ['--max-old-space-size=512', main, 'daemon'], {
    cwd: work,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  try {
    for await (const line of createInterface(daemon.stdout)) {
      if (line.includes('"work.finished"')) break;
    }
    await setTimeout(REST_MS);
    const status = readFileSync(`/proc/${daemon.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
  } catch {
    return Number.NaN;
  } finally {
    daemon.kill('SIGTERM');
    if (daemon.exitCode === null && daemon.signalCode === null) await once(daemon, 'exit');
  }
}

function startFigures(roundCount: number, { main, work }: { main: string; work: string }): readonly Figure[] {
  const measured = (...args: readonly string[]) => runOnce(NODE, ['--require', PEAK, ...args], work);
  const [version, status, bare] = inTurn(roundCount * 3, [
    () => measured(main, '--version'),
    () => measured(main, 'status'),
    () => measured('--eval', '0'),
  ]);
  if (version === undefined || status === undefined || bare === undefined) throw new Error('three ways were measured');
  const peer = `Node alone: ${bare.seconds.toFixed(3)} s and ${bare.mib.toFixed(0)} MiB`;
  const bound = { kind: 'atMost', value: 0.15 } as const;
  return [
    { name: 'process.versionSeconds', value: version.seconds, unit: 's', bound, note: peer },
    { name: 'process.statusSeconds', value: status.seconds, unit: 's', bound, note: peer },
    { name: 'process.statusMiB', value: status.mib, unit: 'MiB', bound: { kind: 'atMost', value: 70 }, note: peer },
  ];
}

/** Start, memory and a whole first pull of the packed program. */
export const processBench: Bench = async (context) => {
  const origin = await context.origins.serve(context.isSmoke ? 4000 : 200_000);
  const { main, work } = await install(context, origin);
  const replica = join(work, 'replica.db');
  const forget = (path: string): void => {
    const endings = ['', '-wal', '-shm', '.lock', '-pipelines'];
    for (const ending of endings) rmSync(path + ending, { recursive: true, force: true });
  };
  const pull = (): Run => {
    forget(replica);
    return runOnce(NODE, ['--require', PEAK, main, 'pull', '--json'], work);
  };
  pull();
  const out = join(work, 'loop.db');
  const url = `${origin.url}/secure/api/v2/${origin.database}/${TABLE}/select.json`;
  const job = { url, token: origin.token, columns: columnsOf(replica), rowCount: origin.rowCount, pageRows: PAGE_ROWS };
  const loop = (program: string, ...args: readonly string[]): Run => {
    forget(out);
    return runOnce(program, [...args, JSON.stringify({ ...job, out })], work);
  };
  const python = LOOPS_PYTHON.filter(({ imports }) => spawnSync('python3', ['-c', `import ${imports}`]).status === 0);
  const [ours, node, ...others] = inTurn(context.roundCount, [
    pull,
    () => loop(NODE, '--require', PEAK, LOOP_NODE),
    ...python.map(
      ({ program }) =>
        () =>
          loop('python3', program),
    ),
  ]);
  if (ours === undefined || node === undefined) throw new Error('two ways were measured');
  const rows = `${origin.rowCount} rows`;
  const ratios = (language: string, peer: Run): readonly Figure[] => {
    const of = (name: string, value: number, note: string, bound: Figure['bound'] = null): Figure => {
      return { name, value, unit: '×', bound, note };
    };
    const took = `${rows}; it took ${peer.mib.toFixed(0)} MiB`;
    return [
      of(`process.pullRatio${language}`, peer.seconds / ours.seconds, `its loop's time ÷ ours, ${took}`),
      of(
        `process.pullCpu${language}`,
        ours.cpuSeconds / peer.cpuSeconds,
        `our processor time, ${ours.cpuSeconds.toFixed(2)} s, ÷ its loop's, ${peer.cpuSeconds.toFixed(2)} s`,
        { kind: 'atMost', value: 1.8 },
      ),
    ];
  };
  const start = startFigures(context.roundCount, { main, work });
  // Without a replica its first cycle begins at once.
  forget(replica);
  const rest = await restMib(main, work);
  return [
    ...start,
    {
      name: 'process.restMiB',
      value: rest,
      unit: 'MiB',
      bound: { kind: 'atMost', value: 110 },
      note: 'the daemon after a cycle',
    },
    {
      name: 'process.pullMiB',
      value: ours.mib,
      unit: 'MiB',
      bound: { kind: 'atMost', value: 180 },
      note: `first pull, ${rows}`,
    },
    ...ratios('Node', node),
    ...others.flatMap((peer, index) => ratios(python[index]?.name ?? '', peer)),
  ];
};
