/**
 * Everything in which one column type of the origin differs from another: one entry a type, complete by the compiler. A new type
 * gets a name in schema.ts and an entry here. The stored form is here, too; replica/rows.ts only binds it.
 *
 * On the wire, readers return `undefined` for what has no meaning in the type; the caller reports it, without the value.
 * Strings with lone surrogates count as meaningless, because SQLite would change them. Sources: specification 2.4; origin
 * facts 2.1, 5.1 and 5.2. The SQL uses nothing that SQLite 3.37 does not know.
 */
import { sql, type Sql } from '../base/sql.ts';
import { isRoundedTo, isTooLong, numericFromText, numericToPlain, type Numeric } from './decimal.ts';
import { ExactNumber } from './exact-json.ts';
import { dateLiteral, numberLiteral, textLiteral, timeLiteral, timestampLiteral } from './formula.ts';
import type { ColumnType, Value } from './schema.ts';
import { inputTextFromUtc, isDate, isTimeOfDay, utcFromOffsetText } from './time-zones.ts';

/** A value that is not null. */
export type Given = Exclude<Value, null>;

/** Turns a parsed JSON value, or the text of an XML element, into a `Value`; undefined when it has no meaning for the type. */
export type ValueReader = (raw: unknown) => Value | undefined;

/** What the values of a type are. Types of one form hold each other's values: a change between them keeps the column. */
export type ValueForm = 'text' | 'multiline' | 'checkbox' | 'number' | 'date' | 'time' | 'timestamp' | 'file';

/** How SQLite keeps the values of a column. */
export type StoredAs = 'TEXT' | 'INTEGER' | 'ANY';

/** What a value in the replica must look like so that it can be sent. */
export interface CellForm {
  /** SQL over a value that is not null. */
  readonly isBroken: (value: Sql) => Sql;
  /** Goes behind the name of the column. */
  readonly sentence: string;
  /** How SQL makes such a value, for those who write SQL. */
  readonly sqlAdvice?: string;
}

/** How values travel (values.ts). `zone` is the caller's. */
interface Wire {
  readonly readOutput: ValueReader;
  /** The text of an element means the same with spaces around it; in other types, every character counts. */
  readonly isXmlTrimmed?: boolean;
  /** Of the trimmed text; `readOutput` where that reads it as well. */
  readonly readXmlText?: (text: string) => Value | undefined;
  /** The text of an XML element, not escaped, or of a string in JSON. */
  readonly writeInput: (value: Given, zone: string) => string;
  /** Whether JSON has the text without quotes, as a number or a boolean. */
  readonly isJsonLiteral?: boolean;
}

/** One column type. */
export interface TypeRules extends Wire {
  readonly form: ValueForm;
  /** In STRICT tables of the replica and the sandbox. Numbers are never rounded, so they are ANY. */
  readonly storedAs: StoredAs;
  /** A stored text in the form that the wire gives it, however a user spelled it; a text without such a form stays. */
  readonly valueFromText: (stored: string) => Value;
  /** SQL: whether two stored values that differ may be one value; null where each value has one spelling. */
  readonly mayBeSame: ((here: Sql, base: Sql) => Sql) | null;
  /** The condition that triggers check; null where SQLite itself refuses anything else, and for files (capture/edit-triggers.ts). */
  readonly cellForm: CellForm | null;
  /** Why a value cannot be sent, also where triggers were removed: a sentence without the value; null where it can. */
  readonly sendProblem: (value: Given) => string | null;
  /** The same for a value as a body carries it, where that differs: a file is then a reference to its part. */
  readonly inputProblem?: (value: Given) => string | null;
  /** Whether two values are one although `===` says no. */
  readonly isSame: (one: Given, other: Given) => boolean;
  /** Whether the origin may have made the second value of the first one when it was sent. */
  readonly isTakenAs: (sent: Value, there: Value) => boolean;
  /** A value as a filter says it; null where it has no form there that compares exactly. */
  readonly filterLiteral: (value: Given) => string | null;
}

/** How a value begins by which a user asks for a file to be attached (reconcile/files.ts). */
export const UPLOAD_PREFIX = 'file:';

/** A file as the origin shows it. The origin's text must never request the upload of a file of this machine. */
export function shownFile(text: string): string {
  return text.startsWith(UPLOAD_PREFIX) ? `file%3A${text.slice(UPLOAD_PREFIX.length)}` : text;
}

const readNull: ValueReader = (raw) => (raw === null ? null : undefined);

/** A reader of texts; null stays null. */
export function ofText(read: (text: string) => Value | undefined): ValueReader {
  return (raw) => (typeof raw === 'string' ? read(raw) : readNull(raw));
}

const readText: ValueReader = (raw) => (typeof raw === 'string' && raw.isWellFormed() ? raw : readNull(raw));

/** Text as sent; a number or an object in a column of a type we do not know is kept as its JSON text. */
const readAnyText: ValueReader = (raw) => {
  if (typeof raw === 'string' || raw === null) return readText(raw);
  if (raw instanceof ExactNumber) return raw.text;
  if (typeof raw === 'number') return numericToPlain(raw);
  return JSON.stringify(raw);
};

const readNumeric: ValueReader = (raw) => {
  if (typeof raw === 'number') {
    // Written with an exponent, as 1e19: every number that long is an integer.
    if (Math.abs(raw) > Number.MAX_SAFE_INTEGER) return numericFromText(String(raw));
    return raw === 0 ? 0 : raw; // -0 is 0
  }
  if (raw instanceof ExactNumber) return numericFromText(raw.text);
  return typeof raw === 'string' ? numericFromText(raw) : readNull(raw);
};

/** Always midnight in UTC; anything else would be a date that two readers could take for different days. */
function readOutputDate(text: string): string | undefined {
  const rest = text.slice(10);
  const date = text.slice(0, 10);
  return (rest === 'T00:00:00+00:00' || rest === 'T00:00:00Z' || rest === '') && isDate(date) ? date : undefined;
}

/** On the date 0001-01-01 in UTC; another date would say nothing about a time of day. */
function readOutputTime(text: string): string | undefined {
  const begin = text.indexOf('T') + 1;
  return OUTPUT_TIME.test(text) ? text.slice(begin, begin + 8) : undefined;
}

const OUTPUT_TIME = /^(?:\d{4}-\d\d-\d\dT)?(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\+00:00|Z)?$/;

/** Seconds as a number, or as an ISO 8601 duration that has only seconds; the sign may be in either place. */
function secondsFromText(text: string): Numeric | undefined {
  const match = /^(-?)PT(-?)(\d[\d.]*)S$/.exec(text);
  if (match === null) return numericFromText(text);
  const [, before = '', after = '', digits = ''] = match;
  return numericFromText(`${before}${after}${digits}`); // which takes no two signs
}

function isNumber(value: Given): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  return typeof value === 'bigint' || (typeof value === 'string' && numericFromText(value) !== undefined);
}

function isInstant(value: Given): boolean {
  return typeof value === 'string' && value.endsWith('Z') && utcFromOffsetText(value) !== undefined;
}

const TEXT: TypeRules = {
  form: 'text',
  storedAs: 'TEXT',
  valueFromText: (stored) => stored,
  mayBeSame: null,
  cellForm: null,
  sendProblem: (value) => {
    if (typeof value !== 'string') return 'the value is not a text';
    return value.isWellFormed() ? null : 'the text has half a character in it';
  },
  isSame: () => false,
  isTakenAs: (sent, there) => sent === '' && there === null,
  filterLiteral: (value) => textLiteral(String(value)),
  readOutput: readText,
  writeInput: (value) => String(value),
};

/** In formulas a type of its own: a filter that compares it with a text would be refused. */
const UNFILTERED: TypeRules = { ...TEXT, filterLiteral: () => null };

/** The e-mail of a User: between < and >, or all of it. */
export function emailOfUser(user: string): string {
  const open = user.lastIndexOf('<');
  return open >= 0 && user.endsWith('>') ? user.slice(open + 1, -1).trim() : user.trim();
}

const USER: TypeRules = {
  ...UNFILTERED,
  // The name is for display.
  isTakenAs: (sent, there) =>
    TEXT.isTakenAs(sent, there) ||
    (typeof sent === 'string' &&
      typeof there === 'string' &&
      emailOfUser(sent).toLowerCase() === emailOfUser(there).toLowerCase()),
};

const withoutReturns = (text: string): string => text.replaceAll('\r\n', '\n');

const MULTILINE: TypeRules = {
  ...TEXT,
  form: 'multiline',
  valueFromText: withoutReturns,
  mayBeSame: (here) => sql`instr(${here}, char(13)) > 0`,
  readOutput: ofText((text) => (text.isWellFormed() ? withoutReturns(text) : undefined)),
};

const CHECKBOX: TypeRules = {
  ...TEXT,
  form: 'checkbox',
  storedAs: 'INTEGER',
  cellForm: { isBroken: (value) => sql`${value} NOT IN (0, 1)`, sentence: 'takes 0 or 1' },
  sendProblem: (value) => (typeof value === 'boolean' ? null : 'a checkbox is true or false (in SQL, 1 or 0)'),
  // At the origin it is never empty.
  isTakenAs: (sent, there) => sent === null && there === false,
  filterLiteral: () => null,
  readOutput: (raw) => (typeof raw === 'boolean' ? raw : readNull(raw)),
  isJsonLiteral: true,
  isXmlTrimmed: true,
  readXmlText: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
};

/** The largest double; what lies beyond is infinite, which no decimal says. */
const DOUBLE_MAX = sql`1.7976931348623157e308`;

const NUMERIC: TypeRules = {
  ...TEXT,
  form: 'number',
  storedAs: 'ANY',
  valueFromText: (stored) => numericFromText(stored) ?? stored,
  mayBeSame: (here, base) => sql`'text' IN (typeof(${here}), typeof(${base}))`,
  cellForm: {
    isBroken: (value) => sql`CASE typeof(${value})
            WHEN 'integer' THEN 0 WHEN 'null' THEN 0
            WHEN 'real' THEN abs(${value}) > ${DOUBLE_MAX}
            WHEN 'text' THEN ${value} NOT GLOB '*[0-9]*' OR ${value} GLOB '*[^-0-9.]*' OR ${value} GLOB '?*-*'
              OR ${value} GLOB '*.*.*' OR length(${value}) > 1000
            ELSE 1 END`,
    sentence: 'takes a number such as 12.5, without exponent',
  },
  sendProblem: (value) => (isNumber(value) ? null : 'the value is not a number'),
  isSame: (one, other) => numericToPlain(one) === numericToPlain(other),
  // The origin keeps six decimals.
  isTakenAs: (sent, there) => {
    return sent !== null && there !== null && isRoundedTo(numericToPlain(sent), numericToPlain(there));
  },
  filterLiteral: (value) =>
    !isNumber(value) || typeof value === 'boolean' || isTooLong(value) ? null : numberLiteral(value),
  readOutput: readNumeric,
  writeInput: (value) => numericToPlain(value),
  isJsonLiteral: true,
  isXmlTrimmed: true,
};

const DURATION: TypeRules = {
  ...NUMERIC,
  cellForm: { ...NUMERIC.cellForm, sentence: 'takes a number of seconds, such as 90' } as CellForm, // that of a number
  // A number and its unit; literals have no sign.
  filterLiteral: (value) =>
    typeof value === 'number' && value >= 0 && isNumber(value) ? `${numberLiteral(value)}s` : null,
  readXmlText: secondsFromText,
};

const DATE: TypeRules = {
  ...TEXT,
  form: 'date',
  cellForm: {
    // Without a modifier, older SQLite, as other clients may have, repeats 30 February as it came.
    isBroken: (value) => sql`date(${value}, '+0 days') IS NOT ${value}`,
    sentence: 'takes a date such as 2026-11-21',
  },
  sendProblem: (value) => (typeof value === 'string' && isDate(value) ? null : 'a date is written YYYY-MM-DD'),
  filterLiteral: (value) => (typeof value === 'string' && isDate(value) ? dateLiteral(value) : null),
  readOutput: ofText(readOutputDate),
  isXmlTrimmed: true,
};

const TIME: TypeRules = {
  ...TEXT,
  form: 'time',
  cellForm: {
    isBroken: (value) => sql`time(${value}, '+0 days') IS NOT ${value}`,
    sentence: 'takes a time of day such as 17:05:00',
  },
  sendProblem: (value) => (typeof value === 'string' && isTimeOfDay(value) ? null : 'a time is written hh:mm:ss'),
  filterLiteral: (value) => (typeof value === 'string' && isTimeOfDay(value) ? timeLiteral(value) : null),
  readOutput: ofText(readOutputTime),
  isXmlTrimmed: true,
};

/** A moment in UTC without its part of a second. */
export const withoutFraction = (utc: string): string => utc.replace(/\.\d+/, '');

const TIMESTAMP: TypeRules = {
  ...TEXT,
  form: 'timestamp',
  // An instant has no zeros at the end of its fraction.
  valueFromText: (stored) =>
    stored.includes('.') && stored.endsWith('Z') ? (utcFromOffsetText(stored) ?? stored) : stored,
  mayBeSame: (here) => sql`instr(${here}, '.') > 0`,
  cellForm: {
    isBroken: (value) => sql`CASE WHEN ${value} IS NULL THEN 0 ELSE
            strftime('%Y-%m-%dT%H:%M:%S', substr(${value}, 1, 19), '+0 days') IS NOT substr(${value}, 1, 19)
            OR substr(${value}, 20) <> 'Z' AND (substr(${value}, 20) NOT GLOB '.[0-9]*Z'
              OR substr(${value}, 21, length(${value}) - 21) GLOB '*[^0-9]*') END`,
    sentence: 'takes an instant in UTC such as 2026-11-21T17:05:00Z',
    sqlAdvice: "strftime('%Y-%m-%dT%H:%M:%SZ', ...) makes one",
  },
  sendProblem: (value) => (isInstant(value) ? null : 'a timestamp is written YYYY-MM-DDThh:mm:ssZ, in UTC'),
  // Literals have no fraction: the rows of that very instant are not those of its second.
  filterLiteral: (value) => (String(value).includes('.') || !isInstant(value) ? null : timestampLiteral(String(value))),
  readOutput: ofText(utcFromOffsetText),
  // Both formats show whole seconds.
  isTakenAs: (sent, there) => typeof sent === 'string' && withoutFraction(sent) === there,
  writeInput: (value, zone) => inputTextFromUtc(String(value), zone),
  isXmlTrimmed: true,
};

const ATTACHMENT: TypeRules = {
  ...UNFILTERED,
  form: 'file',
  sendProblem: (value) =>
    typeof value === 'string' && value.startsWith(UPLOAD_PREFIX) && value !== UPLOAD_PREFIX
      ? null
      : 'a file is attached by file: and its name',
  inputProblem: (value) =>
    typeof value === 'string' && /^cid:/i.test(value) && value.isWellFormed()
      ? null
      : 'an attachment is cid: and the content id of a file that is sent with it',
  readOutput: (raw) => {
    const text = readText(raw);
    return typeof text === 'string' ? shownFile(text) : text;
  },
};

/** The rules of every column type. */
export const TYPE_RULES: Readonly<Record<ColumnType, TypeRules>> = {
  Text: TEXT,
  Phone: TEXT,
  EMail: TEXT,
  URL: TEXT,
  User: USER,
  Autonumber: {
    ...TEXT,
    readOutput: (raw) => (typeof raw === 'number' || raw instanceof ExactNumber ? readAnyText(raw) : readText(raw)),
  },
  Multiline: MULTILINE,
  Checkbox: CHECKBOX,
  Numeric: NUMERIC,
  Date: DATE,
  Time: TIME,
  Timestamp: TIMESTAMP,
  Duration: DURATION,
  Attachment: ATTACHMENT,
  Unknown: { ...UNFILTERED, readOutput: readAnyText },
};

/** Whether values of a type are text in every form: an empty one counts as missing, and a column may bound its length. */
export function isTextType(type: ColumnType): boolean {
  const { form } = TYPE_RULES[type];
  return form === 'text' || form === 'multiline';
}
