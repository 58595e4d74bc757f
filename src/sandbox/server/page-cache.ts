/**
 * Answers that were rendered before, with the version of everything they were rendered from. While that version is
 * current, an answer is served as it is, and `If-None-Match` is answered without rendering anything. Bounded by bytes;
 * ETags outlive the bytes, so that a page pushed out of memory still answers 304.
 */
import { hash } from 'node:crypto';

/** An answer ready to be sent. */
export interface RenderedPage {
  /** Changes if and only if the bytes do. */
  readonly etag: string;
  readonly contentType: string;
  readonly body: Buffer;
  /** The body as gzip, once someone asked for it. */
  gzip: Buffer | null;
}

/** What is known of an answer without its bytes. */
interface Tag extends PageSource {
  readonly etag: string;
  /** Of the tables, at the last look. */
  tablesVersion: string;
}

/** What an answer was read from. */
export interface PageSource {
  readonly tableIds: readonly number[];
  /** See `PageAnswer.version`. */
  readonly version?: string | undefined;
}

/** Bodies kept: enough for the pages of the largest benchmark (200,000 rows of 12 columns), compressed and not. */
const BYTES_MAX = 256 * 1024 * 1024;
/** ETags kept; one takes about 300 bytes, with its URL. */
const TAGS_MAX = 50_000;

/** An ETag of a body: short, quoted, the same in every process. */
export function etagOf(body: Buffer): string {
  return `"${hash('sha256', body, 'base64url').slice(0, 22)}"`;
}

/** Rendered answers by key; a key names the caller and the URL. */
export class PageCache {
  readonly #versionOf: (tableIds: readonly number[]) => string;
  readonly #bytesMax: number;
  readonly #tags = new Map<string, Tag>();
  /** In order of use, the latest last. */
  readonly #pages = new Map<string, RenderedPage>();
  #bytes = 0;

  /** `versionOf` gives the present version of the tables that an answer was read from. */
  constructor(versionOf: (tableIds: readonly number[]) => string, bytesMax = BYTES_MAX) {
    this.#versionOf = versionOf;
    this.#bytesMax = bytesMax;
  }

  /** The ETag of what the key answers now; undefined when only rendering can tell. */
  etag(key: string): string | undefined {
    const tag = this.#tags.get(key);
    return tag !== undefined && this.#versionOf(tag.tableIds) === tag.tablesVersion ? tag.etag : undefined;
  }

  /** The answer, if it is still true and still here. */
  page(key: string): RenderedPage | undefined {
    const page = this.#pages.get(key);
    if (page === undefined || this.etag(key) === undefined) return undefined;
    this.#pages.delete(key);
    this.#pages.set(key, page);
    return page;
  }

  /** Whether an answer just read from these tables is the one known under the key, whatever else changed in them. */
  isSame(key: string, { version }: PageSource): boolean {
    const tag = this.#tags.get(key);
    if (tag === undefined || version === undefined || tag.version !== version) return false;
    tag.tablesVersion = this.#versionOf(tag.tableIds);
    return true;
  }

  /** Keeps an answer that was read from these tables just now, in place of an older one under the same key. */
  keep(key: string, { tableIds, version }: PageSource, page: RenderedPage): void {
    this.#dropPage(key);
    this.#tags.delete(key);
    this.#tags.set(key, { etag: page.etag, tablesVersion: this.#versionOf(tableIds), tableIds, version });
    this.#pages.set(key, page);
    this.#bytes += sizeOf(page);
    this.#shrink();
  }

  /** Adds the compressed body to an answer, if that is still the one kept under the key. */
  keepGzip(key: string, page: RenderedPage, gzip: Buffer): void {
    if (this.#pages.get(key) !== page || page.gzip !== null) return;
    page.gzip = gzip;
    this.#bytes += gzip.length;
    this.#shrink();
  }

  #dropPage(key: string): void {
    const page = this.#pages.get(key);
    if (page === undefined) return;
    this.#bytes -= sizeOf(page);
    this.#pages.delete(key);
  }

  #shrink(): void {
    for (const key of this.#pages.keys()) {
      if (this.#bytes <= this.#bytesMax) break;
      this.#dropPage(key);
    }
    for (const key of this.#tags.keys()) {
      if (this.#tags.size <= TAGS_MAX) break;
      this.#dropPage(key);
      this.#tags.delete(key);
    }
  }
}

function sizeOf(page: RenderedPage): number {
  return page.body.length + (page.gzip?.length ?? 0);
}
