/**
 * The option table against the files made from it: the JSON Schema and the commented example in config/.
 */
import { SECTIONS } from '../support/sections.ts';
import { readFileSync } from 'node:fs';

import { parse } from 'yaml';
import { expect, test } from 'vitest';

import { optionsJsonSchema, optionsSchema } from '../../src/config/options.ts';

test('config/rowsync.schema.json is what the options say (vitest -u writes it anew)', async () => {
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

function propertyNames(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const own =
    'properties' in schema && typeof schema.properties === 'object' ? Object.keys(schema.properties ?? {}) : [];
  return [...own, ...Object.values(schema).flatMap(propertyNames)];
}
