/**
 * The other side: an origin with a small table, and colleagues who work in it. Takes draws; produces changes at the
 * origin, and a sentence for each.
 */
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import type { Books, LocalRow, Tokens } from '../world/books.ts';
import { cellsUnderNamesNow, chosenCells, chosenColumns, type Choosing } from '../world/choosing.ts';
import { fileColumns, firstFile } from '../world/files-setup.ts';
import { addBeside } from '../world/beside.ts';
import { isCut } from '../world/cuts.ts';
import type { ModelDraw } from '../model/knobs.ts';
import { MODEL_TOKEN, OriginModel } from '../model/origin.ts';
import type { Column, Names } from '../world/names.ts';
import { DATABASE, START_MS, type Setup } from '../world/setup.ts';
import type { Draw } from '../world/tape.ts';

const HOUR_MS = 3_600_000;

/** A column of numbers that days are added up by; nobody edits it. */
const NUMBER = 'N';

/** An origin as a world begins with it. */
export function makeOrigin(
  {
    rowCount,
    systemColumns,
    etag,
    rules,
    files,
    refusedShare,
    follow,
    choosing = null,
    isLetter = false,
    beside = null,
  }: Setup,
  { tokens, nowMs, draw }: { readonly tokens: Tokens; readonly nowMs: () => number; readonly draw: ModelDraw },
): OriginModel {
  const thing: TableSpec = {
    name: 'Thing',
    // Before anything happens, so that no stamp lies ahead of it.
    createdFromMs: START_MS - HOUR_MS,
    systemColumns,
    columns: [
      { name: 'Tag', type: 'Text' },
      { name: 'Code', type: 'Text', options: ['Unique'] },
      { name: 'A', type: 'Text' },
      { name: 'B', type: 'Text' },
      ...fileColumns(files),
      ...chosenColumns(choosing),
      ...(follow === undefined ? [] : [{ name: NUMBER, type: 'Numeric', kind: 'Formula', readOnly: true }]),
    ],
    rows: Array.from({ length: rowCount }, (_, index) => ({
      Tag: tokens.next('t'),
      Code: tokens.next('c'),
      A: tokens.next('a'),
      B: tokens.next('b'),
      ...firstFile(files, tokens, index),
      ...chosenCells(choosing, tokens),
      ...(follow === undefined ? {} : { [NUMBER]: index }),
    })),
  };
  const knobs = {
    etag,
    isBare: isLetter,
    listsDeleted: !isLetter && (follow?.listsDeleted ?? true),
    addsUp: isLetter ? 'none' : (follow?.addsUp ?? 'days'),
    lateMsMax: follow?.lateMsMax ?? 0,
    rules: rules.map((rule) => ({ table: 'Thing', when: 'write', ...rule }) as const),
    refusesCell: refusedShare === 0 ? null : ({ value }: { readonly value: unknown }) => isRefused(value, refusedShare),
  };
  const origin = new OriginModel({ tables: [thing], nowMs, database: DATABASE, token: MODEL_TOKEN, knobs, draw });
  if (beside !== null) addBeside(origin, tokens, systemColumns);
  return origin;
}

/** The same values again and again, as a rule would refuse them: some of those that users write into cells. */
function isRefused(value: unknown, share: number): boolean {
  const number = typeof value === 'string' ? /^u(\d{4})/.exec(value)?.[1] : undefined;
  return number !== undefined && (Number(number) * 37) % 100 < share * 100;
}

/** What colleagues work with. */
export interface ColleagueParts {
  readonly origin: OriginModel;
  readonly names: Names;
  readonly tokens: Tokens;
  readonly books: Books;
  readonly count: (what: string) => void;
  /** Whether there are columns that are left out or masked, which colleagues write as well. */
  readonly choosing?: Choosing | null | undefined;
}

/** All colleagues. */
export class Colleague {
  readonly #parts: ColleagueParts;
  /** The rows as the world began with them. */
  readonly #first: ReadonlyMap<number, LocalRow>;

  constructor(parts: ColleagueParts) {
    this.#parts = parts;
    const { origin, names } = parts;
    const rows = origin.rows(names.table).map(({ id, values }) => names.rowFromOrigin(id, values));
    this.#first = new Map(rows.map((row) => [row.id, row]));
  }

  /** Does what the draw says; returns what that was. */
  act(draw: Draw): string {
    const { origin, names, tokens, count } = this.#parts;
    const { table } = names;
    const ids = origin.ids(table);
    const wished = draw.weighted([
      [6, 'update'],
      [3, 'insert'],
      [2, 'delete'],
      [2, 'undo'],
    ] as const);
    const kind = ids.length === 0 ? 'insert' : wished;
    count(`colleague ${kind}`);
    if (kind === 'insert') {
      const code = draw.chance(0.5) ? tokens.next('c') : null;
      const cells = {
        [names.atOrigin('Tag')]: tokens.next('t'),
        [names.atOrigin('Code')]: code,
        [names.atOrigin('A')]: tokens.next('w'),
      };
      origin.insert(table, { ...cells, ...this.#chosenCells() });
      return `colleague: inserts ${JSON.stringify(cells)}`;
    }
    const id = draw.pick(ids);
    if (kind === 'delete') {
      origin.delete(table, id);
      return `colleague: deletes row ${id}`;
    }
    if (kind === 'undo') return this.#undo(id);
    const cells = { [names.atOrigin(draw.pick(this.#columnsToChange(id)))]: tokens.next('w') };
    origin.update(table, id, { ...cells, ...this.#chosenCells() });
    return `colleague: sets ${JSON.stringify(cells)} in row ${id}`;
  }

  #chosenCells(): Readonly<Record<string, string>> {
    const { choosing = null, tokens, names } = this.#parts;
    return cellsUnderNamesNow(chosenCells(choosing, tokens), names);
  }

  /** Leaves half of an emoji at the end of a cell, so that its row cannot be read; returns what that was. */
  cut(draw: Draw): string {
    const { origin, names, tokens, count } = this.#parts;
    const ids = origin.ids(names.table);
    if (ids.length === 0) return 'colleague: has no text to cut';
    const id = draw.pick(ids);
    const cells = { [names.atOrigin(draw.pick(['A', 'B'] as const))]: `${tokens.next('w')}\uD83D` };
    count('colleague cut');
    origin.update(names.table, id, cells);
    return `colleague: cuts a text, ${JSON.stringify(cells)} in row ${id}`;
  }

  /** Corrects all texts that were cut. */
  tidyUp(): void {
    const { origin, names, tokens } = this.#parts;
    for (const { id, values } of origin.rows(names.table)) {
      const cut = Object.entries(values).filter(([, value]) => isCut(value));
      if (cut.length > 0)
        origin.update(names.table, id, Object.fromEntries(cut.map(([name]) => [name, tokens.next('w')])));
    }
  }

  /** Sets the clock of the origin; returns what that was. */
  setClock(draw: Draw, clock: { offMs: number }): string {
    clock.offMs += draw.pick([1_000, -1_000, HOUR_MS, -HOUR_MS]);
    this.#parts.count('clock of the origin');
    return `the clock of the origin is set ${clock.offMs} ms off`;
  }

  /** Changes a row as a formula over other rows does, and says which one; returns what that was. */
  recompute(draw: Draw, onChanged: (id: number) => void): string {
    const { origin, names, tokens, count } = this.#parts;
    const ids = origin.ids(names.table);
    if (ids.length === 0) return 'a formula has no row to change';
    const id = draw.pick(ids);
    const cells = {
      [NUMBER]: draw.below(1_000),
      ...(draw.chance(0.3) ? { [names.atOrigin(draw.pick(['A', 'B']))]: tokens.next('w') } : {}),
    };
    count('formula');
    origin.recompute(names.table, id, cells);
    onChanged(id);
    return `a formula sets ${JSON.stringify(cells)} in row ${id}`;
  }

  /** Gives a row the values that it was born with: pages may be as they were once. */
  #undo(id: number): string {
    const { origin, names } = this.#parts;
    const first = this.#first.get(id);
    if (first === undefined) return `colleague: leaves row ${id} as it is`;
    const { A = null, B = null } = first.cells;
    origin.update(names.table, id, { [names.atOrigin('A')]: A, [names.atOrigin('B')]: B });
    return `colleague: undoes what was changed in row ${id}`;
  }

  /**
   * Whoever changes the code of a row makes another row of it for everybody who looks for it by that code, so they
   * leave new ones alone.
   */
  #columnsToChange(id: number): readonly Column[] {
    const { origin, names, books } = this.#parts;
    const tag = names.fromOrigin(origin.rows(names.table).find((row) => row.id === id)?.values ?? {})['Tag'];
    // One that was deleted here or there, and continues, is made anew as well.
    const isMade = origin.log.some(
      ({ by, kind, ...write }) =>
        by === 'api' && kind === 'create' && write.id === id && names.fromOrigin(write.cells)['Tag'] === tag,
    );
    const isNew = typeof tag !== 'string' || books.everInserted.has(tag) || isMade;
    return isNew ? ['A', 'B'] : ['A', 'B', 'A', 'B', 'Code'];
  }
}
