/**
 * Names for files and folders that are exported, from names of the origin, which are text and may be anything: paths,
 * devices, controls, nothing at all. Every name made here can be used on the usual systems, stays in its folder, and
 * keeps its extension. Names of one folder differ also where neither case nor the form of an accent counts.
 */
import { readdirSync } from 'node:fs';

/** Bytes of a name in UTF-8; systems take 255, and a number may have to go behind it. */
export const NAME_BYTES_MAX = 160;
/** Bytes of an extension that is kept when a name is cut; a longer one is no extension. */
const EXTENSION_BYTES_MAX = 24;

/** Controls, marks of direction, line separators, halves of surrogate pairs, and unassigned characters. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}]/gu;
/** Characters that separate folders, drives or streams, or are wildcards, on some system. */
const SEPARATING = /[/\\:*?"<>|]/g;
/** Devices of Windows, with any extension; the digits also as superscripts. */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|clock\$|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)/i;

/** A name that is safe to use for a file or folder; `fallback` (safe itself) if no character is left. */
export function safeName(name: string, fallback: string): string {
  const visible = name.replaceAll(INVISIBLE, '').replaceAll(SEPARATING, '_');
  const trimmed = trimEnds(visible.normalize('NFC'));
  if (trimmed === '') return fallback;
  // A dot would hide it, a hyphen would make an option of it, a tilde someone's home.
  const plain = /^[.\-~]/.test(trimmed) ? `_${trimmed.slice(trimmed.startsWith('.') ? 1 : 0)}` : trimmed;
  return shortened(DEVICE.test(plain) ? `_${plain}` : plain, NAME_BYTES_MAX);
}

/** Windows drops spaces and dots at the end; spaces in front are easily overlooked. */
function trimEnds(name: string): string {
  let end = name.length;
  while (end > 0 && /[\s.]/u.test(name.charAt(end - 1))) end -= 1;
  return name.slice(0, end).trimStart();
}

function shortened(name: string, bytesMax: number): string {
  if (Buffer.byteLength(name) <= bytesMax) return name;
  const { stem, extension } = splitName(name);
  return trimEnds(cut(stem, bytesMax - Buffer.byteLength(extension))) + extension;
}

/** Cuts a text to so many bytes, between two characters. */
function cut(text: string, bytesMax: number): string {
  let bytes = 0;
  let kept = '';
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > bytesMax) break;
    kept += character;
  }
  return kept;
}

function splitName(name: string): { stem: string; extension: string } {
  const dot = name.lastIndexOf('.');
  const extension = name.slice(dot);
  if (dot <= 0 || Buffer.byteLength(extension) > EXTENSION_BYTES_MAX) return { stem: name, extension: '' };
  return { stem: name.slice(0, dot), extension };
}

/** A safe name with a remark in front of its extension: `photo (revision 2).png`. */
export function nameWithRemark(name: string, remark: string): string {
  const { stem, extension } = splitName(name);
  return `${stem} (${remark})${extension}`;
}

/** A key that is equal for names that some system treats as equal. */
function foldedName(name: string): string {
  return name.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC');
}

export class FolderNames {
  readonly #taken = new Set<string>();

  /** The name, or one with a number if it is taken in the folder; the first one keeps it. */
  take(name: string): string {
    let free = name;
    for (let number = 2; this.#taken.has(foldedName(free)); number += 1) free = nameWithRemark(name, String(number));
    this.#taken.add(foldedName(free));
    return free;
  }
}

/** The names in a folder. None if it is missing or cannot be read; making a file there will say so. */
export function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
