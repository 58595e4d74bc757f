/**
 * The log: one JSON line per event, with a fixed name and facts under the names of `LOG_FIELDS`. Other fields and
 * objects are left out, so that no request, answer, error or row can reach a log by accident (I16).
 *
 * Every text is searched for every form of every secret, because a redaction by path misses secrets inside messages,
 * URLs and encodings. What a terminal acts on is escaped too. The only user of pino.
 */
import { pino } from 'pino';
import type { RowsyncError } from './errors.ts';
import type { LogEvent } from './log-events.ts';
import { formLine, type LogForm } from './log-format.ts';
import { printableJson } from './text.ts';

/** Names that a fact may have; a new one is added here first. Of any other fact, only the name is written. */
export const LOG_FIELDS = [
  'attempt',
  'code',
  'deletedCount',
  'durationMs',
  'failedFileCount',
  'fileCount',
  'hint',
  'insertedCount',
  'job',
  'message',
  'method',
  'nextAt',
  'notModifiedCount',
  'outcome',
  'page',
  'path',
  'reason',
  'receivedBytes',
  'refusedCount',
  'requestCount',
  'role',
  'round',
  'rowCount',
  'runId',
  'schedule',
  'status',
  'sink',
  'table',
  'tableCount',
  'tableId',
  'updatedCount',
  'userId',
  'waitMs',
  'waitingCount',
  'way',
  'windowCount',
  'work',
] as const;

export type LogFact = string | number | boolean | null;

/** What varies in an event. */
export type LogFacts = { readonly [Field in (typeof LOG_FIELDS)[number]]?: LogFact };

/** How much is logged; each level includes the ones behind it. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** Writes events; everything that varies in one is a fact. */
export interface Logger {
  debug(event: LogEvent, facts?: LogFacts): void;
  info(event: LogEvent, facts?: LogFacts): void;
  warn(event: LogEvent, facts?: LogFacts): void;
  error(event: LogEvent, facts?: LogFacts): void;
}

/** A logger from what writes the events of one level. */
export function loggerOf(writer: (level: keyof Logger) => Logger['info']): Logger {
  return { debug: writer('debug'), info: writer('info'), warn: writer('warn'), error: writer('error') };
}

export const silentLogger = loggerOf(() => () => undefined);

/** Longest text of one fact in characters: a message and its table name fit, a body does not. */
const FACT_CHARS_MAX = 1_000;

/** Forms of a secret shorter than this are not searched for in base64 or hex: they occur in any text. */
const BASE64_CORE_MIN = 6;

/** What is in a line where a secret was. */
export const SCRUBBED = '[secret]';

const LOGGED_FIELDS: ReadonlySet<string> = new Set(LOG_FIELDS);

/** Makes a logger that writes JSON lines to `destination`, in which no form of any of the secrets appears. */
export function createLogger(options: {
  level: LogLevel;
  destination: { write(line: string): unknown };
  secrets: readonly string[];
  /** JSON unless given. */
  form?: LogForm;
}): Logger {
  const form = options.form ?? 'json';
  const scrub = secretScrubber(options.secrets);
  const logger = pino(
    {
      level: options.level,
      base: null,
      messageKey: 'event',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line: string) => void options.destination.write(formLine(printableJson(line), form)) },
  );
  return loggerOf((level) => (event, facts) => {
    if (logger.isLevelEnabled(level)) logger[level](loggable(facts, scrub), scrub(event));
  });
}

/** What an event says of an error. */
export function errorFacts({ code, message, hint }: RowsyncError): LogFacts {
  return { code, message, hint };
}

/** A logger that adds the same facts to every event. */
export function withFacts(log: Logger, common: LogFacts): Logger {
  return loggerOf((level) => (event, facts) => log[level](event, { ...common, ...facts }));
}

/**
 * Makes a function that replaces every form of the secrets in a text, whatever the case: plain, percent-encoded (once
 * and twice, and as a form field) and JSON-escaped. Also base64, within a longer value, too, as in HTTP Basic.
 */
export function secretScrubber(secrets: readonly string[]): (text: string) => string {
  const forms = new Set(secrets.filter((secret) => secret !== '').flatMap(secretForms));
  if (forms.size === 0) return (text) => text;
  // The longest first, so that no form leaves the rest of a longer one behind.
  const patterns = [...forms].toSorted((a, b) => b.length - a.length).map((form) => RegExp.escape(form));
  const pattern = new RegExp(patterns.join('|'), 'gi');
  return (text) => text.replace(pattern, SCRUBBED);
}

function secretForms(secret: string): readonly string[] {
  const encoded = encodeURIComponent(secret.toWellFormed());
  const plainForms = [
    secret,
    encoded,
    encodeURIComponent(encoded),
    new URLSearchParams({ s: secret }).toString().slice('s='.length),
    encodeURI(secret.toWellFormed()),
  ];
  // JSON, and JSON quoted inside of JSON.
  const escaped = plainForms.map(jsonEscaped);
  // As a dump shows its bytes.
  const hex = secret.length < BASE64_CORE_MIN ? [] : [Buffer.from(secret).toString('hex')];
  return [...plainForms, ...escaped, ...escaped.map(jsonEscaped), ...base64Cores(secret), ...hex];
}

function jsonEscaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/**
 * The base64 texts that the secret leaves in any longer value that contains it: three alignments, without the
 * characters at either end that also depend on the neighbours. The first alignment alone is kept whole.
 */
function base64Cores(secret: string): readonly string[] {
  const bytes = Buffer.from(secret, 'utf8');
  const cores = [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    // Each character has six bits.
    return text.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
  });
  const base64 = [bytes.toString('base64').replace(/=+$/, ''), ...cores];
  return base64
    .filter((core) => core.length >= BASE64_CORE_MIN)
    .flatMap((core) => [core, core.replaceAll('+', '-').replaceAll('/', '_'), encodeURIComponent(core)]);
}

/** The facts that may be written. Checked at run time too: what is logged must not depend on a cast elsewhere. */
function loggable(facts: LogFacts | undefined, scrub: (text: string) => string): Record<string, LogFact> {
  const allowed: Record<string, LogFact> = {};
  const leftOut: string[] = [];
  for (const [name, value] of Object.entries(facts ?? {})) {
    if (LOGGED_FIELDS.has(name) && isLogFact(value)) {
      allowed[name] = typeof value === 'string' ? scrub(value).slice(0, FACT_CHARS_MAX) : value;
    } else {
      leftOut.push(name);
    }
  }
  if (leftOut.length > 0) allowed['leftOut'] = scrub(leftOut.join(',')).slice(0, FACT_CHARS_MAX);
  return allowed;
}

function isLogFact(value: unknown): value is LogFact {
  return value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
