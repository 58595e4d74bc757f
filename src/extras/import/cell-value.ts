/**
 * Reads the cells of a file as values of their columns. What can be read in two ways, such as 1,5 or 03/04/2026, is
 * read only if an option says how it is written. Pure.
 */
import { usageError } from '../../base/errors.ts';
import { numericFromText } from '../../wire/decimal.ts';
import { TYPE_RULES } from '../../wire/column-types.ts';
import type { ColumnType, Value } from '../../wire/schema.ts';
import { isDate, isTimeOfDay, isZone, offsetTextFromUtc, utcFromInputText } from '../../wire/time-zones.ts';

/** A cell: a text as people write it, or what a program wrote (ISO dates, numbers with a point). */
export type RawCell = string | { readonly plain: string } | boolean | null;

export interface Forms {
  readonly number: RegExp;
  readonly decimal: string;
  /** The order of the parts of a date and what is between them; null where only ISO dates are read. */
  readonly date: { readonly order: readonly string[]; readonly between: string } | null;
  /** The zone of times without an offset; null where it is not known. */
  readonly zone: string | null;
}

/** The value of a cell, or the end of a sentence that says why it has none. */
export type ReadCell = { readonly value: Value } | { readonly problem: string };

/** @throws RowsyncError `usage.invalid`. */
export function formsOf(given: {
  readonly locale: string | undefined;
  readonly dates: string | undefined;
  readonly zone: string | null;
}): Forms {
  const { locale, dates } = given;
  const zone = given.zone !== null && isZone(given.zone) ? given.zone : null;
  const { decimal, group, groupDigits } = signsOf(locale);
  const [point, between] = [decimal, group ?? ''].map(signPattern);
  const whole =
    group === null ? String.raw`\d*` : String.raw`(?:\d*|\d{1,3}(?:${between}\d{${groupDigits}})*${between}\d{3})`;
  const number = new RegExp(String.raw`^[-+]?(?=.*\d)${whole}(?:${point}\d*)?(?:e[-+]?\d+)?$`);
  const date = dates !== undefined ? dateForm(dates) : locale === undefined ? null : dateOfLocale(locale);
  return { number, decimal, date, zone };
}

/** The signs of numbers: behind the whole part, and between its digits, of which the last group always has three. */
function signsOf(locale: string | undefined): {
  readonly decimal: string;
  readonly group: string | null;
  readonly groupDigits: number;
} {
  if (locale === undefined) return { decimal: '.', group: null, groupDigits: 3 };
  requireLocale(locale);
  const parts = new Intl.NumberFormat(locale, { numberingSystem: 'latn' }).formatToParts(1_234_567.5);
  const signOf = (type: string): string => parts.find((part) => part.type === type)?.value ?? '.';
  const groups = parts.filter(({ type }) => type === 'integer');
  return { decimal: signOf('decimal'), group: signOf('group'), groupDigits: groups[1]?.value.length ?? 3 };
}

/** Spaces of several kinds, and two apostrophes, look alike. */
function signPattern(sign: string): string {
  if (/^\s$/.test(sign)) return String.raw`[\s]`;
  return /^['’]$/.test(sign) ? "['’]" : sign.replace(/[.]/, String.raw`\.`);
}

function requireLocale(locale: string): void {
  try {
    if (Intl.NumberFormat.supportedLocalesOf(locale).length > 0) return;
  } catch {
    // no locale at all, in the words of Intl
  }
  throw usageError(
    `--locale: "${locale}" is not a locale`,
    'Name a language and a country, such as de-DE, en-US or fr-CH.',
  );
}

const PART_BY_TYPE: Readonly<Partial<Record<string, string>>> = { day: 'DD', month: 'MM', year: 'YYYY' };

function dateOfLocale(locale: string): Forms['date'] {
  const format = new Intl.DateTimeFormat(locale, { calendar: 'gregory', numberingSystem: 'latn', timeZone: 'UTC' });
  const parts = format.formatToParts(0);
  const order = parts.flatMap(({ type }) => PART_BY_TYPE[type] ?? []);
  return { order, between: parts.find(({ type }) => type === 'literal')?.value.trim() ?? '' };
}

function dateForm(form: string): Forms['date'] {
  const [, first = '', between = '', second = '', third = ''] = /^(\w+)([./ -])(\w+)\2(\w+)$/.exec(form) ?? [];
  const order = [first, second, third];
  if (order.toSorted().join(' ') === 'DD MM YYYY') return { order, between };
  throw usageError(
    `--dates: "${form}" is not a form of dates`,
    'Write DD, MM and YYYY in their order, such as DD.MM.YYYY.',
  );
}

export function readCell(type: ColumnType, cell: RawCell, forms: Forms): ReadCell {
  if (cell === null || cell === '') return { value: null };
  const { form } = TYPE_RULES[type];
  const text = typeof cell === 'object' ? cell.plain : String(cell);
  if (form === 'text' || form === 'multiline') {
    return text.isWellFormed() ? { value: TYPE_RULES[type].valueFromText(text) } : problem('has half a character');
  }
  const trimmed = text.trim();
  if (trimmed === '') return { value: null };
  if (trimmed.length > CHARS_MAX) return problem('is too long');
  const read = READERS[form];
  return read === undefined ? problem('takes no value of a file') : read(trimmed, { type, forms, cell });
}

/** Characters of a number or a date; numbers have at most so many digits. */
const CHARS_MAX = 1_100;

type Reader = (
  text: string,
  of: { readonly type: ColumnType; readonly forms: Forms; readonly cell: RawCell },
) => ReadCell;

const TRUE = new Set(['true', '1', 'yes', 'y', 't', 'x', 'on', 'ja', 'wahr', 'oui', 'vrai', 'sí', 'si', 'verdadero']);
const FALSE = new Set(['false', '0', 'no', 'n', 'f', 'off', 'nein', 'falsch', 'non', 'faux', 'falso']);

const READERS: Readonly<Partial<Record<string, Reader>>> = {
  checkbox: (text) => {
    const word = text.toLowerCase();
    if (TRUE.has(word)) return { value: true };
    return FALSE.has(word) ? { value: false } : problem('is neither yes nor no, true nor false, 1 nor 0');
  },
  number: (text, { type, forms, cell }) => {
    const clock = type === 'Duration' ? /^(\d+):([0-5]\d):([0-5]\d)$/.exec(text) : null;
    if (clock !== null) return { value: Number(clock[1]) * 3600 + Number(clock[2]) * 60 + Number(clock[3]) };
    // A spreadsheet writes so what did not fit into the cell: its digits are gone.
    if (typeof cell === 'string' && /\dE[+]\d/.test(text))
      return problem('has an exponent (E+), as spreadsheets write numbers that they cut');
    const plain = typeof cell === 'object' ? text : plainNumber(text, forms);
    const value = plain === null ? undefined : numericFromText(plain);
    return value === undefined ? problem(`is not a number such as 12${forms.decimal}5`) : { value };
  },
  date: (text, { forms, cell }) => {
    const [date = '', time = '', offset = ''] = splitMoment(text, cell, forms);
    if (date === '') return problem(`is not a date such as ${sampleDate(forms)}`);
    const isDay = time === '' || /^00:00:00(\.0+)?$/.test(time);
    const isUtc = offset === '' || /^(?:Z|\+00:?00)$/.test(offset);
    return isDay && isUtc ? { value: date } : problem('has a time of day, and the column takes none');
  },
  time: (text) => {
    const value = timeOf(text);
    return value !== null && isTimeOfDay(value) ? { value } : problem('is not a time of day such as 17:05:00');
  },
  timestamp: (text, { forms, cell }) => {
    const [date = '', time = '', offset = ''] = splitMoment(text, cell, forms);
    if (date === '') return problem(`is not a date and time such as ${sampleDate(forms)} 17:05:00`);
    if (time === '') return problem('has no time of day');
    if (offset === '' && forms.zone === null) return problem('has no offset, such as Z or +02:00');
    const zone = forms.zone ?? 'UTC';
    const value = utcFromInputText(`${date}T${time}${offset}`, zone);
    if (value === undefined) return problem('is not a moment that exists');
    const isSkipped = offset === '' && offsetTextFromUtc(value, zone).slice(0, 19) !== `${date}T${time.slice(0, 8)}`;
    return isSkipped ? problem(`is not a moment that exists: clocks in ${zone} were set forward`) : { value };
  },
};

function problem(words: string): ReadCell {
  return { problem: words };
}

/** Null where the text is not written as numbers are. */
function plainNumber(text: string, { number, decimal }: Forms): string | null {
  const signed = text.replace('−', '-');
  if (!number.test(signed)) return null;
  const [whole = '', fraction = ''] = signed.split(decimal);
  return `${whole.replaceAll(/[^-+\de]/g, '')}${fraction === '' ? '' : `.${fraction}`}`;
}

/** The ISO date, time of day and offset of a text; empty for a missing part, all empty for another text. */
function splitMoment(text: string, cell: RawCell, forms: Forms): readonly string[] {
  const iso = /^(\d{4}-\d\d-\d\d)(?:[T ](.+?))?\s*(Z|UTC|[+-]\d\d:?\d\d)?$/.exec(text);
  const given = iso === null && typeof cell === 'string' && forms.date !== null ? spokenDate(text, forms.date) : null;
  const [, date = '', clock = '', offset = ''] = iso ?? given ?? [];
  const time = clock === '' ? '' : timeOf(clock);
  return !isDate(date) || time === null ? [] : [date, time, offset === 'UTC' ? 'Z' : offset];
}

function spokenDate(text: string, { order, between }: NonNullable<Forms['date']>): readonly string[] | null {
  const sign = between === '' ? '' : `\\${between}\\s?`;
  const parts = order.map((part) => (part === 'YYYY' ? String.raw`(\d{4})` : String.raw`(\d{1,2})`));
  const match = new RegExp(String.raw`^${parts.join(sign)}\.?(?:,?\s+(.+))?$`).exec(text);
  if (match === null) return null;
  const at = (part: string): string => (match[order.indexOf(part) + 1] ?? '').padStart(2, '0');
  return ['', `${at('YYYY')}-${at('MM')}-${at('DD')}`, match[4] ?? '', ''];
}

/** `hh:mm:ss`, with a fraction where there is one; null for another text. */
function timeOf(text: string): string | null {
  const match = /^(\d{1,2}):(\d\d)(?::(\d\d)(\.\d{1,9})?)?\s*([AaPp]\.?[Mm]\.?)?$/.exec(text.trim());
  if (match === null) return null;
  const [, hour = '', minute = '', second = '00', fraction = '', half] = match;
  const given = Number(hour);
  if (half !== undefined && (given < 1 || given > 12)) return null;
  const full = half === undefined ? given : (given % 12) + (half.toLowerCase().startsWith('p') ? 12 : 0);
  const exact = /^\.0*$/.test(fraction) ? '' : fraction;
  return `${String(full).padStart(2, '0')}:${minute}:${second}${exact}`;
}

function sampleDate({ date }: Forms): string {
  if (date === null) return '2026-11-21 (--locale or --dates say how others are written)';
  return date.order.join(date.between).replace('DD', '21').replace('MM', '11').replace('YYYY', '2026');
}
