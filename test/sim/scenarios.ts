/**
 * Short stories that the exhaustive mode goes through with something going wrong at every step. Each is a setup and a list of acts
 * with their moments: an act happens once a line of the trace matches that came after the act before it. What the undisturbed story
 * must contain is said too, so that no story becomes another one unnoticed. Rows of a warm replica: 1 to `rowCount`; their texts
 * are those of `makeOrigin`.
 */
import type { ConflictPolicy } from '../../src/reconcile/merge.ts';
import type { Hands } from './script.ts';
import type { Setup } from './setup.ts';

/** One act of somebody. */
export interface ScenarioAct {
  /** A line of the trace after the act before; null for as soon as possible. */
  readonly after: RegExp | null;
  readonly act: (hands: Hands) => void;
}

/** A short story. */
export interface Scenario {
  readonly name: string;
  readonly setup: Setup;
  readonly acts: readonly ScenarioAct[];
  /** Cycles that end after the last act, and after whatever goes wrong, before the faults stop: those are gone through step by step. */
  readonly cycles: number;
  /** Lines that the undisturbed story has. */
  readonly proofs: readonly RegExp[];
  /** Whether rows, but for their ids and made-up codes, are the same at the end wherever the engine dies. */
  readonly hasOneEnd: boolean;
}

const CALM: Setup = {
  isWarm: true,
  rowCount: 3,
  systemColumns: false,
  pageRows: 2,
  laterPageRows: null,
  batchRows: 2,
  concurrency: 1,
  match: 'Code',
  policy: 'origin',
  maxDeletePercent: 100,
  pointCount: 0,
  actRate: 0,
  reorderRate: 0,
  deathRate: 0,
  pauseRate: 0,
  fullRate: 0,
  losesPower: false,
  etag: 'page',
  rules: [],
  isAdminAway: true,
  actors: [],
  weather: new Map(),
  files: null,
};

function user(after: RegExp | null, statements: string): ScenarioAct {
  return { after, act: (hands) => hands.user(statements) };
}

function colleague(after: RegExp | null, id: number, cells: Readonly<Record<string, string>>): ScenarioAct {
  const sentence = `colleague: sets ${JSON.stringify(cells)} in row ${id}`;
  return { after, act: (hands) => hands.atOrigin(sentence, (origin) => void origin.update('Thing', id, cells)) };
}

function colleagueDeletes(after: RegExp | null, id: number): ScenarioAct {
  const sentence = `colleague: deletes row ${id}`;
  return { after, act: (hands) => hands.atOrigin(sentence, (origin) => void origin.delete('Thing', id)) };
}

function colleagueInserts(after: RegExp | null, cells: Readonly<Record<string, string>>): ScenarioAct {
  const sentence = `colleague: inserts ${JSON.stringify(cells)}`;
  return { after, act: (hands) => hands.atOrigin(sentence, (origin) => void origin.insert('Thing', cells)) };
}

function renamesColumn(after: RegExp | null, name: string, now: string): ScenarioAct {
  const sentence = `administrator: renames the column ${name} to ${now}`;
  return { after, act: (hands) => hands.atOrigin(sentence, (origin) => origin.renameColumn('Thing', name, now)) };
}

/** With an attachment column; every other row of the origin has a file. */
const WITH_FILES: Setup = {
  ...CALM,
  files: { mode: 'latest', showsHistory: true, maxFileBytes: null, everyRows: 2, weight: 0 },
};

function hasFile(name: string, content: string): ScenarioAct {
  return { after: null, act: (hands) => hands.haveFile(name, content) };
}

function colleagueUploads(after: RegExp | null, id: number, name: string): ScenarioAct {
  const file = { name, mediaType: 'text/plain', bytes: Buffer.from(`content of ${name}`) };
  const sentence = `colleague: uploads ${name} to row ${id}`;
  return {
    after,
    act: (hands) => hands.atOrigin(sentence, (origin) => void origin.update('Thing', id, { File: file })),
  };
}

const CYCLE_ENDS = /^the cycle ends/;
const SENT = (method: string): RegExp => new RegExp(`^request \\d+: ${method} `);

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
    proofs: [SENT('(upsert|create)'), SENT('delete')],
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
    name: 'colleague-takes-code',
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
    hasOneEnd: true,
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
    acts: [
      user(CYCLE_ENDS, `DROP TRIGGER _rowsync_capture_update_115442; UPDATE Thing SET A = 'u-1' WHERE _id = 1`),
      user(
        CYCLE_ENDS,
        `CREATE UNIQUE INDEX own_index ON Thing (Code); UPDATE OR REPLACE Thing SET Code = 'c0006' WHERE _id = 3`,
      ),
    ],
    cycles: 1,
    proofs: [SENT('(upsert|update)'), SENT('delete')],
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
];
