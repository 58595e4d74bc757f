/**
 * An error in words, as every command prints it. Pure.
 */
import type { RowsyncError } from '../../base/errors.ts';
import { printable, printableLines } from '../../base/text.ts';

/** The message of an error for people: one line, with any names in it; only problems of the configuration or command line are a list. */
export function messageText({ kind, message }: RowsyncError): string {
  return kind === 'config' || kind === 'usage' ? printableLines(message) : printable(message);
}
