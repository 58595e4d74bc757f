/**
 * Requests and answers of the model as they would stand on the wire: status, headers (lower-case names) and bytes.
 * Takes what a method made; produces the answer with the headers of specification 4.9 and 4.10. Pure.
 */
import type { Refusal } from './call.ts';
import type { Tag } from './etags.ts';
import type { ModelKnobs } from './knobs.ts';
import type { ModelFile } from './state.ts';

/** A request. */
export interface ModelRequest {
  readonly method: 'GET' | 'HEAD' | 'POST';
  /** Path and query from the root. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | null;
}

/** An answer. */
export interface ModelAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

const CACHEABLE = 'private, must-revalidate, max-age=0';
const JSON_TYPE = 'application/json;charset=utf-8';
const NOTHING = new Uint8Array();

function date(nowMs: number): string {
  return new Date(nowMs).toUTCString();
}

/** A text that may be asked for again. */
export function answerPage(text: string, { etag, isKnown }: Tag, nowMs: number): ModelAnswer {
  const headers = { 'cache-control': CACHEABLE, date: date(nowMs), ...(etag === null ? {} : { etag }) };
  if (isKnown) return { status: 304, headers, body: NOTHING };
  return withText(200, headers, text);
}

/** A text that says what was done. */
export function answerResult(text: string, nowMs: number): ModelAnswer {
  return withText(200, { 'cache-control': 'no-cache', date: date(nowMs) }, text);
}

/** A refusal of the whole request. */
export function answerRefusal({ status, code, message, source }: Refusal, nowMs: number): ModelAnswer {
  const common = { 'cache-control': 'no-cache', date: date(nowMs) };
  if (code === null) {
    const challenge = status === 401 ? { 'www-authenticate': 'Basic realm="model", charset="UTF-8"' } : {};
    return { status, headers: { ...common, ...challenge, 'content-length': '0' }, body: NOTHING };
  }
  const fields = { error: status, code, message, ...(source === null ? {} : { source }) };
  return withText(status, common, JSON.stringify(fields));
}

function withText(status: number, headers: Readonly<Record<string, string>>, text: string): ModelAnswer {
  const body = Buffer.from(text);
  return { status, headers: { ...headers, 'content-type': JSON_TYPE, 'content-length': String(body.length) }, body };
}

/** A file, or its headers alone; the bytes behind a guid never change, so that it is the ETag. */
export function answerFile(
  file: ModelFile,
  { method, ifNoneMatch }: Pick<ModelRequest, 'method'> & { readonly ifNoneMatch: string | undefined },
  knobs: Pick<ModelKnobs, 'etag'>,
  nowMs: number,
): ModelAnswer {
  const isGet = method === 'GET';
  const etag = isGet && knobs.etag !== 'absent' ? `"${file.guid}"` : null;
  const common = {
    'cache-control': isGet ? CACHEABLE : 'no-cache',
    date: date(nowMs),
    ...(etag === null ? {} : { etag }),
  };
  if (etag !== null && ifNoneMatch?.includes(etag) === true) return { status: 304, headers: common, body: NOTHING };
  const headers = {
    ...common,
    'content-disposition': disposition(file.name),
    'x-revision': String(file.revision),
    'content-type': /^[\x20-\x7e]+$/.test(file.type) ? file.type : 'application/octet-stream',
    'content-length': String(file.bytes.length),
    'last-modified': new Date(file.createdMs).toUTCString(),
    'x-author': latin1(file.author),
  };
  return { status: 200, headers, body: isGet ? file.bytes : NOTHING };
}

/** Both forms of a name: a plain one with `_` for whatever could be misread, and the whole one (RFC 6266, RFC 8187). */
function disposition(name: string): string {
  const plain = name.replaceAll(/[^A-Za-z0-9 !#$&+\-.^_`|~()[\]{}@,=]/gu, '_');
  const bytes = Buffer.from(name.toWellFormed());
  const encoded = Array.from(bytes, (byte) => {
    const character = String.fromCharCode(byte);
    return /[A-Za-z0-9\-_.!~]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  });
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded.join('')}`;
}

/** UTF-8 bytes as the characters that a header carries. */
function latin1(text: string): string {
  // oxlint-disable-next-line no-control-regex -- these would end the header line
  return Buffer.from(text.replaceAll(/[\0-\x1f\x7f]/g, ' ')).toString('latin1');
}
