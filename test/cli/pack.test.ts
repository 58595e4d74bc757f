/**
 * The package as users get it: packed, installed with production dependencies only into a temporary prefix, and run from
 * there against a sandbox that is started from the checkout.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, test } from 'vitest';

const TOP = fileURLToPath(new URL('../../', import.meta.url));
/** Packing compiles, and installing asks the registry; both are slow on a cold machine. */
const INSTALL_MS_MAX = 300_000;
const RUN_MS_MAX = 60_000;

const runFile = promisify(execFile);
/** Whoever runs the tests may have another Node in front; the package runs on the one that runs this test. */
const env = { ...process.env, PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter) };

let folder = '';
let files: readonly string[] = [];

async function npm(...args: readonly string[]): Promise<string> {
  const { stdout } = await runFile('npm', args, { cwd: TOP, env, maxBuffer: 16 * 1024 * 1024 });
  return stdout;
}

async function rowsync(...args: readonly string[]): Promise<string> {
  const program = join(folder, 'node_modules', '.bin', 'rowsync');
  const { stdout } = await runFile(program, args, { cwd: folder, env, timeout: RUN_MS_MAX });
  return stdout;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowsync-pack-'));
  const packed = JSON.parse(await npm('pack', '--json', '--silent', '--pack-destination', folder)) as unknown;
  const [{ filename, files: listed }] = Object.values(packed as object) as [
    { filename: string; files: { path: string }[] },
  ];
  files = listed.map(({ path }) => path);
  const quiet = ['--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts', '--omit=dev'];
  await npm('install', '--prefix', folder, ...quiet, join(folder, filename));
}, INSTALL_MS_MAX);

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

test('holds the program, the configuration examples and the papers, and no source', () => {
  expect(files).toEqual(
    expect.arrayContaining([
      'LICENSE',
      'README.md',
      'CHANGELOG.md',
      'package.json',
      'dist/cli/main.js',
      'config/rowsync.schema.json',
    ]),
  );
  expect(files.filter((path) => /^(?:src|test|\.ci)\/|\.ts$|\.tgz$/.test(path))).toEqual([]);
});

test('is installed with production dependencies only', async () => {
  const installed = await readdir(join(folder, 'node_modules'));

  expect(installed).toContain('better-sqlite3');
  expect(installed.filter((name) => ['vitest', 'typescript', 'node', 'fast-check'].includes(name))).toEqual([]);
});

test('gives an executable program that says its version', async () => {
  const { mode } = await stat(join(folder, 'node_modules', 'rowsync', 'dist', 'cli', 'main.js'));

  expect(mode & 0o111).toBe(0o111);
  expect(await rowsync('--version')).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test('pulls a database into a replica that any SQLite client reads', { timeout: 2 * RUN_MS_MAX }, async () => {
  const sandbox = spawn(process.execPath, ['src/cli/main.ts', 'sandbox', '--json'], {
    cwd: TOP,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [line] = (await once(createInterface(sandbox.stdout), 'line')) as [string];
    const { url, database, token } = JSON.parse(line) as { url: string; database: string; token: string };
    await writeFile(join(folder, 'token'), token, { mode: 0o600 });
    const config = `origin: { url: "${url}", database: "${database}", tokenFile: token }\nreplica: { path: replica.db }\ntables: { "*": {} }\n`;
    await writeFile(join(folder, 'rowsync.yaml'), config);

    await rowsync('pull', '--config', 'rowsync.yaml');

    using replica = openReadOnly(join(folder, 'replica.db'));
    const tables = replica.db.prepare('SELECT * FROM sync_status').all();
    const names = replica.db.prepare<[], { name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    expect(tables.length).toBeGreaterThanOrEqual(8);
    const counts = names
      .filter(({ name }) => !name.startsWith('_rowsync_') && !name.startsWith('sqlite_'))
      .map(
        ({ name }) =>
          replica.db
            .prepare(`SELECT count(*) FROM "${name.replaceAll('"', '""')}"`)
            .pluck()
            .get() as number,
      );
    expect(counts.reduce((total, count) => total + count, 0)).toBeGreaterThanOrEqual(20_000);
  } finally {
    sandbox.kill('SIGTERM');
    if (sandbox.exitCode === null && sandbox.signalCode === null) await once(sandbox, 'exit');
  }
});

function openReadOnly(path: string): { readonly db: Database.Database; [Symbol.dispose](): void } {
  const db = new Database(path, { readonly: true });
  return { db, [Symbol.dispose]: () => void db.close() };
}
