/**
 * The outcome of one check in one form: what was found in one line, and what to do where something is to be done.
 */
export interface CheckResult {
  readonly name: string;
  readonly outcome: 'ok' | 'warn' | 'fail';
  readonly message: string;
  /** What to do; empty where all is well. */
  readonly hint: string;
}
