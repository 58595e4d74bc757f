/**
 * The daemon's HTTP server: the page, sign-in, metrics, and the feed of changes.
 */
import type { Extra } from '../../extra.ts';
import { httpOf } from '../shared/http-settings.ts';

export const HTTP: Extra = {
  name: 'http',
  loadOptions: async () => (await import('./options.ts')).HTTP_OPTIONS,
  loadDaemonClient: async () => (await import('./daemon-client.ts')).DAEMON_CLIENT,
  server: {
    listensAt: (config) => httpOf(config).listen,
    open: async (address, view) => (await import('./endpoints.ts')).openServer(address, view),
  },
};
