/**
 * Short stories in which a column is hidden from the calling user for a while, and shown again. Gone through like all others (scenarios.ts).
 * Data only.
 */
import {
  HIDING,
  colleague,
  colleagueInserts,
  CYCLE_ENDS,
  FAILS_TO_LOOK,
  hidesColumn,
  SENT,
  showsColumn,
  user,
  type Scenario,
} from './scenario.ts';

/** The moment at which the replica takes over what columns there are. */
const PREPARED = /^commit: Preparing the table/;

/** All of them. */
export const HIDDEN_SCENARIOS: readonly Scenario[] = [
  // The edit of the hidden cell is given up, that of the other one is pushed; what arrived of the first is what the origin says.
  {
    name: 'column-hidden-while-an-edit-is-on-its-way',
    setup: HIDING,
    acts: [
      user(null, `UPDATE Thing SET A = 'u-1', B = 'u-2' WHERE _id = 1`),
      hidesColumn(SENT('(upsert|update)'), 'A'),
      user(PREPARED, `UPDATE Thing SET B = 'u-3' WHERE _id = 1`),
      showsColumn(CYCLE_ENDS),
    ],
    cycles: 2,
    proofs: [/hides the column A/, SENT('(upsert|update)'), /"u-3"/, /shows the column A/],
    everyEnd: /"B":"u-3"/,
    hasOneEnd: false,
  },
  // Only the rest of it could be compared, so that it is in doubt.
  {
    name: 'column-hidden-while-a-create-is-on-its-way',
    setup: { ...HIDING, rowCount: 1, match: null },
    acts: [
      user(null, `INSERT INTO Thing (Tag, A) VALUES ('t-1', 'u-1')`),
      hidesColumn(SENT('create'), 'A'),
      { after: null, act: (hands) => hands.kill() },
      showsColumn(PREPARED),
    ],
    cycles: 2,
    proofs: [SENT('create'), /hides the column A/, /^the engine dies/, /shows the column A/],
    end: /"t-1",null,\{"A":"u-1"/,
    hasOneEnd: false,
  },
  // Found by its match value whatever of it is hidden, or made without the cell that was given up.
  {
    name: 'column-hidden-while-a-keyed-create-is-on-its-way',
    setup: { ...HIDING, rowCount: 1 },
    acts: [
      user(null, `INSERT INTO Thing (Tag, Code, A) VALUES ('t-1', 'c-1', 'u-1')`),
      hidesColumn(SENT('(upsert|create)'), 'A'),
      { after: null, act: (hands) => hands.kill() },
      user(PREPARED, `UPDATE Thing SET B = 'u-2' WHERE Tag = 't-1'`),
      showsColumn(CYCLE_ENDS),
    ],
    cycles: 2,
    proofs: [SENT('(upsert|create)'), /hides the column A/, /^the engine dies/, /"u-2"/, /shows the column A/],
    everyEnd: /"t-1","c-1",\{"A":("u-1"|null),"B":"u-2"/,
    hasOneEnd: false,
  },
  {
    name: 'column-hidden-before-a-create',
    setup: { ...HIDING, rowCount: 1 },
    acts: [
      user(null, `INSERT INTO Thing (Tag, Code, A, B) VALUES ('t-1', 'c-1', 'u-1', 'u-2')`),
      hidesColumn(null, 'A'),
      user(CYCLE_ENDS, `INSERT INTO Thing (Tag, Code, B) VALUES ('t-2', 'c-2', 'u-3')`),
      showsColumn(CYCLE_ENDS),
    ],
    cycles: 2,
    proofs: [/hides the column A/, /shows the column A/, SENT('(upsert|create)'), /"t-2"/],
    everyEnd: /"t-1","c-1",\{"A":null,"B":"u-2"\}\]\n\["t-2","c-2",\{"A":null,"B":"u-3"\}/,
    hasOneEnd: true,
  },
  // Deleted here and edited there, the row comes back while its column is hidden: what that says is no edit once it is shown.
  {
    name: 'row-comes-back-while-a-column-is-hidden',
    setup: HIDING,
    acts: [
      user(null, `DELETE FROM Thing WHERE _id = 1`),
      hidesColumn(null, 'A'),
      colleague(SENT('user'), 1, { B: 'w-1' }),
      colleague(CYCLE_ENDS, 2, { A: 'w-2' }),
      showsColumn(null),
    ],
    cycles: 2,
    proofs: [/hides the column A/, /^colleague: sets/, /shows the column A/],
    end: /"A":"a0003","B":"w-1"/,
    hasOneEnd: false,
  },
  // Left alone by the pull, since its answer comes first; what a colleague writes in the hidden column comes here once it is shown.
  {
    name: 'edit-without-an-answer-while-a-column-is-hidden',
    setup: HIDING,
    acts: [
      hidesColumn(null, 'A'),
      user(CYCLE_ENDS, `UPDATE Thing SET B = 'u-1' WHERE _id = 1`),
      { after: SENT('(upsert|update)'), act: (hands) => hands.kill() },
      colleague(null, 1, { A: 'w-1', B: 'w-2' }),
      showsColumn(CYCLE_ENDS),
    ],
    cycles: 2,
    proofs: [
      /hides the column A/,
      SENT('(upsert|update)'),
      /^the engine dies/,
      /^colleague: sets/,
      /shows the column A/,
    ],
    end: /"A":"w-1","B":"w-2"/,
    hasOneEnd: false,
  },
  // Nobody who deletes a row knows what a colleague wrote in its hidden column; what he wrote in another one brings it back.
  {
    name: 'rows-deleted-while-a-column-is-hidden',
    setup: HIDING,
    acts: [
      hidesColumn(null, 'A'),
      colleague(CYCLE_ENDS, 1, { A: 'w-1' }),
      user(null, `DELETE FROM Thing WHERE _id IN (1, 2)`),
      colleague(null, 2, { A: 'w-2', B: 'w-3' }),
      showsColumn(CYCLE_ENDS),
    ],
    cycles: 2,
    proofs: [/hides the column A/, SENT('delete'), /shows the column A/],
    end: /^(?!.*"b0001").*"A":"w-2","B":"w-3"/s,
    hasOneEnd: false,
  },
  // Nobody has read the cell since it is shown again. What is on its way of its row is another one, of which the origin does not say yet what came.
  {
    name: 'cell-put-back-beside-one-without-an-answer',
    setup: HIDING,
    acts: [
      hidesColumn(null, 'A'),
      colleagueInserts(CYCLE_ENDS, { Tag: 't-w', Code: 'c-w', A: 'w-1' }),
      user(CYCLE_ENDS, `UPDATE Thing SET B = 'u-1' WHERE Tag = 't-w'`),
      { after: SENT('upsert'), act: (hands) => hands.kill() },
      showsColumn(null),
      ...FAILS_TO_LOOK,
      user(PREPARED, `UPDATE Thing SET A = 'u-2' WHERE Tag = 't-w'`),
      user(null, `UPDATE Thing SET A = NULL WHERE Tag = 't-w'`),
    ],
    cycles: 2,
    proofs: [/shows the column A/, /^log: push.lookUp/, /A = 'u-2'/],
    end: /"t-w","c-w",\{"A":"w-1","B":"u-1"/,
    hasOneEnd: false,
  },
];
