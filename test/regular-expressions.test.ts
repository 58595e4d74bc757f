/**
 * Regular expressions whose time grows with the square of a text, or faster, stop the process when someone sends a long
 * one. Every expression of the program takes time in proportion to its text, or stands in a list here with what bounds
 * the text.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { parseSync } from 'oxc-parser';
import { analyse } from 'scslre';
import { expect, test } from 'vitest';

/** File, expression, and why its text is short. */
const BOUNDED: readonly (readonly [file: string, expression: string, reason: string])[] = [
  ['base/log.ts', '/=+$/', 'the base64 of a secret of ours'],
  ['base/text.ts', String.raw`/\B(?=(?:\d{3})+$)/g`, 'the digits of a count of ours'],
  ['cli/program.ts', String.raw`/\s{2,}.*$/`, 'an example in the help, which is ours'],
  ['cli/program.ts', String.raw`/^( +\S.*? {2,})(\S.*)$/gm`, 'the lines of the help, which are ours'],
  ['cli/program.ts', String.raw`/^\s+(rowsync \S.*)$/gm`, 'the examples in the help, which are ours'],
  ['config/secrets.ts', String.raw`/(?:\r?\n)+$/`, 'a file with a secret of ours'],
  [
    'extras/contracts/query-correction.ts',
    String.raw`/'(?:[^']|'')*'|--[^\n]*|\/\*[\s\S]*?\*\/|"(?:[^"]|"")*"|\[[^\]]*\]|~(?:[^~]|~~)*~|[\p{L}_][\p{L}\p{N}_$]*/gu`.replaceAll(
      '~',
      '`',
    ),
    'a query of the user that compiled before: its quotes are closed',
  ],
  ['extras/doorbell/command.ts', String.raw`/\/+$/`, 'an address that the administrator types'],
  ['extras/http/options.ts', String.raw`/\d+$/`, 'an address of the configuration'],
  [
    'extras/import/cell-value.ts',
    String.raw`/^(\d{4}-\d\d-\d\d)(?:[T ](.+?))?\s*(Z|UTC|[+-]\d\d:?\d\d)?$/`,
    'a date or a number: 1,100 characters',
  ],
  ['extras/import/read-file.ts', '/[A-Z]+$/', 'a word of the Parquet library'],
  ['extras/page/html.ts', String.raw`/\s*\n\s*/g`, 'a template of ours, without its values'],
  ['origin/credentials.ts', String.raw`/^[\x21-\x7E]+=[\x20-\x7E]*$/`, 'a secret of ours'],
  ['extras/demo/command.ts', String.raw`/\d+ rows?\n$/`, 'a table of ours'],
  [
    'extras/shared/browse-row.ts',
    String.raw`/\s+(?:id|key|no\.?|number|code)$/`,
    'the name of a column: 1,000 characters',
  ],
  ['sandbox/server/authorize.ts', String.raw`/^\s*(\S+)\s*(.*?)\s*$/`, 'a header: Node takes 16 KiB of all'],
  [
    'sandbox/wire/multipart.ts',
    String.raw`/^([!#$%&'*+\-.^_\`|~0-9A-Za-z]+)[ \t]*:[ \t]*(.*?)[ \t]*$/s`.replace('\\`', '`'),
    'the headers of a part: 8 KiB',
  ],
  ['sandbox/formula/session-functions.ts', String.raw`/\B(?=(?:\d{3})+$)/g`, 'the digits of a number: 1,100'],
  ['wire/decimal.ts', '/0+$/', 'the digits of a number: 1,100'],
  ['wire/time-zones.ts', String.raw`/\.?0+$/`, 'a fraction of nine digits'],
];

/** Files that make expressions from constants of their own, or from pieces without a quantifier. */
const MADE: readonly string[] = [
  'base/log.ts',
  'base/name-pattern.ts',
  'extras/contracts/old-names.ts',
  'extras/import/cell-value.ts',
  'replica/lock.ts',
  'wire/xml-names.ts',
];

interface Found {
  readonly at: string;
  readonly isSlow: boolean;
}

function isSlow(source: string, flags: string): boolean {
  return analyse({ source, flags }).reports.length > 0;
}

/** Goes through the tree of a file. */
function* nodesOf(node: unknown): Generator<Record<string, unknown>> {
  if (typeof node !== 'object' || node === null) return;
  if ('type' in node) yield node;
  for (const child of Object.values(node)) yield* nodesOf(child);
}

function expressionsIn(path: string, text: string): readonly Found[] {
  return [...nodesOf(parseSync(path, text).program)].flatMap(({ regex }) => {
    if (typeof regex !== 'object' || regex === null) return [];
    const { pattern, flags } = regex as { pattern: string; flags: string };
    return [{ at: `${path} /${pattern}/${flags}`, isSlow: isSlow(pattern, flags) }];
  });
}

const folder = new URL('../src/', import.meta.url);
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => ({ path, text: readFileSync(new URL(path, folder), 'utf8') }));

test('every expression takes time in proportion to its text, or says what bounds the text', () => {
  const found = files.flatMap(({ path, text }) => expressionsIn(path, text));

  expect(found.length).toBeGreaterThan(200);
  expect(
    found
      .filter((each) => each.isSlow)
      .map(({ at }) => at)
      .toSorted(),
  ).toEqual(BOUNDED.map(([file, expression]) => `${file} ${expression}`).toSorted());
});

test('expressions are made at run time only in files that are known to make them of constants', () => {
  const makers = files.filter(({ text }) => /\bRegExp\(/.test(text)).map(({ path }) => path);

  expect(makers.toSorted()).toEqual(MADE.toSorted());
});

test.each([String.raw`^(?:\s+|x)*y`, String.raw`\s+$`, '^(.+?) *<[^>]*>$'])('%s is known to be slow', (source) => {
  expect(isSlow(source, '')).toBe(true);
});
