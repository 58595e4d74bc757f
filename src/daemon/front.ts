/**
 * What the HTTP server shows of a running daemon and hands on to it. Input: the daemon's insides, asked for with every request, because
 * a reload exchanges them. Output: a server, where the configuration asks for one.
 */
import type { Clock } from '../base/clock.ts';
import type { Config } from '../config/load.ts';
import type { DecisionQueue } from './decision-queue.ts';
import type { LoopDelay } from './loop-delay.ts';
import { metricsOf, pageOf, statusJson } from './measure.ts';
import { makePageKey, openPageAuth, type PageAuth } from './page/key.ts';
import { startServer, type StatusServer } from './server.ts';
import type { Sides } from './sides.ts';
import { unreadyReason, type DaemonState } from './state.ts';

/** What the server is allowed to see and ask for. */
export interface Insides {
  readonly clock: Clock;
  readonly decisionQueue: DecisionQueue;
  readonly loopDelay: LoopDelay;
  isAlive(): boolean;
  state(): DaemonState;
  sides(): Sides;
  askForCycle(): void;
}

/** Starts the server that a configuration asks for; null where it asks for none. @throws RowsyncError `daemon.listen`, `replica.path`. */
export async function openFront(config: Config, insides: Insides): Promise<StatusServer | null> {
  if (config.http.listen === null) return null;
  const { clock, decisionQueue, loopDelay } = insides;
  const pageAuthOf = gates();
  pageAuthOf(config);
  const auth = (): PageAuth => pageAuthOf(insides.sides().config);
  return startServer(config.http.listen, {
    auth,
    isAlive: () => insides.isAlive(),
    unreadyReason: () => unreadyReason(insides.state()),
    status: () => statusJson(insides.state(), insides.sides()),
    metrics: () => metricsOf(insides.state(), insides.sides(), { nowMs: clock.nowMs(), loopDelay }),
    page: ({ isSignedIn, said }) => {
      const formToken = isSignedIn ? auth().formToken : null;
      return pageOf(insides.state(), insides.sides(), { nowMs: clock.nowMs(), said, formToken });
    },
    decide: (decision) => decisionQueue.ask(decision),
    cycle: () => insides.askForCycle(),
  });
}

/** Who may decide, by the key of a configuration; another one for another replica, whose key stands beside that. */
function gates(): (config: Config) => PageAuth {
  let last: { readonly path: string; readonly auth: PageAuth } | null = null;
  return ({ replica: { path, shared } }) => {
    if (last?.path !== path) last = { path, auth: openPageAuth(makePageKey(path, { shared })) };
    return last.auth;
  };
}
