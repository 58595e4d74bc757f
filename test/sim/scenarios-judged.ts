/**
 * Short stories in which the engine is right, and an oracle once had it otherwise: combinations that random worlds show once in many
 * thousands. Gone through like all others (scenarios.ts). Data only.
 */
import {
  ADMINISTERED,
  backsUpOrRestores,
  CALM,
  colleague,
  colleagueDeletes,
  colleagueInserts,
  copies,
  CYCLE_ENDS,
  decides,
  hasFile,
  narrowsRole,
  putsBack,
  revokesToken,
  SENT,
  user,
  WITH_FILES,
  type Scenario,
  type ScenarioAct,
} from './scenario.ts';

/** A new row takes the unique value of a colleague's row, row 4, which goes for that, and which the colleague edits. */
function takesACode(column: 'B' | 'File', value: string): readonly ScenarioAct[] {
  return [
    colleagueInserts(null, { Tag: 't-w', Code: 'c-w', A: 'w-1' }),
    user(
      CYCLE_ENDS,
      `CREATE UNIQUE INDEX own_index ON Thing (Code);
       INSERT INTO Thing (Tag, Code, A, ${column}) VALUES ('t-1', 'c-1', 'u-1', '${value}');
       UPDATE OR REPLACE Thing SET Code = 'c-w' WHERE Tag = 't-1';
       DROP INDEX own_index`,
    ),
    colleague(null, 4, { A: 'w-2' }),
  ];
}

const TAKES_A_CODE = takesACode('B', 'u-2');

/** All of them. */
export const JUDGED_SCENARIOS: readonly Scenario[] = [
  // What it made stands at the origin as it was sent; that a cell was emptied since is kept under the id of the row that was discarded.
  {
    name: 'emptied-in-doubt-and-discarded',
    setup: { ...CALM, rowCount: 1, match: null, rules: [{ column: 'A', does: 'upper' }] },
    acts: [
      user(null, `INSERT INTO Thing (Tag, A) VALUES ('t-1', 'u-1')`),
      user(SENT('create'), `UPDATE Thing SET A = NULL WHERE Tag = 't-1'`),
      { after: null, act: (hands) => hands.kill() },
      decides(CYCLE_ENDS, { kind: 'discard', table: 'Thing', rowId: null }),
    ],
    cycles: 2,
    proofs: [/^the engine dies/, /^person: .*Put 1 row/],
    end: /"A":"U-1"/,
    hasOneEnd: false,
  },
  // The role does not show the new row to whoever made it, which goes on here, is refused for the unique value of the hidden one, and discarded.
  {
    name: 'emptied-and-discarded-beside-a-hidden-row',
    setup: { ...ADMINISTERED, rowCount: 5, policy: 'local' },
    acts: [
      colleagueDeletes(null, 2),
      colleagueDeletes(null, 4),
      colleagueInserts(null, { Tag: 't-w' }),
      colleagueDeletes(null, 6),
      colleagueInserts(null, { Tag: 't-v' }),
      narrowsRole(CYCLE_ENDS),
      user(CYCLE_ENDS, `INSERT INTO Thing (Tag, Code, A) VALUES ('t-1', 'c-1', 'u-1')`),
      user(CYCLE_ENDS, `UPDATE Thing SET A = NULL WHERE Tag = 't-1'`),
      decides(CYCLE_ENDS, { kind: 'discard', table: 'Thing', rowId: null }),
    ],
    cycles: 2,
    proofs: [/^person: .*Put 1 row/],
    end: /"t-1","c-1",\{"A":"u-1"/,
    hasOneEnd: false,
  },
  // A person takes a row back that was deleted here; before that is sent, a backup brings the former one back, and no value tells that they are one.
  {
    name: 'taken-back-beside-a-backup',
    setup: { ...ADMINISTERED, match: null, policy: 'local' },
    acts: [
      colleagueInserts(null, { Tag: 't-w' }),
      backsUpOrRestores(CYCLE_ENDS),
      user(null, `DELETE FROM Thing WHERE Tag = 't-w'`),
      colleague(null, 4, { A: 'w-1' }),
      backsUpOrRestores(CYCLE_ENDS),
      decides(null, { kind: 'resolve', id: 1, take: 'remote', value: null }),
    ],
    cycles: 2,
    proofs: [/^person: .*Resolved/, /brings the backup/, SENT('create')],
    hasOneEnd: false,
  },
  // To whoever makes it, a row that the role hides is one that was never made, unless it was answered: under another unique value it is made again.
  {
    name: 'made-unseen-and-again',
    setup: { ...ADMINISTERED, rowCount: 3 },
    acts: [
      colleagueDeletes(null, 2),
      narrowsRole(CYCLE_ENDS),
      user(CYCLE_ENDS, `INSERT INTO Thing (Tag, Code, A) VALUES ('t-1', 'c-1', 'u-1')`),
      user(SENT('upsert'), `UPDATE Thing SET Code = 'c-2' WHERE Tag = 't-1'`),
      { after: null, act: (hands) => hands.kill() },
      revokesToken(/^commit: Settling/),
    ],
    cycles: 2,
    proofs: [/^the engine dies/, /revokes the token/],
    end: /"t-1","c-1".*\n.*"t-1","c-2"/,
    hasOneEnd: false,
  },
  // The same under the same value: it is found then, and what was emptied meanwhile is an empty cell of a new row, as it seems.
  {
    name: 'made-unseen-and-emptied',
    setup: { ...ADMINISTERED, rowCount: 3 },
    acts: [
      colleagueDeletes(null, 2),
      narrowsRole(CYCLE_ENDS),
      user(CYCLE_ENDS, `INSERT INTO Thing (Tag, Code, A) VALUES ('t-1', 'c-1', 'u-1')`),
      user(SENT('upsert'), `UPDATE Thing SET A = NULL WHERE Tag = 't-1'`),
      { after: null, act: (hands) => hands.kill() },
      revokesToken(/^commit: Settling/),
    ],
    cycles: 2,
    proofs: [/^the engine dies/, /revokes the token/],
    end: /"t-1","c-1",\{"A":"u-1"/,
    hasOneEnd: false,
  },
  // No answer came, a colleague deleted the row before it was looked for, and a backup brings it back behind that.
  {
    name: 'made-again-beside-a-backup',
    setup: ADMINISTERED,
    acts: [
      user(null, `INSERT INTO Thing (Tag, Code, A) VALUES ('t-1', 'c-1', 'u-1')`),
      user(SENT('upsert'), `UPDATE Thing SET Code = 'c-2' WHERE Tag = 't-1'`),
      { after: null, act: (hands) => hands.kill() },
      backsUpOrRestores(null),
      colleagueDeletes(null, 4),
      backsUpOrRestores(/^commit: Settling/),
    ],
    cycles: 2,
    proofs: [/^the engine dies/, /brings the backup/],
    end: /"t-1","c-1".*\n.*"t-1","c-2"/,
    hasOneEnd: false,
  },
  // The same under the same value.
  {
    name: 'emptied-before-a-backup',
    setup: ADMINISTERED,
    acts: [
      user(null, `INSERT INTO Thing (Tag, Code, A) VALUES ('t-1', 'c-1', 'u-1')`),
      user(SENT('upsert'), `UPDATE Thing SET A = NULL WHERE Tag = 't-1'`),
      { after: null, act: (hands) => hands.kill() },
      backsUpOrRestores(null),
      colleagueDeletes(null, 4),
      backsUpOrRestores(/^commit: Settling/),
    ],
    cycles: 2,
    proofs: [/^the engine dies/, /brings the backup/],
    end: /"t-1","c-1",\{"A":"u-1"/,
    hasOneEnd: false,
  },
  // Answered and not settled in the copy, the row is gone by then; it stands as it was sent until the next pull, since the table was renamed here.
  {
    name: 'sent-before-a-copy',
    setup: CALM,
    acts: [
      user(null, `UPDATE Thing SET A = 'u-1' WHERE _id = 1`),
      copies(/^commit: Storing the answer/),
      colleagueDeletes(CYCLE_ENDS, 1),
      putsBack(CYCLE_ENDS),
      user(null, 'ALTER TABLE Thing RENAME TO own_name'),
    ],
    cycles: 2,
    proofs: [/puts the older copy/, /^log: table.restored/],
    end: /^\["t0005".*\n\["t0009".*$/,
    hasOneEnd: false,
  },
  // A backup brings a row back behind the answer that it is gone, which may have come without its ETag.
  {
    name: 'gone-and-brought-back',
    setup: ADMINISTERED,
    acts: [
      backsUpOrRestores(null),
      colleagueDeletes(null, 1),
      user(SENT('retrieve'), 'SELECT 1'),
      backsUpOrRestores(/^request \d+ ends/),
    ],
    cycles: 2,
    proofs: [/brings the backup/, /^commit: Deleting rows/],
    end: /"t0001"/,
    hasOneEnd: false,
  },
  // The edit brings the row back, so the two are one.
  {
    name: 'new-row-meets-the-one-that-it-replaced',
    setup: CALM,
    acts: TAKES_A_CODE,
    cycles: 2,
    proofs: [/"@row.id":4.*"u-2"/],
    end: /"t-w","c-w",\{"A":"w-2","B":"u-2"/,
    hasOneEnd: false,
  },
  // By the other policy the row goes; a person takes it back, and it meets the new one.
  {
    name: 'taken-back-beside-the-one-that-replaced-it',
    setup: { ...CALM, policy: 'local' },
    acts: [...TAKES_A_CODE, decides(CYCLE_ENDS, { kind: 'resolve', id: 1, take: 'remote', value: null })],
    cycles: 2,
    proofs: [SENT('delete'), /^person: .*Resolved/, /"@row.id":5.*"t-w"/],
    end: /"t-w","c-w",\{"A":"w-2","B":"u-2"/,
    hasOneEnd: false,
  },
  // What goes on in the colleague's row was taken there under its tag, whatever the colleague writes over it later.
  {
    name: 'met-and-written-over-there',
    setup: CALM,
    acts: [...TAKES_A_CODE, colleague(CYCLE_ENDS, 4, { B: 'w-3' })],
    cycles: 2,
    proofs: [/"@row.id":4.*"u-2"/, /sets {"B":"w-3"}/],
    end: /"t-w","c-w",\{"A":"w-2","B":"w-3"/,
    hasOneEnd: false,
  },
  // Or where that row is deleted there.
  {
    name: 'met-and-deleted-there',
    setup: CALM,
    acts: [...TAKES_A_CODE, colleagueDeletes(CYCLE_ENDS, 4)],
    cycles: 2,
    proofs: [/"@row.id":4.*"u-2"/],
    hasOneEnd: false,
  },
  // A file goes on there too, and the cell shows it in another form than the one in which it was asked for.
  {
    name: 'met-with-a-file',
    setup: WITH_FILES,
    acts: [hasFile('u-1.txt', 'one'), ...takesACode('File', 'file:u-1.txt')],
    cycles: 2,
    proofs: [/"@row.id":4.*u-1.txt/],
    hasOneEnd: false,
  },
  // Before what goes on in the colleague's row is sent, a user edits it under that row's tag.
  {
    name: 'met-and-edited-again',
    setup: CALM,
    acts: [...TAKES_A_CODE, user(SENT('retrieve'), `UPDATE Thing SET B = 'u-3' WHERE _id = 4`)],
    cycles: 2,
    proofs: [/"@row.id":4.*"u-3"/],
    end: /"t-w","c-w",\{"A":"w-2","B":"u-3"/,
    hasOneEnd: false,
  },
  // The same with a delete.
  {
    name: 'met-and-deleted-again',
    setup: CALM,
    acts: [...TAKES_A_CODE, user(SENT('retrieve'), 'DELETE FROM Thing WHERE _id = 4')],
    cycles: 2,
    proofs: [SENT('delete')],
    hasOneEnd: false,
  },
  // An older copy knows nothing of the two that became one.
  {
    name: 'met-before-an-older-copy',
    setup: CALM,
    acts: [copies(null), ...TAKES_A_CODE, putsBack(CYCLE_ENDS)],
    cycles: 2,
    proofs: [/"@row.id":4.*"u-2"/, /puts the older copy/],
    end: /"t-w","c-w",\{"A":"w-2","B":"u-2"/,
    hasOneEnd: false,
  },
  // In a copy, a person leaves a row alone that was taken back before, and that the origin has under another unique value by now.
  {
    name: 'taken-back-in-an-older-copy',
    setup: { ...CALM, policy: 'local' },
    acts: [
      user(null, 'DELETE FROM Thing WHERE _id = 1'),
      colleague(null, 1, { A: 'w-1' }),
      copies(CYCLE_ENDS),
      decides(null, { kind: 'resolve', id: 1, take: 'remote', value: null }),
      user(CYCLE_ENDS, `UPDATE Thing SET Code = 'c-9' WHERE Tag = 't0001'`),
      putsBack(CYCLE_ENDS),
      decides(null, { kind: 'resolve', id: 1, take: 'remote', value: null }),
    ],
    cycles: 2,
    proofs: [/puts the older copy/, /^person: leaves conflict 1/],
    end: /"t0001","c-9",\{"A":"w-1","B":"b0004"/,
    hasOneEnd: false,
  },
  // In an older copy, a create is on its way under a value that was edited here since; the origin has the row under that.
  {
    name: 'on-its-way-in-an-older-copy',
    setup: CALM,
    acts: [
      user(null, `INSERT INTO Thing (Tag, Code, A) VALUES ('t-1', 'c-1', 'u-1')`),
      user(SENT('upsert'), `UPDATE Thing SET Code = 'c-2' WHERE Tag = 't-1'`),
      copies(null),
      user(SENT('update'), 'SELECT 1'),
      putsBack(CYCLE_ENDS),
    ],
    cycles: 2,
    proofs: [/puts the older copy/],
    end: /^\["t-1","c-2",.*\n(?:\["t0\d.*\n?){3}$/,
    hasOneEnd: false,
  },
];
