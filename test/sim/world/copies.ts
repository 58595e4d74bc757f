/**
 * What a copy of the replica has as new, and whether the copy can still be put back. A row without an id of the origin
 * is found there by its match value alone. Once it has another one there, or another row has that value, nothing that a
 * client could look at tells which row it is. Put back, it would be there a second time, or continue in the other row.
 * Takes the copy, and the rows of the origin; produces a verdict. Pure but for queries.
 */
import type { LocalRow } from './books.ts';
import type { User } from '../actors/user.ts';

/** What a copy wants to create, as far as it has a code. */
export interface NewInCopy {
  readonly rows: readonly LocalRow[];
  /**
   * What stands in the batches of the copy, as one text: a row that was sent is looked for by the code that was sent.
   */
  readonly sent: string;
}

/** What stands in the replica as new now. */
export function newIn(user: User): NewInCopy {
  return {
    rows: user.rows().filter(({ id, cells }) => id < 0 && cells['Code'] !== null),
    sent: user.query('SELECT rows FROM _rowsync_batches').join(),
  };
}

/**
 * The tag of a row of a copy that the origin has under another code by now, or whose code another row has there; null
 * without one.
 */
export function findUnrecognisable({ rows, sent }: NewInCopy, origin: readonly LocalRow[]): string | null {
  const isStranger = ({ tag, cells }: LocalRow, there: LocalRow): boolean => {
    const code = there.cells['Code'] ?? null;
    const isKnownBy = code === cells['Code'] || (code !== null && sent.includes(JSON.stringify(code)));
    return there.tag === tag ? !isKnownBy : code === cells['Code'];
  };
  return rows.find((row) => origin.some((there) => isStranger(row, there)))?.tag ?? null;
}

/**
 * Whether a row that is kept as a whole, and that an older copy would have a person bring back, stands at the origin
 * under another id and another code. It was brought back before, and got that one since. By its code alone it would be
 * found there; brought back once more, it would be there a second time.
 */
export function isUnderOtherCode(kept: LocalRow, origin: readonly LocalRow[]): boolean {
  const code = kept.cells['Code'] ?? null;
  return origin.some(
    ({ id, tag, cells }) => code !== null && tag === kept.tag && id !== kept.id && cells['Code'] !== code,
  );
}
