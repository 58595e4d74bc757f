/**
 * Everything that was ever written at the origin, by the names of the simulation: the model's log says what columns are called at the
 * time, so it is read after every turn, before anybody can rename one. Input: the model. Output: writes with the tags of
 * their rows.
 */
import type { OriginModel } from './model/origin.ts';
import type { Names } from './names.ts';
import type { OriginWrite } from './verdict.ts';

/** The writes of one world. */
export class Writes {
  readonly all: OriginWrite[] = [];
  readonly #origin: OriginModel;
  readonly #names: Names;
  readonly #tagById = new Map<number, string>();
  #readCount = 0;

  constructor(origin: OriginModel, names: Names) {
    this.#origin = origin;
    this.#names = names;
    this.collect();
  }

  /** Takes over what was written since. */
  collect(): void {
    const { log } = this.#origin;
    for (; this.#readCount < log.length; this.#readCount += 1) {
      const operation = log[this.#readCount];
      if (operation === undefined || operation.kind === 'file') continue;
      const { by, kind, id } = operation;
      const cells = this.#names.fromOrigin(operation.cells);
      if (typeof cells['Tag'] === 'string') this.#setTag(id, cells['Tag']);
      this.all.push({ by, kind, id, tag: this.#tagById.get(id) ?? '', cells });
    }
  }

  /** A backup was brought back: these rows are there now. */
  noteRestore(): void {
    for (const { id, values } of this.#origin.rows(this.#names.table)) {
      const { tag } = this.#names.rowFromOrigin(id, values);
      this.all.push({ by: 'admin', kind: 'restore', id, tag, cells: {} });
    }
  }

  /** A row that an upsert made without a tag has it from now on, and had it all the time. */
  #setTag(id: number, tag: string): void {
    if (!this.#tagById.has(id)) for (const write of this.all) if (write.id === id && write.tag === '') write.tag = tag;
    this.#tagById.set(id, tag);
  }
}
