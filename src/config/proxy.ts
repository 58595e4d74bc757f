/**
 * Proxy and certificate authorities for the connection to the origin, from the `origin` section or the environment.
 * Problems never show a secret (I16).
 */
import { readFileSync, statSync } from 'node:fs';
import { BlockList, isIPv4 } from 'node:net';
import { resolve } from 'node:path';
import type { ProxySettings, OriginRoute } from '../origin/proxy.ts';
import type { Options } from './options.ts';
import { readLogin, systemCode, type SecretSources } from './secrets.ts';

export type RouteOptions = Pick<Options['origin'], 'url' | 'proxy' | 'caFile'>;

/** Bytes of a file of certificates; all that Mozilla knows take a quarter of it. */
const CA_BYTES_MAX = 1024 * 1024;

/** Reads the way; nothing is connected to. */
export function readOriginRoute({ url, proxy, caFile }: RouteOptions, sources: SecretSources): OriginRoute {
  return {
    proxy: proxy === undefined ? null : readProxy(proxy, new URL(url), sources),
    authorities: caFile === undefined ? null : readAuthorities(resolve(sources.folder, caFile), sources),
  };
}

function readProxy(proxy: NonNullable<RouteOptions['proxy']>, url: URL, sources: SecretSources): OriginRoute['proxy'] {
  if (proxy === 'environment') return proxyOfEnvironment(url, sources);
  if (typeof proxy === 'string') return { url: proxy, login: null };
  return { url: proxy.url, login: readLogin(['origin', 'proxy'], proxy, sources) };
}

/** The proxy of HTTPS_PROXY or HTTP_PROXY, in small letters first as curl reads them; none for what NO_PROXY names. */
function proxyOfEnvironment(url: URL, sources: SecretSources): ProxySettings | null {
  const named = (name: string): string => sources.environment[name.toLowerCase()] ?? sources.environment[name] ?? '';
  const variable = url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const text = named(variable).trim();
  if (text === '' || isExcepted(url, named('NO_PROXY'))) return null;
  const address = URL.parse(text.includes('://') ? text : `http://${text}`);
  if (address !== null && /^https?:$/.test(address.protocol)) {
    const { origin, username, password } = address;
    if (username === '') return { url: origin, login: null };
    try {
      return { url: origin, login: { user: decodeURIComponent(username), password: decodeURIComponent(password) } };
    } catch {
      // A percent sign that escapes nothing.
    }
  }
  const complaint = `finds no address of a proxy in the environment variable ${variable}: http://HOST:PORT is one`;
  return sources.refuse(['origin', 'proxy'], complaint);
}

/**
 * Whether NO_PROXY names a host: itself, a domain that it is in, `*`, or for an IPv4 address a range (10.0.0.0/8). A
 * port behind an entry means that port only.
 */
export function isExcepted(url: URL, exceptions: string): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, '').toLowerCase();
  const port = url.port === '' ? { 'http:': '80', 'https:': '443' }[url.protocol] : url.port;
  const entries = exceptions.toLowerCase().split(/[\s,]+/);
  return entries.some((entry) => {
    // An IPv6 address has colons of its own, and is in brackets where a port follows.
    const [, bracketed, plain = entry, entryPort] = /^(?:\[(.+)\]|([^:]+)):(\d+)$/.exec(entry) ?? [];
    if (entryPort !== undefined && entryPort !== port) return false;
    const name = (bracketed ?? plain).replace(/^\[|\]$/g, '');
    if (name.includes('/')) return isIPv4(host) && isInRange(host, name);
    const domain = name.replace(/^\*?\./, '');
    return name === '*' || (domain !== '' && (host === domain || host.endsWith(`.${domain}`)));
  });
}

function isInRange(address: string, range: string): boolean {
  const [net = '', bits = ''] = range.split('/');
  if (!isIPv4(net) || !/^\d{1,2}$/.test(bits) || Number(bits) > 32) return false;
  const list = new BlockList();
  list.addSubnet(net, Number(bits));
  return list.check(address);
}

function readAuthorities(path: string, sources: SecretSources): string | null {
  const refuse = (complaint: string): null => sources.refuse(['origin', 'caFile'], complaint);
  try {
    if (statSync(path).size > CA_BYTES_MAX) return refuse(`names ${path}, which is too large for certificates`);
    const pem = readFileSync(path, 'utf8');
    const blocks = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
    if (blocks.length === 0) return refuse(`names ${path}, which has no certificate in PEM`);
    // Asked for here, since few configurations name authorities and every command loads this file.
    const { X509Certificate } = process.getBuiltinModule('node:crypto');
    for (const block of blocks) void new X509Certificate(block);
    return blocks.join('\n');
  } catch (thrown) {
    return refuse(`names a file ${path} that cannot be read as certificates (${systemCode(thrown)})`);
  }
}
