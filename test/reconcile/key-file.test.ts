import { expect, test } from 'vitest';
import { keyFileProblem, type KeyFileFacts } from '../../src/config/mask-key.ts';

const US = 990;
const OTHER = 1001;
const GOOD: KeyFileFacts = { uid: US, mode: 0o100600, linkUid: null, folderMode: 0o40700 };

test.each<[string, Partial<KeyFileFacts>, string | null]>([
  ['a file of ours', {}, null],
  ['a file of ours in a shared folder', { folderMode: 0o42770 }, null],
  ['a file of root, as containers get their secrets', { uid: 0, mode: 0o100444, folderMode: 0o40755 }, null],
  ['a link that root made', { linkUid: 0 }, null],
  ['a file of another user', { uid: OTHER }, 'belongs to the user 1001'],
  ['a link that another user made', { linkUid: OTHER }, 'is a link that the user 1001 made'],
  ['a file that the group may write', { mode: 0o100660 }, 'can be written by others (mode 660)'],
  ['a file that everybody may write', { mode: 0o100602 }, 'can be written by others (mode 602)'],
  [
    'a file of root that everybody reads, in a shared folder',
    { uid: 0, mode: 0o100444, folderMode: 0o42770 },
    'can be read by others, in a folder where others may write',
  ],
])('%s', (_what, facts, problem) => {
  expect(keyFileProblem({ ...GOOD, ...facts }, US)).toBe(problem);
});
