/**
 * Loaded into the daemon before its program (`node --import`): measures how late the event loop is, and the heap, and writes
 * both into the file that ROWSYNC_SOAK_PROBE names, once a second. It keeps nobody alive.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** What is written. */
export interface Probe {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
  readonly count: number;
  readonly heapUsedBytes: number;
  readonly externalBytes: number;
}

const path = process.env['ROWSYNC_SOAK_PROBE'] ?? '';
const RESOLUTION_MS = 10;
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
const msFromNs = (ns: number): number => Math.max(0, ns / 1e6 - RESOLUTION_MS);
let isStarted = false;

function write(): void {
  // Loading the program is not the daemon's work.
  if (!isStarted) {
    isStarted = true;
    delay.enable();
    return;
  }
  const { heapUsed, external } = process.memoryUsage();
  const found: Probe = {
    p50Ms: msFromNs(delay.percentile(50)),
    p99Ms: msFromNs(delay.percentile(99)),
    p999Ms: msFromNs(delay.percentile(99.9)),
    maxMs: msFromNs(delay.max),
    count: delay.count,
    heapUsedBytes: heapUsed,
    externalBytes: external,
  };
  writeFileSync(`${path}.new`, JSON.stringify(found));
  renameSync(`${path}.new`, path);
}

if (path !== '') setInterval(write, 1_000).unref();
