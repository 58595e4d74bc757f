/**
 * A look at the way to the origin, without credentials: name, connection, certificate, clock. One HEAD request for the root
 * of the host; whatever is answered proves that someone is there, and its Date header tells the time there.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { TLSSocket } from 'node:tls';
import { systemClock, type Clock } from '../base/clock.ts';

/** What the way to the origin looks like. */
export interface Probe {
  /** Address that the name led to. */
  readonly address: string;
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

/** Probes the way to an origin; never throws for what happens on the way. */
export function probeOrigin(url: string, clock: Clock = systemClock): Promise<Probe | FailedProbe> {
  const startedMs = clock.monotonicMs();
  const request = url.startsWith('https:') ? httpsRequest : httpRequest;
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(PROBE_MS_MAX);
    const outgoing = request(url, { method: 'HEAD', signal, agent: false, headers: { 'user-agent': 'rowsync' } });
    outgoing.on('response', (response) => {
      resolve(readProbe(response, { durationMs: clock.monotonicMs() - startedMs, nowMs: clock.nowMs() }));
      outgoing.destroy();
    });
    outgoing.on('error', (error: Error & { code?: unknown }) => {
      resolve({
        failure: signal.aborted ? 'no answer in time' : typeof error.code === 'string' ? error.code : error.message,
      });
    });
    outgoing.end();
  });
}

function readProbe(response: IncomingMessage, at: { readonly durationMs: number; readonly nowMs: number }): Probe {
  const { socket } = response;
  const originMs = Date.parse(response.headers.date ?? '');
  return {
    address: socket.remoteAddress ?? 'unknown',
    durationMs: at.durationMs,
    tls:
      socket instanceof TLSSocket
        ? { version: socket.getProtocol() ?? 'TLS', validToMs: Date.parse(socket.getPeerCertificate().valid_to) }
        : null,
    clockSkewMs: Number.isNaN(originMs) ? null : originMs - at.nowMs,
  };
}
