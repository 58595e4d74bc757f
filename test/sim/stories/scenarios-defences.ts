/**
 * Short stories that each need one defence that random worlds rarely need; most were written for a planted bug
 * (mutants/) that survived. Gone through like all others (scenarios.ts). Data only.
 */
import {
  CALM,
  user,
  colleague,
  colleagueDeletes,
  colleagueInserts,
  decides,
  renamesColumn,
  CYCLE_ENDS,
  SENT,
  WITH_FILES,
  type Scenario,
} from './scenario.ts';

/** All of them. */
export const DEFENCE_SCENARIOS: readonly Scenario[] = [
  // Whatever the policy, the row is gone; what a person wants of it is a new row.
  ...(['local', 'ask'] as const).flatMap((policy): readonly Scenario[] =>
    [null, SENT('update')].map((moment) => ({
      name: `edited-and-deleted-there-${policy}${moment === null ? '' : '-in-flight'}`,
      setup: { ...CALM, policy },
      acts: [
        user(null, `UPDATE Thing SET A = 'u-1' WHERE _id = 1`),
        colleagueDeletes(moment, 1),
        decides(CYCLE_ENDS, { kind: 'resolve', id: 1, take: 'local', value: null, isAgain: true }),
      ],
      cycles: 2,
      proofs: [/^colleague: deletes/, /^person: .*Resolved/, SENT('upsert')],
      end: /"t0001","c0002",\{"A":"u-1","B":"b0004"/,
      hasOneEnd: false,
    })),
  ),
  {
    name: 'older-copy-of-a-create',
    setup: { ...CALM, rowCount: 1 },
    acts: [
      user(null, `INSERT INTO Thing (Tag, Code, A) VALUES ('t-1', 'c-1', 'u-1')`),
      { after: null, act: (hands) => hands.copy() },
      colleague(CYCLE_ENDS, 2, { A: 'w-1' }),
      { after: CYCLE_ENDS, act: (hands) => hands.restore() },
    ],
    cycles: 2,
    proofs: [/older copy/, SENT('(upsert|create)')],
    hasOneEnd: false,
  },
  // Nothing could tell what became of these two: such a copy is not put back, unless the engine died before the origin
  // knew (replica/older-copy.ts).
  {
    name: 'older-copy-with-a-former-code',
    setup: { ...CALM, rowCount: 1 },
    acts: [
      user(null, `INSERT INTO Thing (Tag, Code, A) VALUES ('t-1', 'c-1', 'u-1')`),
      { after: null, act: (hands) => hands.copy() },
      user(null, `UPDATE Thing SET Code = 'c-2' WHERE Tag = 't-1'`),
      { after: CYCLE_ENDS, act: (hands) => hands.restore() },
    ],
    cycles: 1,
    proofs: [/leaves the replica as it is/, SENT('(upsert|create)')],
    hasOneEnd: false,
  },
  {
    name: 'older-copy-with-a-code-of-another',
    setup: { ...CALM, rowCount: 1 },
    acts: [
      user(null, `INSERT INTO Thing (Tag, Code, A) VALUES ('t-1', 'c-1', 'u-1')`),
      { after: null, act: (hands) => hands.copy() },
      user(null, `DELETE FROM Thing WHERE Tag = 't-1'; UPDATE Thing SET Code = 'c-1' WHERE _id = 1`),
      { after: CYCLE_ENDS, act: (hands) => hands.restore() },
    ],
    cycles: 1,
    proofs: [/leaves the replica as it is/, SENT('(upsert|update)')],
    hasOneEnd: false,
  },
  {
    name: 'value-of-another-row',
    setup: { ...CALM, rowCount: 1, match: null },
    acts: [user(null, `INSERT INTO Thing (Tag, Code, A) VALUES ('t-1', 'c0002', 'u-1')`)],
    cycles: 1,
    proofs: [SENT('create')],
    everyEnd: /\["t-1","c0002",/,
    hasOneEnd: false,
  },
  {
    name: 'first-pull-shrinking',
    setup: { ...CALM, isWarm: false, rowCount: 7, pageRows: 3 },
    acts: [colleagueDeletes(/^commit: Storing page 0/, 1), colleagueDeletes(null, 2)],
    cycles: 1,
    proofs: [SENT('select')],
    hasOneEnd: false,
  },
  {
    name: 'pushed-and-undone',
    setup: CALM,
    acts: [user(null, `UPDATE Thing SET A = 'u-1' WHERE _id = 1`), colleague(CYCLE_ENDS, 1, { A: 'a0003' })],
    cycles: 1,
    proofs: [SENT('(upsert|update)'), SENT('retrieve')],
    // Where the edit is not settled by then, the origin says what it said before the edit, which stands.
    hasOneEnd: false,
  },
  {
    name: 'created-and-deleted-there',
    setup: { ...CALM, rowCount: 2 },
    acts: [
      user(null, `INSERT INTO Thing (Tag, Code, A) VALUES ('t-1', 'c-1', 'u-1')`),
      colleagueDeletes(CYCLE_ENDS, 3),
    ],
    cycles: 1,
    proofs: [SENT('(upsert|create)'), /^colleague: deletes/],
    hasOneEnd: false,
  },
  {
    name: 'larger-pages',
    setup: { ...CALM, rowCount: 5, etag: 'table', laterPageRows: 4 },
    acts: [{ after: CYCLE_ENDS, act: (hands) => hands.kill() }],
    cycles: 1,
    proofs: [SENT('select')],
    hasOneEnd: true,
  },
  {
    name: 'smaller-pages',
    setup: { ...CALM, rowCount: 5, pageRows: 4, etag: 'table', laterPageRows: 2 },
    acts: [{ after: CYCLE_ENDS, act: (hands) => hands.kill() }],
    cycles: 1,
    proofs: [SENT('select')],
    hasOneEnd: true,
  },
  {
    name: 'columns-swapped-in-a-pull',
    setup: { ...CALM, isAdminAway: false },
    acts: [
      colleague(null, 1, { A: 'w-1' }),
      renamesColumn(SENT('select'), 'A', 'between'),
      renamesColumn(null, 'B', 'A'),
      renamesColumn(null, 'between', 'B'),
    ],
    cycles: 1,
    proofs: [SENT('select'), /renames/],
    hasOneEnd: true,
  },
  {
    name: 'columns-swapped-in-a-first-pull',
    setup: { ...CALM, isWarm: false, isAdminAway: false, policy: 'local' },
    acts: [
      renamesColumn(SENT('select'), 'A', 'between'),
      renamesColumn(null, 'B', 'A'),
      renamesColumn(null, 'between', 'B'),
      user(/^commit: Finishing/, `UPDATE Thing SET B = 'u-1' WHERE _id = 1`),
      colleagueDeletes(null, 1),
    ],
    cycles: 1,
    proofs: [SENT('select'), /renames/, /^user: /],
    hasOneEnd: true,
  },
  {
    name: 'pages-under-one-etag',
    setup: { ...CALM, isWarm: false, rowCount: 5, etag: 'table' },
    acts: [],
    cycles: 2,
    proofs: [SENT('select')],
    hasOneEnd: true,
  },
  {
    name: 'pages-vanish',
    setup: { ...CALM, rowCount: 8 },
    acts: [3, 4, 5, 6, 7, 8].map((id) => colleagueDeletes(null, id)),
    cycles: 1,
    proofs: [/^commit: Dropping pages/],
    hasOneEnd: true,
  },
  {
    name: 'edit-around-triggers',
    setup: CALM,
    acts: [user(CYCLE_ENDS, `DROP TRIGGER _rowsync_capture_update_115442; UPDATE Thing SET A = 'u-1' WHERE _id = 1`)],
    cycles: 1,
    proofs: [SENT('(upsert|update)')],
    hasOneEnd: true,
  },
  {
    name: 'replace-around-triggers',
    setup: CALM,
    acts: [
      user(
        CYCLE_ENDS,
        `CREATE UNIQUE INDEX own_index ON Thing (Code); UPDATE OR REPLACE Thing SET Code = 'c0006' WHERE _id = 3`,
      ),
    ],
    cycles: 1,
    proofs: [SENT('delete')],
    hasOneEnd: true,
  },
  {
    name: 'colleague-edits-deleted',
    setup: CALM,
    acts: [user(null, `DELETE FROM Thing WHERE _id = 1`), colleague(null, 1, { A: 'w-1' })],
    cycles: 1,
    proofs: [/^colleague: sets/],
    hasOneEnd: true,
  },
  {
    name: 'older-copy-of-an-unkeyed-create',
    setup: { ...CALM, rowCount: 1, match: null },
    acts: [
      user(null, `INSERT INTO Thing (Tag, A) VALUES ('t-1', 'u-1')`),
      { after: null, act: (hands) => hands.copy() },
      { after: CYCLE_ENDS, act: (hands) => hands.restore() },
    ],
    cycles: 2,
    proofs: [/older copy/, SENT('create')],
    hasOneEnd: false,
  },
  {
    name: 'older-copy-while-an-unkeyed-create-is-on-its-way',
    setup: { ...CALM, rowCount: 1, match: null },
    acts: [
      user(null, `INSERT INTO Thing (Tag, A) VALUES ('t-1', 'u-1')`),
      { after: null, act: (hands) => hands.copy() },
      { after: SENT('create'), act: (hands) => hands.kill() },
      { after: null, act: (hands) => hands.restore() },
    ],
    cycles: 2,
    proofs: [SENT('create'), /^the engine dies/, /older copy/],
    hasOneEnd: false,
  },
  {
    name: 'unkeyed-create-rewritten',
    setup: { ...CALM, rowCount: 1, match: null, rules: [{ column: 'A', does: 'upper' }] },
    acts: [user(null, `INSERT INTO Thing (Tag, A) VALUES ('t-1', 'u-1')`)],
    cycles: 1,
    proofs: [SENT('create')],
    hasOneEnd: false,
  },
  {
    name: 'create-cut-short-and-emptied-here',
    setup: { ...CALM, rowCount: 1 },
    acts: [
      user(null, `INSERT INTO Thing (Tag, Code, A) VALUES ('t-1', 'c-1', 'u-1')`),
      user(SENT('(upsert|create)'), `UPDATE Thing SET A = NULL WHERE Tag = 't-1'`),
      { after: null, act: (hands) => hands.kill() },
      colleague(null, 2, { A: 'w-1' }),
    ],
    cycles: 2,
    proofs: [SENT('(upsert|create)'), /^the engine dies/, /^colleague: sets/],
    hasOneEnd: false,
  },
  {
    name: 'create-cut-short-and-edited-there',
    setup: { ...CALM, rowCount: 1 },
    acts: [
      user(null, `INSERT INTO Thing (Tag, Code, A) VALUES ('t-1', 'c-1', 'u-1')`),
      { after: SENT('(upsert|create)'), act: (hands) => hands.kill() },
      colleague(null, 2, { A: 'w-1' }),
    ],
    cycles: 2,
    proofs: [SENT('(upsert|create)'), /^the engine dies/],
    hasOneEnd: false,
  },
  {
    name: 'colleague-changes-code-in-flight',
    setup: CALM,
    acts: [
      user(null, `UPDATE Thing SET A = 'u-1' WHERE _id = 1`),
      colleague(SENT('(upsert|update)'), 1, { Code: 'w-1' }),
    ],
    cycles: 2,
    proofs: [SENT('(upsert|update)'), /^colleague: sets/],
    hasOneEnd: false,
  },
  {
    name: 'columns-swapped-before-push',
    setup: { ...CALM, isAdminAway: false },
    acts: [
      user(null, `UPDATE Thing SET A = 'u-1' WHERE _id = 1`),
      renamesColumn(/^commit: Finishing the sweep/, 'A', 'between'),
      renamesColumn(null, 'B', 'A'),
      renamesColumn(null, 'between', 'B'),
    ],
    cycles: 2,
    proofs: [SENT('(upsert|update)'), /renames/],
    hasOneEnd: true,
  },
  {
    name: 'trigger-stops-a-table',
    setup: CALM,
    acts: [
      user(
        null,
        `CREATE TRIGGER own_trigger AFTER UPDATE OF A ON Thing WHEN NEW.A IS NOT OLD.A BEGIN
           UPDATE Thing SET B = NEW.A || '~' WHERE _id = NEW._id; END`,
      ),
      colleague(null, 1, { A: 'w-1' }),
      user(null, `UPDATE Thing SET A = 'u-2' WHERE _id = 2`),
      user(CYCLE_ENDS, 'DROP TRIGGER own_trigger'),
    ],
    cycles: 2,
    proofs: [/table\.failed .*replica\.failed/, SENT('(upsert|update)'), /u-2~/],
    hasOneEnd: true,
  },
  {
    name: 'pull-cut-short',
    setup: { ...CALM, isWarm: false, rowCount: 5 },
    acts: [
      {
        after: /^commit: Storing page 0/,
        act: (hands) => {
          hands.kill();
          hands.atOrigin('colleague: edits row 1', (origin) => void origin.update('Thing', 1, { A: 'w-1' }));
        },
      },
    ],
    cycles: 1,
    proofs: [/^the engine dies/, SENT('select')],
    hasOneEnd: true,
  },
  {
    name: 'role-narrowed',
    setup: { ...CALM, isAdminAway: false },
    acts: [
      {
        after: CYCLE_ENDS,
        act: (hands) =>
          hands.atOrigin('administrator: gives the calling user a role that sees every other row', (origin) => {
            origin.setRole({ name: 'Narrowed', canWrite: true, hiddenTables: [], hiddenColumns: [] });
            origin.knobs.hidesRow = ({ id }) => id % 2 === 0;
            origin.changeUser({ role: 'Narrowed' });
          }),
      },
    ],
    cycles: 2,
    proofs: [/guard\.held/],
    hasOneEnd: true,
  },
  {
    name: 'mirror-under-a-trigger',
    setup: { ...CALM, rowCount: 2, match: null, isMirror: true },
    acts: [
      user(
        null,
        `CREATE TRIGGER own_trigger AFTER INSERT ON Thing BEGIN
           INSERT OR IGNORE INTO Thing (_id, Tag) VALUES (NEW._id + 100, 'stranger');
           DELETE FROM Thing WHERE _id = NEW._id - 1; END`,
      ),
      colleagueInserts(CYCLE_ENDS, { Tag: 't-1', A: 'w-1' }),
      user(/^commit: Storing page/, 'DROP TRIGGER own_trigger'),
    ],
    cycles: 1,
    proofs: [/^user: CREATE TRIGGER/, /^commit: Storing page/],
    hasOneEnd: true,
  },
  {
    name: 'mirror-around-guards',
    setup: { ...CALM, match: null, isMirror: true },
    acts: [user(CYCLE_ENDS, `DROP TRIGGER _rowsync_guard_update_115442; UPDATE Thing SET A = 'u-1' WHERE _id = 1`)],
    cycles: 1,
    proofs: [/^user: DROP TRIGGER/, SENT('select')],
    everyEnd: /a0003/,
    hasOneEnd: true,
  },
  // A new row takes over the unique value of one that REPLACE removes: what the origin has under it is the old row
  // until that is deleted.
  {
    name: 'new-row-takes-a-code',
    setup: { ...CALM, match: null },
    acts: [
      user(
        null,
        `CREATE UNIQUE INDEX own_index ON Thing (Code);
         INSERT OR REPLACE INTO Thing (Tag, Code, A) VALUES ('t-1', 'c0006', 'u-1')`,
      ),
    ],
    cycles: 1,
    proofs: [SENT('create'), SENT('delete')],
    hasOneEnd: false,
  },
  {
    name: 'new-row-takes-a-code-in-a-push',
    setup: CALM,
    acts: [
      user(
        null,
        `CREATE UNIQUE INDEX own_index ON Thing (Code); INSERT INTO Thing (Tag, Code, A) VALUES ('t-1', 'c-1', 'u-1')`,
      ),
      user(/^commit: Planning the push/, `UPDATE OR REPLACE Thing SET Code = 'c0006' WHERE Tag = 't-1'`),
    ],
    cycles: 2,
    proofs: [SENT('(upsert|create)'), SENT('delete')],
    hasOneEnd: false,
  },
  {
    name: 'new-row-edited-on-both-sides',
    setup: CALM,
    acts: [
      user(null, `INSERT INTO Thing (Tag, Code, A) VALUES ('t-1', 'c-1', 'u-1')`),
      user(SENT('(upsert|create)'), `UPDATE Thing SET B = 'u-2' WHERE Tag = 't-1'`),
      colleague(/^request \d+ ends/, 4, { B: 'w-1' }),
    ],
    cycles: 2,
    proofs: [/^colleague: sets/, /u-2/],
    hasOneEnd: false,
  },
  // It waits for a file that is no longer requested.
  {
    name: 'refused-and-deleted-unseen',
    setup: WITH_FILES,
    acts: [
      user(null, `UPDATE Thing SET File = 'file:none.txt' WHERE _id = 1`),
      user(CYCLE_ENDS, `DROP TRIGGER _rowsync_capture_delete_115442; DELETE FROM Thing WHERE _id = 1`),
    ],
    cycles: 2,
    proofs: [/^user: DROP TRIGGER/, SENT('delete')],
    hasOneEnd: true,
  },
  {
    name: 'refused-and-deleted-on-its-way',
    setup: { ...CALM, match: null },
    acts: [
      user(null, `UPDATE Thing SET Code = 'c0006' WHERE _id = 1`),
      user(SENT('update'), 'DELETE FROM Thing WHERE _id = 1'),
    ],
    cycles: 1,
    proofs: [SENT('update'), /^user: DELETE/],
    hasOneEnd: false,
  },
];
