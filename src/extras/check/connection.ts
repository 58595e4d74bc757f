/**
 * Checks the connection to the origin, without its credentials: name, proxy, connection, certificate, clock. One HEAD
 * request for the root of the host, over connections as every request has them. Any answer proves that a server is
 * there, and its Date header has the server's time.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { systemClock, type Clock } from '../../base/clock.ts';
import { codeOf } from '../../base/errors.ts';
import { ORIGIN_LIMITS } from '../../origin/limits.ts';
import type { OriginRoute } from '../../origin/proxy.ts';
import { openTransport } from '../../origin/transport.ts';

export interface Probe {
  /** Address that the name led to; the name itself where a proxy looks it up. */
  readonly address: string;
  /** Host and port of the proxy that it leads through; null for none. */
  readonly proxy: string | null;
  readonly durationMs: number;
  /** TLS version, and the end of the certificate's validity; null for plain http. */
  readonly tls: { readonly version: string; readonly validToMs: number } | null;
  /** The origin's clock minus ours; null where it did not say. */
  readonly clockSkewMs: number | null;
}

/** A probe that failed, with the system's or TLS's own code, such as ENOTFOUND. */
export interface FailedProbe {
  readonly failure: string;
}

/** A reachable host answers a HEAD request well within this. */
const PROBE_MS_MAX = 15_000;

/** Where undici tells of each connection that it made. */
const CONNECTED = 'undici:client:connected';

/** Probes the way to an origin; never throws for what happens on the way. */
export async function probeOrigin(
  url: string,
  clock: Clock = systemClock,
  route: OriginRoute = {},
): Promise<Probe | FailedProbe> {
  const startedMs = clock.monotonicMs();
  const proxy = route.proxy ?? null;
  const transport = openTransport(url, ORIGIN_LIMITS, 1, route);
  const signal = AbortSignal.timeout(PROBE_MS_MAX);
  let connected: Pick<Probe, 'address' | 'tls'> = { address: 'unknown', tls: null };
  // The last one is that to the origin: it comes after the one to a proxy. undici closes it after a HEAD.
  const note = (made: unknown): void => {
    if (typeof made !== 'object' || made === null || !('socket' in made)) return;
    if (made.socket instanceof Socket) connected = factsOf(made.socket);
  };
  subscribe(CONNECTED, note);
  try {
    const answer = await transport.send({ method: 'HEAD', path: '/', headers: ['user-agent', 'rowsync'], signal });
    if (answer.kind === 'fault') {
      if (signal.aborted) return { failure: 'no answer in time' };
      const code = codeOf(answer.cause);
      return { failure: code === '' ? String(answer.cause ?? answer.reason) : code };
    }
    const originMs = Date.parse(String(answer.headers['date']));
    return {
      address: proxy === null ? connected.address : new URL(url).hostname,
      proxy: proxy === null ? null : new URL(proxy.url).host,
      durationMs: clock.monotonicMs() - startedMs,
      tls: connected.tls,
      clockSkewMs: Number.isNaN(originMs) ? null : originMs - clock.nowMs(),
    };
  } finally {
    unsubscribe(CONNECTED, note);
    await transport.destroy();
  }
}

function factsOf(socket: Socket): Pick<Probe, 'address' | 'tls'> {
  const address = socket.remoteAddress ?? 'unknown';
  if (!(socket instanceof TLSSocket)) return { address, tls: null };
  const validToMs = Date.parse(socket.getPeerCertificate().valid_to);
  return { address, tls: { version: socket.getProtocol() ?? 'TLS', validToMs } };
}
