/**
 * The age of tables, which of them are too old for a question, and whether all are as they were at one moment. The age
 * of a table counts from its last complete read: every change that the origin had stamped before that is here. Pure.
 */
import { durationText } from '../../base/text.ts';

/** A table, and since when it is known to be as it is here. */
export interface AgedTable {
  readonly id: number;
  /** Its name at the origin, and here. */
  readonly name: string;
  readonly localName: string;
  /** Null if not proven: never read whole, with unreadable rows, or waiting for a person. */
  readonly asOf: string | null;
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** How people write the bound of a question. */
export const AGE_FORMS = 'a number with s, m, h or d, such as 30s or 10m';

/** The milliseconds of a bound such as `10m`, at least a second; null for another text. */
export function ageMsOf(text: string): number | null {
  const [, count = '', unit = ''] = /^([1-9]\d{0,5})\s?([smhd])$/.exec(text.trim()) ?? [];
  const ms = UNIT_MS[unit];
  return ms === undefined ? null : Number(count) * ms;
}

/** How long a question waits for its tables to be read, at most: they are younger than the question then. */
const READING_MS_MAX = 60_000;

/** Tables that are older than a bound, or whose age is unknown, as after this machine's clock was set back. */
export function staleAmong<T extends AgedTable>(
  tables: readonly T[],
  { askedMs, withinMs }: { readonly askedMs: number; readonly withinMs: number },
): readonly T[] {
  return tables.filter(({ asOf }) => {
    const ageMs = asOf === null ? Infinity : askedMs - Date.parse(asOf);
    return ageMs > withinMs || ageMs < -Math.max(withinMs, READING_MS_MAX);
  });
}

/** The oldest time among tables; null for no table. */
export function oldestOf(tables: readonly AgedTable[]): string | null {
  return tables.flatMap(({ asOf }) => asOf ?? []).toSorted()[0] ?? null;
}

export function agesText(tables: readonly AgedTable[], nowMs: number): string {
  const age = ({ asOf }: AgedTable): string =>
    asOf === null ? 'not proven' : `${durationText(Math.max(0, nowMs - Date.parse(asOf)))} old`;
  return tables.map((table) => `${table.localName} is ${age(table)}`).join(', ');
}

/** What asking every table again found, which began when the reads before it had ended. */
export interface AskingAgain {
  /** How often that was done, from 1 on. */
  readonly round: number;
  /** Tables that have to be the same. */
  readonly tables: readonly string[];
  /** What was found of each; `changeCount` is how many rows were other than here. */
  readonly found: readonly { readonly table: string; readonly changeCount: number; readonly failure: string | null }[];
}

/** Whether all tables are of one moment. After `failed` asking again is useless; `moved` changed in every round. */
export type MomentJudgement =
  | { readonly kind: 'moment' }
  | { readonly kind: 'askAgain' }
  | { readonly kind: 'moved'; readonly tables: readonly string[] }
  | { readonly kind: 'failed'; readonly tables: readonly string[]; readonly why: string };

/** How often every table is asked again before it is given up. */
const ASKING_ROUNDS_MAX = 5;

/**
 * Judges what asking again found. Where nothing moved in any table, each was unchanged from its read to its check.
 * Every read had ended when the asking began, and every check lies behind that: then all tables held what is here.
 */
export function judgeMoment({ round, tables, found }: AskingAgain): MomentJudgement {
  const findings = tables.map(
    (table) => found.find((one) => one.table === table) ?? { table, changeCount: 0, failure: 'it was not asked' },
  );
  const failed = findings.filter(({ failure }) => failure !== null);
  if (failed.length > 0)
    return { kind: 'failed', tables: failed.map(({ table }) => table), why: failed[0]?.failure ?? '' };
  const moved = findings.filter(({ changeCount }) => changeCount > 0).map(({ table }) => table);
  if (moved.length === 0) return { kind: 'moment' };
  return round < ASKING_ROUNDS_MAX ? { kind: 'askAgain' } : { kind: 'moved', tables: moved };
}
