/**
 * The other side: an origin with a small table, and colleagues who work in it. Input: draws. Output: changes at the origin, and a
 * sentence for each.
 */
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import type { Books, Tokens } from './books.ts';
import { MODEL_TOKEN, OriginModel } from './model/origin.ts';
import { DATABASE, START_MS, type Setup } from './setup.ts';
import type { Draw } from './tape.ts';

/** An origin as a world begins with it. */
export function makeOrigin(
  { rowCount, systemColumns }: Setup,
  { tokens, nowMs }: { readonly tokens: Tokens; readonly nowMs: () => number },
): OriginModel {
  const thing: TableSpec = {
    name: 'Thing',
    createdFromMs: START_MS,
    systemColumns,
    columns: [
      { name: 'Tag', type: 'Text' },
      { name: 'Code', type: 'Text', options: ['Unique'] },
      { name: 'A', type: 'Text' },
      { name: 'B', type: 'Text' },
    ],
    rows: Array.from({ length: rowCount }, () => ({
      Tag: tokens.next('t'),
      Code: tokens.next('c'),
      A: tokens.next('a'),
      B: tokens.next('b'),
    })),
  };
  return new OriginModel({ tables: [thing], nowMs, database: DATABASE, token: MODEL_TOKEN });
}

/** What colleagues work with. */
export interface ColleagueParts {
  readonly origin: OriginModel;
  readonly tokens: Tokens;
  readonly books: Books;
  readonly count: (what: string) => void;
}

/** All colleagues. */
export class Colleague {
  readonly #parts: ColleagueParts;

  constructor(parts: ColleagueParts) {
    this.#parts = parts;
  }

  /** Does what the draw says; returns what that was. */
  act(draw: Draw): string {
    const { origin, tokens, count } = this.#parts;
    const ids = origin.ids('Thing');
    const wished = draw.weighted([
      [6, 'update'],
      [3, 'insert'],
      [2, 'delete'],
    ] as const);
    const kind = ids.length === 0 ? 'insert' : wished;
    count(`colleague ${kind}`);
    if (kind === 'insert') {
      const code = draw.chance(0.5) ? tokens.next('c') : null;
      const cells = { Tag: tokens.next('t'), Code: code, A: tokens.next('w') };
      origin.insert('Thing', cells);
      return `colleague: inserts ${JSON.stringify(cells)}`;
    }
    const id = draw.pick(ids);
    if (kind === 'delete') {
      origin.delete('Thing', id);
      return `colleague: deletes row ${id}`;
    }
    const cells = { [draw.pick(this.#columnsToChange(id))]: tokens.next('w') };
    origin.update('Thing', id, cells);
    return `colleague: sets ${JSON.stringify(cells)} in row ${id}`;
  }

  /** Whoever changes the code of a row makes another row of it for everybody who looks for it by that code, so they leave new ones alone. */
  #columnsToChange(id: number): readonly string[] {
    const { origin, books } = this.#parts;
    const tag = origin.rows('Thing').find((row) => row.id === id)?.values['Tag'];
    const isNew = typeof tag !== 'string' || books.everInserted.has(tag);
    return isNew ? ['A', 'B'] : ['A', 'B', 'A', 'B', 'Code'];
  }
}
