/**
 * Worlds that failed once, shrunk, one JSON file each: they run first, on every commit, for ever. A file holds the seed
 * of what is random without deciding anything, the tapes, and what was wrong when it was found. It also says what must
 * happen in it for that to show again.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { Choosing } from '../world/choosing.ts';
import { TAPE_NAMES, Tapes, type TapeRecord } from '../world/tape.ts';

/** One kept world. */
export interface Case {
  readonly seed: number;
  /** Whether its table is followed. */
  readonly follows?: boolean;
  /** The invariant that broke, and how. */
  readonly oracle: string;
  readonly what: string;
  /** What the defect was, once it was understood. */
  readonly about: string;
  /** Lines of its trace, as regular expressions in their order, without which the defect could not show in it. */
  readonly happens?: readonly string[];
  /**
   * What of that does not happen any more, since the engine asks for other things than it did then: it is still run,
   * and shows less.
   */
  readonly drifted?: string;
  /** Whether and how columns are left out and masked in it. */
  readonly choosing?: Choosing | null;
  /** Whether its table has a journal. Cases that were kept before there was one do not say, and have none. */
  readonly history?: boolean;
  readonly tapes: TapeRecord;
}

const FOLDER = new URL('../corpus/', import.meta.url);

/** The kept worlds by file name. */
export function readCorpus(): readonly (readonly [name: string, kept: Case])[] {
  // git keeps no empty folder.
  if (!existsSync(FOLDER)) return [];
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith('.json'))
    .toSorted()
    .map((name) => [name, readCase(new URL(name, FOLDER))] as const);
}

/** Reads one file. @throws where it is none of ours. */
export function readCase(file: URL | string): Case {
  const found = JSON.parse(readFileSync(file, 'utf8')) as Case;
  const isKnown = Object.keys(found.tapes).every((name) => TAPE_NAMES.some((known) => known === name));
  if (typeof found.seed !== 'number' || !isKnown) throw new Error(`${String(file)} is no kept world`);
  return found;
}

/**
 * The first thing that must happen in a kept world and does not, behind what comes before it; null where all of it
 * does.
 */
export function findUnmet(happens: readonly string[], trace: readonly string[]): string | null {
  let from = 0;
  for (const wanted of happens) {
    const pattern = new RegExp(wanted);
    const at = trace.findIndex((line, index) => index >= from && pattern.test(line));
    if (at < 0) return wanted;
    from = at + 1;
  }
  return null;
}

/** The text of a file. */
export function textOfCase(kept: Case): string {
  const tapes = Object.entries(kept.tapes).map(([name, numbers]) => `    "${name}": ${JSON.stringify(numbers)}`);
  const { tapes: _, ...facts } = kept;
  const lines = Object.entries(facts).map(([name, value]) => `  "${name}": ${JSON.stringify(value)},`);
  return `{\n${lines.join('\n')}\n  "tapes": {\n${tapes.join(',\n')}\n  }\n}\n`;
}

/** The tapes of a kept world. */
export function tapesOf(kept: Omit<Case, 'oracle' | 'what' | 'about'>): Tapes {
  const { seed, tapes, follows = false, choosing = null, history = false } = kept;
  return Tapes.fromRecord(seed, tapes, follows, { history, choosing });
}
