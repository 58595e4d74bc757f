/**
 * The daemon's HTTP server: the page, sign-in, metrics, and the feed of changes.
 */
import type { Extra } from '../../extra.ts';

export const HTTP: Extra = {
  name: 'http',
  openServer: async (config, view) =>
    config.http.listen === null ? null : (await import('./endpoints.ts')).openServer(config, view),
};
