/** Which key of the configuration applies to which table, as a table of cases, and keys that match nothing. */
import { expect, test } from 'vitest';
import { tableRules } from '../../src/config/table-patterns.ts';
import type { TableOptions } from '../../src/config/options.ts';
import {
  bindTables,
  misnamedIn,
  nearestName,
  renamedSentences,
  strayKeys,
  type Binding,
} from '../../src/reconcile/option-bindings.ts';

type Keys = Readonly<Record<string, TableOptions>>;

const bound = (id: number, name: string, boundName: string | null, boundKey: string | null): Binding => ({
  id,
  name,
  boundName,
  boundKey,
  seenKey: boundKey,
});

/** Binds under `before`, again with other names, and then with other keys, where there are any. */
function bindAll(
  keys: readonly [before: Keys, after: Keys],
  names: readonly [before: readonly string[], after: readonly string[]],
  confirmed: readonly string[] = [],
): { readonly applies: readonly string[]; readonly waits: readonly string[] } {
  const tables = (all: readonly string[]): { id: number; name: string }[] =>
    all.map((name, index) => ({ id: index + 1, name })).filter(({ name }) => name !== '');
  const bind = (known: readonly Binding[], each: Keys, now: readonly string[]): ReturnType<typeof bindTables> =>
    bindTables(tables(now), {
      known,
      configured: tableRules(each).byName,
      isConfirmed: (name) => now === names[1] && confirmed.includes(name),
    });
  const first = bind([], keys[0], names[0]);
  const renamed = bind(first.bindings, keys[0], names[1]);
  const { bindings, waiting } = bind(renamed.bindings, keys[1], names[1]);
  return {
    applies: bindings.map(({ name, boundName }) => `${name}: ${boundName === null ? 'waits' : boundName}`),
    waits: waiting.map(({ name, owner }) => `${name} (${owner ?? 'nobody'})`),
  };
}

const HIDE = { columns: { exclude: ['Salary'] } };
const ALL: Keys = { '*': {} };

test.each<{
  what: string;
  keys: readonly [Keys, Keys?];
  names: readonly [readonly string[], readonly string[]];
  confirmed?: readonly string[];
  applies: readonly string[];
  waits?: readonly string[];
}>([
  {
    what: 'nothing was renamed',
    keys: [{ ...ALL, A: HIDE }],
    names: [
      ['A', 'B'],
      ['A', 'B'],
    ],
    applies: ['A: A', 'B: B'],
  },
  { what: 'options follow a rename', keys: [{ ...ALL, A: HIDE }], names: [['A'], ['X']], applies: ['X: A'] },
  { what: 'false follows a rename', keys: [{ ...ALL, A: false }], names: [['A'], ['X']], applies: ['X: A'] },
  { what: 'what a pattern says follows', keys: [{ ...ALL, 'A*': HIDE }], names: [['Ab'], ['X']], applies: ['X: Ab'] },
  { what: 'two names that mean the same', keys: [{ ...ALL, A: {} }], names: [['A'], ['X']], applies: ['X: X'] },
  {
    what: 'a person gave the new name a key',
    keys: [
      { ...ALL, A: HIDE },
      { ...ALL, A: HIDE, X: { push: true } },
    ],
    names: [['A'], ['X']],
    applies: ['X: X'],
  },
  {
    what: 'a person changed the name of the key',
    keys: [
      { ...ALL, A: HIDE },
      { ...ALL, X: HIDE },
    ],
    names: [['A'], ['X']],
    applies: ['X: X'],
  },
  {
    what: 'a person changed the pattern',
    keys: [
      { ...ALL, 'A*': HIDE },
      { ...ALL, 'X*': HIDE },
    ],
    names: [['Ab'], ['Xb']],
    applies: ['Xb: Xb'],
  },
  {
    what: 'a new table takes a bound name',
    keys: [{ ...ALL, A: HIDE }],
    names: [['A'], ['X', 'A']],
    applies: ['X: A', 'A: waits'],
    waits: ['A (X)'],
  },
  {
    what: 'a known table takes a bound name',
    keys: [{ ...ALL, A: HIDE }],
    names: [
      ['A', 'B'],
      ['X', 'A'],
    ],
    applies: ['X: A', 'A: B'],
    waits: ['A (X)'],
  },
  {
    what: 'the owner of the name got a key, which frees it',
    keys: [
      { ...ALL, A: HIDE },
      { ...ALL, A: HIDE, X: HIDE },
    ],
    names: [['A'], ['X', 'A']],
    applies: ['X: X', 'A: A'],
  },
  {
    what: 'a chain of names, of which only the last one got a key',
    keys: [
      { ...ALL, A: HIDE, B: { push: true } },
      { ...ALL, A: HIDE, B: { push: true }, C: {} },
    ],
    names: [
      ['A', 'B'],
      ['B', 'C'],
    ],
    applies: ['B: A', 'C: C'],
    waits: ['B (nobody)'],
  },
  {
    what: 'a chain of names that a person followed',
    keys: [
      { ...ALL, A: HIDE, B: { push: true } },
      { ...ALL, B: HIDE, C: { push: true } },
    ],
    names: [
      ['A', 'B'],
      ['B', 'C'],
    ],
    applies: ['B: B', 'C: C'],
  },
  {
    what: 'a new name of which the configuration had something already',
    keys: [{ ...ALL, A: HIDE, X: {} }],
    names: [['A'], ['X']],
    applies: ['X: A'],
    waits: ['X (nobody)'],
  },
  {
    what: 'two tables swap their names',
    keys: [{ ...ALL, A: HIDE, B: { push: true } }],
    names: [
      ['A', 'B'],
      ['B', 'A'],
    ],
    applies: ['B: A', 'A: B'],
    waits: ['B (A)', 'A (B)'],
  },
  {
    what: 'a new table takes a name that a pattern bound',
    keys: [{ ...ALL, 'A*': HIDE }],
    names: [['Ab'], ['X', 'Ab']],
    applies: ['X: Ab', 'Ab: Ab'],
  },
  {
    what: 'a chain of names, of which two mean the same',
    keys: [{ ...ALL, A: HIDE, B: HIDE }],
    names: [
      ['A', 'B'],
      ['B', 'C'],
    ],
    applies: ['B: B', 'C: B'],
  },
  {
    what: 'a person confirms a swap',
    keys: [{ ...ALL, A: HIDE, B: { push: true } }],
    names: [
      ['A', 'B'],
      ['B', 'A'],
    ],
    confirmed: ['A', 'B'],
    applies: ['B: B', 'A: A'],
  },
  {
    what: 'two tables with the same options swap their names',
    keys: [{ A: HIDE, B: HIDE }],
    names: [
      ['A', 'B'],
      ['B', 'A'],
    ],
    applies: ['B: B', 'A: A'],
  },
  {
    what: 'a person confirms, and the renamed table keeps what it has',
    keys: [{ ...ALL, A: HIDE }],
    names: [['A'], ['X', 'A']],
    confirmed: ['A', 'X'],
    applies: ['X: A', 'A: A'],
  },
  {
    what: 'a name that is left out keeps out who takes it, and nothing waits',
    keys: [{ ...ALL, A: false }],
    names: [['A'], ['X', 'A']],
    applies: ['X: A', 'A: waits'],
  },
  {
    what: 'a table was dropped and made again',
    keys: [{ ...ALL, A: HIDE }],
    names: [['A'], ['', 'A']],
    applies: ['A: A'],
  },
  {
    what: 'a table without any key takes the one of its new name',
    keys: [{ 'X*': HIDE }],
    names: [['A'], ['Xa']],
    applies: ['Xa: Xa'],
  },
  {
    what: 'a name in another normalisation is the same name',
    keys: [{ ...ALL, 'Caf\u00e9': HIDE }],
    names: [['Cafe\u0301'], ['Caf\u00e9']],
    applies: ['Caf\u00e9: Caf\u00e9'],
  },
])('$what', ({ keys: [before, after = before], names, confirmed, applies, waits = [] }) => {
  expect(bindAll([before, after], names, confirmed)).toEqual({ applies, waits });
});

test('two tables that keep what stands under one name both keep it', () => {
  const known = [bound(1, 'X', 'A', 'A'), bound(2, 'A', 'A', 'A')];
  const tables = [
    { id: 1, name: 'X' },
    { id: 2, name: 'Y' },
  ];

  const { bindings } = bindTables(tables, {
    known,
    configured: tableRules({ ...ALL, A: HIDE }).byName,
    isConfirmed: () => true,
  });

  expect(bindings.map(({ boundName }) => boundName)).toEqual(['A', 'A']);
});

test.each<[string, readonly Binding[], Keys, readonly (string | null)[], readonly string[]]>([
  [
    'a table keeps its own name, of which another one keeps what stands under it, also if that got a key since',
    [bound(1, 'X', 'A', 'A'), bound(2, 'A', 'A', '*')],
    { ...ALL, A: HIDE },
    ['A', 'A'],
    [],
  ],
  [
    'a table whose new name got a key waits while another one keeps that name',
    [{ ...bound(1, 'B', 'A', 'A'), seenKey: null }, bound(2, 'C', 'B', 'B')],
    { ...ALL, A: HIDE, B: { push: true } },
    [null, 'B'],
    ['B'],
  ],
])('%s', (_what, known, keys, boundNames, waits) => {
  const tables = known.map(({ id, name }) => ({ id, name }));
  const { bindings, waiting } = bindTables(tables, {
    known,
    configured: tableRules(keys).byName,
    isConfirmed: () => false,
  });

  expect(bindings.map(({ boundName }) => boundName)).toEqual(boundNames);
  expect(waiting.map(({ name }) => name)).toEqual(waits);
});

test('the key under which a name was first seen is remembered', () => {
  const known = [{ ...bound(1, 'X', 'A', 'A'), seenKey: 'X' }];
  const { bindings } = bindTables([{ id: 1, name: 'X' }], {
    known,
    configured: tableRules({ ...ALL, A: HIDE }).byName,
    isConfirmed: () => false,
  });

  expect(bindings).toEqual(known);
});

test.each([
  ['A', 'change the name in the configuration', ''],
  ['A*', 'give X a key of its own in the configuration', ' (A*)'],
])('a table under the key %s that was renamed: %s', (boundKey, advice, key) => {
  expect(renamedSentences([bound(1, 'B', 'B', 'B'), bound(2, 'X', 'A', boundKey)])).toEqual([
    `A is now called X; its configuration still applies${key}: ${advice}`,
  ]);
});

test('names in the configuration that are not those of the tables are told once tables are described', () => {
  const { byName } = tableRules({ '*': {}, A: HIDE, Secret: false, Plain: {} });
  const tables = [
    { ...bound(1, 'X', 'A', 'A'), isDescribed: true },
    { ...bound(2, 'Secret', 'Secret', 'Secret'), isDescribed: false },
  ];

  expect(misnamedIn(byName, tables).map(({ kind }) => kind)).toEqual(['renamed', 'excluding', 'stray']);
  expect(misnamedIn(byName, tables.slice(1))).toEqual([]);
});

test('no key is stray that stands for all tables, or for one that waits', () => {
  const { byName } = tableRules({ '*': {}, A: HIDE });

  expect(strayKeys(byName, [bound(1, 'A', null, null)])).toEqual([]);
  expect(strayKeys(byName, []).map(({ key }) => key)).toEqual(['A']);
});

test('a table of an earlier version, whose key was not noted, keeps what its last name says', () => {
  const { bindings } = bindTables([{ id: 1, name: 'X' }], {
    known: [bound(1, 'A', 'A', null)],
    configured: tableRules({ ...ALL, A: HIDE }).byName,
    isConfirmed: () => false,
  });

  expect(renamedSentences(bindings)).toEqual([
    'A is now called X; its configuration still applies: change the name in the configuration',
  ]);
});

test('a key that matches nothing is told with the nearest name; one whose table was renamed is not', () => {
  const { byName } = tableRules({ '*': {}, 'Staf Member': false, 'Audit*': HIDE, Order: {}, Zebra: {}, Gone: HIDE });
  const tables = [bound(1, 'Staff Member', 'Staff Member', '*'), bound(2, 'Order', 'Order', 'Order')];
  const renamed = bound(3, 'Now', 'Gone', 'Gone');

  expect(strayKeys(byName, [...tables, renamed]).map(({ sentence, excludes }) => [sentence, excludes])).toEqual([
    ['No table matches Staf Member under tables (did you mean Staff Member?)', true],
    ['No table matches Zebra under tables', false],
    ['No table matches Audit* under tables', true],
  ]);
});

test.each([
  ['customer', ['Order', 'Customer'], 'Customer'],
  ['Staff_Member', ['Staff Member'], 'Staff Member'],
  ['Custmoer', ['Customs', 'Customer'], 'Customer'],
  ['Invoices', ['Order', 'Customer'], null],
  ['*', ['Order'], null],
  ['*', ['-'], null],
  ['abc', ['abd'], 'abd'],
  ['abc', ['ab'], 'ab'],
  ['abc', ['abcd'], 'abcd'],
  ['abc', ['axy'], null],
  ['abcd', ['abxy'], 'abxy'],
  ['ab', ['abxy'], null],
  ['ab', ['bc'], null],
  ['a', ['bcde'], null],
  ['x'.repeat(200), ['x'.repeat(200)], 'x'.repeat(200)],
  ['x'.repeat(201), ['x'.repeat(200)], null],
  ['x'.repeat(200), ['x'.repeat(201)], null],
  ['x'.repeat(10_000), ['Order'], null],
] as const)('%s is nearest to one of %j: %j', (key, names, nearest) => {
  expect(nearestName(key, names)).toBe(nearest);
});
