/**
 * Everything that differs between the column types of the origin: one entry per type, which the compiler requires. A
 * new type gets a name in schema.ts and an entry here. The stored form is here, too.
 *
 * On the wire, readers return `undefined` for what has no meaning in the type; the caller reports it, without the
 * value. Strings with lone surrogates count as meaningless, because SQLite would change them. Sources: specification
 * 2.4; origin facts 2.1, 5.1 and 5.2. The SQL uses nothing that SQLite 3.37 does not know.
 */
import { sql, type Sql } from '../base/sql.ts';
import { isRoundedTo, isTooLong, numericFromText, numericToPlain, type Numeric } from './decimal.ts';
import { ExactNumber } from './exact-json.ts';
import { dateLiteral, numberLiteral, textLiteral, timeLiteral, timestampLiteral } from './formula.ts';
import type { ColumnType, Value } from './schema.ts';
import { inputTextFromUtc, isDate, isTimeOfDay, utcFromOffsetText } from './time-zones.ts';

/** A value that is not null. */
export type Given = Exclude<Value, null>;

/** Turns a parsed JSON value, or the text of an XML element, into a `Value`; undefined if it does not fit the type. */
export type ValueReader = (raw: unknown) => Value | undefined;

/** The form of a type's values. A change between types of one form keeps the column. */
export type ValueForm = 'text' | 'multiline' | 'checkbox' | 'number' | 'date' | 'time' | 'timestamp' | 'file';

/** How SQLite keeps the values of a column. */
export type StoredAs = 'TEXT' | 'INTEGER' | 'ANY';

/** The form that a value in the replica must have to be sent. */
export interface CellForm {
  /** SQL over a value that is not null. */
  readonly isBroken: (value: Sql) => Sql;
  /** Follows the name of the column. */
  readonly sentence: string;
  /** How to write such a value in SQL; advice for users. */
  readonly sqlAdvice?: string;
}

/** How values travel (values.ts). `zone` is the caller's. */
interface Wire {
  readonly readOutput: ValueReader;
  /** Spaces around the text of an element have no meaning; in other types, every character counts. */
  readonly isXmlTrimmed?: boolean;
  /** Reads the trimmed text; may be `readOutput`. */
  readonly readXmlText?: (text: string) => Value | undefined;
  /** The text of an XML element, not escaped, or of a JSON string. */
  readonly writeInput: (value: Given, zone: string) => string;
  /** Whether JSON has the text without quotes, as a number or a boolean. */
  readonly isJsonLiteral?: boolean;
}

/** One column type. */
export interface TypeRules extends Wire {
  readonly form: ValueForm;
  /** In STRICT tables of the replica and the sandbox. Numbers are never rounded, so they are ANY. */
  readonly storedAs: StoredAs;
  /** A stored text in the form of the wire, however a user spelled it; a text without such a form stays as it is. */
  readonly valueFromText: (stored: string) => Value;
  /** SQL: whether two different stored values may mean the same; null if each value has only one spelling. */
  readonly mayBeSame: ((here: Sql, base: Sql) => Sql) | null;
  /** The condition that triggers check; null for files, and if SQLite refuses all else (capture/edit-triggers.ts). */
  readonly cellForm: CellForm | null;
  /** Why a value cannot be sent, as a sentence without it; null if it can. Users may drop the triggers. */
  readonly sendProblem: (value: Given) => string | null;
  /** The same for the form in a request body, if that differs: there a file is a reference to its part. */
  readonly inputProblem?: (value: Given) => string | null;
  /** Whether two values mean the same, even if they are not `===`. */
  readonly isSame: (one: Given, other: Given) => boolean;
  /** Whether the origin may have stored the first value as the second one. */
  readonly isTakenAs: (sent: Value, there: Value) => boolean;
  /** A value as a literal in a filter; null if no literal compares exactly. */
  readonly filterLiteral: (value: Given) => string | null;
}

/** The prefix of a value with which a user attaches a file (reconcile/files.ts). */
export const UPLOAD_PREFIX = 'file:';

/** A file as the origin shows it. A text from the origin must never trigger the upload of a local file. */
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
    // Written with an exponent, such as 1e19: every number that large is an integer.
    if (Math.abs(raw) > Number.MAX_SAFE_INTEGER) return numericFromText(String(raw));
    return raw === 0 ? 0 : raw; // -0 is 0
  }
  if (raw instanceof ExactNumber) return numericFromText(raw.text);
  return typeof raw === 'string' ? numericFromText(raw) : readNull(raw);
};

/** Always midnight in UTC; otherwise two readers could take it for different days. */
function readOutputDate(text: string): string | undefined {
  const rest = text.slice(10);
  const date = text.slice(0, 10);
  return (rest === 'T00:00:00+00:00' || rest === 'T00:00:00Z' || rest === '') && isDate(date) ? date : undefined;
}

/** A time of day, which the origin puts on the date 0001-01-01 in UTC. */
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
  return numericFromText(`${before}${after}${digits}`); // undefined for two signs
}

function isNumber(value: Given): value is Numeric {
  if (typeof value === 'number') return Number.isFinite(value);
  return typeof value === 'bigint' || (typeof value === 'string' && numericFromText(value) !== undefined);
}

function isInstant(value: Given): value is string {
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

/** A separate type in formulas: a filter that compares it with a text would be refused. */
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
  // It is never empty at the origin.
  isTakenAs: (sent, there) => sent === null && there === false,
  filterLiteral: () => null,
  readOutput: (raw) => (typeof raw === 'boolean' ? raw : readNull(raw)),
  isJsonLiteral: true,
  isXmlTrimmed: true,
  readXmlText: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
};

/** The largest double; anything larger is infinite, and no decimal text can say that. */
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
  filterLiteral: (value) => (isNumber(value) && !isTooLong(value) ? numberLiteral(value) : null),
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
    // Without a modifier, older SQLite versions, which other clients may use, return 30 February unchanged.
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

/** A UTC timestamp without its fraction of a second. */
export const withoutFraction = (utc: string): string => utc.replace(/\.\d+/, '');

const TIMESTAMP: TypeRules = {
  ...TEXT,
  form: 'timestamp',
  // The form of the wire has no trailing zeros in the fraction.
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
  // Literals have no fraction, so they cannot select exactly the rows of an instant that has one.
  filterLiteral: (value) => (isInstant(value) && !value.includes('.') ? timestampLiteral(value) : null),
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

/** Whether values of a type are texts: an empty one counts as missing, and a column may limit its length. */
export function isTextType(type: ColumnType): boolean {
  const { form } = TYPE_RULES[type];
  return form === 'text' || form === 'multiline';
}
