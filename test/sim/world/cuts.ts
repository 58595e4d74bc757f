/**
 * Worlds in which colleagues leave half of an emoji in cells, as a service does that cuts texts between UTF-16 code
 * units. Such a row cannot be read until a colleague corrects it. Takes a tape of its own, so that all other worlds
 * stay as they are; produces how often it happens.
 */
import type { User } from '../actors/user.ts';
import type { Names } from './names.ts';
import type { Setup } from './setup.ts';
import type { Tapes } from './tape.ts';

/** Whose seeds have such worlds: none that is named anywhere as one that finds something. */
const isOne = (seed: number): boolean => seed % 9 === 7;

/** How often a colleague cuts a text, beside what else happens; 0 for never. */
export function drawCutWeight(tapes: Tapes): number {
  const draw = tapes.of('cuts').draw();
  return draw.isCalm || !isOne(tapes.seed) ? 0 : draw.pick([1, 3]);
}

/** Whether a text ends in half of an emoji. */
export function isCut(value: unknown): boolean {
  return typeof value === 'string' && !value.isWellFormed();
}

/**
 * After a pull during which the origin stood still: rows that cannot be read, and of which the replica says nothing.
 */
export function silences(parts: {
  readonly user: User;
  readonly names: Names;
  readonly setup: Setup;
}): readonly string[] {
  const { user, names, setup } = parts;
  if (!setup.isAdminAway || setup.hideWeight > 0) return [];
  const cut = names.rowsSelected().filter(({ cells }) => isCut(cells['A']) || isCut(cells['B']));
  if (cut.length === 0) return [];
  const listed = new Set(user.query(`SELECT row_id FROM sync_failures WHERE kind = 'read'`).map(([id]) => Number(id)));
  const claims = user.query(
    `SELECT fresh_since FROM _rowsync_tables t JOIN sync_status s ON s."table" = t.local_name
     WHERE t.id = ${names.tableId} AND fresh_since IS NOT NULL`,
  );
  return [
    ...cut.flatMap(({ id }) =>
      listed.has(id) ? [] : [`row ${id} cannot be read, and sync_failures does not list it`],
    ),
    ...claims.map(([since]) => `fresh_since says ${String(since)}, and row ${cut[0]?.id} cannot be read`),
  ];
}
