/**
 * What a drift test does to the schema of an origin and to the rights of its user. Also the two-way or mirrored fixture
 * that it is done to. Every change comes between two requests, as a colleague's would.
 */
import type { Sandbox } from '../../src/sandbox/main.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';

/** One change at the origin. */
export interface Drift {
  readonly title: string;
  readonly apply: (store: Sandbox['store']) => void;
  /** Codes of stops that may remain where edits wait; without one, both sides must agree in the end. */
  readonly stops?: readonly string[];
  /** The same for a mirror. */
  readonly mirrorStops?: readonly string[];
  /** Columns of Note by name before it that the origin no longer shows under their id, or in another form. */
  readonly lost?: readonly string[];
  /** Tables that the origin no longer shows. */
  readonly lostTable?: string;
}

/** The table that drifts; row 5 is deleted at the origin and row 2 edited before each trial. */
export const DRIFTING: TableSpec = {
  name: 'Note',
  createdFromMs: Date.UTC(2026, 0, 1),
  systemColumns: false,
  columns: [
    { name: 'Title', type: 'Text' },
    { name: 'Code', type: 'Text', options: ['Unique'] },
    { name: 'Count', type: 'Numeric' },
    { name: 'Remark', type: 'Text' },
    { name: 'Done', type: 'Checkbox' },
  ],
  rows: Array.from({ length: 6 }, (_, index) => ({
    Title: `title ${index + 1}`,
    Code: `c${index + 1}`,
    Count: index + 1,
    Remark: `remark ${index + 1}`,
    Done: false,
  })),
};

/** A second table, so that one of them can go. */
export const STAYING: TableSpec = {
  name: 'Other',
  systemColumns: false,
  columns: [{ name: 'Name', type: 'Text' }],
  rows: [{ Name: 'one' }, { Name: 'two' }],
};

const HALF: readonly (readonly [string, string])[] = ['Title', 'Count', 'Remark'].map((name) => ['Note', name]);

function hide(store: Sandbox['store'], role: string, columns = HALF, tables: readonly string[] = []): void {
  store.setRole({ name: role, canWrite: true, hiddenTables: tables, hiddenColumns: columns });
  if (store.user.role !== role) store.changeUser({ role });
}

/** Every drift of the table test. */
export const DRIFTS: readonly Drift[] = [
  {
    title: 'a column is added',
    apply: (store) => store.addColumn('Note', { name: 'Stock', type: 'Numeric', defaultValue: 7 }),
  },
  {
    title: 'a column is removed',
    apply: (store) => store.dropColumn('Note', 'Remark'),
    stops: ['guard.columns'],
    lost: ['Remark'],
  },
  { title: 'a column is renamed', apply: (store) => store.renameColumn('Note', 'Title', 'Heading') },
  {
    title: 'two columns swap their names',
    apply: (store) => {
      store.renameColumn('Note', 'Title', 'Between');
      store.renameColumn('Note', 'Remark', 'Title');
      store.renameColumn('Note', 'Between', 'Remark');
    },
  },
  {
    title: 'a column is removed and another takes its name',
    apply: (store) => {
      store.dropColumn('Note', 'Remark');
      store.renameColumn('Note', 'Title', 'Remark');
    },
    stops: ['guard.columns'],
    lost: ['Remark'],
  },
  {
    title: 'a column changes its type',
    apply: (store) => store.changeColumn('Note', 'Count', { type: 'Text' }),
    stops: ['guard.columns'],
    lost: ['Count'],
  },
  {
    title: 'a column changes to a type of the same form',
    apply: (store) => store.changeColumn('Note', 'Title', { type: 'Phone' }),
  },
  { title: 'another column becomes the key', apply: (store) => store.changeKey('Note', 'Code') },
  { title: 'the table is renamed', apply: (store) => store.renameTable('Note', 'Memo') },
  { title: 'a table is added', apply: (store) => store.addTable({ ...STAYING, name: 'Fresh' }) },
  { title: 'another table is removed', apply: (store) => store.dropTable('Other'), lostTable: 'Other' },
  {
    title: 'the table is removed',
    apply: (store) => store.dropTable('Note'),
    stops: ['guard.pending'],
    mirrorStops: [],
    lostTable: 'Note',
  },
  {
    title: 'a column becomes Required',
    apply: (store) => store.changeColumn('Note', 'Title', { options: ['Required'] }),
  },
  {
    title: 'a column becomes Unique',
    apply: (store) => store.changeColumn('Note', 'Title', { options: ['Unique'] }),
  },
  { title: 'a column becomes narrower', apply: (store) => store.changeColumn('Note', 'Remark', { width: 12 }) },
  {
    title: 'a column becomes read-only',
    apply: (store) => store.changeColumn('Note', 'Title', { readOnly: true }),
    stops: ['guard.pending', 'push.shape'],
  },
  {
    title: 'the user may write nothing any more',
    apply: (store) => {
      store.setRole({ name: 'Reader', canWrite: false, hiddenTables: [], hiddenColumns: [] });
      store.changeUser({ role: 'Reader' });
    },
    stops: ['guard.pending', 'push.shape', 'guard.deletes'],
    mirrorStops: ['guard.deletes'],
  },
  {
    title: 'a role suddenly sees half the columns',
    apply: (store) => hide(store, store.user.role),
    stops: ['guard.schema', 'guard.columns', 'push.shape'],
    mirrorStops: ['guard.schema'],
  },
  {
    title: 'another role sees half the columns',
    apply: (store) => hide(store, 'Half'),
    stops: ['guard.schema', 'guard.columns', 'push.shape', 'guard.deletes'],
    mirrorStops: ['guard.schema', 'guard.deletes'],
  },
  {
    title: 'another role does not see the table',
    apply: (store) => hide(store, 'Blind', [], ['Note']),
    stops: ['guard.pending'],
    mirrorStops: [],
    lostTable: 'Note',
  },
  {
    title: 'the match column is removed',
    apply: (store) => store.dropColumn('Note', 'Code'),
    stops: ['config.invalid', 'guard.columns'],
    mirrorStops: [],
    lost: ['Code'],
  },
  {
    title: 'the match column stops being Unique',
    apply: (store) => store.changeColumn('Note', 'Code', { options: [] }),
    stops: ['config.invalid'],
  },
];
