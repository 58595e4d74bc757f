/**
 * A planted bug: one defence taken out of a copy of the source. Takes the copy's folder; produces the copy, changed. A
 * text that is to be replaced stands exactly once in its file. So a mutant that no longer fits the source is noticed at
 * once instead of planting nothing.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** One replacement in one file below `src/`. */
export interface Edit {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** A defence, and how it is taken out. */
export interface Mutant {
  /** In kebab-case; what the command line and the report call it. */
  readonly name: string;
  /** What the source does no more, or does wrongly, in one sentence. */
  readonly without: string;
  readonly edits: readonly Edit[];
  /** Why no simulated world can tell the mutant from the source; absent where a seed has to find it. */
  readonly equivalent?: string;
}

/** Mutants that are planted together, since each one's defence hides the other's absence. */
export interface MutantPair {
  readonly names: readonly [string, string];
  readonly why: string;
}

/**
 * Plants a mutant in the copy of `src/` in `folder`. @throws Error where a text does not stand in its file exactly
 * once.
 */
export function plant(mutant: Mutant, folder: string): void {
  for (const edit of mutant.edits) {
    const path = join(folder, edit.file);
    writeFileSync(path, edited(readFileSync(path, 'utf8'), edit, mutant.name));
  }
}

/** The text with the edit carried out. @throws Error where what is to be replaced does not stand in it exactly once. */
export function edited(text: string, { file, find, replace }: Edit, name: string): string {
  const [before, after, ...more] = text.split(find);
  if (before === undefined || after === undefined || more.length > 0) {
    throw new Error(
      `${name}: the text to replace stands ${more.length + (after === undefined ? 0 : 1)} times in ${file}`,
    );
  }
  return before + replace + after;
}
