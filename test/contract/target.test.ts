/**
 * The table that a run of the contract suite may write to must be one that it can clean up.
 */
import { expect, test } from 'vitest';

import type { TableFields } from '../../src/extras/questions/server.ts';
import { keepRows } from './target.ts';

test('a table with so many rows that the clean-up could not read them all is refused before a row is made', async () => {
  const mark = { id: 1, name: 'Name', alias: 'name', type: 'Text', dataOptions: '' };
  const table: TableFields = { recordName: 'Full', alias: 't', key: 'Id', columns: [mark] };
  const requests: string[] = [];
  const json = (path: string) => {
    requests.push(path);
    return Promise.resolve(Array.from({ length: 301 }));
  };
  const call = () => Promise.reject(new Error('nothing is sent'));

  await expect(keepRows({ call, json }, table, mark)).rejects.toThrow('ROWSYNC_CONTRACT_WRITE has more than 300 rows');
  expect(requests).toEqual(['t/select.json?top=301']);
});
