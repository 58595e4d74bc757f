/**
 * What became of the rows that the origin listed in a pull. Each is in exactly one column, and the columns add up to what was listed. Pure.
 */
import { countText, plural } from '../../base/text.ts';

export interface PullAccount {
  /** Rows on the pages, each once. */
  readonly listed: number;
  /** Those of them that are here and can be read. */
  readonly here: number;
  /** Those that could not be read; their rows here are old, incomplete or missing. */
  readonly unreadable: number;
  /** Listed, and neither here nor unreadable: 0, or something is wrong. */
  readonly missing: number;
  /** Here and not listed, since a guard or an edit keeps them, or since they came or went while the pages were read. */
  readonly kept: number;
  /** Here and not listed without such a reason: 0, or something is wrong. */
  readonly strange: number;
}

/** What is counted of it. */
export type ListedRows = Omit<PullAccount, 'missing'>;

export function pullAccount({ listed, here, unreadable, kept, strange }: ListedRows): PullAccount {
  return { listed, here, unreadable, missing: listed - unreadable - here, kept, strange };
}

/** Why an account does not add up, in words; null where it does. */
export function discrepancyOf({ listed, missing, strange }: PullAccount): string | null {
  const are = (count: number): string => (count === 1 ? 'is' : 'are');
  const parts = [
    ...(missing === 0
      ? []
      : [`${plural(missing, 'row')} of the ${countText(listed)} that the origin listed ${are(missing)} missing here`]),
    ...(strange === 0
      ? []
      : [`${plural(strange, 'row')} here ${are(strange)} not among the ${countText(listed)} that the origin listed`]),
  ];
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
