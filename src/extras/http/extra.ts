/**
 * The daemon's HTTP server: the page, sign-in, metrics, and the feed of changes.
 */
import type { Extra } from '../../extra.ts';

export const HTTP: Extra = {
  name: 'http',
  server: {
    listensAt: ({ http }) => http.listen,
    open: async (address, view) => (await import('./endpoints.ts')).openServer(address, view),
  },
};
