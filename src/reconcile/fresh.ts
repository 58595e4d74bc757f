/**
 * How old tables are here, and which are older than a question allows. A table is as of the time when it was last read to the end: every change that
 * the origin had stamped by then is here. Pure.
 */
import { durationText } from '../base/text.ts';

/** A table, and since when it is known to be as it is here. */
export interface AgedTable {
  readonly id: number;
  /** Its name at the origin, and here. */
  readonly name: string;
  readonly localName: string;
  /** Null where what is here was not proven: it was never read whole, rows cannot be read, or something of it waits for a person. */
  readonly asOf: string | null;
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** How people write the bound of a question. */
export const AGE_FORMS = 'a number with s, m, h or d, such as 30s or 10m';

/** The milliseconds of a bound such as `10m`; null where it is none. A second is the least, since times are kept to the second. */
export function ageMsOf(text: string): number | null {
  const [, count = '', unit = ''] = /^([1-9]\d{0,5})\s?([smhd])$/.exec(text.trim()) ?? [];
  const ms = UNIT_MS[unit];
  return ms === undefined ? null : Number(count) * ms;
}

/** Tables that are older than a bound, or whose age is unknown, as after this machine's clock was set back. */
export function staleAmong<T extends AgedTable>(
  tables: readonly T[],
  { askedMs, withinMs }: { readonly askedMs: number; readonly withinMs: number },
): readonly T[] {
  return tables.filter(({ asOf }) => {
    const ageMs = asOf === null ? Infinity : askedMs - Date.parse(asOf);
    return ageMs > withinMs || ageMs < -withinMs;
  });
}

/** The oldest time among tables; null for no table. */
export function oldestOf(tables: readonly AgedTable[]): string | null {
  return tables.flatMap(({ asOf }) => asOf ?? []).toSorted()[0] ?? null;
}

/** Which table is how old, for people. */
export function agesText(tables: readonly AgedTable[], nowMs: number): string {
  const age = ({ asOf }: AgedTable): string =>
    asOf === null ? 'not proven' : `${durationText(Math.max(0, nowMs - Date.parse(asOf)))} old`;
  return tables.map((table) => `${table.localName} is ${age(table)}`).join(', ');
}
