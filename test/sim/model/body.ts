/**
 * The body of a write: rows in JSON, or multipart/related with such rows and files (specification 4.6, origin facts
 * 7.4). Takes bytes and the Content-Type; produces rows as they came and files by Content-ID, or the refusal. Written
 * anew for the model, on whole bodies in memory. Pure.
 */
import type { FileSpec } from '../../../src/sandbox/store/spec.ts';
import { Refusal } from './call.ts';
import { isFields, JsonNumber, parseJson } from './values.ts';

/** One row as it came. */
export interface BodyRow {
  readonly id: number | null;
  readonly cells: readonly (readonly [name: string, raw: unknown])[];
}

/** What a body holds. */
export interface Body {
  readonly rows: readonly BodyRow[];
  readonly files: ReadonlyMap<string, FileSpec>;
}

const BYTES_MAX = 20_000_000;

/** Reads a body. */
export function readBody(bytes: Uint8Array, contentType: string): Body | Refusal {
  if (bytes.length > BYTES_MAX) return new Refusal(413, null, 'The body is too large');
  if (bytes.length === 0) return badBody('is missing');
  const { value, parameters } = readHeader(contentType);
  if (value !== 'multipart/related') {
    const rows = readRows(bytes, contentType);
    return rows instanceof Refusal ? rows : { rows, files: new Map() };
  }
  const boundary = parameters.get('boundary') ?? '';
  const parts = boundary === '' ? null : partsOf(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), boundary);
  if (parts === null) return badBody('is no multipart body', boundary === '' ? 'Content-Type' : null);
  return bodyFromParts(parts);
}

function badBody(problem: string, source: string | null = null): Refusal {
  return new Refusal(400, 2300, `The body ${problem}`, source);
}

interface Part {
  readonly headers: ReadonlyMap<string, string>;
  readonly bytes: Buffer;
}

function bodyFromParts(parts: readonly Part[]): Body | Refusal {
  const files = new Map<string, FileSpec>();
  let rows: readonly BodyRow[] | null = null;
  for (const { headers, bytes } of parts) {
    const type = headers.get('content-type');
    const name = fileName(headers.get('content-disposition') ?? '');
    if (name === null) {
      if (rows !== null) return badBody('has two parts without a file name');
      const read = readRows(bytes, type ?? '');
      if (read instanceof Refusal) return read;
      rows = read;
      continue;
    }
    const contentId = (headers.get('content-id') ?? '').replace(/^<(.*)>$/, '$1');
    if (contentId === '' || files.has(contentId)) return badBody('has a file without a Content-ID of its own');
    files.set(contentId, { name, mediaType: type ?? 'application/octet-stream', bytes });
  }
  return rows === null ? badBody('has no rows') : { rows, files };
}

/** The parts between the boundaries; null where the body does not end with the closing one. */
function partsOf(body: Buffer, boundary: string): readonly Part[] | null {
  const line = Buffer.from(`\r\n--${boundary}`);
  const whole = Buffer.concat([Buffer.from('\r\n'), body]);
  const parts: Part[] = [];
  let at = whole.indexOf(line);
  while (at >= 0) {
    const from = at + line.length;
    if (whole.subarray(from, from + 2).toString() === '--') return parts;
    const next = whole.indexOf(line, from);
    const headersEnd = whole.indexOf('\r\n\r\n', from);
    if (next < 0 || headersEnd < 0 || headersEnd > next) return null;
    const headers = whole
      .subarray(from, headersEnd)
      .toString()
      .split('\r\n')
      .filter((header) => header !== '')
      .map((header) => {
        const colon = header.indexOf(':');
        return [header.slice(0, colon).trim().toLowerCase(), header.slice(colon + 1).trim()] as const;
      });
    parts.push({ headers: new Map(headers), bytes: whole.subarray(Math.min(headersEnd + 4, next), next) });
    at = next;
  }
  return null;
}

function readRows(bytes: Uint8Array, contentType: string): readonly BodyRow[] | Refusal {
  const { value, parameters } = readHeader(contentType);
  if (value !== 'application/json') {
    const isForm = value === '' || value === 'application/x-www-form-urlencoded';
    return new Refusal(isForm ? 400 : 415, 2300, 'Rows come as application/json', 'Content-Type');
  }
  if (!/^(?:utf-?8|us-ascii)$/i.test(parameters.get('charset') ?? 'utf-8')) {
    return new Refusal(415, 2300, 'Rows come in UTF-8', 'Content-Type');
  }
  const text = textOf(bytes);
  const json = text === null ? undefined : parseJson(text);
  if (json === undefined) return badBody('is not JSON');
  const rows: BodyRow[] = [];
  for (const item of Array.isArray(json) ? (json as unknown[]) : [json]) {
    const row = isFields(item) ? readRow(item) : badBody('has a row that is no object');
    if (row instanceof Refusal) return row;
    rows.push(row);
  }
  return rows;
}

function textOf(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null; // a TypeError: no UTF-8
  }
}

function readRow(fields: Readonly<Record<string, unknown>>): BodyRow | Refusal {
  const given = fields['@row.id'] ?? null;
  const spelled = given instanceof JsonNumber ? given.text : given;
  const id = typeof spelled === 'string' && /^\d{1,16}$/.test(spelled) ? Number(spelled) : null;
  if (given !== null && (id === null || !Number.isSafeInteger(id))) return badBody('has no integer there', '@row.id');
  return { id, cells: Object.entries(fields).filter(([name]) => !name.startsWith('@row.')) };
}

/** A header with its parameters, whose names are in lower case. */
function readHeader(header: string): { readonly value: string; readonly parameters: ReadonlyMap<string, string> } {
  const [value = ''] = header.split(';');
  const parameters = new Map<string, string>();
  for (const [, name = '', quoted, bare = ''] of header.matchAll(
    /;\s*([^\s;="]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;"]*))/g,
  )) {
    const key = name.toLowerCase();
    if (!parameters.has(key)) parameters.set(key, quoted?.replaceAll(/\\(.)/g, '$1') ?? bare.trim());
  }
  return { value: value.trim().toLowerCase(), parameters };
}

/** The file's name, of `filename*` before `filename`; null where there is none. */
function fileName(disposition: string): string | null {
  const { parameters } = readHeader(disposition);
  const [, encoded] = /^utf-8'[^']*'(.*)$/i.exec(parameters.get('filename*') ?? '') ?? [];
  return encoded === undefined ? (parameters.get('filename') ?? null) : decodeURIComponent(encoded);
}
