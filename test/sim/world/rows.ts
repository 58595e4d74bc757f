/**
 * Worlds in which only some rows come here. The filter looks at how the value in A ends, so every edit of that column,
 * on either side, may take a row out of it or into it. From the second engine on, the configuration may have another
 * filter. Takes the tape `rows`, of some seeds only, so that all other worlds stay as they are; produces filters, as
 * the configuration says them and as a question about rows. Pure.
 */
import type { LocalRow } from './books.ts';
import type { Setup } from './setup.ts';
import type { Tapes } from './tape.ts';

/** Which rows come here. */
export interface RowsFilter {
  readonly text: string;
  readonly selects: (row: LocalRow) => boolean;
}

/** Those of the first engine, and of every later one; null for all rows. */
export type RowsSetup = readonly [first: RowsFilter | null, later: RowsFilter | null];

function withoutEnds(digits: string): RowsFilter {
  const ends = digits.split('').map((digit) => `Ends([A], "${digit}")`);
  return {
    text: `not (${ends.join(' or ')})`,
    selects: ({ cells: { A = null } }) => A === null || !digits.includes(String(A).slice(-1)),
  };
}

const FIRST = withoutEnds('015');
const OTHER = withoutEnds('147');

/** Whose seeds have such worlds: none that is named anywhere as one that finds something. */
const isOne = (seed: number): boolean => seed % 9 === 4;

/** Draws the filters of a world, and whether administrators work on its columns; null where all rows come. */
export function drawRows(tapes: Tapes): { readonly rows: RowsSetup; readonly hasAdmin: boolean } | null {
  const draw = tapes.of('rows').draw();
  if (draw.isCalm || !isOne(tapes.seed)) return null;
  const rows = draw.weighted<RowsSetup>([
    [3, [FIRST, FIRST]],
    [1, [null, FIRST]],
    [1, [FIRST, null]],
    [1, [FIRST, OTHER]],
  ]);
  return { rows, hasAdmin: draw.chance(0.4) };
}

/** A setup with filters, in which the calling user sees all columns. */
export function withRows(setup: Setup, { rows, hasAdmin }: NonNullable<ReturnType<typeof drawRows>>): Setup {
  const isAway = (actor: string): boolean => (actor === 'admin' && !hasAdmin) || actor === 'hider';
  const actors = setup.actors.map(([weight, actor]) => [isAway(actor) ? 0 : weight, actor] as const);
  const isAdminAway = actors.every(([weight, actor]) => actor !== 'admin' || weight === 0);
  return { ...setup, rows, actors, hideWeight: 0, isAdminAway };
}

/** Which rows come to an engine; they are counted from 1. */
export function rowsOfLife({ rows }: Setup, life: number): RowsFilter | null {
  return rows?.[life === 1 ? 0 : 1] ?? null;
}
