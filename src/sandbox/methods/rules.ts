/**
 * Rules of a whole sandbox, chosen at its start: who may sign in and how, and whether it keeps to the letter of the
 * specification. Types and constants only.
 */

/** The three modes of the REST API in the setup of a database (origin facts 1.10); the first one is the default. */
export const LOGIN_MODES = ['tokens and users', 'tokens', 'disabled'] as const;

/** Who may sign in: with tokens and as users, with tokens alone, or nobody. */
export type LoginMode = (typeof LOGIN_MODES)[number];

/** The decisions. */
export interface ServerRules {
  readonly login: LoginMode;
  /** Whether Updated, Deleted and Select on a view are served, which are in no specification. */
  readonly extensions: boolean;
  /** Whether XML answers escape a colon in the name of a column, which XML 1.0 allows in names. */
  readonly escapesColons: boolean;
  /** Whether only columns with a bounded text have a width; else every column has one. */
  readonly widthsOfTextOnly: boolean;
  /** Whether dates and timestamps may also be Unix seconds or have slashes, as some texts about the service show. */
  readonly lenientDates: boolean;
  /** `name=value` of the one session cookie; it means the sandbox's own user. */
  readonly session: string;
}
