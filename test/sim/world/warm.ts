/**
 * Replicas that were pulled before a world begins. What a first pull stores depends on little of a setup, so each such
 * kind is pulled once by a worker, in a world in which nothing happens. What else stands in the file is written into a
 * copy of it: the ETags of this kind of origin, the match column, which revisions of files were looked for. Both are
 * kept, a copy as the pages in which it differs.
 *
 * Takes setups; produces what their worlds begin with. Invariant: that is what a pull under this setup would have left,
 * but for moments, and for how often pages were read by an origin without ETags (warm.test.ts).
 */
import type Database from 'better-sqlite3';
import { stampFromMs } from '../../../src/base/clock.ts';
import { keptEtag } from '../../../src/wire/headers.ts';
import { Admin } from '../actors/admin.ts';
import { Tokens } from './books.ts';
import { makeOrigin } from '../actors/colleague.ts';
import { USER_OPTIONS } from './connections.ts';
import type { Disk, Start } from './disk.ts';
import { MODEL_TOKEN, type OriginModel } from '../model/origin.ts';
import { Names } from './names.ts';
import { calmSetup, START_MS, type Setup } from './setup.ts';

/** Runs a world in which nothing happens but a pull, and keeps what it leaves. */
type Pull = (calm: Setup) => Promise<Start>;

/** Where a file differs from another one, and how long it is. */
interface Difference {
  readonly length: number;
  readonly pages: readonly (readonly [offset: number, bytes: Uint8Array])[];
}

const PAGE_BYTES = 4_096;

/** Those of one worker. */
export class WarmStarts {
  readonly #pulled = new Map<string, Promise<Start>>();
  readonly #fitted = new Map<string, Difference>();

  /** What a world of this setup begins with; nobody may be using the disk. */
  async startOf(setup: Setup, disk: Disk, pull: Pull): Promise<Start> {
    const { key, calm } = calmSetup(setup);
    let pulling = this.#pulled.get(key);
    if (pulling === undefined) this.#pulled.set(key, (pulling = pull(calm)));
    const start = await pulling;
    const what = JSON.stringify([key, setup.match, setup.etag, setup.files?.mode]);
    let difference = this.#fitted.get(what);
    if (difference === undefined) this.#fitted.set(what, (difference = fit(start, setup, disk)));
    const main = new Uint8Array(difference.length);
    main.set(start.main.subarray(0, difference.length));
    for (const [offset, bytes] of difference.pages) main.set(bytes, offset);
    return { ...start, main };
  }
}

/** Writes into a replica what a pull under this setup would have stored otherwise. */
function fit(start: Start, setup: Setup, disk: Disk): Difference {
  disk.begin(start);
  const db = disk.connections.connect(disk.path, USER_OPTIONS);
  db.exec('BEGIN');
  db.prepare('UPDATE _rowsync_tables SET match_column = ?').run(setup.match);
  if (setup.files !== null && setup.files.showsHistory)
    db.prepare('UPDATE _rowsync_file_cells SET mode = ?').run(setup.files.mode);
  storeEtags(db, setup);
  // That pull took some time, and the world begins when it began: what it proved was so then.
  db.prepare('UPDATE _rowsync_history_tables SET proven_at = @at, captured_at = min(captured_at, @at)').run({
    at: START_MS / 1000,
  });
  if (setup.moments != null) db.prepare('UPDATE _rowsync_tables SET sweep_started_at = ?').run(stampFromMs(START_MS));
  db.exec('COMMIT');
  db.close();
  return differenceOf(start.main, disk.keep().main);
}

/** ETags as an origin of this setup would have given them out. */
function storeEtags(db: Database.Database, setup: Setup): void {
  if (setup.etag === 'absent') {
    db.exec("UPDATE _rowsync_pages SET etag = NULL; UPDATE _rowsync_descriptors SET etag = ''");
    return;
  }
  const origin = makeOrigin(setup, { tokens: new Tokens(), nowMs: () => START_MS, draw: () => 0 });
  const nothing = (): void => undefined;
  // As in the world that pulled: where ETags go by the structure, they are of another one than a new world begins with.
  new Admin({ origin, names: new Names(origin), count: nothing, onRestore: nothing }).tidyUp();
  const urls = db.prepare('SELECT url FROM _rowsync_pages WHERE etag IS NOT NULL').pluck().all() as string[];
  for (const url of urls) {
    const { pathname, search } = new URL(url);
    db.prepare('UPDATE _rowsync_pages SET etag = ? WHERE url = ?').run(etagOf(origin, pathname + search), url);
  }
  const descriptors = db.prepare('SELECT scope, etag FROM _rowsync_descriptors').raw().all() as [string, string][];
  for (const [scope, kept] of descriptors) {
    const url = new URL(kept.split(' ')[0] ?? '');
    const etag = keptEtag(url.href, etagOf(origin, url.pathname));
    db.prepare('UPDATE _rowsync_descriptors SET etag = ? WHERE scope = ?').run(etag, scope);
  }
}

function etagOf(origin: OriginModel, path: string): string {
  const headers = { authorization: `Bearer ${MODEL_TOKEN}` };
  const { status, headers: answered } = origin.answer({ method: 'GET', path, headers, body: null });
  const etag = answered['etag'];
  if (status !== 200 || etag === undefined) throw new Error(`The model answers ${path} with ${status} and no ETag`);
  return etag;
}

function differenceOf(one: Uint8Array, other: Uint8Array): Difference {
  const offsets = Array.from({ length: other.length / PAGE_BYTES }, (_, page) => page * PAGE_BYTES);
  const pages = offsets.flatMap((offset) => {
    const page = other.subarray(offset, offset + PAGE_BYTES);
    return Buffer.compare(one.subarray(offset, offset + PAGE_BYTES), page) === 0
      ? []
      : [[offset, page.slice()] as const];
  });
  return { length: other.length, pages };
}
