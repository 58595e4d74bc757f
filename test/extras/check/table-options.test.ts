/**
 * The findings of `rowsync check` about the options of a table.
 */
import { expect, test } from 'vitest';
import { uselessPatterns } from '../../../src/extras/check/table-options.ts';
import { describedColumn } from '../../support/described.ts';

const TABLE = { columns: ['Name', 'Notes', 'Notes 2'].map((name) => describedColumn(name)) };

test.each([[{ include: null, exclude: ['Other', 'notes*'] }], [{ include: ['Other', 'Name'], exclude: [] }]])(
  'patterns that no column matches are named: %j',
  (choice) => {
    expect(uselessPatterns(TABLE, choice)).toEqual(['Other']);
  },
);
