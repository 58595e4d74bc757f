import { describe, expect, test } from 'vitest';

import type { LogEvent } from '../../src/base/log-events.ts';
import { createLogger, LOG_FIELDS, SCRUBBED, secretScrubber, silentLogger, type LogFacts } from '../../src/base/log.ts';

/** A logger and the lines it wrote. */
function recorded(secrets: readonly string[] = [], level: 'debug' | 'info' = 'debug') {
  const lines: string[] = [];
  const logger = createLogger({ level, destination: { write: (line) => lines.push(line) }, secrets });
  return { logger, lines };
}

/** Facts that the compiler refuses where they are written down. */
function untyped(facts: Record<string, unknown>): LogFacts {
  return facts;
}

describe('createLogger', () => {
  test('writes one JSON line with level, time, event and the facts', () => {
    const { logger, lines } = recorded();

    logger.warn('origin.retry', { table: 'Order "Details"', attempt: 2, waitMs: 250, status: null });

    expect(lines).toHaveLength(1);
    expect(lines[0]?.endsWith('\n')).toBe(true);
    const { time, ...rest } = JSON.parse(lines[0] ?? '') as Record<string, unknown>;
    expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(rest).toEqual({
      level: 'warn',
      event: 'origin.retry',
      table: 'Order "Details"',
      attempt: 2,
      waitMs: 250,
      status: null,
    });
  });

  test('writes each level under its name, and nothing below the level asked for', () => {
    const { logger, lines } = recorded([], 'info');

    logger.debug('origin.retry');
    logger.info('origin.retry');
    logger.warn('origin.retry');
    logger.error('origin.retry');

    expect(lines.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual(['info', 'warn', 'error']);
  });

  test('leaves out a fact with a name that is not on the list, and says so', () => {
    const { logger, lines } = recorded();

    logger.info('origin.retry', untyped({ table: 'T', customerName: 'Anna Bell' }));

    expect(lines[0]).not.toContain('Anna');
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ table: 'T', leftOut: 'customerName' });
  });

  test.each([
    ['an error', new Error('hunter2')],
    ['an object', { token: 'hunter2' }],
    ['an array', ['hunter2']],
    ['an object that pretends to be a text', { toJSON: (): string => 'hunter2', toString: (): string => 'hunter2' }],
  ])('leaves out %s under an allowed name', (_what, value) => {
    const { logger, lines } = recorded();

    logger.info('origin.retry', untyped({ message: value }));

    expect(lines[0]).not.toContain('hunter2');
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ leftOut: 'message' });
  });

  test('cuts a text of more than 1,000 characters', () => {
    const { logger, lines } = recorded();

    logger.info('origin.retry', { message: 'm'.repeat(5_000) });

    expect((JSON.parse(lines[0] ?? '') as { message: string }).message).toHaveLength(1_000);
  });

  test('has no field that pino or this module writes itself', () => {
    expect(LOG_FIELDS).not.toContain('event');
    expect(LOG_FIELDS).not.toContain('level');
    expect(LOG_FIELDS).not.toContain('time');
    expect(LOG_FIELDS).not.toContain('leftOut');
  });

  test('the silent logger takes every call', () => {
    expect(() => {
      silentLogger.debug('origin.retry');
      silentLogger.info('origin.retry', { table: 'T' });
      silentLogger.warn('origin.retry');
      silentLogger.error('origin.retry');
    }).not.toThrow();
  });
});

/** Every form in which a secret may stand in a text that someone logs. */
function plantedForms(secret: string): Record<string, string> {
  const bytes = Buffer.from(secret);
  return {
    plain: secret,
    'upper case': secret.toUpperCase(),
    'URL-encoded': encodeURIComponent(secret),
    'URL-encoded, small letters': encodeURIComponent(secret).replaceAll(/%../g, (hex) => hex.toLowerCase()),
    'URL-encoded twice': encodeURIComponent(encodeURIComponent(secret)),
    'as a form field': new URLSearchParams({ p: secret }).toString(),
    'JSON-escaped': JSON.stringify({ p: secret }),
    'JSON-escaped twice': JSON.stringify(JSON.stringify({ p: secret })),
    base64: bytes.toString('base64'),
    base64url: bytes.toString('base64url'),
    'Basic header': Buffer.from(`user@example.org:${secret}`).toString('base64'),
    'Basic header, other alignment': Buffer.from(`u:${secret}`).toString('base64'),
    'Basic header, third alignment': Buffer.from(`us:${secret}`).toString('base64'),
    'in a URL path': `https://example.org/secure/api/v2/21995/${secret}/select.json`,
    'in a Bearer header': `authorization: Bearer ${secret}`,
  };
}

const SECRETS = [
  '0123456789abcdef0123456789ABCDEF',
  'pa"ss\\wo/rd+with=odd%20&chars?',
  'Passwort mit Leerzeichen äöü€',
  '.*+?^${}()|[]-,x',
];

describe('secrets', () => {
  test.each(
    SECRETS.flatMap((secret) => Object.entries(plantedForms(secret)).map(([form, text]) => [form, secret, text])),
  )('are scrubbed from a line: %s of %s', (_form, secret, text) => {
    const { logger, lines } = recorded([secret]);

    logger.error(`before ${text} after` as LogEvent, { message: `before ${text} after` });

    const line = lines[0] ?? '';
    expect(line).toContain(SCRUBBED);
    // What is left of a form that contains more than the secret may stay; the secret itself may not.
    const bareForms = Object.entries(plantedForms(secret)).filter(
      ([name]) => !/Basic|URL path|Bearer|field/.test(name),
    );
    for (const [, form] of bareForms) expect(line.toLowerCase()).not.toContain(form.toLowerCase());
    expect(JSON.parse(line)).toMatchObject({ level: 'error' });
  });

  test.each(['', 'a', 'ab', 'abc', 'abcd', 'abcde'])(
    'no 8 bytes of a password survive in a Basic header (user "%s")',
    (user) => {
      const password = 'correct-horse-battery';
      const header = Buffer.from(`${user}:${password}`).toString('base64');

      const scrubbed = secretScrubber([password])(header);

      // What is left may begin anywhere within a group of four characters.
      const left = scrubbed
        .split(SCRUBBED)
        .flatMap((part) => ['', 'A', 'AA', 'AAA'].map((pad) => Buffer.from(pad + part, 'base64').toString('latin1')));
      for (let at = 0; at + 8 <= password.length; at += 1) {
        expect(left.join('|')).not.toContain(password.slice(at, at + 8));
      }
      expect(scrubbed.length).toBeLessThan(header.length);
    },
  );

  test.each(['12', 'true', 'null', '"', ':'])('that are only %s leave the line as it is beside them', (secret) => {
    const { logger, lines } = recorded([secret]);

    logger.info('work.finished', { message: `a ${secret} b`, durationMs: 123, code: null, outcome: true });

    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      event: 'work.finished',
      message: `a ${SCRUBBED} b`,
      durationMs: 123,
      code: null,
      outcome: true,
    });
  });

  test('leave nothing where a text is cut in the middle of one', () => {
    const { logger, lines } = recorded(['correct-horse-battery']);

    logger.info('origin.retry', { message: `${'m'.repeat(985)}correct-horse-battery` });

    expect(lines[0]).not.toContain('correct');
  });

  test('scrubs the longer of two secrets that begin alike', () => {
    expect(secretScrubber(['token', 'token-and-more'])('x token-and-more y')).toBe(`x ${SCRUBBED} y`);
  });

  test('scrubs every occurrence', () => {
    expect(secretScrubber(['s3cret'])('s3cret s3cret')).toBe(`${SCRUBBED} ${SCRUBBED}`);
  });

  test('leaves other texts alone, also where there are no secrets or only empty ones', () => {
    expect(secretScrubber(['s3cret'])('select of Customer')).toBe('select of Customer');
    expect(secretScrubber([])('select of Customer')).toBe('select of Customer');
    expect(secretScrubber([''])('select of Customer')).toBe('select of Customer');
  });
});
