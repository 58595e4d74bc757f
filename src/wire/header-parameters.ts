/**
 * Header values with parameters (RFC 9110, 5.6.6) and file names in Content-Disposition (RFC 6266, RFC 8187). For HTTP
 * messages and for the parts of a multipart body, in both directions. Tolerant where clients are known to differ:
 * unquoted values with any character but `;`, any case, spaces around.
 */
import { mediaType } from './headers.ts';

/** A header such as `multipart/related; boundary=x`. */
export interface HeaderValue {
  /** What comes before the first `;`, lower case. */
  readonly value: string;
  /** By name in lower case; of two equal names the first counts. */
  readonly parameters: ReadonlyMap<string, string>;
}

/** `;name=value` or `;name="value"`; groups: name, quoted value, bare value. */
const PARAMETER = /;[ \t]*([^\s;="]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^;"]*))/g;

/** Reads a header; a missing one reads as empty. */
export function readHeaderValue(header: string | undefined): HeaderValue {
  const text = header ?? '';
  const parameters = new Map<string, string>();
  for (const [, name = '', quoted, bare = ''] of text.matchAll(PARAMETER)) {
    const key = name.toLowerCase();
    if (!parameters.has(key))
      parameters.set(key, quoted === undefined ? bare.trim() : quoted.replaceAll(/\\(.)/g, '$1'));
  }
  return { value: mediaType(text), parameters };
}

// oxlint-disable-next-line no-control-regex -- these would end a header line, or do not belong in a name
const CONTROL = /[\0-\x1f\x7f]/;

/** Whether a text may be in a header: no line break, no control character, no half of a surrogate pair. */
export function isHeaderText(text: string): boolean {
  return !CONTROL.test(text) && text.isWellFormed();
}

/**
 * The file name in a Content-Disposition header: `filename*` if it can be read, otherwise `filename`. Null if there is
 * none. Undefined if it cannot be read, or has control characters (`%0D%0A` would end a header line wherever the name
 * is written again). The name is text: it may look like a path but is never used as one.
 */
export function fileNameFromDisposition(header: string | undefined): string | null | undefined {
  const { parameters } = readHeaderValue(header);
  const extended = parameters.get('filename*');
  const plain = parameters.get('filename');
  if (extended === undefined && plain === undefined) return null;
  const name = extended === undefined ? plain : (decodeExtended(extended) ?? plain);
  return name !== undefined && isHeaderText(name) ? name : undefined;
}

/** `UTF-8'en'%E2%82%AC` (RFC 8187); undefined if the charset is unknown or the bytes are not valid in it. */
function decodeExtended(text: string): string | undefined {
  const match = /^([A-Za-z0-9-]+)'[A-Za-z0-9-]*'(.*)$/s.exec(text);
  if (match === null) return undefined;
  const [, charset = '', encoded = ''] = match;
  try {
    if (charset.toLowerCase() === 'utf-8') return decodeURIComponent(encoded);
  } catch {
    return undefined; // a URIError: incomplete escapes, or not UTF-8
  }
  if (charset.toLowerCase() !== 'iso-8859-1') return undefined;
  return encoded.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** Characters that readers treat differently inside quotes. */
export const NOT_PLAIN = /[^A-Za-z0-9 !#$&+\-.^_`|~()[\]{}@,=]/gu;

/**
 * The `filename` parameter of Content-Disposition: quoted if the name is plain ASCII, otherwise only `filename*`, as
 * the vendor's own client writes it. Servers differ in how they read both forms at once.
 */
export function fileNameParameter(name: string): string {
  return name.search(NOT_PLAIN) === -1 ? `filename="${name}"` : extendedParameter(name);
}

/** The parameter `filename*`. */
export function extendedParameter(name: string): string {
  // encodeURIComponent leaves four characters alone that RFC 8187 does not allow bare.
  const encoded = encodeURIComponent(name.toWellFormed()).replaceAll(/['()*]/g, (character) => {
    return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  });
  return `filename*=UTF-8''${encoded}`;
}
