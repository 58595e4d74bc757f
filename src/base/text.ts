/**
 * Words and numbers for people: values made safe to print, counts, ages, durations, sizes.
 *
 * Text from the origin, a file or the replica may hold characters that move the cursor, recolour the screen or reorder
 * a line. On a terminal they are shown as escapes. Pure.
 */
import { sumOf } from './sum.ts';

/**
 * Characters that a terminal acts on or that cannot be seen: controls (C0, DEL, C1), formats (bidirectional,
 * zero-width, byte order marks, tags, soft hyphens), line separators, lone surrogates.
 */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

const SHORT_ESCAPES: ReadonlyMap<string, string> = new Map([
  ['\n', String.raw`\n`],
  ['\r', String.raw`\r`],
  ['\t', String.raw`\t`],
]);

/** Columns that a text gets beside the longest label. */
const HANGING_WIDTH_MIN = 20;

/** Names listed in one message. */
const NAMES_MAX = 8;

/** A text on one line with every character that could act on a terminal written as an escape such as `\u001b`. */
export function printable(text: string): string {
  return text.replace(UNSAFE, (character) => SHORT_ESCAPES.get(character) ?? unicodeEscapes(character));
}

/** The first names of a list, and how many more there are. */
export function someOf(names: readonly string[], most = NAMES_MAX): string {
  const rest = names.length - most;
  return rest > 0 ? `${names.slice(0, most).join(', ')} and ${rest} more` : names.join(', ');
}

/** A name as one word of a command to copy into a shell: nothing in it is run there, or taken for an option. */
export function shellWord(name: string): string {
  const shown = printable(name);
  const word = /["$`\\!]/.test(shown) ? `'${shown.replaceAll("'", String.raw`'\''`)}'` : `"${shown}"`;
  return shown.startsWith('-') ? `-- ${word}` : word;
}

/** As `printable`, but keeps line breaks: for our own messages of several lines. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/** Lines for people, each printable and with its end. */
export function linesText(lines: readonly string[]): string {
  return lines.map((line) => `${printable(line)}\n`).join('');
}

/** JSON in which the same characters are escaped; it parses to the same value. */
export function printableJson(json: string): string {
  return json.replace(UNSAFE, (character) => (character === '\n' ? character : unicodeEscapes(character)));
}

/** One `\uXXXX` per UTF-16 code unit, the form that JSON has. */
function unicodeEscapes(character: string): string {
  return character.replaceAll(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Made when the first text needs it: that takes several milliseconds. */
let segmenter: Intl.Segmenter | undefined;

function graphemesOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  return segmenter.segment(text);
}

/** Characters that take two columns: East Asian scripts, full-width forms, emoji. */
const WIDE =
  /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}|\p{Emoji_Presentation}|[\u3000-\u303E\uFF01-\uFF60\uFFE0-\uFFE6]/u;

/** Texts of ASCII, and of Latin, Greek and Cyrillic letters: each code unit is a character that takes one column. */
const NARROW = /^[\x20-\x7E\xA0-\u02FF\u0370-\u0482]*$/;

/** How many columns of a terminal a printable text takes. */
export function displayWidth(text: string): number {
  if (NARROW.test(text)) return text.length;
  return sumOf([...graphemesOf(text)], ({ segment }) => (WIDE.test(segment) ? 2 : 1));
}

/** Cuts a printable text to a number of columns; what was cut ends in `…`. */
export function truncate(text: string, widthMax: number): string {
  if (displayWidth(text) <= widthMax) return text;
  if (NARROW.test(text)) return `${text.slice(0, Math.max(0, widthMax - 1))}…`;
  let cut = '';
  let width = 1;
  for (const { segment } of graphemesOf(text)) {
    width += WIDE.test(segment) ? 2 : 1;
    if (width > widthMax) break;
    cut += segment;
  }
  return `${cut}…`;
}

/** A printable text cut into lines of so many columns, behind a blank where there is one; nothing is left out. */
export function wrap(text: string, width: number): readonly string[] {
  if (text.length <= width && displayWidth(text) <= width) return [text];
  const lines: string[] = [];
  let line = '';
  let lineWidth = 0;
  for (const { segment } of graphemesOf(text)) {
    const segmentWidth = WIDE.test(segment) ? 2 : 1;
    while (line !== '' && lineWidth + segmentWidth > width) {
      const words = line.lastIndexOf(' ') + 1;
      lines.push(words === 0 ? line : line.slice(0, words));
      line = words === 0 ? '' : line.slice(words);
      lineWidth = displayWidth(line);
    }
    line += segment;
    lineWidth += segmentWidth;
  }
  return [...lines, line];
}

/** A label and a text behind it, whose further lines begin below the first; null wraps nothing. */
export function hanging(label: string, text: string, width: number | null): string {
  const indent = displayWidth(label);
  const lines = width === null ? [text] : wrap(text, Math.max(HANGING_WIDTH_MIN, width - indent));
  return `${label}${lines.join(`\n${' '.repeat(indent)}`)}\n`;
}

/** Wraps lines of prose, with what follows below the first word. Tables stay as they are, and null wraps nothing. */
export function wrapProse(text: string, width: number | null): string {
  if (width === null) return text;
  const lines = text.split('\n').flatMap((line) => {
    if (displayWidth(line) <= width || /[│┌├└]/.test(line)) return [line];
    const [lead] = /^ *(?:\S+ {2,})?/.exec(line) ?? [''];
    const [first = '', ...others] = wrap(line.slice(lead.length), Math.max(1, width - lead.length));
    return [lead + first, ...others.map((other) => ' '.repeat(lead.length) + other)].map((one) => one.trimEnd());
  });
  return lines.join('\n');
}

/** `12,345`, for whole numbers. */
export function countText(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
}

/** `1 row`, `12,345 rows`. */
export function plural(count: number, noun: string): string {
  return `${countText(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** A duration in its two largest units: `0.3 s`, `12 s`, `3 min 5 s`, `2 h 4 min`, `5 d 3 h`. */
export function durationText(ms: number): string {
  if (ms < 9_950) return `${(Math.max(0, ms) / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  const units = [
    { name: 'd', seconds: 86_400 },
    { name: 'h', seconds: 3_600 },
    { name: 'min', seconds: 60 },
    { name: 's', seconds: 1 },
  ];
  const first = units.findIndex((unit) => seconds >= unit.seconds);
  let rest = seconds;
  const parts = units.slice(first, first + 2).map((unit) => {
    const count = Math.floor(rest / unit.seconds);
    rest -= count * unit.seconds;
    return count === 0 ? '' : `${count} ${unit.name}`;
  });
  return parts.filter((part) => part !== '').join(' ');
}

/** How long ago a stamp of the replica was: `just now`, `5 min ago`, `2 h ago`, `3 d ago`; `never` without one. */
export function ageText(stamp: string | null, nowMs: number): string {
  if (stamp === null) return 'never';
  const ageMs = nowMs - Date.parse(stamp);
  if (Number.isNaN(ageMs)) return 'unknown';
  // A clock that was set back makes ages negative; "just now" would hide it.
  if (ageMs < -60_000) return 'in the future';
  if (ageMs < 5_000) return 'just now';
  return `${durationText(Math.max(ageMs, 10_000)).split(' ').slice(0, 2).join(' ')} ago`;
}

/** `512 B`, `1.2 KiB`, `3.4 GiB`. */
export function bytesText(bytes: number): string {
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  if (bytes < 1024) return `${bytes} B`;
  let size = bytes / 1024;
  let index = 0;
  while (size >= 1023.95 && index < units.length - 1) {
    size /= 1024;
    index += 1;
  }
  return `${size.toFixed(1)} ${units[index] ?? ''}`;
}

/** The integer that a text writes; null for any other text, and beyond what numbers count exactly. */
export function integerFromText(text: string): number | null {
  return /^-?\d+$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : null;
}

/** A message without the name of its table that it begins with, for lines that begin with that name. */
export function withoutName(message: string, table: string): string {
  const name = [table, printable(table)].find((one) => message.startsWith(`${one}: `));
  return name === undefined ? message : message.slice(name.length + 2);
}
