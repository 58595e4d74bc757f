/**
 * Reads the markers in tests that say which statements of the specification they prove: `// Specification, client:
 * 4.4-8, 4.4-9` above a test.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SIDES, type Side } from './statements.ts';

/** A statement that a test of a file proves. */
export interface Proof {
  readonly statement: string;
  readonly side: Side;
  /** Below test/. */
  readonly file: string;
}

const TESTS = join(import.meta.dirname, '..');
const MARKER = /^\s*\/\/ Specification, (\S+): (.*)$/;

/** Every proof in the tests, by file. @throws Error for a marker that names no side, or stands above no test. */
export function readProofs(): readonly Proof[] {
  const files = readdirSync(TESTS, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.test.ts'));
  return files.toSorted().flatMap((file) => proofsIn(readFileSync(join(TESTS, file), 'utf8'), file));
}

/** The proofs in the text of one file. */
export function proofsIn(text: string, file: string): readonly Proof[] {
  const lines = text.split('\n');
  return lines.flatMap((line, index) => {
    const [, name, statements = ''] = MARKER.exec(line) ?? [];
    if (name === undefined) return [];
    const side = SIDES.find((known) => known === name);
    const below = lines.slice(index + 1).find((next) => !/^\s*\/\//.test(next));
    if (side === undefined) throw new Error(`${file}, line ${index + 1}: ${name} is no side`);
    if (!/^\s*test\b/.test(below ?? ''))
      throw new Error(`${file}, line ${index + 1}: there is no test below the marker`);
    return statements.split(', ').map((statement) => ({ statement, side, file }));
  });
}
