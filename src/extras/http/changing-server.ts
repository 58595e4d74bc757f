/**
 * A server of a daemon at an address that the configuration names. A changed configuration opens the new server before
 * the old one closes; a server whose address stays keeps its connections.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../../config/load.ts';
import type { DaemonView, Prepared } from '../../daemon/context.ts';
import type { ListenAddress } from '../shared/linked-extra.ts';

export interface DaemonServer {
  /** Its address, with the port that was chosen for port 0. */
  readonly address: string;
  /** False once its socket was removed from the file system. */
  isReachable(): boolean;
  close(): Promise<void>;
}

interface ServerKind {
  /** Where a configuration wants it; null for nowhere. */
  readonly listensAt: (config: Config) => ListenAddress | null;
  /** @throws RowsyncError `daemon.listen`, `replica.path`. */
  readonly open: (address: ListenAddress, view: DaemonView) => Promise<DaemonServer>;
}

/** How a part of the daemon with this server prepares for a configuration. */
export function changingServer(view: DaemonView, kind: ServerKind): (config: Config | null) => Promise<Prepared> {
  let open: { readonly address: ListenAddress; readonly server: DaemonServer } | null = null;
  return async (config) => {
    const before = open;
    const address = config === null ? null : kind.listensAt(config);
    const isReachable = before?.server.isReachable() === true;
    // Closing a server removes its socket, so one whose socket is gone is closed before the new one opens.
    if (before !== null && !isReachable) await before.server.close();
    if (isReachable && isDeepStrictEqual(before.address, address)) {
      return { use: () => Promise.resolve(), giveBack: () => Promise.resolve() };
    }
    const next = address === null ? null : { address, server: await kind.open(address, view) };
    if (next !== null) view.resources().log.info('http.listening', { path: next.server.address });
    return {
      use: async () => {
        open = next;
        await before?.server.close();
      },
      giveBack: async () => next?.server.close(),
    };
  };
}
