/**
 * What became of the rows that the origin listed in a pull. Each is in exactly one column, so the columns add up. Pure.
 */
import { countText, plural } from '../../base/text.ts';

export interface PullAccount {
  /** Distinct rows on the pages. */
  readonly listed: number;
  /** Listed rows that are here and readable. */
  readonly here: number;
  /** Those that could not be read; their rows here are old, incomplete or missing. */
  readonly unreadable: number;
  /** Listed, and neither here nor unreadable: 0, or something is wrong. */
  readonly missing: number;
  /** Here but not listed, because a guard or an edit keeps them, or because they changed while the pages were read. */
  readonly kept: number;
  /** Here but not listed, without such a reason: 0, or something is wrong. */
  readonly strange: number;
}

/** The counts that an account is made from. */
export type ListedRows = Omit<PullAccount, 'missing'>;

export function pullAccount({ listed, here, unreadable, kept, strange }: ListedRows): PullAccount {
  return { listed, here, unreadable, missing: listed - unreadable - here, kept, strange };
}

/** Why an account does not add up, in words; null if it does. */
export function discrepancyOf({ listed, missing, strange }: PullAccount): string | null {
  const are = (count: number): string => (count === 1 ? 'is' : 'are');
  const all = `the ${countText(listed)} that the origin listed`;
  const parts: string[] = [];
  if (missing !== 0) parts.push(`${plural(missing, 'row')} of ${all} ${are(missing)} missing here`);
  if (strange !== 0) parts.push(`${plural(strange, 'row')} here ${are(strange)} not among ${all}`);
  return parts.length === 0 ? null : parts.join(', and ');
}

export function sumOfAccounts(accounts: readonly PullAccount[]): PullAccount {
  const sum = (column: keyof ListedRows): number => accounts.reduce((total, account) => total + account[column], 0);
  return pullAccount({
    listed: sum('listed'),
    here: sum('here'),
    unreadable: sum('unreadable'),
    kept: sum('kept'),
    strange: sum('strange'),
  });
}
