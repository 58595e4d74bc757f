/**
 * Checks the connection to the origin, without its credentials: name, proxy, connection, certificate, clock. One HEAD request for the root of the
 * host. Any answer proves that a server is there, and its Date header has the server's time.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls, getCACertificates, TLSSocket } from 'node:tls';
import { systemClock, type Clock } from '../../base/clock.ts';
import type { ProxySettings, OriginRoute } from '../../origin/proxy.ts';
import { basicHeader } from '../../wire/headers.ts';

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

/** Probes the way to an origin; never throws for what happens on the way. */
export async function probeOrigin(
  url: string,
  clock: Clock = systemClock,
  way: OriginRoute = {},
): Promise<Probe | FailedProbe> {
  const startedMs = clock.monotonicMs();
  const { proxy = null, authorities = null } = way;
  const ca = authorities === null ? undefined : [...getCACertificates('default'), authorities];
  const asked = { url: new URL(url), ca, signal: AbortSignal.timeout(PROBE_MS_MAX) };
  try {
    const through = proxy === null ? null : await tunnelThrough(proxy, asked);
    const found = await headOf(asked, through, (response) =>
      readProbe(response, { durationMs: clock.monotonicMs() - startedMs, nowMs: clock.nowMs() }),
    );
    return proxy === null ? found : { ...found, address: asked.url.hostname, proxy: new URL(proxy.url).host };
  } catch (error) {
    if (asked.signal.aborted) return { failure: 'no answer in time' };
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    return { failure: typeof code === 'string' ? code : error instanceof Error ? error.message : String(error) };
  }
}

interface HeadRequest {
  readonly url: URL;
  /** The authorities, where there are others than the usual ones. */
  readonly ca: string[] | undefined;
  readonly signal: AbortSignal;
}

/** Asks for the head of the root of a host, over a connection of its own or the one that is given. */
function headOf<T>(
  { url, ca, signal }: HeadRequest,
  through: Duplex | null,
  read: (response: IncomingMessage) => T,
): Promise<T> {
  const isTls = url.protocol === 'https:';
  const { hostname } = url;
  const socketOf = (socket: Duplex): Duplex =>
    isTls
      ? connectTls({ socket, host: hostname, ca, ...(isIP(hostname) === 0 ? { servername: hostname } : {}) })
      : socket;
  return new Promise((resolve, reject) => {
    const outgoing = (isTls ? httpsRequest : httpRequest)(url, {
      method: 'HEAD',
      signal,
      agent: false,
      ca,
      headers: { 'user-agent': 'rowsync' },
      ...(through === null ? {} : { createConnection: () => socketOf(through) }),
    });
    outgoing.on('response', (response) => {
      resolve(read(response));
      outgoing.destroy();
    });
    outgoing.on('error', reject).end();
  });
}

function tunnelThrough({ url: address, login }: ProxySettings, { url, ca, signal }: HeadRequest): Promise<Duplex> {
  const request = address.startsWith('https:') ? httpsRequest : httpRequest;
  const target = `${url.hostname}:${url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : url.port}`;
  const headers = login === null ? {} : { 'proxy-authorization': basicHeader(login.user, login.password) };
  return new Promise((resolve, reject) => {
    request(address, { method: 'CONNECT', path: target, headers, signal, agent: false, ca })
      .on('connect', ({ statusCode }, socket) => {
        if (statusCode === 200) return resolve(socket);
        socket.destroy();
        return reject(new Error(`the proxy answered ${statusCode}`));
      })
      .on('error', reject)
      .end();
  });
}
function readProbe(response: IncomingMessage, at: { readonly durationMs: number; readonly nowMs: number }): Probe {
  const { socket } = response;
  const originMs = Date.parse(response.headers.date ?? '');
  return {
    address: socket.remoteAddress ?? 'unknown',
    proxy: null,
    durationMs: at.durationMs,
    tls:
      socket instanceof TLSSocket
        ? { version: socket.getProtocol() ?? 'TLS', validToMs: Date.parse(socket.getPeerCertificate().valid_to) }
        : null,
    clockSkewMs: Number.isNaN(originMs) ? null : originMs - at.nowMs,
  };
}
