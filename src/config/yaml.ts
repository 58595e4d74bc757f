/**
 * Text to values: YAML, which includes JSON. Input: the text of a file that a person wrote. Output: its values with their
 * places, or one error with every line that is wrong. Invariant: what stands in the file is never quoted (I16). Pure.
 */
import { LineCounter, parseDocument, type Document } from 'yaml';

import { RowsyncError } from '../base/errors.ts';

/** YAML aliases resolved; nested ones could otherwise expand a small file to gigabytes. */
const ALIASES_MAX = 100;

/** A file's values, and where each one stands. */
export interface ParsedFile {
  readonly document: Document;
  readonly lines: LineCounter;
  readonly values: unknown;
}

/** Reads YAML, which includes JSON. @throws RowsyncError `config.invalid` with every invalid line; never quotes the file. */
export function parseYaml(file: string, text: string): ParsedFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const faults = [...document.errors, ...document.warnings].map((fault) => ({
    line: lines.linePos(fault.pos[0]).line,
    // What follows the colon quotes the file, where a secret may have slipped in.
    complaint: fault.message.split(':')[0] ?? '',
  }));
  if (faults.length === 0) {
    try {
      return { document, lines, values: document.toJS({ maxAliasCount: ALIASES_MAX }) };
    } catch {
      // The parser leaves it to this step to resolve aliases, and says no more than that it failed.
      faults.push({ line: 1, complaint: 'an alias (*name) has no anchor (&name) before it, or there are too many' });
    }
  }
  // One fault makes the parser stumble over the rest of its line.
  const first = faults.filter(({ line }, index) => faults.findIndex((fault) => fault.line === line) === index);
  throw new RowsyncError('config', 'config.invalid', {
    message: [`${file} is not valid YAML:`, ...first.map((it) => `line ${it.line}: ${it.complaint}`)].join('\n  '),
    hint: 'Check the indentation and the quotes around these lines; a text with : or # or * or { in it needs quotes.',
  });
}
