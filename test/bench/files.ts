/**
 * The benchmarks of attached files. Many small ones against a bare loop that does the least someone would call safe:
 * GET, pipe to a temporary file, fsync, rename. And the memory that one huge file takes.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import Database from 'better-sqlite3';
import { fileFromCell } from '../../src/reconcile/files.ts';
import { headersOf, openPool, overPaths } from './bare.ts';
import { peakBytesOf, takeTurns, timeMs, type Figure } from './measure.ts';
import type { BenchOrigin, Origins } from './origin.ts';
import { pullFilesOnce, pullOnce } from './ours.ts';

/** What these benchmarks need of what every benchmark is given. */
export interface FilesBenchContext {
  readonly origins: Origins;
  readonly folder: string;
  readonly roundCount: number;
  readonly isSmoke: boolean;
}

const TABLE = 'Scan';
const FILE_BYTES = 50_000;

let pathCount = 0;

function newPath({ folder }: FilesBenchContext): string {
  pathCount += 1;
  return join(folder, `files-${pathCount}`);
}

/** A table of so many BLOBs, each with content of its own, for a sandbox to serve as attachments. */
function writeScans(path: string, count: number, bytes: number): void {
  const db = new Database(path);
  try {
    db.exec(`CREATE TABLE ${TABLE} (Id INTEGER PRIMARY KEY, Content BLOB)`);
    const insert = db.prepare(`INSERT INTO ${TABLE} VALUES (?, ?)`);
    db.transaction(() => {
      for (let id = 1; id <= count; id += 1) insert.run(id, Buffer.alloc(bytes, `${id} \0`));
    })();
  } finally {
    db.close();
  }
}

async function pulledRows(context: FilesBenchContext, origin: BenchOrigin): Promise<string> {
  const path = `${newPath(context)}.db`;
  await pullOnce(origin, path, { compress: false });
  return path;
}

/** The request path of every file, from the cells of a replica. */
function filePaths(origin: BenchOrigin, replicaPath: string): readonly string[] {
  const db = new Database(replicaPath, { readonly: true });
  try {
    const rows = db.prepare<[], { _id: number; Content: string }>(`SELECT _id, Content FROM ${TABLE}`).all();
    return rows.map(({ _id: id, Content: cell }) => {
      const guid = fileFromCell(cell)?.guid ?? '';
      return `/secure/api/v2/${origin.database}/${TABLE}/Content/attachment/${guid}?id=${id}`;
    });
  } finally {
    db.close();
  }
}

/** Downloads every file with the care of an afternoon. */
async function bareFiles(origin: BenchOrigin, paths: readonly string[], folder: string): Promise<void> {
  mkdirSync(folder);
  const pool = openPool(origin);
  const headers = headersOf({ origin, compress: false });
  let count = 0;
  try {
    await overPaths(paths, async (path) => {
      const name = join(folder, String((count += 1)));
      const { body } = await pool.request({ method: 'GET', path, headers });
      // `flush` syncs the file before it is closed.
      await pipeline(body, createWriteStream(`${name}.part`, { flags: 'wx', flush: true }));
      await rename(`${name}.part`, name);
    });
  } finally {
    await pool.close();
  }
}

async function ratio(context: FilesBenchContext): Promise<Figure> {
  const fileCount = context.isSmoke ? 60 : 2_000;
  const origin = await context.origins.serveFile(`files-${fileCount}`, (path) =>
    writeScans(path, fileCount, FILE_BYTES),
  );
  const paths = filePaths(origin, await pulledRows(context, origin));
  await bareFiles(origin, paths, newPath(context)); // warms the sandbox up for both
  const { oursMs, bareMs } = await takeTurns(context.roundCount, {
    ours: async () => {
      const replica = await pulledRows(context, origin);
      return timeMs(async () => {
        const { downloadedCount } = await pullFilesOnce(origin, replica, newPath(context));
        if (downloadedCount !== fileCount) throw new Error(`${downloadedCount} of ${fileCount} files were downloaded`);
      });
    },
    bare: () => timeMs(() => bareFiles(origin, paths, newPath(context))),
  });
  return {
    name: 'files.ratio',
    value: oursMs / bareMs,
    unit: '×',
    bound: { kind: 'atMost', value: 1.2 },
    note: `${fileCount} files of ${FILE_BYTES} bytes ÷ a bare loop of GET, pipe, fsync, rename`,
  };
}

/** The peak memory of processes that download one file of so many bytes, and that upload one, in bytes. */
async function peakBytesOfOne(
  context: FilesBenchContext,
  fileBytes: number,
): Promise<{ readonly down: number; readonly up: number }> {
  const origin = await context.origins.serveFile('files-1', (path) => writeScans(path, 1, 10));
  const server = fork(new URL('big-file-child.ts', import.meta.url), [String(fileBytes), origin.url]);
  try {
    const [url] = (await once(server, 'message')) as [string];
    const { database, token } = origin;
    const address = { url, database, token };
    const path = `${newPath(context)}.db`;
    await pullOnce(address, path, { compress: false, isTwoWay: true });
    const down = await peakBytesOf({ address, path, store: newPath(context) });
    const upload = newPath(context);
    writeFileSync(upload, '');
    truncateSync(upload, fileBytes);
    nameUpload(path, upload);
    return {
      down,
      up: await peakBytesOf({ address, path, push: { rowCount: 1, requestBytesMax: fileBytes + 1024 ** 2 } }),
    };
  } finally {
    server.kill();
  }
}

function nameUpload(replicaPath: string, uploadPath: string): void {
  const db = new Database(replicaPath);
  try {
    db.prepare(`UPDATE ${TABLE} SET Content = ? WHERE _id = 1`).run(`file:${uploadPath}`);
  } finally {
    db.close();
  }
}

/** `files.ratio`, `files.peakRssMiB` and `files.peakRssUpMiB`. */
export async function filesBench(context: FilesBenchContext): Promise<readonly Figure[]> {
  const fileBytes = (context.isSmoke ? 32 : 1_024) * 1024 ** 2;
  const figure = await ratio(context);
  const { down, up } = await peakBytesOfOne(context, fileBytes);
  const peak = (name: string, bytes: number, does: string): Figure => ({
    name,
    value: bytes / 1024 ** 2,
    unit: 'MiB',
    bound: { kind: 'atMost', value: 200 },
    note: `peak of a process that ${does} one file of ${fileBytes / 1024 ** 2} MiB`,
  });
  return [figure, peak('files.peakRssMiB', down, 'downloads'), peak('files.peakRssUpMiB', up, 'uploads')];
}
