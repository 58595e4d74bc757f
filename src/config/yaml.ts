/**
 * Reads YAML, which includes JSON, that a person wrote. Errors never quote the file, since a secret may be in it (I16).
 * Keys are the texts that are in the file, in NFC: a table may be called `1.0`, and `é` has two spellings.
 */
import { isScalar, LineCounter, parseDocument, visit, type Document } from 'yaml';

import { RowsyncError } from '../base/errors.ts';

/** YAML aliases resolved; nested ones could otherwise expand a small file to gigabytes. */
const ALIASES_MAX = 100;

/** A file's values, and where each one is. */
export interface ParsedFile {
  readonly document: Document;
  readonly lines: LineCounter;
  readonly values: unknown;
}

/** @throws RowsyncError `config.invalid` with every invalid line. */
export function parseYaml(file: string, text: string): ParsedFile {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: (one, other) => keyText(one) !== null && keyText(one) === keyText(other),
  });
  visit(document, {
    Pair: (_, { key }) => {
      if (isScalar(key)) key.value = keyText(key);
    },
  });
  const faults = [...document.errors, ...document.warnings].map((fault) => ({
    line: lines.linePos(fault.pos[0]).line,
    // What follows the colon quotes the file, where a secret may have slipped in.
    complaint: fault.message.split(':')[0] ?? '',
  }));
  if (faults.length === 0) {
    try {
      const values: unknown = document.toJS({ maxAliasCount: ALIASES_MAX });
      JSON.stringify(values); // finds what contains itself
      return { document, lines, values };
    } catch (thrown) {
      // The parser leaves it to this step to resolve aliases, and says no more than that it failed.
      const complaint =
        thrown instanceof TypeError
          ? 'an alias (*name) is inside of what its anchor (&name) names'
          : 'an alias (*name) has no anchor (&name) before it, or there are too many';
      faults.push({ line: 1, complaint });
    }
  }
  // One fault makes the parser stumble over the rest of its line.
  const first = faults.filter(({ line }, index) => faults.findIndex((fault) => fault.line === line) === index);
  throw new RowsyncError('config', 'config.invalid', {
    message: [`${file} is not valid YAML:`, ...first.map((it) => `line ${it.line}: ${it.complaint}`)].join('\n  '),
    hint: 'Check the indentation and the quotes around these lines; a text with : or # or * or { in it needs quotes.',
  });
}

/** A key as it is in the file; null for a key that is a list or a mapping. */
function keyText(key: unknown): string | null {
  if (!isScalar(key)) return null;
  const { value, source } = key;
  return (typeof value === 'string' ? value : (source ?? String(value))).normalize('NFC');
}
