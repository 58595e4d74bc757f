/**
 * The bytes that may still be stored (`files.maxBytes`), shared by downloads that run side by side: each one reserves
 * what it is known to need. Pure but for its own state.
 */

/** A bound on the bytes of all content; null for none. */
export class Quota {
  #left: number | null;
  #reserved = 0;

  constructor(bytesMax: number | null, storedBytes: number) {
    this.#left = bytesMax === null ? null : bytesMax - storedBytes;
  }

  /** Bytes that are neither used nor reserved, at least 0; null for no bound. */
  left(): number | null {
    return this.#left === null ? null : Math.max(0, this.#left - this.#reserved);
  }

  reserve(bytes: number): Disposable {
    this.#reserved += bytes;
    return { [Symbol.dispose]: () => void (this.#reserved -= bytes) };
  }

  /** Takes note of bytes that were stored. */
  use(bytes: number): void {
    if (this.#left !== null) this.#left -= bytes;
  }
}
