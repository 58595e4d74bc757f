/**
 * Loaded into the daemon before its program (`node --import`). Measures how late the event loop is, the heap and
 * timers, and writes them into the file that ROWSYNC_SOAK_PROBE names, once a second. It keeps no process alive.
 *
 * Where ROWSYNC_SOAK_PACE says so, the daemon's clock runs faster (fast-clock.ts).
 *
 * A machine that is busy with other things makes every process late. What the kernel says that the thread waited for a
 * processor is taken off (/proc/thread-self/schedstat): what is left is computing, waiting for the disk, and sleeping
 * inside SQLite.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createHistogram } from 'node:perf_hooks';
import { systemClock } from '../../src/base/clock.ts';
import { fastClock, type Pace } from './fast-clock.ts';

/** What is written; `machine` is the delay with what was taken off. */
export interface Probe {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
  readonly machineP99Ms: number;
  readonly count: number;
  readonly heapUsedBytes: number;
  readonly externalBytes: number;
  readonly timerCount: number;
}

const path = process.env['ROWSYNC_SOAK_PROBE'] ?? '';
const TICK_MS = 10;
const TICKS_PER_WRITE = 100;
/** Loading the program is not the daemon's work. */
const WARM_UP_TICKS = 50;
const own = createHistogram();
const machine = createHistogram();
let tickCount = 0;
let atMs = performance.now();
let waitedMs = waitedForProcessorMs();

/** So far, by this thread; 0 where the kernel does not tell. */
function waitedForProcessorMs(): number {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

function tick(): void {
  const [nowMs, nowWaitedMs] = [performance.now(), waitedForProcessorMs()];
  const lateMs = nowMs - atMs - TICK_MS;
  const ownMs = lateMs - (nowWaitedMs - waitedMs);
  [atMs, waitedMs] = [nowMs, nowWaitedMs];
  tickCount += 1;
  if (tickCount <= WARM_UP_TICKS) return;
  own.record(microseconds(ownMs));
  machine.record(microseconds(lateMs));
  if (tickCount % TICKS_PER_WRITE === 0) write();
}

/** A histogram takes whole numbers from 1. */
function microseconds(ms: number): number {
  return Math.max(1, Math.round(ms * 1000));
}

function write(): void {
  const { heapUsed, external } = process.memoryUsage();
  const found: Probe = {
    p50Ms: own.percentile(50) / 1000,
    p99Ms: own.percentile(99) / 1000,
    p999Ms: own.percentile(99.9) / 1000,
    maxMs: own.max / 1000,
    machineP99Ms: machine.percentile(99) / 1000,
    count: own.count,
    heapUsedBytes: heapUsed,
    externalBytes: external,
    timerCount: process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length,
  };
  writeFileSync(`${path}.new`, JSON.stringify(found));
  renameSync(`${path}.new`, path);
}

const pace = process.env['ROWSYNC_SOAK_PACE'];
if (pace !== undefined) Object.assign(systemClock, fastClock(JSON.parse(pace) as Pace));
if (path !== '') setInterval(tick, TICK_MS).unref();
