/**
 * Values of rows on the page: bounded, with invisible characters written out. Whole rows are shown as the columns in
 * which they differ.
 */
import { ageText, bytesText, countText, plural } from '../../base/text.ts';
import type { TableStatus } from '../../replica/reader.ts';
import type { BrowsedColumn, Cell } from '../shared/rows-page.ts';
import { columnType } from '../../wire/schema.ts';
import { html, type Html } from './html.ts';
import { jsonCells } from '../../wire/exact-json.ts';

/** A value as it is read from the replica; whole rows are JSON texts. */
export type ShownValue = string | number | null;

/** A longer text is folded, so that it can be recognised. All of it opens, unless it is longer than a page can hold. */
const VALUE_CHARS_MAX = 400;
const OPENED_CHARS_MAX = 20_000;
/** Columns of one row that are shown where nothing is compared. */
const CELLS_MAX = 30;

export function valueHtml(value: ShownValue): Html {
  if (value === null) return html`<em class="none">no value</em>`;
  const text = String(value);
  if (text === '') return html`<em class="none">empty text</em>`;
  if (text.length <= VALUE_CHARS_MAX) return html`<bdi class="value">${momentHtml(text)}</bdi>`;
  const start = html`<bdi class="value">${cutText(text, VALUE_CHARS_MAX)}…</bdi>`;
  if (text.length > OPENED_CHARS_MAX)
    return html`${start} <em class="none">more than ${countText(OPENED_CHARS_MAX)} characters; SQL has all</em>`;
  return html`<details>
    <summary>${start} <em class="none">${countText(text.length)} characters</em></summary>
    <bdi class="value">${text}</bdi>
  </details>`;
}

/** The beginning of a text, without half a character at its end. */
export function cutText(text: string, charsMax = Infinity): string {
  return text
    .slice(0, charsMax)
    .toWellFormed()
    .replace(/\uFFFD$/, '');
}

const WORDS = new Intl.Segmenter('en', { granularity: 'word' });

function wordsOf(value: ShownValue): readonly string[] {
  return Array.from(WORDS.segment(String(value ?? '').slice(0, VALUE_CHARS_MAX + 1)), ({ segment }) => segment);
}

/** One value, marked from the first to the last word that differs from another value; a moment is marked completely. */
export function markedHtml(value: ShownValue, other: ShownValue): Html {
  const [ours, theirs] = [wordsOf(value), wordsOf(other)];
  const shorter = Math.min(ours.length, theirs.length);
  let start = 0;
  while (start < shorter && ours[start] === theirs[start]) start += 1;
  let end = 0;
  while (end < shorter - start && ours.at(-1 - end) === theirs.at(-1 - end)) end += 1;
  if (start + end === 0 || String(value).length > VALUE_CHARS_MAX) return valueHtml(value);
  if (MOMENT.test(String(value))) return html`<mark>${valueHtml(value)}</mark>`;
  const part = (from: number, to?: number): string => ours.slice(from, to).join('');
  const till = ours.length - end;
  return html`<bdi class="value">${part(0, start)}<mark>${part(start, till)}</mark>${part(till)}</bdi>`;
}

const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

/** A text, or a moment, which the script shows in the time of the place. */
export function momentHtml(text: string): Html {
  return MOMENT.test(text) ? html`<time class="at" datetime="${text}">${text}</time>` : html`${text}`;
}

const UNITS = [
  { name: 'd', seconds: 86_400 },
  { name: 'h', seconds: 3_600 },
  { name: 'min', seconds: 60 },
];

/** The seconds of a Duration in the units that people read, such as `1 min 12.5 s`; its title has the seconds. */
export function spanHtml(text: string): Html {
  const [, sign = '', whole, fraction = ''] = /^(-?)(\d{1,15})(\.\d+)?$/.exec(text) ?? [];
  if (whole === undefined) return html`${text}`;
  let rest = Number(whole);
  const parts = UNITS.flatMap(({ name, seconds }) => {
    const count = Math.floor(rest / seconds);
    rest %= seconds;
    return count === 0 ? [] : [`${count} ${name}`];
  });
  if (rest > 0 || fraction !== '' || parts.length === 0) parts.push(`${rest}${fraction} s`);
  return html`<span title="${text} seconds">${sign}${parts.join(' ')}</span>`;
}

/** A checkbox or a duration as people read it; null for other columns, and for a value of another form. */
export function typedHtml(column: Pick<BrowsedColumn, 'type'> | undefined, value: Cell): Html | null {
  const type = column === undefined ? 'Text' : columnType(column.type);
  if (type === 'Duration' && value !== null) return spanHtml(String(value));
  if (type !== 'Checkbox' || !/^[01]$/.test(String(value))) return null;
  return html`${String(value) === '0' ? 'no' : 'yes'}`;
}

/** A cell as `valueHtml`, and as its column shows it. */
export function cellValueHtml(columns: readonly BrowsedColumn[], name: string | null, value: ShownValue): Html {
  const column = columns.find((each) => each.name === name);
  return typedHtml(column, value) ?? valueHtml(value);
}

/** A moment as an age, with the time itself for those who point at it. */
export function timeHtml(stamp: string, nowMs: number): Html {
  return html`<time datetime="${stamp}" title="${stamp}">${ageText(stamp, nowMs)}</time>`;
}

/** A cell as it is shown: bytes as their count. */
export function shownValue(value: Cell): ShownValue {
  if (value instanceof Uint8Array) return `${bytesText(value.length)} of bytes`;
  return typeof value === 'bigint' ? value.toString() : value;
}

/** Texts of a JSON object by name; null for anything else. Numbers keep every digit. */
export function cellsOf(text: ShownValue): ReadonlyMap<string, ShownValue> | null {
  if (typeof text !== 'string') return null;
  try {
    const shown = (json: string): ShownValue =>
      json === 'null' ? null : json.startsWith('"') ? String(JSON.parse(json)) : json;
    const cells = jsonCells(text);
    return cells === null ? null : new Map([...cells].map(([name, json]) => [name, shown(json)]));
  } catch {
    return null;
  }
}

/** A row kept as a JSON object: the columns that differ from another version, or all that have a value. */
export function rowHtml(text: ShownValue, other: ShownValue, columns: readonly BrowsedColumn[] = []): Html {
  if (text === null) return html`<em class="none">no such row</em>`;
  const cells = cellsOf(text);
  if (cells === null) return valueHtml(text);
  const compared = cellsOf(other);
  const isShown = ([name, value]: readonly [string, ShownValue]): boolean =>
    compared === null ? value !== null && name !== '_allow' : compared.get(name) !== value;
  const differing = [...cells].filter(isShown);
  // What differs is what a person decides about: all of it.
  const chosen = compared === null ? differing.slice(0, CELLS_MAX) : differing;
  const restCount = (compared === null ? differing.length : cells.size) - chosen.length;
  const rest = compared === null ? 'more' : 'equal';
  return html`<dl class="cells">
      ${chosen.map(
        ([name, value]) =>
          html`<div>
            <dt><bdi>${name}</bdi></dt>
            <dd>${cellValueHtml(columns, name, value)}</dd>
          </div>`,
      )}
    </dl>
    ${restCount > 0 && html`<p class="none">${plural(restCount, `${rest} column`)}</p>`}`;
}

/** The name of a file in an attachment cell, `name;revision;guid`; the cell itself if it has another form. */
export function fileNameOf(value: string): string {
  return /^(.*);\d+;[^;]*$/s.exec(value)?.[1] ?? value;
}

/** `Ana Ruiz <ana@example.com>` and `ana@example.com` are long for a list; the part in front is enough. */
export function shortName(name: string): string {
  const at = name.endsWith('>') ? name.lastIndexOf('<') : 0;
  return name.slice(0, at).trim() || name;
}

/** The edited rows of a table; empty for none. */
export function waitingText({ pendingCount, parkedCount }: TableStatus): string {
  return [
    ...(pendingCount === 0 ? [] : [`${countText(pendingCount)} to push`]),
    ...(parkedCount === 0 ? [] : [`${countText(parkedCount)} parked`]),
  ].join(', ');
}
