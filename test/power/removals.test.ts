/** The removals of a sync fit the source as it is; that power cuts find each of them is shown by power.long.test.ts. */
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { edited } from '../sim/mutants/mutant.ts';
import { REMOVALS } from './removals.ts';

const SOURCE = join(import.meta.dirname, '../../src');

test.each(REMOVALS.map((removal) => [removal.name, removal] as const))(
  '%s can be planted',
  (_name, { name, edits }) => {
    const texts = new Map<string, string>();
    for (const edit of edits) {
      const text = texts.get(edit.file) ?? readFileSync(join(SOURCE, edit.file), 'utf8');
      const changed = edited(text, edit, name);
      expect(changed).not.toBe(text);
      expect(() => stripTypeScriptTypes(changed)).not.toThrow();
      texts.set(edit.file, changed);
    }
  },
);
