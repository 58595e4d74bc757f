/**
 * A replica as the first release, 0.1.0, left it (`test/fixtures/replica/version-5.sql`), and the origin that belongs
 * to it. The release was run against these tables and stopped amid a push.
 *
 *    Note (two-way, match Code, conflict ask)   row 3 in conflict; 4 edited; 5 deleted here; 6 refused; a new row n3;
 *                                               new rows n1 and n2 in a batch without an answer, n2 edited since; files
 *                                               in rows 1 and 2
 *    Task (two-way, no match)                   row 2 in a batch without an answer; 3 edited; a new row
 *    Person (a mirror)                          row 4 deleted at the origin
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import type { PullSettings } from '../../src/pull/context.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { fileOf } from './files.ts';
import type { TestSandbox } from './sandbox.ts';

const FIXTURE = new URL('../fixtures/replica/version-5.sql', import.meta.url);
/** The version of the bookkeeping that 0.1.0 wrote. */
export const RELEASED_VERSION = 5;

/**
 * Writes the replica, and the count beside it that tells copies; addresses are those of the sandbox at `url`, and
 * content is in the folder `store`.
 */
export function makeReleased(path: string, { url = 'http://127.0.0.1:8080', store = '/srv/rowsync/files' } = {}): void {
  const text = readFileSync(FIXTURE, 'utf8');
  const db = new Database(path);
  db.exec(text.replaceAll('http://127.0.0.1:8080', url).replaceAll('/srv/rowsync/files', store));
  db.close();
  writeFileSync(`${path}.sent`, 'b8e299368764a3e3 1\n');
}

const FILES = [fileOf('one.txt', 'the first file', 'text/plain'), fileOf('two.bin', 40)] as const;

/** Writes the content that the replica has. */
export function makeReleasedContent(path: string, store: string): void {
  const db = new Database(path, { readonly: true });
  const places = db.prepare('SELECT name, path FROM sync_files').all() as { name: string; path: string }[];
  db.close();
  for (const { name, path: place } of places) {
    mkdirSync(dirname(join(store, place.slice(store.length))), { recursive: true });
    writeFileSync(place, FILES.find((file) => file.name === name)?.bytes ?? '');
  }
}

function rowsOf(
  count: number,
  cells: (number: number) => Readonly<Record<string, string | number>>,
): TableSpec['rows'] {
  return Array.from({ length: count }, (_, index) => cells(index + 1));
}

const createdFromMs = Date.UTC(2026, 0, 1);

/** The tables that were pulled first. */
export const RELEASED_TABLES: readonly TableSpec[] = [
  {
    name: 'Note',
    createdFromMs,
    columns: [
      { name: 'Title', type: 'Text', width: 20, options: ['Required'] },
      { name: 'Code', type: 'Text', options: ['Unique'] },
      { name: 'Body', type: 'Multiline' },
      { name: 'Count', type: 'Numeric' },
      { name: 'Photo', type: 'Attachment' },
    ],
    rows: rowsOf(9, (number) => ({ Title: `title ${number}`, Code: `c${number}`, Count: number })),
  },
  {
    name: 'Task',
    createdFromMs,
    columns: [
      { name: 'Name', type: 'Text' },
      { name: 'Due', type: 'Date' },
    ],
    rows: rowsOf(6, (number) => ({ Name: `task ${number}`, Due: '2026-11-21' })),
  },
  {
    name: 'Person',
    createdFromMs,
    columns: [{ name: 'Name', type: 'Text' }],
    rows: rowsOf(4, (number) => ({ Name: `person ${number}` })),
  },
];

/**
 * What colleagues did by the time the replica was left. Of what was sent without an answer, the update of Task 2 and
 * the new row n1 had arrived.
 */
export function changeAsReleased({ store }: Pick<TestSandbox, 'store'>): void {
  FILES.forEach((file, index) => store.update('Note', index + 1, { Photo: file }));
  store.delete('Person', 4);
  store.update('Note', 3, { Title: 'theirs 3' });
  store.update('Note', 7, { Code: 'taken' });
  store.update('Task', 2, { Name: 'sent 2' });
  store.insert('Note', { Title: 'sent and arrived', Code: 'n1' });
}

/** The configuration of the release. */
export const RELEASED_SETTINGS: Pick<PullSettings, 'tableOptions'> = {
  tableOptions: (name) =>
    name === 'Person'
      ? { sort: null }
      : { sort: null, editing: { match: name === 'Note' ? 'Code' : null, conflict: 'ask', workflow: 'run' } },
};
