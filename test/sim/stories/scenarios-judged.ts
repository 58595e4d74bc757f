/**
 * Short stories in which the engine is right, and an oracle once had it otherwise: combinations that random worlds show
 * once in many thousands. Gone through like all others (scenarios.ts). Data only.
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
  narrowsRole,
  putsBack,
  revokesToken,
  SENT,
  user,
  type Scenario,
} from './scenario.ts';

/** All of them. */
export const JUDGED_SCENARIOS: readonly Scenario[] = [
  // What it made stands at the origin as it was sent; that a cell was emptied since is kept under the id of the row
  // that was discarded.
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
    proofs: [/^the engine dies/, /^person: .*[Rr]emoved 1 new row/],
    end: /"A":"U-1"/,
    hasOneEnd: false,
  },
  // A person takes a row back that was deleted here. Before that is sent, a backup brings the former one back, and no
  // value tells that they are one.
  {
    name: 'taken-back-beside-a-backup',
    setup: { ...ADMINISTERED, match: null, policy: 'local' },
    acts: [
      colleagueInserts(null, { Tag: 't-w' }),
      backsUpOrRestores(CYCLE_ENDS),
      user(null, `DELETE FROM Thing WHERE Tag = 't-w'`),
      colleague(null, 4, { A: 'w-1' }),
      backsUpOrRestores(CYCLE_ENDS),
      decides(null, { kind: 'resolve', id: 1, take: 'remote', value: null, isAgain: true }),
    ],
    cycles: 2,
    proofs: [/^person: .*Resolved/, /brings the backup/, SENT('create')],
    hasOneEnd: false,
  },
  // A row that the role hides from its maker looks as if it was never made, unless it was answered: under another
  // unique value it is made again.
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
  // The same under the same value: it is found then, and what was emptied meanwhile is an empty cell of a new row, as
  // it seems.
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
  // Answered and not settled in the copy, the row is gone by then. It stands as it was sent until the next pull, since
  // the table was renamed here.
  {
    name: 'sent-before-a-copy',
    setup: CALM,
    acts: [
      user(null, `UPDATE Thing SET A = 'u-1' WHERE _id = 1`),
      copies(/^commit: Settling/),
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
  // In a copy, a person leaves a row alone that was taken back before, and that the origin has under another unique
  // value by now.
  {
    name: 'taken-back-in-an-older-copy',
    setup: { ...CALM, policy: 'local' },
    acts: [
      user(null, 'DELETE FROM Thing WHERE _id = 1'),
      colleague(null, 1, { A: 'w-1' }),
      copies(CYCLE_ENDS),
      decides(null, { kind: 'resolve', id: 1, take: 'remote', value: null, isAgain: true }),
      user(CYCLE_ENDS, `UPDATE Thing SET Code = 'c-9' WHERE Tag = 't0001'`),
      putsBack(CYCLE_ENDS),
      decides(null, { kind: 'resolve', id: 1, take: 'remote', value: null, isAgain: true }),
    ],
    cycles: 2,
    proofs: [/puts the older copy/, /^person: leaves conflict 1/],
    end: /"t0001","c-9",\{"A":"w-1","B":"b0004"/,
    hasOneEnd: false,
  },
];
