/**
 * A fixture whose files are brought here as well, and what the replica and the store hold then.
 *
 *    await using fixture = await startFilesFixture({ tables: [ALBUM] });
 *    await fixture.pull();
 *    const report = await fixture.pullFiles();          // or pullFiles({ rule: { mode: 'all' }, bytesMax: 100 })
 *    fixture.files()                                    // the rows of sync_files
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FilesContext, FilesProgress, FilesReport } from '../../src/files/context.ts';
import { pullFiles, type FilesPullOptions } from '../../src/files/download.ts';
import type { FileRule } from '../../src/reconcile/files.ts';
import type { SandboxOptions } from '../../src/sandbox/main.ts';
import type { FileSpec } from '../../src/sandbox/store/spec.ts';
import { startFixture, type Fixture } from './replica.ts';

/** A row of `sync_files`. */
export interface SyncFile {
  readonly table: string;
  readonly row_id: number;
  readonly column: string;
  readonly revision: number | null;
  readonly name: string | null;
  readonly type: string | null;
  readonly bytes: number | null;
  readonly sha256: string | null;
  readonly guid: string | null;
  readonly author: string | null;
  readonly created: string | null;
  readonly state: string;
  readonly reason: string | null;
  readonly vanished: string | null;
  readonly path: string | null;
}

/** What a run may differ in. */
export type FilesChange = Partial<FilesPullOptions> & {
  readonly rule?: Partial<FileRule>;
  readonly bytesMax?: number;
  readonly context?: Partial<FilesContext>;
};

/** A fixture with files. */
export interface FilesFixture extends Fixture {
  /** The store. */
  readonly store: string;
  readonly fileProgress: FilesProgress[];
  filesContext(change?: FilesChange): FilesContext;
  pullFiles(change?: FilesChange): Promise<FilesReport>;
  files(): readonly SyncFile[];
  /** What is wrong with `sync_files` and the store taken together; empty if nothing. */
  problems(): readonly string[];
}

/** Starts one; options as for `startFixture`. */
export async function startFilesFixture(
  options: Partial<SandboxOptions> = {},
  extra: Parameters<typeof startFixture>[1] = {},
): Promise<FilesFixture> {
  const fixture = await startFixture(options, extra);
  const store = join(fixture.folder, 'files');
  const fileProgress: FilesProgress[] = [];
  const filesContext = ({ rule, bytesMax, context }: FilesChange = {}): FilesContext => {
    const { origin, replica, clock, log } = fixture.context();
    return {
      origin,
      replica,
      clock: { ...clock, sleep: async () => undefined },
      log,
      settings: {
        folder: store,
        bytesMax: bytesMax ?? null,
        concurrency: 4,
        rule: (name) => ({ mode: 'latest', maxFileBytes: null, types: null, name: `tables.${name}.files`, ...rule }),
      },
      onProgress: (event) => void fileProgress.push(event),
      ...context,
    };
  };
  return Object.assign(fixture, {
    store,
    fileProgress,
    filesContext,
    pullFiles: ({ tables = [], retryNow = false, ...change }: FilesChange = {}) =>
      pullFiles(filesContext(change), { tables, retryNow }),
    files: () =>
      fixture.rows('SELECT * FROM sync_files ORDER BY "table", row_id, "column", revision') as readonly SyncFile[],
    problems: () => storeProblems(fixture.rows('SELECT * FROM sync_files') as readonly SyncFile[], store),
  });
}

/** What is wrong with rows of `sync_files` and the store that they name. */
export function storeProblems(rows: readonly SyncFile[], store: string): readonly string[] {
  const wrong = rows.flatMap(({ state, path, sha256, bytes, name }) => {
    if (state !== 'here') return path === null ? [] : [`${name} is ${state} and has a path`];
    if (path === null || !existsSync(path)) return [`${name} is here, but not on disk`];
    const content = readFileSync(path);
    const hash = createHash('sha256').update(content).digest('hex');
    return hash === sha256 && content.length === bytes ? [] : [`${name} is not what its row says`];
  });
  const halves = contentsOf(store).filter((path) => hashOf(path) !== path.split('/').at(-1));
  return [...wrong, ...halves.map((path) => `${path} is half a file`)];
}

/** Paths of all content in a store. */
export function contentsOf(store: string): readonly string[] {
  if (!existsSync(store)) return [];
  return readdirSync(store, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.endsWith('incoming'))
    .map((entry) => join(entry.parentPath, entry.name));
}

function hashOf(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

/** A file of so many bytes, each one with content of its own. */
export function fileOf(name: string, bytes: number | string, mediaType = 'application/octet-stream'): FileSpec {
  if (typeof bytes === 'string') return { name, mediaType, bytes: Buffer.from(bytes) };
  return { name, mediaType, bytes: Buffer.alloc(bytes, `${name} `) };
}
