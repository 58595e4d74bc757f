/**
 * Attached files, with the end of the process at every step: each request before and behind its arrival, each transaction in and behind
 * it, each step of a push. The simulated world has no files, so these two stories run outside of it: real modules, a real folder,
 * the model of the origin, and a clock that stands still. What is awaited in one story is awaited one after another.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import type { FilesContext } from '../../src/files/context.ts';
import { pullFiles } from '../../src/files/pull.ts';
import { openStore, type FileStore } from '../../src/files/store.ts';
import { uploadKeeper } from '../../src/files/upload.ts';
import { openOrigin } from '../../src/origin/client.ts';
import type { Transport, WireAnswer, WireFault, WireRequest } from '../../src/origin/transport.ts';
import { pull } from '../../src/pull/pull.ts';
import { finishPushes, push } from '../../src/push/push.ts';
import { openReplica, type Surround, type TransactionFacts } from '../../src/replica/database.ts';
import { testClock } from '../support/clock.ts';
import { answerOf } from './faults.ts';
import { MODEL_TOKEN, OriginModel } from './model/origin.ts';
import { runDry } from './scheduler.ts';
import { DATABASE, START_MS } from './setup.ts';

/** Where a process ends: at the step of this number; null for one that does everything. */
class Life {
  readonly steps: string[] = [];
  readonly died: Promise<void>;
  isDead = false;
  readonly #dieAt: number | null;
  readonly #waiting: ((error: Error) => void)[] = [];
  #isReleased = false;
  #tell: () => void = () => undefined;

  constructor(dieAt: number | null) {
    this.#dieAt = dieAt;
    this.died = new Promise((resolve) => (this.#tell = resolve));
  }

  /** What a dead process waits for. */
  #never<T>(): Promise<T> {
    return new Promise((_resolve, reject) => {
      if (this.#isReleased) reject(new Error('The process ended'));
      else this.#waiting.push(reject);
    });
  }

  /** Where a push asks before each step. */
  readonly before = async (step: string): Promise<void> =>
    this.endsAt(`before push step ${step}`) ? this.#never() : undefined;

  /** Lets go of the files that it has open, once everything is judged. */
  async release(): Promise<void> {
    this.#isReleased = true;
    for (const reject of this.#waiting) reject(new Error('The process ended'));
    await filesAreStill();
  }

  /** Counts a step; true where it is the last one. */
  endsAt(what: string): boolean {
    if (this.isDead) return true;
    this.steps.push(what);
    if (this.steps.length - 1 !== this.#dieAt) return false;
    this.isDead = true;
    this.#tell();
    return true;
  }

  readonly surround: Surround = async <T>(
    facts: TransactionFacts,
    transact: (beforeEnd: () => void) => Promise<T>,
  ): Promise<T> => {
    if (this.isDead) return this.#never();
    const result = await transact(() => {
      if (this.endsAt(`in "${facts.what}"`)) throw new Error('The process ended');
    }).catch((thrown: unknown) => {
      if (this.isDead) return this.#never<T>();
      throw thrown;
    });
    return this.endsAt(`behind "${facts.what}"`) ? this.#never<T>() : result;
  };

  transport(origin: OriginModel): Transport {
    return {
      send: async (request) => {
        if (this.isDead) return this.#never();
        const name = `${request.method} ${request.path.split('?')[0] ?? ''}`;
        const body = await bytesOf(request);
        if (this.endsAt(`before ${name} arrives`)) return this.#never();
        const answer = origin.answer({ method: request.method, path: request.path, headers: fieldsOf(request), body });
        if (this.endsAt(`before ${name} is answered`)) return this.#never();
        return deliver(request, answerOf(answer.status, answer.headers, answer.body));
      },
      freedConnectionIsUsed: () => Promise.resolve(),
      destroy: () => Promise.resolve(),
    };
  }
}

async function filesAreStill(): Promise<void> {
  do await runDry();
  while (process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq')));
}

async function bytesOf({ body }: WireRequest): Promise<Uint8Array | null> {
  if (body === undefined || body instanceof Uint8Array) return body ?? null;
  const chunks: Uint8Array[] = [];
  for await (const chunk of body.read()) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

function fieldsOf({ headers }: WireRequest): Readonly<Record<string, string>> {
  const fields: Record<string, string> = {};
  for (let index = 0; index + 1 < headers.length; index += 2) fields[headers[index] ?? ''] = headers[index + 1] ?? '';
  return fields;
}

async function deliver({ receiver }: WireRequest, answer: WireAnswer): Promise<WireAnswer | WireFault> {
  if (receiver?.accepts(answer.status, answer.headers) !== true) return answer;
  await receiver.write(answer.body);
  return { ...answer, body: Buffer.alloc(0) };
}

interface Place {
  readonly folder: string;
  readonly origin: OriginModel;
}

const RULE = { mode: 'latest', maxFileBytes: null, types: null, name: 'tables.Doc.files' } as const;

function makeOrigin(): OriginModel {
  const file = (name: string, text: string) => ({ name, mediaType: 'text/plain', bytes: Buffer.from(text) });
  const columns = [
    { name: 'Code', type: 'Text', options: ['Unique'] },
    { name: 'File', type: 'Attachment', options: ['AllowSeeRevisionHistory'] },
  ] as const;
  const rows = [
    { Code: 'c1', File: file('one.txt', 'one') },
    { Code: 'c2', File: file('two.txt', 'two') },
    { Code: 'c3' },
  ];
  const doc = { name: 'Doc', createdFromMs: START_MS, systemColumns: false, columns: [...columns], rows };
  return new OriginModel({ tables: [doc], nowMs: () => START_MS, database: DATABASE, token: MODEL_TOKEN });
}

/** One life of the engine: rows, files, edits. */
async function live({ folder, origin: model }: Place, life: Life): Promise<void> {
  const clock = testClock();
  const log = silentLogger;
  const replica = openReplica(join(folder, 'replica.db'), { clock, surround: life.surround });
  const origin = openOrigin(
    {
      url: 'https://origin.example',
      database: DATABASE,
      credentials: { kind: 'bearer', token: MODEL_TOKEN },
      concurrency: 1,
      compress: false,
    },
    { clock, log, transport: life.transport(model) },
  );
  const files: FilesContext = {
    origin,
    replica,
    clock,
    log,
    settings: { folder: join(folder, 'files'), bytesMax: null, concurrency: 1, rule: () => RULE },
  };
  const shared = { maxDeletePercent: 100, concurrency: 1 };
  const pulling = {
    origin,
    replica,
    clock,
    log,
    settings: {
      ...shared,
      pageRows: 10,
      tableOptions: () => ({ sort: null, editing: { match: 'Code', conflict: 'origin', workflow: 'run' } as const }),
    },
  };
  const pushing = {
    origin,
    replica,
    clock,
    log,
    keepUpload: uploadKeeper(files),
    before: life.before,
    settings: {
      ...shared,
      maxPushRows: 100,
      uploadDir: folder,
      tableOptions: () => ({ conflict: 'origin', workflow: 'run' }) as const,
    },
  };
  const work = async (): Promise<void> => {
    await finishPushes(pushing);
    await pull(pulling, { tables: [], confirm: true });
    await push(pushing, { tables: [], confirm: true });
    await pullFiles(files, { tables: [], retryNow: true });
  };
  try {
    await Promise.race([work(), life.died]);
    // What the system was asked for before the end still happens.
    if (life.isDead) await filesAreStill();
  } finally {
    replica.close();
  }
}

function folderInMemory(): { readonly path: string; [Symbol.dispose](): void } {
  const path = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'rowsync-sim-files-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

function openClient(folder: string): { readonly db: Database.Database; [Symbol.dispose](): void } {
  const db = new Database(join(folder, 'replica.db'));
  return { db, [Symbol.dispose]: () => void db.close() };
}

/** What is wrong once all is quiet. */
async function judge({ folder, origin }: Place, atOrigin: readonly string[]): Promise<readonly string[]> {
  using client = openClient(folder);
  const { db } = client;
  const store: FileStore = await openStore(join(folder, 'files'));
  const rows = origin.rows('Doc');
  const found = rows.map(({ values }) => {
    const guid = String(values['File'] ?? '').split(';')[2] ?? '';
    return `${String(values['Code'])} ${Buffer.from(origin.fileBytes(guid) ?? []).toString()}`;
  });
  const wrong = found.toSorted().join(' | ') === atOrigin.join(' | ') ? [] : [`the origin has ${found.join(' | ')}`];
  const uploads = origin.log.filter(({ by, kind }) => by === 'api' && kind === 'file').map(({ id }) => id);
  if (new Set(uploads).size !== uploads.length) wrong.push(`rows ${uploads.join(', ')} were given files`);
  const local = db.prepare('SELECT _id AS id, Code, File FROM Doc ORDER BY _id').all();
  const remote = rows.map(({ id, values }) => ({ id, Code: values['Code'], File: values['File'] }));
  if (JSON.stringify(local) !== JSON.stringify(remote)) wrong.push(`the replica has ${JSON.stringify(local)}`);
  if (db.prepare('SELECT count(*) FROM _rowsync_rows').pluck().get() !== 0) wrong.push('an edit still waits');
  const kept = db.prepare(`SELECT row_id, guid, sha256, bytes, state FROM sync_files ORDER BY row_id`).all() as {
    row_id: number;
    guid: string;
    sha256: string;
    bytes: number;
    state: string;
  }[];
  const known = new Set(kept.map(({ guid }) => guid));
  for (const { id, values } of rows) {
    const guid = values['File'] === null ? null : String(values['File']).split(';')[2];
    if (guid !== null && !known.has(guid ?? '')) wrong.push(`the file of row ${id} is not known here`);
  }
  for (const { sha256, bytes, state, row_id } of kept) {
    const path = state === 'here' ? store.pathOf(sha256) : '';
    const content = existsSync(path) ? readFileSync(path) : null;
    const isWhole = content?.length === bytes && createHash('sha256').update(content).digest('hex') === sha256;
    if (!isWhole) wrong.push(`the file of row ${row_id} is ${state}, and not whole`);
  }
  return wrong;
}

const STORIES = [
  { name: 'attachments down', isWarm: false, edits: '', atOrigin: ['c1 one', 'c2 two', 'c3 '] },
  {
    name: 'attachments up',
    isWarm: true,
    edits: `UPDATE Doc SET File = 'file:new.txt' WHERE _id IN (1, 3);
      INSERT INTO Doc (Code, File) VALUES ('c4', 'file:new.txt')`,
    atOrigin: ['c1 new', 'c2 two', 'c3 new', 'c4 new'],
  },
] as const;

test.each(STORIES)(
  '$name: the process may end at every step',
  async ({ isWarm, edits, atOrigin }) => {
    const play = async (dieAt: number | null): Promise<{ life: Life; wrong: readonly string[] }> => {
      using folder = folderInMemory();
      const place: Place = { folder: folder.path, origin: makeOrigin() };
      writeFileSync(join(folder.path, 'new.txt'), 'new');
      if (isWarm) await live(place, new Life(null));
      if (edits !== '') {
        using client = openClient(folder.path);
        client.db.exec(edits);
      }
      const life = new Life(dieAt);
      await live(place, life);
      for (let cycle = 1; cycle <= 2; cycle += 1) await live(place, new Life(null));
      const wrong = await judge(place, atOrigin);
      await life.release();
      return { life, wrong };
    };

    const { life, wrong } = await play(null);
    expect(wrong).toEqual([]);
    expect(life.steps.length).toBeGreaterThan(20);
    for (const [step, name] of life.steps.entries()) {
      const ended = await play(step);
      expect([step, ended.life.steps.at(-1), ended.wrong]).toEqual([step, name, []]);
    }
  },
  120_000,
);
