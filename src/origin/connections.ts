/**
 * The connections to one origin: directly, or through a proxy by CONNECT, so that the proxy sees bytes it cannot read where the
 * origin speaks https. Input: address, bounds, the way. Output: an undici dispatcher.
 *
 * Invariants: certificates of the origin and of an https proxy are always checked, each against its own name. The login of a
 * proxy goes to the proxy alone; that of the origin never does in the clear where the origin speaks https (I16).
 */
import { isIP } from 'node:net';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import { buildConnector, Dispatcher, Pool, ProxyAgent } from 'undici';
import { basicHeader } from '../wire/headers.ts';
import type { OriginLimits } from './limits.ts';
import { ProxyFault, type Way } from './way.ts';

/** Opens connections to the scheme and host of `url` when they are needed. */
export function openConnections(
  url: string,
  {
    limits,
    count,
    way = {},
  }: { readonly limits: OriginLimits; readonly count: number; readonly way?: Way | undefined },
): Dispatcher {
  const { proxy = null, authorities = null } = way;
  const tls = trustIn(authorities);
  const shared = {
    connections: count,
    // One answer at a time on a connection: a stray answer can then never be taken for the next one's.
    pipelining: 1,
    // The service speaks HTTP/1.1; one protocol is one set of failures to know.
    allowH2: false,
    connectTimeout: limits.connectTimeoutMs,
    headersTimeout: limits.headersTimeoutMs,
    bodyTimeout: limits.bodyGapTimeoutMs,
    // Hosts with a dead IPv6 address are reached through their IPv4 one.
    autoSelectFamily: true,
  };
  if (proxy === null) return new Pool(url, { ...shared, connect: tls });
  const { login } = proxy;
  return new ProxyAgent({
    ...shared,
    uri: proxy.url,
    ...(login === null ? {} : { token: basicHeader(login.user, login.password) }),
    // Also to an origin that speaks http: one way through is one set of failures to know.
    proxyTunnel: true,
    requestTls: { ...tls, allowH2: false },
    clientFactory: (address) =>
      new WaysThrough(address, {
        connections: count,
        connect: connectorToProxy({ ...tls, allowH2: false, timeout: limits.connectTimeoutMs, autoSelectFamily: true }),
        // The proxy connects to the origin before it answers, and may take as long for it as we would.
        headersTimeout: limits.connectTimeoutMs,
      }),
  });
}

/** What TLS is checked against. Said here, so that no environment variable can leave it out. */
function trustIn(authorities: string | null): {
  readonly rejectUnauthorized: true;
  readonly secureContext?: SecureContext;
} {
  if (authorities === null) return { rejectUnauthorized: true };
  // Made once: reading all authorities for every connection would take longer than the handshake.
  const secureContext = createSecureContext({ ca: [...getCACertificates('default'), authorities] });
  return { rejectUnauthorized: true, secureContext };
}

/** Connects to the proxy. Where its name is an address, TLS has no name to send, and checks the certificate against the address. */
function connectorToProxy(options: buildConnector.BuildOptions): buildConnector.connector {
  const connector = buildConnector(options);
  return ({ servername, ...asked }, done) =>
    connector({ ...asked, ...(isIP(asked.hostname) === 0 ? { servername } : {}) }, done);
}

/** Requests tunnels from the proxy; every other result is a `ProxyFault`. */
class WaysThrough extends Dispatcher {
  readonly #name: string;
  readonly #pool: Pool;

  constructor(address: URL, options: Pool.Options) {
    super();
    this.#name = address.host;
    this.#pool = new Pool(address, options);
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    return this.#pool.dispatch(options, handler);
  }

  override async connect<T = null>(options: Dispatcher.ConnectOptions<T>): Promise<Dispatcher.ConnectData<T>> {
    const answer = await super.connect(options).catch((cause: unknown) => {
      throw new ProxyFault(this.#name, null, cause);
    });
    if (answer.statusCode === 200) return answer;
    answer.socket.on('error', () => undefined).destroy();
    throw new ProxyFault(this.#name, answer.statusCode);
  }

  override async close(): Promise<void> {
    await this.#pool.close();
  }

  override async destroy(): Promise<void> {
    await this.#pool.destroy();
  }
}
