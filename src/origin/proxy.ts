/**
 * Proxy and certificate authorities of an origin, and the error of a failed proxy. Separate from the connections, so
 * that users of these types need not load their library. Pure.
 */

/** A proxy in front of the origin. */
export interface ProxySettings {
  /** Scheme, host and port: `http://proxy.example:3128`. Without a login. */
  readonly url: string;
  /** Null if it requires none. */
  readonly login: { readonly user: string; readonly password: string } | null;
}

/** How to reach the origin if not directly, or not with the usual certificate authorities. */
export interface OriginRoute {
  /** A proxy that every request goes through; null, the default, for none. */
  readonly proxy?: ProxySettings | null | undefined;
  /** Certificates of authorities in PEM, trusted beside those that Node trusts; null for none. */
  readonly authorities?: string | null | undefined;
}

/** The texts of a proxy's login that must never be shown. */
export function proxySecrets(proxy: ProxySettings | null | undefined): readonly string[] {
  return proxy?.login ? [proxy.login.password] : [];
}

/** Why a proxy made no tunnel: it did not answer 200, or could not be reached (`cause`). */
export class ProxyFault extends Error {
  /** Host and port of the proxy. */
  readonly proxy: string;
  /** Its answer; null for none. */
  readonly status: number | null;

  constructor(proxy: string, status: number | null, cause?: unknown) {
    super(`No way through the proxy ${proxy}`, { cause });
    this.name = 'ProxyFault';
    this.proxy = proxy;
    this.status = status;
  }
}
