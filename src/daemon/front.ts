/**
 * Connects the HTTP server with a running daemon. Input: the daemon's parts, read with every request, because a reload exchanges them. Output: a
 * server, if the configuration has one.
 */
import { resolve } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { Config } from '../config/load.ts';
import { lastSeq } from '../replica/history-entries.ts';
import type { Problem } from '../reconcile/account.ts';
import type { Surroundings } from './account.ts';
import type { DecisionQueue } from './decision-queue.ts';
import type { WorkKind } from './jobs.ts';
import type { LoopDelay } from './loop-delay.ts';
import { metricsOf, statusJson } from './measure.ts';
import { PageHost, PROCESSES_MAX } from './page/host.ts';
import { makePageKey, openPageAuth, type PageAuth } from './page/key.ts';
import { plainState } from './page/request.ts';
import { startServer, type StatusServer } from './server.ts';
import type { Sides } from './sides.ts';
import type { DaemonState } from './state.ts';
import type { WorkSnapshot } from './work-book.ts';

/** What the server may see and request. */
export interface Insides {
  readonly clock: Clock;
  readonly decisionQueue: DecisionQueue;
  readonly loopDelay: LoopDelay;
  isAlive(): boolean;
  state(): DaemonState;
  sides(): Sides;
  work(): WorkSnapshot;
  /** What the account has from outside of the replica. */
  surroundings(): Surroundings;
  problems(): readonly Problem[];
  /** Calls when work begins, advances and ends; returns a function that stops the calls. */
  onWork(listener: () => void): () => void;
  /** Null for all of it. */
  askForCycle(work: WorkKind | null): void;
}

/** Starts the server of a configuration; null if it has none. @throws RowsyncError `daemon.listen`, `replica.path`. */
export async function openFront(config: Config, insides: Insides): Promise<StatusServer | null> {
  if (config.http.listen === null) return null;
  const { clock, decisionQueue, loopDelay } = insides;
  const pageAuthOf = gates(clock);
  pageAuthOf(config);
  const auth = (): PageAuth => pageAuthOf(insides.sides().config);
  const pages = new PageHost(PROCESSES_MAX.pages);
  const streams = new PageHost(PROCESSES_MAX.streams);
  const server = await startServer(config.http.listen, {
    auth,
    isAlive: () => insides.isAlive(),
    problems: () => insides.problems(),
    nowMs: () => clock.nowMs(),
    status: () => statusJson(insides.state(), insides.sides(), insides.surroundings()),
    metrics: () => metricsOf(insides.state(), insides.sides(), { around: insides.surroundings(), loopDelay }),
    document: ({ msMax, signal, isStream, ...asked }) => {
      const { replica, http } = insides.sides().config;
      const nowMs = clock.nowMs();
      const request = {
        ...asked,
        nowMs,
        formToken: auth().formToken(),
        replicaPath: resolve(replica.path),
        filesFolder: replica.files,
        recordUrl: http.recordUrl,
        state: plainState(insides.state()),
        work: insides.work(),
        around: asked.path === '/' ? insides.surroundings() : null,
      };
      return (isStream ? streams : pages).ask(request, { msMax, signal });
    },
    progress: () => insides.work().progress,
    onWork: (listener) => insides.onWork(listener),
    lastChange: () => lastSeq(insides.sides().replica),
    decide: (decision) => decisionQueue.ask(decision),
    cycle: (work) => insides.askForCycle(work),
  });
  const close = (): Promise<void> => {
    pages.close();
    streams.close();
    return server.close();
  };
  return { ...server, close };
}

/** Who may decide, by the key beside the replica of a configuration; made anew for another replica. */
function gates(clock: Clock): (config: Config) => PageAuth {
  let last: { readonly path: string; readonly auth: PageAuth } | null = null;
  return ({ replica: { path, shared } }) => {
    if (last?.path !== path) last = { path, auth: openPageAuth(makePageKey(path, { shared }), clock) };
    return last.auth;
  };
}
