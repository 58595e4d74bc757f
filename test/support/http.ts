/**
 * Asking a daemon's HTTP server, header by header, as browsers and others would.
 *
 *    const { status, headers, body } = await ask({ port: portOf(daemon) }, '/', { headers: { Host: 'localhost:8787' }
 *    });
 */
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import type { TestDaemon } from './daemon.ts';

/** An answer. */
export interface Asked {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** What is asked beside the path. */
export interface Asking {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** One request on a connection of its own. */
export function ask(
  where: { readonly socketPath: string } | { readonly port: number },
  path: string,
  { body, ...options }: Asking = {},
): Promise<Asked> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ ...where, host: '127.0.0.1', path, ...options, agent: false }, (response) => {
      text(response).then(
        (answer) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: answer }),
        reject,
      );
    });
    request.on('error', reject).end(body);
  });
}

/** The port that a daemon says it listens on. */
export function portOf(daemon: TestDaemon): number {
  return Number(String(daemon.events('http.listening')[0]?.['path']).split(':').at(-1));
}
