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
  makesUnique,
  narrowsRole,
  putsBack,
  FAILS_TO_LOOK,
  revokesToken,
  SENT,
  user,
  WITH_FILES,
  type Scenario,
  type ScenarioAct,
} from './scenario.ts';

/** An update makes row 1 again, as row 4 where three stood before, since a colleague deleted it a moment earlier. */
const MADE_AGAIN: readonly ScenarioAct[] = [
  user(null, `UPDATE Thing SET A = 'u-1' WHERE _id = 1`),
  colleagueDeletes(SENT('upsert'), 1),
];

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
  // Deleted on both sides, the row is made again by the update that was on its way, and hidden: nobody can know of it.
  {
    name: 'made-again-hidden-and-deleted',
    setup: { ...ADMINISTERED, rowCount: 3 },
    acts: [
      colleagueDeletes(null, 2),
      narrowsRole(CYCLE_ENDS),
      user(CYCLE_ENDS, `UPDATE Thing SET A = 'u-1' WHERE _id = 1`),
      colleagueDeletes(SENT('upsert'), 1),
      user(null, `DELETE FROM Thing WHERE _id = 1`),
    ],
    cycles: 2,
    proofs: [/role that sees every other row/, SENT('upsert')],
    end: /"null"/,
    hasOneEnd: false,
  },
  // A backup holds the row that an update made as it was before it had its tag, and is brought back; then that row is deleted here.
  {
    name: 'made-again-without-a-tag-in-a-backup',
    setup: { ...ADMINISTERED, rowCount: 3 },
    acts: [
      ...MADE_AGAIN,
      backsUpOrRestores(/^request \d+ ends/),
      backsUpOrRestores(CYCLE_ENDS),
      user(CYCLE_ENDS, `DELETE FROM Thing WHERE _id = 4`),
    ],
    cycles: 2,
    proofs: [SENT('upsert'), /brings the backup/, SENT('delete')],
    hasOneEnd: false,
  },
  // What goes on in a row that was made again is sent; edited here and there before it is read back, the later edit goes over it.
  {
    name: 'made-again-and-edited-on-both-sides',
    setup: CALM,
    acts: [
      ...MADE_AGAIN,
      user(SENT('upsert'), `UPDATE Thing SET B = 'u-2' WHERE Tag = 't0001'`),
      colleague(/^request \d+ ends/, 4, { B: 'w-1' }),
    ],
    cycles: 2,
    proofs: [/^colleague: sets/, /u-2/],
    end: /"A":"u-1","B":"u-2"/,
    hasOneEnd: false,
  },
  // The same without an answer and an edit here: by the policy, what nobody wrote here goes over what the colleague wrote.
  {
    name: 'made-again-without-an-answer-and-edited-there',
    setup: { ...CALM, policy: 'local' },
    acts: [...MADE_AGAIN, { after: SENT('upsert'), act: (hands) => hands.kill() }, colleague(null, 4, { B: 'w-1' })],
    cycles: 2,
    proofs: [/^the engine dies/, /^colleague: sets/],
    end: /"A":"u-1","B":"b0004"/,
    hasOneEnd: false,
  },
  // The same backup once that row was deleted there too, and made again with its tag: the first one of them stays without.
  {
    name: 'made-again-twice-and-in-a-backup',
    setup: { ...ADMINISTERED, rowCount: 3 },
    acts: [
      ...MADE_AGAIN,
      backsUpOrRestores(/^request \d+ ends/),
      colleagueDeletes(SENT('upsert'), 4),
      backsUpOrRestores(CYCLE_ENDS),
    ],
    cycles: 2,
    proofs: [SENT('upsert'), /brings the backup/],
    end: /"null"/,
    hasOneEnd: false,
  },
  // What a colleague wrote into a row that was made again goes on in the next one, which has its tag by then.
  {
    name: 'made-again-twice-and-edited-there',
    setup: CALM,
    acts: [
      user(null, `UPDATE Thing SET B = 'u-1' WHERE _id = 1`),
      colleagueDeletes(SENT('upsert'), 1),
      colleague(/Settling a batch/, 4, { A: 'w-1' }),
      colleagueDeletes(SENT('upsert'), 4),
    ],
    cycles: 2,
    proofs: [/^colleague: sets/, SENT('upsert')],
    end: /"t0001","c0002",\{"A":"w-1","B":"u-1"/,
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
  // A refused update went with the match value that told its row, which a colleague changes.
  {
    name: 'refused-under-a-former-code',
    setup: CALM,
    acts: [
      makesUnique(null, 'A'),
      user(CYCLE_ENDS, `UPDATE Thing SET A = 'a0007' WHERE _id = 1`),
      colleague(CYCLE_ENDS, 1, { Code: 'w-1' }),
    ],
    cycles: 2,
    proofs: [SENT('upsert'), /^colleague: sets/],
    end: /"t0001","w-1",\{"A":"a0007"/,
    hasOneEnd: false,
  },
  // What an update made has no tag in an older copy; edited, refused and deleted there, it goes on as a new row, refused as before.
  {
    name: 'refused-without-a-tag',
    setup: { ...CALM, policy: 'local' },
    acts: [
      makesUnique(null, 'A'),
      copies(CYCLE_ENDS),
      ...MADE_AGAIN,
      putsBack(/^request \d+ ends/),
      user(CYCLE_ENDS, `UPDATE Thing SET A = 'a0007' WHERE _id = 4`),
      colleagueDeletes(CYCLE_ENDS, 4),
    ],
    cycles: 2,
    proofs: [/puts the older copy/, /"@row.id":4.*"a0007"/],
    end: /"null","c0002",\{"A":"a0007"/,
    hasOneEnd: false,
  },
  // The same in a backup of the origin: sent as a new one, it has no answer, and gets another unique value before it is asked for by another role.
  {
    name: 'in-doubt-without-a-tag',
    setup: { ...ADMINISTERED, policy: 'local' },
    acts: [
      ...MADE_AGAIN,
      backsUpOrRestores(/^request \d+ ends/),
      backsUpOrRestores(CYCLE_ENDS),
      user(CYCLE_ENDS, `UPDATE Thing SET A = 'u-2' WHERE _id = 4`),
      colleagueDeletes(null, 4),
      { after: SENT('upsert'), act: (hands) => hands.kill() },
      user(null, `UPDATE Thing SET Code = 'c-9', A = 'u-3' WHERE _id < 0`),
      backsUpOrRestores(null),
      narrowsRole(null),
    ],
    cycles: 2,
    proofs: [/^the engine dies/, /role that sees every other row/],
    end: /"null","c-9",\{"A":"u-3"/,
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
  // A create without an answer stands here twice. One of the two is edited; a pull changes the other, and with it a trigger of the user's does.
  {
    name: 'made-by-a-trigger-in-a-twin',
    setup: { ...CALM, policy: 'local' },
    acts: [
      user(
        null,
        `INSERT INTO Thing (Tag, Code, A, B) VALUES ('t-1', 'c-1', 'u-1', 'u-2');
         CREATE TRIGGER own_trigger AFTER UPDATE OF A ON Thing WHEN NEW.A IS NOT OLD.A
         BEGIN UPDATE Thing SET B = NEW.A || '~' WHERE _id = NEW._id; END`,
      ),
      { after: SENT('upsert'), act: (hands) => hands.kill() },
      ...FAILS_TO_LOOK,
      ...FAILS_TO_LOOK,
      user(CYCLE_ENDS, `UPDATE Thing SET B = 'u-3' WHERE Tag = 't-1' AND _id < 0`),
      colleague(null, 4, { A: 'w-1' }),
      ...FAILS_TO_LOOK,
    ],
    cycles: 2,
    proofs: [/^the engine dies/, /^colleague: sets/, /"@row.id":4.*"u-1~"/],
    end: /"t-1","c-1",\{"A":"u-1","B":"u-1~"/,
    hasOneEnd: false,
  },
  // A colleague gives the row of a create without an answer another unique value: it may be that row, and nothing but a person tells.
  {
    name: 'given-another-code-without-an-answer',
    setup: CALM,
    acts: [
      user(null, `INSERT INTO Thing (Tag, Code, A) VALUES ('t-1', 'c-1', 'u-1')`),
      { after: SENT('upsert'), act: (hands) => hands.kill() },
      colleague(null, 4, { Code: 'w-1' }),
    ],
    cycles: 2,
    proofs: [/^the engine dies/, /^colleague: sets/],
    end: /"t-1","c-1",.*\n.*"t-1","w-1"/,
    hasOneEnd: false,
  },
  // The same with a backup: a row that was deleted there goes on as a new one under another value; it is lost, and the former one comes back.
  {
    name: 'like-a-row-of-a-backup',
    setup: { ...ADMINISTERED, policy: 'local' },
    acts: [
      backsUpOrRestores(null),
      user(null, `UPDATE Thing SET Code = 'c-9' WHERE _id = 3`),
      colleagueDeletes(null, 3),
      { after: SENT('upsert'), act: (hands) => hands.kill() },
      backsUpOrRestores(null),
    ],
    cycles: 2,
    proofs: [/^the engine dies/, /brings the backup/],
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
