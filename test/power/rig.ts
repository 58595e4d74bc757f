/**
 * Power cuts of the built program. A story runs once, with disk-log.c preloaded, while what was acknowledged outside is
 * noted: requests that reached the origin, commits of a SQL client, and what commands said. Then the power is cut at
 * any operation of the record: the disk and the origin are put back as they may have been, the program continues, and
 * what was acknowledged must be there.
 */
import { execFileSync, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import Database from 'better-sqlite3';
import type { Random } from '../../src/sandbox/data/random.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { fileOf } from '../support/files.ts';
import { startTestSandbox, type TestSandbox } from '../support/sandbox.ts';
import { plant, type Mutant } from '../sim/mutants/mutant.ts';
import { Disk, readRecord, type Operation, type Survival } from './disk.ts';

const TOP = join(import.meta.dirname, '../..');
const CHANGING = new Set(['create', 'update', 'upsert', 'delete', 'attachment']);

/** Why no power can be cut here; null where it can. */
export const noPowerCuts: string | null = cannotCompile();

function cannotCompile(): string | null {
  try {
    execFileSync('gcc', ['--version'], { stdio: 'ignore' });
    return process.platform === 'linux' ? null : 'only Linux preloads';
  } catch {
    return 'there is no gcc';
  }
}

/** What is needed to run a story. */
export interface Program {
  readonly folder: string;
  readonly main: string;
  readonly library: string;
}

/** Compiles what is preloaded, and bundles the program, with a sync taken out if one is named. */
export async function buildProgram(removal: Mutant | null): Promise<Program> {
  const folder = mkdtempSync(join(tmpdir(), 'rowsync-power-'));
  for (const part of ['src', 'packaging', 'config', 'docs', 'package.json', 'tsconfig.json'])
    cpSync(join(TOP, part), join(folder, part), { recursive: true });
  symlinkSync(join(TOP, 'node_modules'), join(folder, 'node_modules'));
  if (removal !== null) plant(removal, join(folder, 'src'));
  const library = join(folder, 'disk-log.so');
  execFileSync('gcc', [
    '-shared',
    '-fPIC',
    '-O2',
    '-o',
    library,
    join(import.meta.dirname, 'disk-log.c'),
    '-ldl',
    '-lpthread',
  ]);
  const { bundle } = (await import(pathToFileURL(join(folder, 'packaging/bundle.ts')).href)) as {
    bundle: (out: string) => Promise<unknown>;
  };
  await bundle(join(folder, 'dist'));
  return { folder, main: join(folder, 'dist/cli/main.cjs'), library };
}

/** What somebody outside was told, by the place in the record from which on it must hold. */
export interface Acknowledged {
  readonly at: number;
  /** Titles that a SQL client committed; they reach the origin once. */
  readonly titles?: readonly string[];
  /** A backup that was said to be whole, and its rows. */
  readonly backup?: { readonly path: string; readonly rowCount: number };
  /** Files of an export, with their hashes. */
  readonly exported?: ReadonlyMap<string, string>;
  /** How many runs had ended. */
  readonly runCount?: number;
  /** From here on an older copy is in the place of the replica. */
  readonly restores?: boolean;
}

/** A story that ran. */
export interface Recording {
  readonly folder: string;
  readonly operations: readonly Operation[];
  readonly start: ConstructorParameters<typeof Disk>[1];
  readonly acknowledged: readonly Acknowledged[];
  /** The origin as it was before each request, by the place in the record; the last one is for all that follows. */
  readonly origins: readonly { readonly at: number; readonly bytes: Buffer }[];
  /** Where the origin has to be again. */
  readonly address: { readonly host: string; readonly port: number };
  readonly token: string;
  [Symbol.dispose](): void;
}

/** What a story does. */
export interface Story {
  readonly sandbox: TestSandbox;
  readonly folder: string;
  /** Runs the program; what it says is acknowledged by the caller. */
  readonly rowsync: (...args: readonly string[]) => Promise<void>;
  /** Commits statements as another client that syncs. */
  readonly client: (...statements: readonly string[]) => Promise<void>;
  readonly acknowledge: (what: Omit<Acknowledged, 'at'>) => void;
}

/** The tables of the story. */
const TABLES: readonly TableSpec[] = [
  {
    name: 'Album',
    createdFromMs: Date.UTC(2026, 0, 1),
    columns: [
      { name: 'Title', type: 'Text' },
      { name: 'Code', type: 'Text', options: ['Unique'] },
      { name: 'Photo', type: 'Attachment', options: ['AllowSeeRevisionHistory'] },
    ],
    rows: Array.from({ length: 12 }, (_, index) => ({
      Title: `title ${index}`,
      Code: `c${index}`,
      ...(index < 6 ? { Photo: fileOf(`photo ${index}.bin`, 3000 + index * 4000) } : {}),
    })),
  },
];

/** The configuration of every story; new rows of one table are told by their code. */
function writeConfig(folder: string, table: string, { url, database, token }: TestSandbox): void {
  writeFileSync(join(folder, 'token'), token, { mode: 0o600 });
  writeFileSync(
    join(folder, 'rowsync.yaml'),
    `origin: { url: "${url}", database: "${database}", tokenFile: token }
replica: { path: replica.db }
tables: { "*": { push: true, history: true }, "${table}": { push: true, match: Code, history: true } }
files: { uploadDir: uploads }
safety: { maxDeletePercent: 100 }
`,
  );
}

/** Runs a story under the record. */
export async function recordStory(
  program: Program,
  tell: (story: Story) => Promise<void>,
  {
    tables = TABLES,
    prepare,
  }: { tables?: readonly TableSpec[]; prepare?: (folder: string, sandbox: TestSandbox) => void } = {},
): Promise<Recording> {
  const folder = mkdtempSync(join(tmpdir(), 'rowsync-power-disk-'));
  const log = `${folder}.log`;
  writeFileSync(log, '');
  const at = (): number => statSync(log).size;
  const origins: { at: number; bytes: Buffer }[] = [];
  const keepOrigin = (): void => void origins.push({ at: at(), bytes: serialized(sandbox.store.path) });
  // An address that nobody else takes a port of meanwhile.
  const host = `127.${randomInt(1, 255)}.${randomInt(1, 255)}.1`;
  const sandbox: TestSandbox = await startTestSandbox({
    host,
    tables,
    intercept: ({ method }) => {
      if (CHANGING.has(method ?? '') || origins.length === 0) keepOrigin();
      return false;
    },
  });
  try {
    for (const name of ['backups', 'uploads']) mkdirSync(join(folder, name));
    for (const name of ['a.txt', 'b.txt']) writeFileSync(join(folder, 'uploads', name), `upload ${name}`);
    writeConfig(folder, tables[0]?.name ?? '*', sandbox);
    prepare?.(folder, sandbox);
    const start = filesBelow(folder);
    const acknowledged: Acknowledged[] = [];
    const env = {
      ...process.env,
      LD_PRELOAD: program.library,
      POWER_LOG: log,
      POWER_FOLDER: folder,
      NODE_PATH: join(TOP, 'node_modules'),
    };
    const run = async (args: readonly string[]): Promise<void> => {
      const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
      let text = '';
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (chunk) => (text += chunk));
      const [code] = (await once(child, 'close')) as [number];
      if (code !== 0 && !isWaiting(text)) throw new Error(`${args.join(' ')} ended with ${code}:\n${text}`);
    };
    await tell({
      sandbox,
      folder,
      rowsync: async (...args) => {
        await run([program.main, ...args]);
        keepOrigin();
      },
      client: async (...statements) => {
        const script = `const db = new (require('better-sqlite3'))('replica.db'); db.pragma('synchronous = FULL');
          db.transaction(() => db.exec(${JSON.stringify(statements.join(';'))})).immediate(); db.close();`;
        await run(['-e', script]);
      },
      acknowledge: (what) => void acknowledged.push({ at: at(), ...what }),
    });
    keepOrigin();
    const address = { host, port: Number(new URL(sandbox.url).port) };
    const operations = readRecord(log);
    const dispose = (): void => {
      for (const path of [folder, log]) rmSync(path, { recursive: true, force: true });
    };
    return {
      folder,
      operations,
      start,
      acknowledged,
      origins,
      address,
      token: sandbox.token,
      [Symbol.dispose]: dispose,
    };
  } finally {
    await sandbox.stop();
  }
}

/** Puts the disk and the origin back as they may have been when the power failed behind so many operations. */
export function cutPower(
  recording: Recording,
  count: number,
  survival: Survival,
  random: Random,
): { readonly at: number; readonly origin: Buffer } {
  const disk = new Disk(recording.folder, recording.start);
  for (const operation of recording.operations.slice(0, count)) disk.apply(operation);
  disk.writeTo(survival, random);
  const at = recording.operations[count - 1]?.end ?? 0;
  const next = recording.origins.find((origin) => origin.at > at) ?? recording.origins.at(-1);
  if (next === undefined) throw new Error('The story never asked the origin');
  return { at, origin: next.bytes };
}

/** Whether a command says that it can go on only with a person's help, which is no failure. */
export function isWaiting(said: string): boolean {
  return /conflicts? to decide|wait for a person|rowsync failures/.test(said);
}

function serialized(path: string): Buffer {
  const db = new Database(path, { readonly: true });
  try {
    return db.serialize();
  } finally {
    db.close();
  }
}

function filesBelow(folder: string): Map<string, { inode: bigint; content: Buffer | null }> {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path));
  return new Map(
    [folder, ...paths].map((path) => {
      const facts = statSync(path, { bigint: true });
      return [path, { inode: facts.ino, content: facts.isFile() ? readFileSync(path) : null }];
    }),
  );
}
