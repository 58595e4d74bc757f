/** Proposals by the names of their files alone. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  countWaitingProposals,
  ENDINGS,
  proposalNames,
  proposalsFolder,
} from '../../../src/extras/mcp/proposal-names.ts';
import { temporaryFolder } from '../../support/replica.ts';

test('each file is a proposal in the state that its ending says, in the order of names; other files are none', () => {
  using home = temporaryFolder();
  const folder = proposalsFolder(join(home.path, 'replica.db'));
  mkdirSync(folder);
  for (const file of [
    'b.applied.json',
    'c.applying.json',
    'a.json',
    'a-2.json',
    'UP.json',
    '-x.json',
    'a.json.7.partial',
    'a.txt',
    'a.other.json',
  ])
    writeFileSync(join(folder, file), 'whatever it holds');

  expect(proposalNames(folder)).toEqual([
    { name: 'a', state: 'waiting' },
    { name: 'a-2', state: 'waiting' },
    { name: 'b', state: 'applied' },
    { name: 'c', state: 'interrupted' },
  ]);
  // One that was cut short is to be decided as well.
  expect(countWaitingProposals(folder)).toBe(3);
  expect(folder).toBe(join(home.path, 'replica.db.proposals'));
});

test('a file with each ending is found in its state', () => {
  using home = temporaryFolder();
  for (const [state, ending] of Object.entries(ENDINGS)) {
    const folder = join(home.path, state);
    mkdirSync(folder);
    writeFileSync(join(folder, `one${ending}`), '');

    expect(proposalNames(folder)).toEqual([{ name: 'one', state }]);
  }
});

test('without a folder there are none', () => {
  using home = temporaryFolder();

  expect(proposalNames(join(home.path, 'missing'))).toEqual([]);
  expect(countWaitingProposals(join(home.path, 'missing'))).toBe(0);
});
