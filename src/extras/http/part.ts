/**
 * The part of a running daemon that has its HTTP server: keeps what the page shows of its work, and hands over what
 * people decide there.
 */
import type { DaemonPart, DaemonView } from '../../daemon/context.ts';
import { changingServer } from './changing-server.ts';
import { httpOf } from '../shared/http-settings.ts';
import { WorkLog } from '../shared/work-log.ts';
import { DecisionQueue } from './decision-queue.ts';

export function joinDaemon(view: DaemonView): DaemonPart {
  const work = new WorkLog();
  const decisions = new DecisionQueue(view.clock, () => view.wake());
  const prepare = changingServer(view, {
    listensAt: (config) => httpOf(config).listen,
    open: async (address) => (await import('./endpoints.ts')).openServer(address, { ...view, work, decisions }),
  });
  return {
    prepare: (config) => {
      if (config === null) decisions.close();
      return prepare(config);
    },
    betweenWork: (resources) => decisions.carryOut(resources),
    takeWork: (event) => work.take(event),
  };
}
