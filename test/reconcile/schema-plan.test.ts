import { expect, test } from 'vitest';

import { missingColumns, planSchema, type KnownColumn, type SchemaAction } from '../../src/reconcile/schema-plan.ts';
import type { ColumnDescriptor } from '../../src/wire/schema.ts';
import { describedColumn } from '../support/described.ts';

const OPTIONS = { style: 'origin' as const, day: '2026-11-21', foreign: new Set<string>(), confirmed: false };

function described(id: number, name: string, type = 'Text'): ColumnDescriptor {
  return describedColumn(name, { id, alias: `f_${id}`, type });
}

function known(id: number, name: string, more: Partial<KnownColumn> = {}): KnownColumn {
  return { id, name, localName: name, type: 'Text', state: 'live', ...more };
}

/** A plan as short text: `add Name`, `rename A → B`, …; `keep` is left out. */
function steps(knownColumns: readonly KnownColumn[], describedColumns: readonly ColumnDescriptor[]): readonly string[] {
  const plan = planSchema(knownColumns, describedColumns, OPTIONS);
  return plan.kind === 'hold' ? ['hold'] : plan.actions.filter(({ kind }) => kind !== 'keep').map(stepText);
}

function stepText(action: SchemaAction): string {
  if (action.kind !== 'change') return `${action.kind} ${action.localName}`;
  const { column, localName, state } = action;
  if (localName === column.localName)
    return `${{ live: 'revive', aside: 'setAside', removed: 'remove' }[state]} ${localName}`;
  const verb = { live: 'rename', aside: 'setAside', removed: 'makeRoom' }[state];
  return `${verb} ${column.localName} → ${localName}`;
}

const CASES: readonly (readonly [string, readonly KnownColumn[], readonly ColumnDescriptor[], readonly string[]])[] = [
  ['a new table', [], [described(1, 'A'), described(2, 'B')], ['add A', 'add B']],
  ['nothing new', [known(1, 'A')], [described(1, 'A')], []],
  ['an added column', [known(1, 'A')], [described(1, 'A'), described(2, 'B')], ['add B']],
  ['a renamed column', [known(1, 'A')], [described(1, 'B')], ['rename A → B']],
  [
    'two columns that swap names',
    [known(1, 'A'), known(2, 'B')],
    [described(1, 'B'), described(2, 'A')],
    ['rename A → B', 'rename B → A'],
  ],
  [
    'a column renamed to what SQLite renames nothing to',
    [known(1, 'A')],
    [described(1, 'Oid')],
    ['rename A → origin_Oid'],
  ],
  [
    'a column from whose name SQLite does not rename, and which got another one',
    [known(1, 'OID')],
    [described(1, 'B'), described(2, 'oid')],
    ['add origin_oid'],
  ],
  [
    'a column from whose name SQLite does not rename, and whose values changed their form',
    [known(1, 'OID')],
    [described(1, 'OID', 'Numeric')],
    ['setAside OID', 'add origin_OID'],
  ],
  ['a removed column', [known(1, 'A'), known(2, 'B')], [described(1, 'A')], ['remove B']],
  ['a column removed before', [known(1, 'A'), known(2, 'B', { state: 'removed' })], [described(1, 'A')], []],
  ['a removed column that is back', [known(1, 'A', { state: 'removed' })], [described(1, 'A')], ['revive A']],
  [
    'a removed column that is back, and whose name another one had meanwhile',
    [known(1, 'A', { state: 'removed', localName: 'A (removed 2026-11-20)' }), known(2, 'A')],
    [described(1, 'A')],
    [
      'revive A (removed 2026-11-20)',
      'remove A',
      'makeRoom A → A (removed 2026-11-21)',
      'rename A (removed 2026-11-20) → A',
    ],
  ],
  [
    'a column recreated under the name of a removed one',
    [known(1, 'A'), known(2, 'B', { state: 'removed' })],
    [described(1, 'A'), described(3, 'B')],
    ['makeRoom B → B (removed 2026-11-21)', 'add B'],
  ],
  [
    'a column recreated under its own name at once',
    [known(1, 'A'), known(2, 'B')],
    [described(1, 'A'), described(3, 'B')],
    ['remove B', 'makeRoom B → B (removed 2026-11-21)', 'add B'],
  ],
  ['a change between texts', [known(1, 'A')], [described(1, 'A', 'Phone')], []],
  [
    'a text that became a number',
    [known(1, 'A')],
    [described(1, 'A', 'Numeric')],
    ['setAside A → A (was Text 2026-11-21)', 'add A'],
  ],
  [
    'a text that became a number under another name',
    [known(1, 'A')],
    [described(1, 'B', 'Numeric')],
    ['setAside A → A (was Text 2026-11-21)', 'add B'],
  ],
  ['names that differ in case only', [], [described(2, 'name'), described(1, 'Name')], ['add name_2', 'add Name']],
  ['a case twin that comes later', [known(2, 'name')], [described(2, 'name'), described(1, 'Name')], ['add Name_1']],
  ['a change of case', [known(1, 'name')], [described(1, 'Name')], ['rename name → Name']],
  ['most columns gone', [known(1, 'A'), known(2, 'B'), known(3, 'C')], [described(1, 'A')], ['hold']],
  ['a name that was only marked', [known(1, 'Old', { localName: 'B_1' })], [described(1, 'B')], ['rename B_1 → B']],
  [
    'a removed column that is back, and whose name is free again',
    [known(1, 'A', { state: 'removed', localName: 'A_1' })],
    [described(1, 'A')],
    ['revive A_1', 'rename A_1 → A'],
  ],
  [
    'a column that was set aside before',
    [known(1, 'A', { state: 'aside', localName: 'A (was Text 2026-11-20)' }), known(1, 'A', { type: 'Numeric' })],
    [described(1, 'A', 'Numeric')],
    [],
  ],
  [
    'a new column with the name of one that was set aside',
    [known(5, 'A', { state: 'aside', localName: 'A (was Text 2026-11-20)' })],
    [described(1, 'A (was Text 2026-11-20)')],
    ['add A (was Text 2026-11-20)_1'],
  ],
  [
    'a new column with the name of one that is set aside now',
    [known(1, 'A')],
    [described(1, 'A', 'Numeric'), described(3, 'A (was Text 2026-11-21)')],
    ['setAside A → A (was Text 2026-11-21)', 'add A', 'add A (was Text 2026-11-21)_3'],
  ],
  [
    'half of the columns gone, and another one before',
    [known(1, 'A'), known(2, 'B'), known(3, 'C', { state: 'removed' })],
    [described(1, 'A')],
    ['remove B'],
  ],
  ['half of the columns gone', [known(1, 'A'), known(2, 'B')], [described(1, 'A')], ['remove B']],
];

test.each(CASES)('plans %s', (_name, knownColumns, describedColumns, expected) => {
  expect(steps(knownColumns, describedColumns)).toEqual(expected);
});

test.each<[string, boolean, readonly ColumnDescriptor[], boolean]>([
  ['is shown in its form', true, [described(1, 'A', 'Phone')], false],
  ['is shown in another form', true, [described(1, 'A', 'Numeric')], true],
  ['is not shown', true, [described(2, 'A')], true],
  ['is not shown, and could not be written', false, [], false],
])('a column that %s is missing or not', (_what, writable, columns, expected) => {
  const column = { ...known(1, 'A'), writable };

  expect(missingColumns([column], columns)).toEqual(expected ? [column] : []);
});

test('renames a column once its name is to be written otherwise, and then leaves it', () => {
  const snake = { ...OPTIONS, style: 'snake' as const };
  const [first] = [planSchema([known(1, 'Order Line')], [described(1, 'Order Line')], snake)];
  const renamed = known(1, 'Order Line', { localName: 'order_line' });

  expect(first).toMatchObject({
    actions: [{ kind: 'change', localName: 'order_line', state: 'live' }, { kind: 'keep' }],
  });
  expect(planSchema([renamed], [described(1, 'Order Line')], snake)).toMatchObject({ actions: [{ kind: 'keep' }] });
  expect(steps([renamed], [described(1, 'Order Line')])).toEqual(['rename order_line → Order Line']);
});

test('applies the loss of most columns once a person confirmed it', () => {
  const columns = [known(1, 'A'), known(2, 'B'), known(3, 'C')];

  const plan = planSchema(columns, [described(1, 'A')], { ...OPTIONS, confirmed: true });

  expect(plan.kind).toBe('apply');
});

test('a column with a number behind its name loses that once its own name is free', () => {
  const columns = [described(5, 'Price'), described(8, 'Cost')];
  const before = [known(5, 'Price', { localName: 'Cost_5' }), known(8, 'Cost')];
  const plan = (names: Readonly<Record<string, string>>): readonly string[] => {
    const planned = planSchema(before, columns, { ...OPTIONS, given: (name) => names[name] });
    return planned.kind === 'hold' ? [] : planned.actions.map(stepText);
  };

  expect(plan({ Price: 'Cost' })).toEqual(['keep Cost_5', 'keep Cost']);
  expect(plan({ Price: 'Cost', Cost: 'old_cost' })).toEqual([
    'rename Cost_5 → Cost',
    'rename Cost → old_cost',
    'keep Cost',
    'keep old_cost',
  ]);
});

test('leaves the names of columns that another client added to them', () => {
  const columns = [described(1, 'Mine'), described(2, 'mine'), described(3, 'B')];

  const plan = planSchema([known(1, 'A'), known(3, 'B')], columns, { ...OPTIONS, foreign: new Set(['mine']) });

  expect(plan.kind === 'apply' ? plan.actions.map(stepText) : plan.kind).toEqual([
    'rename A → Mine_1',
    'keep Mine_1',
    'add mine_2',
    'keep B',
  ]);
});

test('says with every plan what describe says of each column, in its order', () => {
  const plan = planSchema([known(2, 'B')], [described(2, 'B'), described(1, 'A')], OPTIONS);

  expect(plan).toMatchObject({
    actions: [
      { kind: 'keep', descriptor: { id: 2 } },
      { kind: 'add', descriptor: { id: 1 } },
    ],
  });
});
