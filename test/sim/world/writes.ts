/**
 * Everything that was ever written at the origin, by the names of the simulation. The model's log says what columns are
 * called at the time, so it is read after every turn, before anybody can rename one. Takes the model; produces writes
 * with the tags of their rows.
 */
import type { OriginModel } from '../model/origin.ts';
import { partsOf } from './files-world.ts';
import type { Names } from './names.ts';
import type { OriginWrite } from '../oracles/verdict.ts';

/** The writes of one world. */
export class Writes {
  readonly all: OriginWrite[] = [];
  readonly #origin: OriginModel;
  readonly #names: Names;
  /** How often a backup was brought back. */
  restoreCount = 0;
  readonly #tagById = new Map<number, string>();
  #readCount = 0;

  readonly #askedFor: (name: string) => string | null;

  /** `askedFor` says what a cell said that asked for a file of a name. */
  constructor(origin: OriginModel, names: Names, askedFor: (name: string) => string | null) {
    this.#origin = origin;
    this.#names = names;
    this.#askedFor = askedFor;
    this.collect();
  }

  /** Takes over what was written since. */
  collect(): void {
    const { log } = this.#origin;
    for (; this.#readCount < log.length; this.#readCount += 1) {
      const operation = log[this.#readCount];
      if (operation === undefined) continue;
      const { by, id } = operation;
      const kind = operation.kind === 'file' ? 'update' : operation.kind;
      const cells = this.#names.fromOrigin(operation.cells);
      if (typeof cells['Tag'] === 'string') this.#tagById.set(id, cells['Tag']);
      const { hidesRow } = this.#origin.knobs;
      const isHidden = hidesRow?.({ table: this.#names.table, id, values: operation.cells }) ?? false;
      this.all.push({ by, kind, id, tag: this.#tagById.get(id) ?? '', cells, isNarrowed: hidesRow !== null, isHidden });
      // What arrived is what a user asked for by another value.
      const asked = operation.kind === 'file' && by === 'api' ? this.#askedFor(partsOf(cells['File']).name) : null;
      if (asked !== null) this.all.push({ by, kind, id, tag: this.#tagById.get(id) ?? '', cells: { File: asked } });
    }
  }

  /** A backup was brought back: these rows are there now. */
  noteRestore(): void {
    this.restoreCount += 1;
    // Also where no row is there any more.
    this.all.push({ by: 'admin', kind: 'restore', id: 0, tag: 'none', cells: {} });
    for (const { id, values } of this.#origin.rows(this.#names.table)) {
      const { tag } = this.#names.rowFromOrigin(id, values);
      this.all.push({ by: 'admin', kind: 'restore', id, tag, cells: {} });
    }
  }
}
