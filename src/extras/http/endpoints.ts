/**
 * Connects the HTTP server with a running daemon. What `/status` and `/metrics` show is read when the request comes,
 * since a reload replaces the parts of a daemon. The connection is one of its own, which never waits for a writer.
 */
import { LoopDelay } from './loop-delay.ts';
import { resolve, dirname } from 'node:path';
import { stampFromMs, type Clock } from '../../base/clock.ts';
import type { Config } from '../../config/load.ts';
import { lastSeq } from '../history/entries.ts';
import { ChildPool } from '../shared/child-pool.ts';
import { makePageKey, openPageAuth, type PageAuth } from './page-key.ts';
import { PAGE_PROCESS, type PageRequest } from '../page/request.ts';
import { answerPath, startServer } from './server.ts';
import type { DaemonView } from '../../daemon/context.ts';
import type { LinkedPart, ListenAddress } from '../shared/linked-extra.ts';
import type { DaemonServer } from './changing-server.ts';
import type { WorkLog } from '../shared/work-log.ts';
import type { DecisionQueue } from './decision-queue.ts';
import { statfsSync, statSync } from 'node:fs';
import { openReader, type ReplicaReader } from '../../replica/reader.ts';
import { readSinkStatus } from '../shared/sinks.ts';
import { readTables } from '../../replica/bookkeeping/tables.ts';
import { readAccount } from '../../daemon/account-facts.ts';
import { metricsText, readReplicaMeasures } from './metrics.ts';
import { statusLine, type DaemonState } from '../../daemon/state.ts';
import { httpOf } from '../shared/http-settings.ts';

/**
 * Processes at once: for pages, and for streamed answers, which a slow reader keeps busy. All of them at their bounds
 * and the daemon at work stay within MemoryMax of the systemd unit (test/extras/page/memory.test.ts).
 */
export const PROCESSES_MAX = { pages: 2, streams: 1 } as const;

interface ServedDaemon extends DaemonView {
  readonly work: WorkLog;
  readonly decisions: DecisionQueue;
}

/** Starts the server. @throws RowsyncError `daemon.listen`, `replica.path`. */
export async function openServer(address: ListenAddress, view: ServedDaemon): Promise<DaemonServer> {
  const { clock, decisions, work } = view;
  const pageAuthOf = cachedPageAuth(clock);
  pageAuthOf(view.resources().config);
  const auth = (): PageAuth => pageAuthOf(view.resources().config);
  const pages = new ChildPool<PageRequest>(PROCESSES_MAX.pages, PAGE_PROCESS);
  const streams = new ChildPool<PageRequest>(PROCESSES_MAX.streams, PAGE_PROCESS);
  const delay = new LoopDelay(clock);
  const started = startServer(address, {
    auth,
    database: () => {
      const { database, url } = view.resources().config.origin;
      return { database, url };
    },
    isAlive: () => view.isAlive(),
    problems: seldom(() => view.problems(), clock),
    nowMs: () => clock.nowMs(),
    status: async () => ({ progress: work.snapshot().progress, ...(await statusJson(view)) }),
    metrics: seldom(() => metricsOf(view, delay), clock),
    document: ({ msMax, signal = new AbortController().signal, isStream = false, ...given }) => {
      const { config } = view.resources();
      const { replica, tables } = config;
      const nowMs = clock.nowMs();
      const request = {
        query: '',
        form: null,
        said: null,
        ...given,
        nowMs,
        formToken: auth().formToken(),
        replicaPath: resolve(replica.path),
        filesFolder: replica.files,
        recordUrl: httpOf(config).recordUrl,
        references: Object.fromEntries(
          readTables(view.resources().replica).map(({ name }) => [name, tables.find(name)?.options.references ?? {}]),
        ),
        state: view.state(),
        work: work.snapshot(),
        around: given.path === '/' ? view.surroundings() : null,
      };
      return (isStream ? streams : pages).ask(request, { msMax, signal });
    },
    progress: () => work.snapshot().progress,
    onWork: (listener) => work.listen(listener),
    lastChange: () => lastSeq(view.resources().replica),
    decide: (decision) => decisions.ask(decision),
    isScheduled: (kind) => view.state().jobs.some(({ id }) => id === kind || id.startsWith(`${kind} `)),
    cycle: (kind) => view.askForCycle(kind),
    refresh: (tables) => view.refresh(tables),
    answerPath: (request) => answerPath(view, request),
  });
  const server = await started.catch((thrown: unknown) => {
    delay.stop();
    throw thrown;
  });
  const close = (): Promise<void> => {
    pages.close();
    streams.close();
    delay.stop();
    return server.close();
  };
  return { ...server, close };
}

/** Who may decide, by the key beside the replica of a configuration; made anew for another replica. */
function cachedPageAuth(clock: Clock): (config: Config) => PageAuth {
  let last: { readonly path: string; readonly auth: PageAuth } | null = null;
  return ({ replica: { path, shared } }) => {
    if (last?.path !== path) last = { path, auth: openPageAuth(makePageKey(path, { shared }), clock) };
    return last.auth;
  };
}

/** How many times as long as it took to make, an answer is given again. */
const REST_FACTOR = 20;

/** The same function, which gives its last result for a while. */
export function seldom<T>(make: () => T, clock: Pick<Clock, 'monotonicMs'>): () => T {
  let last: { readonly value: T; untilMs: number } | null = null;
  return () => {
    const startedMs = clock.monotonicMs();
    if (last !== null && startedMs < last.untilMs) return last.value;
    const made = { value: make(), untilMs: Infinity };
    last = made;
    const rest = (): void => {
      const nowMs = clock.monotonicMs();
      made.untilMs = nowMs + REST_FACTOR * (nowMs - startedMs);
    };
    if (made.value instanceof Promise) made.value.then(rest, rest);
    else rest();
    return made.value;
  };
}

/** The body of `/status`; without tables where the replica cannot be read, which is one of the problems. */
async function statusJson(view: DaemonView): Promise<object> {
  const { path } = view.resources().config.replica;
  const around = view.surroundings();
  return {
    ...stateJson(view.state()),
    replica: { path, bytes: sizeOf(path) },
    complaints: around.complaints,
    ...(await read(path, (reader) => ({
      problems: readAccount(reader, around),
      tables: reader.status(),
      sinks: readSinkStatus(reader),
    })).catch(() => ({ problems: view.problems() }))),
  };
}

function stateJson(state: DaemonState): Readonly<Record<string, unknown>> {
  return {
    startedAt: stampFromMs(state.startedAtMs),
    status: statusLine(state),
    working: state.working,
    notes: state.notes,
    failure: failureJson(state),
    jobs: state.jobs.map(({ id, nextAtMs, isDue }) => ({ job: id, nextAt: stampFromMs(nextAtMs), isDue })),
    last: lastJson(state.lastByWork),
    lastAsked: lastJson(state.lastAskedByWork),
  };
}

function failureJson({ failure, circuitWaitMs }: DaemonState): object | null {
  if (failure === null) return null;
  const { kind, code, message, hint, cause, failureCount: count, number } = failure;
  return { kind, code, message, hint, cause, count, number, retryInMs: Math.round(circuitWaitMs) };
}

function lastJson(lastByWork: DaemonState['lastByWork']): object {
  return Object.fromEntries(
    [...lastByWork].map(([work, { finishedAtMs, durationMs, ...last }]) => [
      work,
      { finishedAt: stampFromMs(finishedAtMs), durationMs: Math.round(durationMs), ...last },
    ]),
  );
}

/** The body of `/metrics`. @throws RowsyncError of the replica. */
async function metricsOf(view: DaemonView, delay: LoopDelay): Promise<string> {
  const { config, origin, replica } = view.resources();
  const { path } = config.replica;
  const around = view.surroundings();
  const { nowMs } = around;
  const { bavail, bsize } = statfsSync(dirname(path));
  const measured = await read(path, (reader) => ({
    problems: readAccount(reader, around),
    tables: reader.status(),
    replica: readReplicaMeasures(reader),
    extras: view.parts().flatMap((part: LinkedPart) => part.metrics?.({ reader, nowMs }) ?? []),
  }));
  return metricsText({
    state: view.state(),
    ...measured,
    added: around.added,
    origin: origin.counters(),
    ...replica.counters(),
    loopDelaySeconds: delay.takeP99Seconds(),
    replicaBytes: sizeOf(path),
    walBytes: sizeOf(`${path}-wal`),
    freeBytes: bavail * bsize,
    nowMs,
  });
}

async function read<T>(path: string, ask: (reader: ReplicaReader) => T | Promise<T>): Promise<T> {
  using reader = openReader(path);
  return await ask(reader);
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
