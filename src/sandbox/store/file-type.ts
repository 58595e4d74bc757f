/**
 * Names and media types for bytes that come without either, by their first bytes.
 */
import { isUtf8 } from 'node:buffer';

import type { FileSpec } from './spec.ts';

const SIGNATURES: readonly (readonly [hex: string, extension: string, mediaType: string])[] = [
  ['ffd8ff', 'jpg', 'image/jpeg'],
  ['89504e470d0a1a0a', 'png', 'image/png'],
  ['47494638', 'gif', 'image/gif'],
  ['424d', 'bmp', 'image/bmp'],
  ['49492a00', 'tif', 'image/tiff'],
  ['4d4d002a', 'tif', 'image/tiff'],
  ['25504446', 'pdf', 'application/pdf'],
  ['504b0304', 'zip', 'application/zip'],
  ['1f8b', 'gz', 'application/gzip'],
];

/** Bytes as a file `<name>.<extension by content>`; anything that is not bytes is written out as text. */
export function fileFromValue(name: string, value: Buffer | string | number | bigint): FileSpec {
  const bytes = Buffer.isBuffer(value) ? value : Buffer.from(String(value), 'utf8');
  const head = bytes.subarray(0, 8).toString('hex');
  const signature = SIGNATURES.find(([hex]) => head.startsWith(hex));
  if (signature !== undefined) return { name: `${name}.${signature[1]}`, mediaType: signature[2], bytes };
  const isText = bytes.length > 0 && isUtf8(bytes) && !bytes.includes(0);
  return isText
    ? { name: `${name}.txt`, mediaType: 'text/plain', bytes }
    : { name: `${name}.bin`, mediaType: 'application/octet-stream', bytes };
}
