/**
 * Connects the HTTP server with a running daemon, whose parts are read with every request, because a reload exchanges them.
 */
import { resolve } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { Config } from '../../config/load.ts';
import { lastSeq } from '../history/entries.ts';
import { metricsOf, statusJson } from './measurements.ts';
import { ChildPool } from '../shared/child-pool.ts';
import { makePageKey, openPageAuth, type PageAuth } from './page-key.ts';
import { PAGE_PROCESS, plainState, type PageRequest } from '../page/request.ts';
import { seldom } from './seldom.ts';
import { startServer } from './server.ts';
import type { DaemonServer, DaemonView } from '../../daemon/parts.ts';

/**
 * Processes at once: for pages, and for streamed answers, which a slow reader keeps busy. All of them at their bounds and the daemon at work stay
 * within MemoryMax of the systemd unit (test/daemon/memory.test.ts).
 */
export const PROCESSES_MAX = { pages: 2, streams: 1 } as const;

/** Starts the server of a configuration; null if it has none. @throws RowsyncError `daemon.listen`, `replica.path`. */
export async function openServer(config: Config, view: DaemonView): Promise<DaemonServer | null> {
  if (config.http.listen === null) return null;
  const { clock, decisionQueue, loopDelay } = view;
  const pageAuthOf = cachedPageAuth(clock);
  pageAuthOf(config);
  const auth = (): PageAuth => pageAuthOf(view.sides().config);
  const pages = new ChildPool<PageRequest>(PROCESSES_MAX.pages, PAGE_PROCESS);
  const streams = new ChildPool<PageRequest>(PROCESSES_MAX.streams, PAGE_PROCESS);
  const server = await startServer(config.http.listen, {
    auth,
    isAlive: () => view.isAlive(),
    problems: seldom(() => view.problems(), clock),
    nowMs: () => clock.nowMs(),
    status: () => statusJson(view.state(), view.sides(), view.surroundings()),
    metrics: seldom(
      () => metricsOf(view.state(), view.sides(), { around: view.surroundings(), loopDelay, extras: view.extras }),
      clock,
    ),
    document: ({ msMax, signal, isStream, ...asked }) => {
      const { replica, http } = view.sides().config;
      const nowMs = clock.nowMs();
      const request = {
        ...asked,
        nowMs,
        formToken: auth().formToken(),
        replicaPath: resolve(replica.path),
        filesFolder: replica.files,
        recordUrl: http.recordUrl,
        state: plainState(view.state()),
        work: view.work(),
        around: asked.path === '/' ? view.surroundings() : null,
      };
      return (isStream ? streams : pages).ask(request, { msMax, signal });
    },
    progress: () => view.work().progress,
    onWork: (listener) => view.onWork(listener),
    lastChange: () => lastSeq(view.sides().replica),
    decide: (decision) => decisionQueue.ask(decision),
    cycle: (work) => view.askForCycle(work),
  });
  const close = (): Promise<void> => {
    pages.close();
    streams.close();
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
