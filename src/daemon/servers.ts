/**
 * The servers of a running daemon: one for each extra that the configuration gives an address. A changed configuration opens what is new before it
 * closes what is old; a server whose address stays keeps its connections.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '../base/log.ts';
import type { Config } from '../config/load.ts';
import type { DaemonExtra, DaemonServer, DaemonView, ListenAddress } from './context.ts';

interface OpenServer {
  readonly of: NonNullable<DaemonExtra['server']>;
  readonly address: ListenAddress;
  readonly server: DaemonServer;
}

export class Servers {
  readonly #view: DaemonView;
  #open: readonly OpenServer[] = [];

  constructor(view: DaemonView) {
    this.#view = view;
  }

  /** Opens what a configuration names; then it is used, or given back. @throws RowsyncError `daemon.listen`, … with the others left as they were. */
  async prepare(
    config: Config,
    log: Logger,
  ): Promise<{ readonly use: () => Promise<void>; readonly giveBack: () => Promise<void> }> {
    const next: OpenServer[] = [];
    const before = this.#open;
    const closeThoseNotIn = async (kept: readonly OpenServer[], all: readonly OpenServer[]): Promise<void> => {
      for (const open of all) if (!kept.includes(open)) await open.server.close();
    };
    try {
      for (const of of this.#view.extras.flatMap(({ server }) => server ?? [])) {
        const address = of.listensAt(config);
        const known = before.find((open) => open.of === of);
        const isReachable = known?.server.isReachable() === true;
        // Closing a server removes its socket, so one whose socket is gone is closed before the new one opens.
        if (known !== undefined && !isReachable) await known.server.close();
        if (known !== undefined && isReachable && isDeepStrictEqual(known.address, address)) next.push(known);
        else if (address !== null) {
          const server = await of.open(address, this.#view);
          next.push({ of, address, server });
          log.info('http.listening', { path: server.address });
        }
      }
    } catch (thrown) {
      await closeThoseNotIn(before, next);
      throw thrown;
    }
    return {
      use: async () => {
        this.#open = next;
        await closeThoseNotIn(next, before);
      },
      giveBack: () => closeThoseNotIn(before, next),
    };
  }

  async close(): Promise<void> {
    for (const { server } of this.#open) await server.close();
  }
}
