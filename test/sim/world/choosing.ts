/**
 * Worlds whose configuration leaves columns out and masks one. The table has three more columns: one that is always
 * left out, one that is left out from the second engine on in some worlds, and a masked one, whose mask is another one
 * from then on. Colleagues write texts into them that stand nowhere else, so that each is known wherever it turns up.
 * Administrators rename the column that is always left out and the masked one, and drop the former: it stays left out,
 * and the other one masked, whatever they are called. Takes the setup; produces columns, cells, the choice, and what is
 * wrong in the end.
 */
import { createHmac } from 'node:crypto';
import type { ColumnChoice } from '../../../src/reconcile/column-selection.ts';
import type { OriginModel } from '../model/origin.ts';
import type { Complaint } from '../oracles/verdict.ts';
import type { Tokens } from './books.ts';
import type { Image } from './disk.ts';
import type { Names } from './names.ts';
import type { Setup } from './setup.ts';

/** always: the choice stays as it is · later: it changes with the second engine. */
export type Choosing = 'always' | 'later';

/** The key of masks in every world. */
export const MASK_KEY = 'the key of masks of this world';

/** The columns, in the table of a world that chooses. */
export function chosenColumns(choosing: Choosing | null): readonly { readonly name: string; readonly type: 'Text' }[] {
  return choosing === null ? [] : ['Out', 'Late', 'Masked'].map((name) => ({ name, type: 'Text' }));
}

/**
 * The columns that administrators rename. The replica keeps apart what it knows by the id, so only one that was read
 * before may be.
 */
export const RENAMED_CHOSEN = ['Out', 'Masked'] as const;

/** One of them. */
export type ChosenColumn = (typeof RENAMED_CHOSEN)[number];

/** New texts for these columns, by the names that the world begins with. */
export function chosenCells(choosing: Choosing | null, tokens: Tokens): Readonly<Record<string, string>> {
  if (choosing === null) return {};
  return { Out: tokens.next('z'), Late: tokens.next('y'), Masked: tokens.next('m') };
}

/** Cells of a row by the names of now; those of columns that are gone are left out. */
export function cellsUnderNamesNow(
  cells: Readonly<Record<string, string>>,
  names: Names,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(cells).flatMap(([first, value]) => {
      const name = names.nameNow(first);
      return name === null ? [] : [[name, value] as const];
    }),
  );
}

/** What the configuration of an engine says of columns; they are counted from 1. */
export function choiceOf(choosing: Choosing | null, life: number, match: string | null): ColumnChoice | null {
  if (choosing === null) return null;
  const isLater = choosing === 'later' && life > 1;
  return {
    include: null,
    exclude: isLater ? ['Out', 'Late'] : ['Out'],
    masks: [
      isLater ? { pattern: 'Masked', kind: 'constant', constant: 'masked' } : { pattern: 'Masked', kind: 'hash' },
    ],
    isOfOneTable: true,
    match,
    sort: null,
  };
}

/** What is wrong with a request: it asks for what is left out, but to learn once which columns may be written. */
export function wronglyAsked(
  { choosing = null, isLetter = false }: Pick<Setup, 'choosing' | 'isLetter'>,
  path: string,
): string | null {
  if (choosing === null) return null;
  const { searchParams } = new URL(path, 'https://origin.example');
  const asked = searchParams.getAll('column');
  if (isLetter && asked.join() === '*' && searchParams.get('top') === '1') return null;
  // Every name that the column ever has begins so, and no other column's does.
  const wrong = asked.find((name) => name.startsWith('Out') || name === '*');
  return wrong === undefined ? null : `a request asks for the column ${wrong}`;
}

/** What there is to see in the end. */
export interface ChosenSides {
  readonly setup: Pick<Setup, 'choosing'>;
  /** The number of the engine that lives now. */
  readonly life: number;
  readonly tokens: Tokens;
  readonly names: Names;
  readonly origin: OriginModel;
  readonly image: Image;
  readonly user: { query(statement: string): readonly (readonly unknown[])[] };
}

/** What is left out stands nowhere in the file, and what is masked is what the mask makes of it. */
export function judgeChosen(sides: ChosenSides, waiting: ReadonlySet<number>): readonly Complaint[] {
  const { life, names, origin, image, user } = sides;
  const choosing = sides.setup.choosing ?? null;
  if (choosing === null) return [];
  const query = (statement: string): readonly (readonly unknown[])[] => user.query(statement);
  const isLater = choosing === 'later' && life > 1;
  const bytes = [image.main, ...(image.log === null ? [] : [image.log])].map((part) => Buffer.from(part));
  const texts = isLater ? textsOf(query) : [];
  const leaks = [
    ...bytes.flatMap((part) => tokensIn(part.toString('latin1'), 'z', sides)),
    ...(choosing === 'always' ? bytes.flatMap((part) => tokensIn(part.toString('latin1'), 'm', sides)) : []),
    ...texts.flatMap((text) => tokensIn(text, 'ym', sides)),
  ].map((token) => ({ oracle: 'choice', what: `${token} stands in the replica` }));
  const [name] = query(
    `SELECT local_name FROM _rowsync_columns
     WHERE table_id = ${names.tableId} AND id = ${names.firstIdOf('Masked')} AND state = 'live' AND mask IS NOT NULL`,
  );
  const atOrigin = names.nameNow('Masked');
  if (name === undefined || atOrigin === null)
    return [...leaks, { oracle: 'choice', what: 'the masked column is not there, or not masked' }];
  const [table] = query(`SELECT local_name FROM _rowsync_tables WHERE id = ${names.tableId}`);
  const here = new Map(
    query(
      `SELECT _id, "${String(name[0]).replaceAll('"', '""')}" FROM "${String(table?.[0]).replaceAll('"', '""')}"`,
    ).map(([id, value]) => [Number(id), value]),
  );
  const wrong = origin.rows(names.table).flatMap(({ id, values }) => {
    const there = values[atOrigin] ?? null;
    const expected = there === null ? null : isLater ? 'masked' : hashOf(String(there));
    if (!here.has(id) || waiting.has(id) || here.get(id) === expected) return [];
    return [{ oracle: 'choice', what: `row ${id} has ${String(here.get(id))} in the masked column` }];
  });
  return [...leaks, ...wrong];
}

function hashOf(text: string): string {
  return createHmac('sha256', MASK_KEY).update(text).digest('hex').slice(0, 32);
}

/** Texts with one of these letters that were given out. */
function tokensIn(text: string, letters: string, { tokens }: Pick<ChosenSides, 'tokens'>): readonly string[] {
  return (text.match(new RegExp(`(?<![0-9A-Za-z])[${letters}]\\d{4,}`, 'g')) ?? []).filter((token) =>
    tokens.isGiven(token),
  );
}

/** Every text that stands in a table of ours: bytes that nothing refers to are not read, nor copies that users made. */
function textsOf(query: ChosenSides['user']['query']): readonly string[] {
  const tables = query(
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB '_rowsync_*' UNION SELECT local_name FROM _rowsync_tables`,
  );
  return tables.map(([name]) => {
    const rows = query(`SELECT * FROM "${String(name).replaceAll('"', '""')}"`);
    return rows
      .map((row) =>
        row
          .map((cell) => (cell instanceof Uint8Array ? Buffer.from(cell).toString('latin1') : String(cell)))
          .join('\n'),
      )
      .join('\n');
  });
}
