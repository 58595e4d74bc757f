/**
 * The option table against the files made from it, the JSON Schema and the commented example in config/; and the words
 * in which options refuse.
 */
import { SECTIONS } from '../support/sections.ts';
import { readFileSync } from 'node:fs';

import { parse } from 'yaml';
import { expect, test } from 'vitest';

import { problemsFromIssues } from '../../src/config/config-errors.ts';
import { optionsJsonSchema, optionsSchema } from '../../src/config/options.ts';

test('config/rowsync.schema.json is what the options say (npm run docs writes it)', async () => {
  const text = `${JSON.stringify(optionsJsonSchema(SECTIONS), null, 2)}\n`;

  await expect(text).toMatchFileSnapshot('../../config/rowsync.schema.json');
});

test('the commented example shows every default', () => {
  const example: unknown = parse(readFileSync('config/rowsync.example.yaml', 'utf8'));

  const shown = optionsSchema(SECTIONS).parse(example);
  const bare = optionsSchema(SECTIONS).parse({ origin: shown.origin, replica: shown.replica });

  expect(example).toEqual(bare);
});

test('the commented example names every option', () => {
  const text = readFileSync('config/rowsync.example.yaml', 'utf8');

  const names = propertyNames(optionsJsonSchema(SECTIONS));

  expect(names.length).toBeGreaterThan(10);
  expect(names.filter((name) => !new RegExp(`\\b${name}:`).test(text))).toEqual([]);
});

/** Values that most options refuse. */
const ODD_VALUES = [
  0,
  -1,
  '',
  ' ',
  1e99,
  1.5,
  null,
  [],
  {},
  [''],
  { '': '' },
  { a: 0 },
  true,
  '0KB',
  'x'.repeat(9_999),
];

test('every option refuses a value in words of its own', () => {
  const schema = optionsSchema(SECTIONS);
  const complaints = optionPaths(optionsJsonSchema(SECTIONS)).flatMap((path) =>
    ODD_VALUES.flatMap((value) => {
      const given = { origin: { url: 'https://a.example', database: '1' }, replica: { path: 'r' } };
      put(given, path, value);
      return problemsFromIssues(schema.safeParse(given).error?.issues ?? []).map(
        ({ complaint }) => `${path.join('.')} ${complaint}`,
      );
    }),
  );

  expect(complaints.length).toBeGreaterThan(1_000);
  // So the library of schemas begins its own sentences.
  expect(complaints.filter((text) => / (?:Invalid|Unrecognized|Too (?:big|small)|Expected)\b/.test(text))).toEqual([]);
});

/** The path of every option; any key of a mapping is `Any`, any item of a list is the first one. */
function optionPaths(schema: unknown, at: readonly string[] = []): (readonly string[])[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties, additionalProperties, items, anyOf }: Record<string, unknown> = { ...schema };
  const children = [
    ...Object.entries(properties ?? {}),
    ...(typeof additionalProperties === 'object' ? [['Any', additionalProperties] as const] : []),
    ...(typeof items === 'object' ? [['0', items] as const] : []),
  ];
  const here = children.flatMap(([key, child]) => [[...at, key], ...optionPaths(child, [...at, key])]);
  return [...here, ...(Array.isArray(anyOf) ? anyOf.flatMap((form) => optionPaths(form, at)) : [])];
}

/** Puts a value in its place, with the mappings and lists around it. */
function put(target: object, [key = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) return void Object.assign(target, { [key]: value });
  const inner: unknown = Object.entries(target).find(([name]) => name === key)?.[1];
  const next = typeof inner === 'object' && inner !== null ? inner : rest[0] === '0' ? [] : {};
  Object.assign(target, { [key]: next });
  put(next, rest, value);
}

function propertyNames(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const own =
    'properties' in schema && typeof schema.properties === 'object' ? Object.keys(schema.properties ?? {}) : [];
  return [...own, ...Object.values(schema).flatMap(propertyNames)];
}
