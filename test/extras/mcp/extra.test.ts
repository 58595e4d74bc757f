/** What agents add to `rowsync status` and to `rowsync history forget`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Config } from '../../../src/config/load.ts';
import { MCP } from '../../../src/extras/mcp/extra.ts';
import { findProposal, keepProposal, moveProposal } from '../../../src/extras/mcp/proposal-files.ts';
import { proposalsFolder } from '../../../src/extras/mcp/proposal-names.ts';
import type { Proposal, StoredEdit } from '../../../src/extras/mcp/proposal.ts';
import { temporaryFolder } from '../../support/replica.ts';

const DELETE: StoredEdit = {
  table: 'Note',
  kind: 'delete',
  rowId: 1,
  cells: [{ column: 'Title', was: '"a"', value: null }],
};

function startFolder() {
  const home = temporaryFolder();
  const path = join(home.path, 'replica.db');
  const folder = proposalsFolder(path);
  const config = { replica: { path } } as Config;
  return {
    folder,
    status: () => MCP.status?.(config),
    forget: (column: string | null) => MCP.forget?.(config, { table: 'note', tableId: 1, ids: [1, 7], column }, 0),
    keep: (name: string, edits: Proposal['edits'], isApplied = false) => {
      keepProposal(folder, { name, note: 'says a', proposedAt: '2026-06-01T12:00:00Z', edits }, { isShared: false });
      if (isApplied) moveProposal(folder, name, ['waiting', 'applied']);
    },
    [Symbol.dispose]: () => home[Symbol.dispose](),
  };
}

test('the status has a line while proposals are to be decided', async () => {
  using place = startFolder();
  const none = await place.status();
  place.keep('one', [DELETE]);
  place.keep('two', [DELETE], true);

  expect(none).toEqual({ lines: [], json: { proposalCount: 0 } });
  expect(await place.status()).toEqual({
    lines: ['agents    1 proposal to decide: rowsync proposals'],
    json: { proposalCount: 1 },
  });
});

test('a forgotten row leaves applied proposals; those that wait with it, or made rows of its table, are named', async () => {
  using place = startFolder();
  const insert: StoredEdit = {
    table: 'Note',
    kind: 'insert',
    rowId: null,
    cells: [{ column: 'Body', was: null, value: '"b"' }],
  };
  place.keep('done', [DELETE, { ...DELETE, rowId: 2 }], true);
  place.keep('made', [insert], true);
  place.keep('waits', [{ ...DELETE, rowId: 7 }]);
  place.keep('other', [{ ...DELETE, rowId: 3 }]);

  const cell = await place.forget('BODY');
  const row = await place.forget(null);

  const namesMade = 'may have it: the proposal made (rowsync proposals show made, or drop)';
  const namesWaiting = 'may have it: the proposal waits (rowsync proposals show waits, or drop)';
  expect(cell).toMatchObject({ removed: [], left: [namesMade] });
  expect(row).toMatchObject({
    removed: ['1 applied proposal'],
    left: [namesMade, namesWaiting],
    json: { proposals: { changed: ['done'], others: ['made', 'waits'] } },
  });
  const { proposal, state } = findProposal(place.folder, 'done');
  expect([state, proposal?.note, proposal?.edits]).toEqual([
    'applied',
    '',
    [
      { ...DELETE, cells: [] },
      { ...DELETE, rowId: 2 },
    ],
  ]);
});

test('a file that cannot be read as a proposal may have the row, too', async () => {
  using place = startFolder();
  place.keep('done', [DELETE], true);
  writeFileSync(join(place.folder, 'later.json'), '{ "version": 2 }');

  expect(await place.forget(null)).toMatchObject({
    removed: ['1 applied proposal'],
    left: ['may have it: the proposal later (rowsync proposals show later, or drop)'],
  });
});
