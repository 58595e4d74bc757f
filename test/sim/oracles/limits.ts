/**
 * What the account need not name, each with the words of docs/limits.md that say so (test/sim/oracles/limits.test.ts).
 * There is no other exception from the oracle of silence.
 */

/** A difference between both sides, or an edit, that the account does not name. */
export interface Unnamed {
  /**
   * row: here it is not what the origin had · edit: it was to be pushed, and was not · lost: an edit that is nowhere
   * any more · error: what went wrong.
   */
  readonly kind: 'row' | 'edit' | 'lost' | 'error';
  readonly rowId: number;
}

/** What else happened. */
export interface Circumstances {
  /** Rows that following cannot see before the next sweep. */
  readonly unseen: ReadonlySet<number>;
  /** Whether the calling user may not see every row or column. */
  readonly isNarrowed: boolean;
  /** Whether an answer of this cycle was wrong and looked right. */
  readonly hasLied: boolean;
  /** Rows that were sent, and that no pull has asked for since. */
  readonly sent: ReadonlySet<number>;
  /** Whether a backup of the origin came back in this cycle. */
  readonly wasRestored: boolean;
  /** Whether triggers of the mirror were dropped, or others write into it. */
  readonly isOpenMirror: boolean;
  /** Whether there was no space on the disk. */
  readonly isDiskFull: boolean;
  /** Whether a clock was set in this cycle. */
  readonly wasClockSet: boolean;
}

/** A limit that the documentation states. */
export interface Limit {
  /** A part of docs/limits.md. */
  readonly words: string;
  readonly excuses: (unnamed: Unnamed, around: Circumstances) => boolean;
}

/** Every exception. */
export const LIMITS: readonly Limit[] = [
  {
    words: 'Between pulls, it brings rows whose Date Modified moved, and notices deletes by the number of rows.',
    excuses: ({ kind, rowId }, { unseen }) => kind === 'row' && unseen.has(rowId),
  },
  {
    words: 'Rows and columns that a role hides are missing without a trace.',
    excuses: ({ kind }, { isNarrowed }) => kind === 'row' && isNarrowed,
  },
  {
    words: 'rowsync trusts the last answer.',
    excuses: ({ kind, rowId }, { hasLied, sent }) => kind === 'row' && (hasLied || sent.has(rowId)),
  },
  {
    words: '**An origin that was restored from a backup**',
    excuses: ({ kind }, { wasRestored }) => kind !== 'edit' && wasRestored,
  },
  {
    words: 'rowsync finds the edits only by comparing.',
    excuses: (_unnamed, { isOpenMirror }) => isOpenMirror,
  },
  {
    words: 'are in `rowsync status` for seven days, by the clock of this machine.',
    excuses: ({ kind }, { wasClockSet }) => kind === 'lost' && wasClockSet,
  },
  {
    words: 'A replica on a disk without space cannot remember that a run failed.',
    excuses: (_unnamed, { isDiskFull }) => isDiskFull,
  },
];

/** Whether a documented limit says that nobody is told. */
export function isDocumented(unnamed: Unnamed, around: Circumstances): boolean {
  return LIMITS.some(({ excuses }) => excuses(unnamed, around));
}
