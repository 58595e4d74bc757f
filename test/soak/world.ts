/**
 * What a soak works on: the tables at the origin, the configuration of the daemon, and which tables are edited here.
 * One table for each way in which edits travel: by match value, by id, with a person who decides conflicts, with files;
 * and a wide mirror. Constants and pure functions; shared by the soak and by the kill loops.
 */
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import type { EditedTable } from '../support/edits.ts';
import { token, type FollowedTable } from '../support/ledger.ts';

const ROW_COUNT = 80;
const WIDE_COLUMNS = Array.from({ length: 20 }, (_, index) => `Text ${index}`);
const CREATED_MS = Date.UTC(2026, 0, 1);

/** Tables that are edited here. */
export const EDITED: readonly EditedTable[] = [
  { name: 'Thing', texts: ['A', 'B'], short: 'B', match: 'Code' },
  { name: 'Part', texts: ['A', 'B'] },
  { name: 'Question', texts: ['A', 'B'] },
  { name: 'Document', texts: ['A'], file: 'Photo' },
];

/** The same tables, as the ledger follows them. */
export const FOLLOWED: readonly FollowedTable[] = EDITED.map(({ name, texts, file }) => ({
  name,
  cells: [...texts, ...(file === undefined ? [] : [file])],
}));

/** The mirror. */
export const MIRROR = 'Archive';

/** The tables at the origin; the mirror has so many rows. */
export function soakTables(mirrorRowCount: number): readonly TableSpec[] {
  const text = (name: string): { name: string; type: string } => ({ name, type: 'Text' });
  const edited = EDITED.map(({ name, texts, short, match, file }, table): TableSpec => {
    const rows = Array.from({ length: ROW_COUNT }, (_, index) => {
      const serial = (table + 1) * 1_000_000 + index;
      const cells = texts.map((column, at) => [column, token('i', serial + (at + 1) * 10_000)] as const);
      const code = match === undefined ? [] : [[match, token('k', serial)] as const];
      return Object.fromEntries([['Tag', token('i', serial)] as const, ...cells, ...code]);
    });
    return {
      name,
      createdFromMs: CREATED_MS,
      columns: [
        text('Tag'),
        ...texts.map((column) => (column === short ? { ...text(column), width: 60 } : text(column))),
        ...(match === undefined ? [] : [{ ...text(match), options: ['Unique'] }]),
        ...(file === undefined ? [] : [{ name: file, type: 'Attachment' }]),
        { name: 'Echo', type: 'Text' },
      ],
      // The origin rewrites a column whenever the API writes a row.
      rules: [{ when: 'write', set: 'Echo', to: 'Upper([A])' }],
      rows,
    };
  });
  return [...edited, mirrorTable(mirrorRowCount)];
}

function mirrorTable(rowCount: number): TableSpec {
  const filler = 'lorem ipsum dolor sit amet '.repeat(6);
  return {
    name: MIRROR,
    createdFromMs: CREATED_MS,
    columns: [{ name: 'Tag', type: 'Text' }, ...WIDE_COLUMNS.map((name) => ({ name, type: 'Multiline' }))],
    rows: Array.from({ length: rowCount }, (_, index) =>
      Object.fromEntries([
        ['Tag', token('i', index)],
        ...WIDE_COLUMNS.map((name) => [name, `${name} ${index} ${filler}`] as const),
      ]),
    ),
  };
}

/** The configuration of the daemon; `more` stands behind. */
export function soakConfig(
  origin: { readonly url: string; readonly database: string },
  more: string,
  { history = false } = {},
): string {
  const kept = `history: ${history}`;
  return `origin: { url: "${origin.url}", database: "${origin.database}", tokenFile: token }
replica: { path: replica.db }
tables:
  "*": { ${kept} }
  Thing: { push: true, match: Code, ${kept} }
  Part: { push: true, conflict: local, ${kept} }
  Question: { push: true, conflict: ask, ${kept} }
  Document: { push: true, ${kept} }
${more}`;
}
