/**
 * Short stories that the exhaustive mode goes through with something going wrong at every step. Each is a setup and a
 * list of acts with their moments (scenario.ts). What the undisturbed story must contain is said too, so that no story
 * becomes another one unnoticed. Data only.
 */
import type { ConflictPolicy } from '../../../src/reconcile/merge.ts';
import {
  CALM,
  user,
  colleague,
  colleagueDeletes,
  colleagueInserts,
  renamesColumn,
  WITH_FILES,
  hasFile,
  colleagueUploads,
  CYCLE_ENDS,
  SENT,
  type Scenario,
} from './scenario.ts';
import { DEFENCE_SCENARIOS } from './scenarios-defences.ts';
import { JUDGED_SCENARIOS } from './scenarios-judged.ts';

function conflict(policy: ConflictPolicy): Scenario {
  return {
    name: `conflict-${policy}`,
    setup: { ...CALM, policy },
    acts: [
      user(null, `UPDATE Thing SET A = 'u-mine', B = 'u-beside' WHERE _id = 1`),
      colleague(null, 1, { A: 'w-theirs' }),
      ...(policy === 'ask'
        ? [user(CYCLE_ENDS, `UPDATE sync_conflicts SET resolution = 'local' WHERE state = 'open'`)]
        : []),
    ],
    cycles: policy === 'ask' ? 2 : 1,
    proofs: [SENT('(upsert|update)')],
    end: policy === 'origin' ? /"A":"w-theirs","B":"u-beside"/ : /"A":"u-mine","B":"u-beside"/,
    hasOneEnd: false,
  };
}

/** All of them. */
export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'first-pull',
    setup: { ...CALM, isWarm: false, rowCount: 5 },
    acts: [],
    cycles: 1,
    proofs: [SENT('select')],
    hasOneEnd: true,
  },
  {
    name: 'first-pull-moving',
    setup: { ...CALM, isWarm: false, rowCount: 5, concurrency: 2 },
    acts: [
      colleague(SENT('select'), 1, { A: 'w-late' }),
      colleagueDeletes(SENT('select'), 2),
      user(/^commit: Storing/, `UPDATE Thing SET B = 'u-early' WHERE _id = 1`),
    ],
    cycles: 1,
    proofs: [SENT('select')],
    hasOneEnd: false,
  },
  {
    name: 'edit',
    setup: CALM,
    acts: [user(null, `UPDATE Thing SET A = 'u-1', B = NULL WHERE _id <> 2`)],
    cycles: 1,
    proofs: [SENT('(upsert|update)')],
    hasOneEnd: true,
  },
  {
    name: 'edit-again-in-flight',
    setup: CALM,
    acts: [
      user(null, `UPDATE Thing SET A = 'u-1' WHERE _id = 1`),
      user(SENT('(upsert|update)'), `UPDATE Thing SET A = 'u-2', B = 'u-3' WHERE _id = 1`),
    ],
    cycles: 2,
    proofs: [/"u-1"/, /"u-2"/],
    hasOneEnd: true,
  },
  {
    name: 'keyed-create',
    setup: { ...CALM, rowCount: 2 },
    acts: [
      user(
        null,
        `INSERT INTO Thing (Tag, Code, A) VALUES ('t-1', 'c-1', 'u-1'); INSERT INTO Thing (Tag, A) VALUES ('t-2', 'u-2')`,
      ),
    ],
    cycles: 1,
    proofs: [SENT('(upsert|create)'), /"t-1"/, /"t-2"/],
    hasOneEnd: true,
  },
  {
    name: 'unkeyed-create',
    setup: { ...CALM, rowCount: 2, match: null },
    acts: [
      user(null, `INSERT INTO Thing (Tag, A) VALUES ('t-1', 'u-1'); INSERT INTO Thing (Tag, A) VALUES ('t-2', 'u-2')`),
    ],
    cycles: 1,
    proofs: [SENT('create')],
    hasOneEnd: false,
  },
  {
    name: 'create-then-edit-in-flight',
    setup: { ...CALM, rowCount: 1 },
    acts: [
      user(null, `INSERT INTO Thing (Tag, Code, A) VALUES ('t-1', 'c-1', 'u-1')`),
      user(SENT('(upsert|create)'), `UPDATE Thing SET A = 'u-2' WHERE Tag = 't-1'`),
    ],
    cycles: 2,
    proofs: [SENT('(upsert|create)'), SENT('(upsert|update)')],
    hasOneEnd: true,
  },
  {
    name: 'create-then-delete-in-flight',
    setup: { ...CALM, rowCount: 1 },
    acts: [
      user(null, `INSERT INTO Thing (Tag, Code, A) VALUES ('t-1', 'c-1', 'u-1')`),
      user(SENT('(upsert|create)'), `DELETE FROM Thing WHERE Tag = 't-1'`),
    ],
    cycles: 2,
    proofs: [SENT('(upsert|create)')],
    end: /^(?!.*"t-1")/s,
    hasOneEnd: true,
  },
  {
    name: 'delete',
    setup: CALM,
    acts: [user(null, `DELETE FROM Thing WHERE _id IN (1, 3)`)],
    cycles: 1,
    proofs: [SENT('delete')],
    hasOneEnd: true,
  },
  conflict('origin'),
  conflict('local'),
  conflict('ask'),
  {
    name: 'rename-while-editing',
    setup: { ...CALM, isAdminAway: false },
    acts: [
      user(null, `UPDATE Thing SET A = 'u-1' WHERE _id IN (1, 2)`),
      renamesColumn(null, 'A', 'Alpha'),
      renamesColumn(SENT('(upsert|update)'), 'Alpha', 'A'),
      colleague(null, 3, { A: 'w-1' }),
    ],
    cycles: 1,
    proofs: [SENT('(upsert|update)'), /renames/],
    hasOneEnd: true,
  },
  {
    name: 'colleague-edits-before-push',
    setup: CALM,
    acts: [
      user(null, `UPDATE Thing SET A = 'u-1' WHERE _id = 1`),
      colleague(SENT('(upsert|update)'), 1, { B: 'w-1' }),
      colleagueInserts(null, { Tag: 't-w', Code: 'c-w', A: 'w-2' }),
    ],
    cycles: 2,
    proofs: [SENT('(upsert|update)'), /w-1/],
    hasOneEnd: true,
  },
  {
    name: 'colleague-deletes-edited',
    setup: CALM,
    acts: [user(null, `UPDATE Thing SET A = 'u-1' WHERE _id = 1`), colleagueDeletes(null, 1)],
    cycles: 1,
    proofs: [/^colleague: deletes/],
    hasOneEnd: false,
  },
  {
    name: 'colleague-deletes-in-flight',
    setup: CALM,
    acts: [user(null, `UPDATE Thing SET A = 'u-1' WHERE _id = 1`), colleagueDeletes(SENT('(upsert|update)'), 1)],
    cycles: 2,
    proofs: [/^colleague: deletes/],
    hasOneEnd: false,
  },
  {
    name: 'colleague-deletes-beside-create',
    setup: { ...CALM, rowCount: 1 },
    acts: [
      user(null, `INSERT INTO Thing (Tag, Code, A) VALUES ('t-1', 'c-1', 'u-1')`),
      colleagueDeletes(SENT('(upsert|create)'), 1),
    ],
    cycles: 2,
    proofs: [SENT('(upsert|create)')],
    hasOneEnd: true,
  },
  {
    name: 'colleague-takes-code',
    setup: { ...CALM, rowCount: 1 },
    acts: [
      user(null, `INSERT INTO Thing (Tag, Code, A) VALUES ('t-1', 'c-1', 'u-1')`),
      colleagueInserts(SENT('(upsert|create)'), { Tag: 't-w', Code: 'c-1', A: 'w-1' }),
    ],
    cycles: 2,
    proofs: [SENT('(upsert|create)'), /^colleague: inserts/],
    hasOneEnd: false,
  },
  {
    name: 'older-copy',
    setup: CALM,
    acts: [
      { after: null, act: (hands) => hands.copy() },
      user(null, `UPDATE Thing SET A = 'u-1' WHERE _id = 1`),
      user(null, `DELETE FROM Thing WHERE _id = 2`),
      { after: CYCLE_ENDS, act: (hands) => hands.restore() },
    ],
    cycles: 2,
    proofs: [/older copy/, SENT('(upsert|update)'), SENT('delete')],
    hasOneEnd: false,
  },
  {
    name: 'older-copy-with-edits',
    setup: CALM,
    acts: [
      user(
        null,
        `UPDATE Thing SET A = 'u-1' WHERE _id = 1; DELETE FROM Thing WHERE _id = 3;
         INSERT INTO Thing (Tag, Code, A) VALUES ('t-1', 'c-1', 'u-2')`,
      ),
      { after: null, act: (hands) => hands.copy() },
      colleague(CYCLE_ENDS, 1, { A: 'w-1' }),
      { after: CYCLE_ENDS, act: (hands) => hands.restore() },
    ],
    cycles: 2,
    proofs: [/older copy/, SENT('(upsert|update)'), SENT('delete')],
    hasOneEnd: false,
  },
  {
    name: 'attachment-down',
    setup: { ...WITH_FILES, isWarm: false },
    acts: [colleagueUploads(SENT('attachment'), 1, 'w-2.txt')],
    cycles: 2,
    proofs: [SENT('attachment'), /^commit: Storing files/, /w-2/],
    hasOneEnd: true,
  },
  {
    name: 'attachment-up',
    setup: WITH_FILES,
    acts: [
      hasFile('u-1.txt', 'one'),
      hasFile('u-2.txt', 'another'),
      user(
        null,
        `UPDATE Thing SET File = 'file:u-1.txt' WHERE _id < 3;
         INSERT INTO Thing (Tag, Code, File) VALUES ('t-1', 'c-1', 'file:u-2.txt')`,
      ),
    ],
    cycles: 1,
    proofs: [SENT('(upsert|update)'), /u-1/, /u-2/],
    hasOneEnd: true,
  },
  {
    name: 'attachments-on-both-sides',
    setup: WITH_FILES,
    acts: [
      hasFile('u-1.txt', 'one'),
      user(null, `UPDATE Thing SET File = 'file:u-1.txt' WHERE _id IN (1, 2)`),
      colleagueUploads(SENT('(upsert|update)'), 1, 'w-2.txt'),
      hasFile('u-1.txt', 'two'),
    ],
    cycles: 2,
    proofs: [SENT('(upsert|update)'), /w-2/],
    hasOneEnd: false,
  },
  {
    name: 'attachment-to-a-new-row-without-key',
    setup: { ...WITH_FILES, match: null, rowCount: 1 },
    acts: [hasFile('u-1.txt', 'one'), user(null, `INSERT INTO Thing (Tag, File) VALUES ('t-1', 'file:u-1.txt')`)],
    cycles: 1,
    proofs: [SENT('create')],
    hasOneEnd: false,
  },
  // Seeds have workflows that change rows; these make rows, and change what a row is found by.
  ...(['Code', null] as const).map((match): Scenario => ({
    name: `workflow-makes-a-row${match === null ? '-without-key' : ''}`,
    setup: { ...CALM, match, rules: [{ column: 'Tag', does: 'createRow' }] },
    acts: [
      user(
        null,
        `UPDATE Thing SET A = 'u-1' WHERE _id = 1; INSERT INTO Thing (Tag, A) VALUES ('t-1', 'u-2'), ('t-2', NULL)`,
      ),
      user(SENT('(upsert|create)'), `DELETE FROM Thing WHERE Tag = 't-1'`),
    ],
    cycles: 2,
    proofs: [SENT('(upsert|create)'), SENT('delete')],
    hasOneEnd: false,
  })),
  {
    name: 'workflow-trims',
    setup: { ...CALM, match: null, rules: [{ column: 'A', does: 'trim' }] },
    acts: [
      user(
        null,
        `UPDATE Thing SET A = ' u-1 ' WHERE _id = 1; INSERT INTO Thing (Tag, A) VALUES ('t-1', ' u-2 '), ('t-2', ' u-3 ')`,
      ),
      user(SENT('create'), `UPDATE Thing SET A = ' u-4' WHERE _id = 2`),
    ],
    cycles: 2,
    proofs: [SENT('create'), SENT('update')],
    hasOneEnd: false,
  },
  ...DEFENCE_SCENARIOS,
  ...JUDGED_SCENARIOS,
];
