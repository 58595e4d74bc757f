/** What an extra knows of the rights of a table that it describes. */
import { expect, test } from 'vitest';
import { areRightsUnknown } from '../../../src/extras/shared/described-rights.ts';

const column = (kind: string | null) => ({ id: 1, name: 'A', alias: '', type: 'Text', kind, readOnly: true });
const columns = (...kinds: readonly (string | null)[]) => {
  return kinds.map((kind) => ({ ...column(kind), dataOptions: [], displayOptions: [], width: null, other: {} }));
};

test('rights are unknown where no column has a known kind, but not without columns', () => {
  const tables = [columns(), columns('Unknown'), columns('Unknown', 'Unknown'), columns('Unknown', null)];

  expect(tables.map((each) => areRightsUnknown({ columns: each }))).toEqual([false, true, true, false]);
});
