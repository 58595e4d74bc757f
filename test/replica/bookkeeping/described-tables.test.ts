/** Under which name the configuration applies to a table, also once the table is called otherwise or is gone. */
import { expect, test } from 'vitest';
import { boundNameOf, readDescribed, storeDescribed } from '../../../src/replica/bookkeeping/described-tables.ts';
import { openBare } from '../../support/bare.ts';

const NOTE = { id: 1, name: 'Note', boundName: 'Note', boundKey: null, seenKey: null };
const TASK = { id: 2, name: 'Task', boundName: 'Job', boundKey: 'Job*', seenKey: 'Task' };

test('every described table is kept; one that is no longer described keeps its binding', async () => {
  await using bare = await openBare();
  await bare.write((tx) => storeDescribed(tx, [TASK, NOTE]));

  await bare.write((tx) => storeDescribed(tx, [{ ...NOTE, name: 'Letter' }]));

  expect(readDescribed(bare.replica)).toEqual([
    { ...NOTE, name: 'Letter', isDescribed: true },
    { ...TASK, isDescribed: false },
  ]);
});

test('a table goes by the name to which its options are bound, and by its own where there is none', async () => {
  await using bare = await openBare();
  await bare.write((tx) => storeDescribed(tx, [NOTE, TASK, { ...NOTE, id: 3, name: 'Waits', boundName: null }]));
  const names = ['Note', 'Task', 'Waits', 'Unknown'];

  expect(names.map((name) => boundNameOf(bare.replica, name))).toEqual(['Note', 'Job', 'Waits', 'Unknown']);
});

test('a table that a pull has noted under its new name, and not renamed yet, is found under both', async () => {
  await using bare = await openBare();
  await bare.write((tx) => storeDescribed(tx, [{ ...NOTE, name: 'Letter', boundName: 'Bound' }]));

  expect(['Note', 'Letter'].map((name) => boundNameOf(bare.replica, name))).toEqual(['Bound', 'Bound']);
});

test('a name that another table has now means that table, although a table here still has it', async () => {
  await using bare = await openBare();
  const renamed = { ...NOTE, name: 'Letter', boundName: 'First' };
  await bare.write((tx) => storeDescribed(tx, [renamed, { ...TASK, name: 'Note', boundName: 'Second' }]));

  expect(boundNameOf(bare.replica, 'Note')).toBe('Second');
});
