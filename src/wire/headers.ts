/**
 * HTTP headers that both sides read or write: ETag and If-None-Match (RFC 9110, 8.8.3 and 13.1.2), Retry-After
 * (10.2.3), the cache policy of the specification (4.10).
 */

/** An ETag that can be sent back; null without a valid one. If-None-Match does not tell weak tags from strong ones. */
export function readEtag(header: string | undefined): string | null {
  const tag = header?.trim() ?? '';
  return /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/.test(tag) ? tag : null;
}

/** An ETag as it is stored: with its URL (specification 4.10), so that it is never sent with another one. */
export function keptEtag(url: string, etag: string | null): string | null {
  return etag === null ? null : `${url} ${etag}`;
}

/** The ETag stored for this URL; null if it belongs to another one. */
export function etagFor(url: string, kept: string | null | undefined): string | null {
  return kept?.startsWith(`${url} `) === true ? kept.slice(url.length + 1) : null;
}

/** Whether Cache-Control allows revalidating an answer by its ETag (specification 4.10.1). */
export function isCacheable(cacheControl: string | undefined): boolean {
  return !/(?:^|,)\s*no-(?:cache|store)\s*(?:$|[,=])/i.test(cacheControl ?? '');
}

/**
 * Milliseconds to wait by Retry-After headers: seconds or an HTTP date in any of its three forms (RFC 9110, 5.6.7);
 * null without a valid one. A date in the past is 0. Of several, or of a list, the longest counts, since each sender
 * wants at least its own pause. Fractions of a second, which some servers send, are rounded up.
 */
export function readRetryAfterMs(headers: string | readonly string[] | undefined, nowMs: number): number | null {
  const waits = [headers ?? []].flat().flatMap((text) => waitsMs(text.trim(), nowMs));
  return waits.length === 0 ? null : Math.max(...waits);
}

function waitsMs(text: string, nowMs: number): readonly number[] {
  if (/^\d+(?:\.\d+)?(?:\s*,\s*\d+(?:\.\d+)?)*$/.test(text)) {
    return text.split(',').map((each) => Math.min(Math.ceil(Number(each)) * 1000, Number.MAX_SAFE_INTEGER));
  }
  if (!/^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /.test(text)) return [];
  // The form of C's asctime names no zone; it is GMT, not the zone of this machine.
  const atMs = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(atMs) ? [] : [Math.max(0, atMs - nowMs)];
}

/** By how much our clock is ahead of an answer's Date, with the Age of a cache (RFC 9111, 5.1). Null without a date. */
export function clockAheadMs(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  nowMs: number,
): number | null {
  const [date, age] = [headers['date'], headers['age']].map((field) => [field ?? ''].flat()[0] ?? '');
  const datedMs = Date.parse(date ?? '');
  const ageMs = /^\d{1,9}$/.test(age ?? '') ? Number(age) * 1000 : 0;
  return Number.isNaN(datedMs) ? null : nowMs - datedMs - ageMs;
}

/** The media type of a Content-Type header, lower case, without parameters; empty where the header is missing. */
export function mediaType(header: string | undefined): string {
  return (header?.split(';')[0] ?? '').trim().toLowerCase();
}

/** The value of an Authorization header for HTTP Basic (RFC 7617, UTF-8). */
export function basicHeader(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`, 'utf8').toString('base64')}`;
}
