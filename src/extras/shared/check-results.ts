/**
 * Makes the outcomes of checks.
 */
import type { RowsyncError } from '../../base/errors.ts';
import { someOf } from '../../base/text.ts';
import type { CheckResult } from '../../cli/runtime/check-result.ts';

export function ok(name: string, message: string): CheckResult {
  return { name, outcome: 'ok', message, hint: '' };
}

/** It works, but someone should look at it. */
export function warn(name: string, message: string, hint: string): CheckResult {
  return { name, outcome: 'warn', message, hint };
}

export function fail(name: string, message: string, hint: string): CheckResult {
  return { name, outcome: 'fail', message, hint };
}

/** What is to be said of some of many; nothing without any. */
export function ofSome(names: readonly string[], say: (names: string) => CheckResult): readonly CheckResult[] {
  return names.length === 0 ? [] : [say(someOf(names))];
}

/** It does not work, as an error says. */
export function failed(name: string, { message, hint }: RowsyncError): CheckResult {
  return fail(name, message, hint);
}
