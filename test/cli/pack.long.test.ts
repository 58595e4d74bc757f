/**
 * The package as users get it. Packed, installed with production dependencies only into a temporary prefix, and run
 * from there against a sandbox that is started from the checkout.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import Database from 'better-sqlite3';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent } from '../support/agent.ts';
import { noPostgres, startPostgres } from '../support/postgres.ts';
import { startTestProxy } from '../support/proxy.ts';

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
  const packed = JSON.parse(
    await npm('run', '-s', 'package', '--', '--json', '--silent', '--pack-destination', folder),
  ) as unknown;
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
      'docs/editing.md',
      'package.json',
      'dist/cli/main.cjs',
      'dist/cli/program.mjs',
      'dist/licenses.txt',
      'dist/extras/library/library.js',
      'dist/extras/library/library.d.ts',
      'dist/sandbox/library.js',
      'dist/sandbox/library.d.ts',
      'config/rowsync.schema.json',
      'systemd/rowsync@.service',
    ]),
  );
  expect(files.filter((path) => /^(?:src|test|\.ci)\/|(?<!\.d)\.ts$|\.tgz$/.test(path))).toEqual([]);
});

test('names what it needs beside its bundle, and nothing that only a checkout needs', async () => {
  const text = await readFile(join(folder, 'node_modules', 'rowsync', 'package.json'), 'utf8');
  const { dependencies, ...rest } = JSON.parse(text) as Record<string, unknown>;

  expect(Object.keys(dependencies as object)).toEqual(['better-sqlite3']);
  expect(Object.keys(rest)).toEqual(expect.arrayContaining(['bin', 'engines', 'exports', 'license', 'repository']));
  expect(Object.keys(rest)).not.toEqual(expect.arrayContaining(['devDependencies', 'scripts', 'private']));
});

test('is installed with production dependencies only', async () => {
  const installed = await readdir(join(folder, 'node_modules'));

  // Everything but machine code is in the bundle.
  expect(installed.filter((name) => !name.startsWith('.')).toSorted()).toEqual([
    'better-sqlite3',
    'node-addon-api',
    'rowsync',
  ]);
});

test('the program stays small', async () => {
  const parts = files.filter((path) => path.startsWith('dist/cli/'));
  const sizes = await Promise.all(parts.map((path) => stat(join(folder, 'node_modules', 'rowsync', path))));

  expect(sizes.reduce((sum, { size }) => sum + size, 0)).toBeLessThan(3_700_000);
});

test('gives an executable program that says its version', async () => {
  const { mode } = await stat(join(folder, 'node_modules', 'rowsync', 'dist', 'cli', 'main.cjs'));

  expect(mode & 0o111).toBe(0o111);
  expect(await rowsync('--version')).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test('pulls a database into a replica that any SQLite client reads', { timeout: 2 * RUN_MS_MAX }, async () => {
  await withSandbox(async ({ url, database, token }) => {
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
  });
});

test('check looks at the way to the origin as the checkout does', { timeout: RUN_MS_MAX }, async () => {
  await withSandbox(async ({ url, database, token }) => {
    await writeFile(join(folder, 'token'), token, { mode: 0o600 });
    const config = `origin: { url: "${url}", database: "${database}", tokenFile: token }\nreplica: { path: near.db }\n`;
    await writeFile(join(folder, 'near.yaml'), config);

    expect(await rowsync('check', '--config', 'near.yaml')).toMatch(
      /^ok +connection +127\.0\.0\.1:\d+ is 127\.0\.0\.1/m,
    );
  });
});

test('exports what was pulled as Parquet', { timeout: RUN_MS_MAX }, async () => {
  expect(await rowsync('export', 'lake', 'Customer')).toContain('1 table, 1,500 rows');

  const [file] = (await readdir(join(folder, 'lake'))).filter((name) => name.endsWith('.parquet'));
  const rows = await parquetReadObjects({ file: await asyncBufferFromFile(join(folder, 'lake', String(file))) });
  expect(rows).toHaveLength(1500);
});

test.skipIf(noPostgres !== null)('sends what was pulled to PostgreSQL', { timeout: 2 * RUN_MS_MAX }, async () => {
  await using server = await startPostgres();
  const address = await server.database();
  const text = await readFile(join(folder, 'rowsync.yaml'), 'utf8');
  const url = `postgresql://rowsync@127.0.0.1:${address.port}/${address.database}`;
  await writeFile(join(folder, 'warehouse.url'), `${url}\n`, { mode: 0o600 });
  const sink = 'sinks: { warehouse: { postgres: { urlFile: warehouse.url, schema: crm }, tables: { Customer: {} } } }';
  await writeFile(join(folder, 'sink.yaml'), `${text}${sink}\n`);

  expect(await rowsync('sink', 'send', '--config', 'sink.yaml')).toContain('1 table, 1,500 rows loaded');

  expect(await server.rows(address, 'SELECT count(*)::int AS count FROM crm."Customer"')).toEqual([{ count: 1500 }]);
});

test('status loads nothing that takes long to load', async () => {
  const list = join(folder, 'list.cjs');
  const loaded = "process.moduleLoadList.map((name) => name.replace('NativeModule ', ''))";
  const noSegmenter = "Intl.Segmenter = class { constructor() { throw new Error('its data takes 9 MiB'); } };";
  await writeFile(
    list,
    `${noSegmenter} process.once('exit', () => require('node:fs').writeSync(2, JSON.stringify(${loaded})));`,
  );
  const program = join(folder, 'node_modules', 'rowsync', 'dist', 'cli', 'main.cjs');

  const { stderr } = await runFile(process.execPath, ['--require', list, program, 'status'], { cwd: folder, env });

  const heavy = [
    'child_process',
    'crypto',
    'fs/promises',
    'http',
    'tls',
    'worker_threads',
    'zlib',
    'readline',
    'internal/deps/undici/undici',
  ];
  expect((JSON.parse(stderr) as string[]).filter((name) => heavy.includes(name))).toEqual([]);
});

test.for([
  { args: ['status'], idle: ['src/pull', 'src/push', 'pino', 'undici', 'p-queue', 'mime'] },
  { args: ['sql', 'SELECT 1'], idle: ['src/pull', 'src/push', 'pino', 'undici', 'p-queue', 'mime'] },
  { args: ['--help'], idle: ['undici', 'src/origin/client.ts'] },
])('$args loads no code that it does not run', async ({ args, idle }) => {
  const hook = join(folder, 'hook.cjs');
  const note = 'load: (url, context, next) => (urls.push(url), next(url, context))';
  const say = "process.once('exit', () => require('node:fs').writeSync(2, JSON.stringify(urls)))";
  await writeFile(hook, `const urls = []; require('node:module').registerHooks({ ${note} }); ${say};`);
  const program = join(TOP, 'src', 'cli', 'main.ts');

  const { stderr } = await runFile(process.execPath, ['--require', hook, program, ...args], { cwd: folder, env });

  const loaded = JSON.parse(stderr) as string[];
  expect(loaded.some((url) => url.endsWith('/src/base/errors.ts'))).toBe(true);
  expect(loaded.filter((url) => idle.some((name) => url.includes(`/${name}`)))).toEqual([]);
});

test('status loads few parts of the bundle, and none of a pull', async () => {
  const hook = join(folder, 'parts.cjs');
  const note = 'load: (url, context, next) => (urls.push(url), next(url, context))';
  const say = "process.once('exit', () => require('node:fs').writeSync(2, JSON.stringify(urls)))";
  await writeFile(hook, `const urls = []; require('node:module').registerHooks({ ${note} }); ${say};`);
  const program = join(folder, 'node_modules', 'rowsync', 'dist', 'cli', 'main.cjs');

  const { stderr } = await runFile(process.execPath, ['--require', hook, program, 'status'], { cwd: folder, env });

  const parts = (JSON.parse(stderr) as string[]).filter((url) => url.endsWith('.mjs'));
  expect(parts.length).toBeLessThanOrEqual(6);
  const texts = await Promise.all(parts.map((url) => readFile(new URL(url), 'utf8')));
  expect(texts.join('')).toContain('RowsyncError=class');
  // undici, pino and p-queue
  expect(texts.join('')).not.toMatch(/UND_ERR_|pino\.|PQueue=class/);
});

test('serves an agent from the replica that was pulled', { timeout: 2 * RUN_MS_MAX }, async () => {
  const main = join(folder, 'node_modules', 'rowsync', 'dist', 'cli', 'main.cjs');
  await using agent = await startAgent(folder, [process.execPath, main]);

  const listed = await agent.call('list_tables');
  const counted = await agent.call('query', { sql: 'SELECT count(*) > 0 FROM "Customer"' });

  expect(listed.isError).toBe(false);
  expect(counted.value).toMatchObject({ rows: [[1]] });
});

test('goes through a proxy as the checkout does', { timeout: 2 * RUN_MS_MAX }, async () => {
  await withSandbox(async ({ url, database, token }) => {
    await using proxy = await startTestProxy({ login: { user: 'us', password: 'a-password' } });
    await writeFile(join(folder, 'token'), token, { mode: 0o600 });
    await writeFile(join(folder, 'password'), 'a-password', { mode: 0o600 });
    const way = `proxy: { url: "${proxy.url}", user: us, passwordFile: password }`;
    const config = `origin: { url: "${url}", database: "${database}", tokenFile: token, ${way} }\nreplica: { path: far.db }\n`;
    await writeFile(join(folder, 'far.yaml'), config);

    const pulled = await rowsync('pull', 'Customer', '--config', 'far.yaml');

    expect(pulled).toContain('Customer');
    expect(new Set(proxy.asked)).toEqual(new Set([`CONNECT ${new URL(url).host}`]));
  });
});

test('is a library whose ten lines in the documents compile and run', { timeout: 2 * RUN_MS_MAX }, async () => {
  const [lines = ''] = await libraryPrograms();
  await withSandbox(async ({ url, database, token }) => {
    const program = lines.replace('https://www.teamdesk.net', url).replace("'21995'", `'${database}'`);

    expect(await compileAndRun(program, { ROWSYNC_TOKEN: token })).toBe('200 []\n');
    expect(program).not.toContain('teamdesk');
  });
});

test('has a sandbox for the tests of others, as its document shows it', { timeout: 2 * RUN_MS_MAX }, async () => {
  const [, lines = ''] = await libraryPrograms();
  const said = await compileAndRun(lines, {});

  expect(said).toMatch(/^429 200\n/);
  expect(said).toContain("Name: 'Ada'");
  expect(said).toMatch(/\] 2\n$/);
});

/** The programs that the document of the libraries shows. */
async function libraryPrograms(): Promise<readonly string[]> {
  const page = await readFile(join(TOP, 'docs', 'library.md'), 'utf8');
  return [...page.matchAll(/```ts\n(import .*?)```/gs)].map(([, lines = '']) => lines);
}

/** What a program beside the installed package prints; first it must pass the strictest check of types. */
async function compileAndRun(program: string, variables: Readonly<Record<string, string>>): Promise<string> {
  await writeFile(join(folder, 'consumer.ts'), program);
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  const types = ['--typeRoots', join(TOP, 'node_modules', '@types'), '--types', 'node'];
  const strict = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--target', 'es2024', '--module', 'nodenext'];
  const compiler = join(TOP, 'node_modules', '.bin', 'tsc');
  const compiled = await runFile(compiler, [...strict, ...types, 'consumer.ts'], { cwd: folder, env }).catch(
    (error: unknown) => error as { stdout: string },
  );
  expect(compiled.stdout).toBe('');
  const ran = { cwd: folder, env: { ...env, ...variables }, timeout: RUN_MS_MAX };
  return (await runFile(process.execPath, ['consumer.ts'], ran)).stdout;
}

test('keeps to its doors: the libraries, the examples and package.json', async () => {
  const resolved = await runFile(
    process.execPath,
    [
      '--input-type=module',
      '--eval',
      `for (const name of ['client', 'sandbox', 'package.json', 'config/rowsync.schema.json', 'dist/origin/client.js'])
        try { console.log(import.meta.resolve('rowsync/' + name).split('/rowsync/')[1]) } catch (error) { console.log(error.code) }`,
    ],
    { cwd: folder, env },
  );

  expect(resolved.stdout.trim().split('\n')).toEqual([
    'dist/extras/library/library.js',
    'dist/sandbox/library.js',
    'package.json',
    'config/rowsync.schema.json',
    'ERR_PACKAGE_PATH_NOT_EXPORTED',
  ]);
});

/** Runs a sandbox from the checkout for the time of `work`. */
async function withSandbox(
  work: (sandbox: { url: string; database: string; token: string }) => Promise<void>,
): Promise<void> {
  const sandbox = spawn(process.execPath, ['src/cli/main.ts', 'sandbox', '--json'], {
    cwd: TOP,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [line] = (await once(createInterface(sandbox.stdout), 'line')) as [string];
    await work(JSON.parse(line) as { url: string; database: string; token: string });
  } finally {
    sandbox.kill('SIGTERM');
    if (sandbox.exitCode === null && sandbox.signalCode === null) await once(sandbox, 'exit');
  }
}

function openReadOnly(path: string): { readonly db: Database.Database; [Symbol.dispose](): void } {
  const db = new Database(path, { readonly: true });
  return { db, [Symbol.dispose]: () => void db.close() };
}
