/**
 * An error in words and as JSON, as every command prints it. Pure.
 */
import type { RowsyncError } from '../../base/errors.ts';
import { printable, printableLines } from '../../base/text.ts';

/** The message of an error for people: one line, with any names in it; only problems of the configuration or command line are a list. */
export function messageText({ kind, message }: RowsyncError): string {
  return kind === 'config' || kind === 'usage' ? printableLines(message) : printable(message);
}

/** An error as it is in JSON output. */
export function errorJson(error: RowsyncError): Readonly<Record<'code' | 'kind' | 'message' | 'hint', string>> {
  return { code: error.code, kind: error.kind, message: error.message, hint: error.hint };
}
