/**
 * The daemon's HTTP server: the page, sign-in, metrics, and the feed of changes.
 */
import type { Extra } from '../../extra.ts';

export const HTTP: Extra = {
  name: 'http',
  loadOptions: async () => (await import('./options.ts')).HTTP_OPTIONS,
  loadDaemonClient: async () => (await import('./daemon-client.ts')).DAEMON_CLIENT,
  join: async (view) => (await import('./part.ts')).joinDaemon(view),
};
