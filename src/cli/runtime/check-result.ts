/**
 * The outcome of one check in one form: what was found in one line, and what to do where something is to be done.
 */
export interface CheckResult {
  readonly name: string;
  /** note: nothing is wrong, and it is worth knowing. */
  readonly outcome: 'ok' | 'note' | 'warn' | 'fail';
  readonly message: string;
  /** What to do; empty where all is well. */
  readonly hint: string;
}
