/** Proposals as files: whole or not there, under one name each, and open to those who share the replica. */
import { readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RowsyncError } from '../../../src/base/errors.ts';
import {
  dropProposal,
  findProposal,
  keepProposal,
  listProposals,
  moveProposal,
} from '../../../src/extras/mcp/proposal-files.ts';
import { proposalsFolder } from '../../../src/extras/mcp/proposal-names.ts';
import type { Proposal } from '../../../src/extras/mcp/proposal.ts';
import { temporaryFolder } from '../../support/replica.ts';

const PROPOSAL: Proposal = {
  name: 'one',
  note: '',
  proposedAt: '2026-06-01T12:00:00Z',
  edits: [{ table: 'Note', kind: 'delete', rowId: 1, cells: [] }],
};

function refusalOf(action: () => unknown): RowsyncError {
  try {
    action();
  } catch (thrown) {
    if (thrown instanceof RowsyncError) return thrown;
    throw thrown;
  }
  throw new Error('nothing was refused');
}

test('a proposal is taken by one, put back, applied, and its name stays taken', () => {
  using home = temporaryFolder();
  const folder = proposalsFolder(join(home.path, 'r.db'));
  const states = (): unknown => listProposals(folder).map(({ name, state }) => `${name} ${state}`);
  expect(states()).toEqual([]);

  keepProposal(folder, PROPOSAL, { isShared: false });
  expect(findProposal(folder, 'one')).toEqual({ name: 'one', state: 'waiting', proposal: PROPOSAL });
  moveProposal(folder, 'one', ['waiting', 'interrupted']);
  expect(states()).toEqual(['one interrupted']);
  expect(refusalOf(() => moveProposal(folder, 'one', ['waiting', 'interrupted'])).code).toBe('replica.path');
  moveProposal(folder, 'one', ['interrupted', 'waiting']);
  moveProposal(folder, 'one', ['waiting', 'interrupted']);
  moveProposal(folder, 'one', ['interrupted', 'applied']);
  expect(states()).toEqual(['one applied']);
  expect(refusalOf(() => keepProposal(folder, PROPOSAL, { isShared: false })).code).toBe('usage.invalid');
  dropProposal(folder, findProposal(folder, 'one'));
  expect(readdirSync(folder)).toEqual([]);
});

test.each([
  [false, 0o700, 0o600],
  [true, 0o2770, 0o660],
])('shared %s: the folder has mode %o, its files %o', (isShared, folderMode, fileMode) => {
  using home = temporaryFolder();
  const folder = proposalsFolder(join(home.path, 'r.db'));

  keepProposal(folder, PROPOSAL, { isShared });

  expect(statSync(folder).mode & 0o7777).toBe(folderMode);
  expect(statSync(join(folder, 'one.json')).mode & 0o7777).toBe(fileMode);
});

test('there are no more than 200', () => {
  using home = temporaryFolder();
  for (let n = 0; n < 200; n += 1) keepProposal(home.path, { ...PROPOSAL, name: `p${n}` }, { isShared: false });

  expect(refusalOf(() => keepProposal(home.path, PROPOSAL, { isShared: false })).message).toBe(
    'There are 200 proposals already',
  );
});

test('a file that holds something else is no proposal, whatever its name says', () => {
  using home = temporaryFolder();
  writeFileSync(join(home.path, 'text.json'), 'no JSON');
  writeFileSync(join(home.path, 'other.json'), JSON.stringify(PROPOSAL));
  writeFileSync(join(home.path, 'more.json'), JSON.stringify({ ...PROPOSAL, name: 'more', sql: 'DELETE FROM x' }));
  symlinkSync('/dev/zero', join(home.path, 'endless.json'));
  writeFileSync(join(home.path, 'UPPER.json'), JSON.stringify(PROPOSAL));

  expect(listProposals(home.path)).toEqual(
    ['endless', 'more', 'other', 'text'].map((name) => ({ name, state: 'waiting', proposal: null })),
  );
});
