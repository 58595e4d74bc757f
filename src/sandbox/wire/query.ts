/**
 * What a server reads from a request besides its body, and the headers of its answers. These are paths and query
 * strings (specification 2.1 and 4; origin facts 7.2 and 7.3), If-None-Match, Content-Disposition.
 */
import { extendedParameter, NOT_PLAIN } from '../../wire/header-parameters.ts';
import type { SortKey } from '../../wire/request-paths.ts';

/** What a cacheable answer carries, to the letter (specification 4.10; clients compare the tokens). */
export const CACHEABLE = 'private, must-revalidate, max-age=0';

/**
 * The names that a path segment may mean, likeliest first: decoded once, then with the vendor clients' inner
 * escapes undone. Undefined when the percent-encoding is broken.
 */
export function namesFromSegment(segment: string): readonly string[] | undefined {
  let once: string;
  try {
    once = decodeURIComponent(segment);
  } catch {
    return undefined; // a URIError says that the bytes are no UTF-8 or the escape is cut
  }
  const twice = once.replaceAll(/%(25|2F|5C|3F)/gi, (escape) => decodeURIComponent(escape));
  return once === twice ? [once] : [once, twice];
}

/** Reads a query string: `+` and `%20` are spaces, empty values are absent. Undefined where the encoding is broken. */
export function pairsFromQuery(query: string): readonly (readonly [string, string])[] | undefined {
  const pairs: [string, string][] = [];
  for (const piece of query.split('&')) {
    const at = piece.indexOf('=');
    if (at <= 0) continue;
    try {
      const name = decodeURIComponent(piece.slice(0, at).replaceAll('+', ' '));
      const value = decodeURIComponent(piece.slice(at + 1).replaceAll('+', ' '));
      if (value !== '') pairs.push([name, value]);
    } catch {
      return undefined; // a URIError: the answer is 400
    }
  }
  return pairs;
}

/** Reads one `sort` value: `Name`, `Name//ASC` or `Name//DESC`. */
export function sortKeyFromText(text: string): SortKey {
  const match = /^(.*)\/\/(ASC|DESC)$/is.exec(text);
  if (!match) return { column: text, descending: false };
  return { column: match[1] ?? '', descending: match[2]?.toUpperCase() === 'DESC' };
}

/** Whether an If-None-Match header names the tag; weak comparison, `*` matches anything. */
export function matchesEtag(ifNoneMatch: string, etag: string): boolean {
  const bare = (tag: string): string => tag.trim().replace(/^W\//, '');
  if (ifNoneMatch.trim() === '*') return true;
  return (ifNoneMatch.match(/(?:W\/)?"[^"]*"/g) ?? []).some((tag) => bare(tag) === bare(etag));
}

/** The whole header of a download (specification 4.9): both forms, the first with `_` for what is not plain ASCII. */
export function downloadDisposition(name: string): string {
  const fallback = name.replaceAll(NOT_PLAIN, '_');
  return `attachment; filename="${fallback}"; ${extendedParameter(name)}`;
}
