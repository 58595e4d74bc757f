/**
 * The daemon's HTTP server: the page, sign-in, metrics, and the feed of changes.
 */
import type { Extra } from '../../extra.ts';

export const HTTP: Extra = {
  name: 'http',
  loadDaemonClient: async () => (await import('./daemon-client.ts')).DAEMON_CLIENT,
  server: {
    listensAt: ({ http }) => http.listen,
    open: async (address, view) => (await import('./endpoints.ts')).openServer(address, view),
  },
};
