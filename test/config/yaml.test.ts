/** YAML that a person wrote: what is refused names its line and quotes nothing, and keys are the texts of the file. */
import { beforeEach, expect, test } from 'vitest';
import { configFolder, failure, GOOD, type ConfigFolder } from '../support/config.ts';

let load: ConfigFolder['load'];
beforeEach(() => {
  ({ load } = configFolder());
});

test.each([
  { what: 'bad indentation', yaml: 'origin:\n  url: a\n database: b', line: 3 },
  { what: 'a key that stands twice', yaml: 'replica: {}\nreplica: {}', line: 2 },
  { what: 'two documents', yaml: '{}\n---\n{}', line: 2 },
  { what: 'an unknown tag', yaml: 'a: !hunter2 b', line: 1 },
  { what: 'an alias to nothing', yaml: 'a: *hunter2', line: 1 },
  { what: 'an environment variable in braces without quotes', yaml: 'a: { b: ${hunter2} }', line: 1 },
])('names the line of $what, and quotes nothing', ({ yaml, line }) => {
  const error = failure(() => load(yaml));

  expect(error.code).toBe('config.invalid');
  expect(error.message).toContain(`line ${line}: `);
  expect(error.message).not.toContain('hunter2');
  expect(error.hint).toContain('a text with : or # or * or { in it needs quotes');
});

test('refuses a file that expands without bound', () => {
  const yaml = [
    'a0: &a0 [x]',
    ...Array.from({ length: 12 }, (_, n) => `a${n + 1}: &a${n + 1} [${`*a${n}, `.repeat(9)}]`),
  ].join('\n');

  expect(failure(() => load(yaml)).code).toBe('config.invalid');
});

test.each(['tables: &a { A: *a }', 'tables: &a\n  A: { sort: [x, *a] }', 'a: &a [*a]'])(
  'refuses a value that contains itself: %j',
  (yaml) => {
    const error = failure(() => load(`${GOOD}\n${yaml}`));

    expect(error.code).toBe('config.invalid');
    expect(error.message).toContain('an alias (*name) is inside of what its anchor (&name) names');
  },
);

test('takes the keys of tables as they stand in the file, whatever YAML makes of them', () => {
  const { config } = load(
    `${GOOD}\ntables: { "*": {}, 1.0: false, 0x10: false, true: false, 1: { push: true }, ~: false }`,
  );

  for (const name of ['1.0', '0x10', 'true', '~']) expect(config.tables.find(name)).toBeNull();
  expect(config.tables.find('16')?.pattern).toBe('*');
  expect(config.tables.find('1')?.options).toEqual({ push: true });
});

test('compares the names of tables in NFC, and refuses one that stands there in two spellings', () => {
  const { config } = load(`${GOOD}\ntables: { "*": {}, "Cafe\u0301": false, "Pa\u0301t*": false }`);

  expect(config.tables.find('Caf\u00e9')).toBeNull();
  expect(config.tables.find('Cafe\u0301')).toBeNull();
  expect(config.tables.find('P\u00e1tio')).toBeNull();
  expect(config.tables.find('Pa\u0301tio')).toBeNull();
  expect(failure(() => load(`${GOOD}\ntables: { "Cafe\u0301": false, "Caf\u00e9": {} }`)).code).toBe('config.invalid');
});
