/**
 * Opening the replica where it cannot be, or where something else is; writing while other SQL clients do; what a
 * transaction lets its code do. Root may write anywhere, so where a mode must count the test gives its rights away for
 * that moment.
 */
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock, type Clock } from '../../src/base/clock.ts';
import { asRowsyncError, type RowsyncError } from '../../src/base/errors.ts';
import { SCHEMA_VERSION } from '../../src/replica/bookkeeping/schema.ts';
import type { Tx } from '../../src/replica/connection.ts';
import { openReplica, type Replica } from '../../src/replica/database.ts';
import { APPLICATION_ID } from '../../src/replica/lock.ts';
import { openReader } from '../../src/replica/reader.ts';
import { sql } from '../../src/base/sql.ts';
import { testClock } from '../support/clock.ts';
import { startFixture, temporaryFolder } from '../support/replica.ts';
import { canMount, mountTmpfs } from '../support/tmpfs.ts';

const RUN_MS_MAX = 30_000;
/** The user `nobody`, on every Linux and macOS that matters. */
const NOBODY = 65_534;

let folder: ReturnType<typeof temporaryFolder>;
let path = '';

beforeEach(() => {
  folder = temporaryFolder();
  path = join(folder.path, 'replica.db');
});

afterEach(() => folder[Symbol.dispose]());

/** Opens and closes a replica; what was wrong. */
function openingError(file = path, clock: Clock = systemClock): RowsyncError {
  try {
    openReplica(file, { clock }).close();
  } catch (thrown) {
    return asRowsyncError(thrown);
  }
  throw new Error(`${file} could be opened`);
}

/**
 * The files of a folder with their bytes, but for what holds none: locks, and what SQLite keeps beside a file that is
 * read.
 */
function bytesIn(where: string): Readonly<Record<string, string>> {
  const names = readdirSync(where).filter((name) => !name.includes('.lock') && !name.endsWith('-shm'));
  const files = names.map((name) => [name, readFileSync(join(where, name)).toString('base64')] as const);
  return Object.fromEntries(files.filter(([name, bytes]) => bytes !== '' || !name.endsWith('-wal')));
}

/** Runs `work` without the rights of root, which no mode keeps out. */
function asNobody<T>(work: () => T): T {
  if (process.getuid?.() !== 0) return work();
  process.seteuid?.(NOBODY);
  try {
    return work();
  } finally {
    process.seteuid?.(0);
  }
}

describe('a new replica', () => {
  test('belongs to its owner alone, as do the files beside it', () => {
    const replica = openReplica(path, { clock: systemClock });
    const modes = readdirSync(folder.path).map((name) => [name, statSync(join(folder.path, name)).mode & 0o777]);
    replica.close();

    expect(modes.map(([name]) => name)).toEqual(
      expect.arrayContaining(['replica.db', 'replica.db-shm', 'replica.db-wal', 'replica.db.lock']),
    );
    expect(modes).toEqual(modes.map(([name]) => [name, 0o600]));
  });

  test('says whose it is and how old, and has the pragmas that its promises rest on', () => {
    const replica = openReplica(path, { clock: systemClock });
    const pragma = (name: string): unknown =>
      replica
        .prepare(PRAGMAS[name] ?? sql`SELECT 'none'`)
        .pluck()
        .get();
    const found = Object.fromEntries(Object.keys(PRAGMAS).map((name) => [name, pragma(name)]));
    replica.close();

    expect(found).toEqual({
      application_id: APPLICATION_ID,
      user_version: SCHEMA_VERSION,
      journal_mode: 'wal',
      synchronous: 1,
      trusted_schema: 0,
      cell_size_check: 1,
      busy_timeout: 50,
      journal_size_limit: 64 * 1024 * 1024,
    });
    expect(APPLICATION_ID).toBe(Buffer.from('rsyn').readInt32BE());
  });

  test('is made in an empty file, and opened again as it is', () => {
    writeFileSync(path, '');
    openReplica(path, { clock: systemClock }).close();
    const before = readFileSync(path);

    openReplica(path, { clock: systemClock }).close();

    expect(before.length).toBeGreaterThan(0);
    expect(readFileSync(path).equals(before)).toBe(true);
  });
});

const PRAGMAS: Readonly<Record<string, ReturnType<typeof sql>>> = {
  application_id: sql`PRAGMA application_id`,
  user_version: sql`PRAGMA user_version`,
  journal_mode: sql`PRAGMA journal_mode`,
  synchronous: sql`PRAGMA synchronous`,
  trusted_schema: sql`PRAGMA trusted_schema`,
  cell_size_check: sql`PRAGMA cell_size_check`,
  busy_timeout: sql`PRAGMA busy_timeout`,
  journal_size_limit: sql`PRAGMA journal_size_limit`,
};

describe('a place where no replica can be', () => {
  test('in a missing folder is named, with the way to make it', () => {
    const error = openingError(join(folder.path, 'no', 'such', 'replica.db'));

    expect(error).toMatchObject({ code: 'replica.path', exitCode: 1 });
    expect(error.message).toContain(join(folder.path, 'no', 'such'));
    expect(error.hint).toContain('mkdir -p');
    expect(existsSync(join(folder.path, 'no'))).toBe(false);
  });

  test('that is a folder is named', () => {
    mkdirSync(path);

    expect(openingError()).toMatchObject({ code: 'replica.path' });
  });

  test('whose folder is a file is named', () => {
    writeFileSync(path, '');

    expect(openingError(join(path, 'replica.db'))).toMatchObject({ code: 'replica.path' });
  });

  test('in a folder that may not be written is named, with the right that is missing', () => {
    chmodSync(folder.path, 0o555);

    const error = asNobody(() => openingError());
    chmodSync(folder.path, 0o700);

    expect(error).toMatchObject({ code: 'replica.path' });
    expect(error.hint).toContain('write access');
    expect(readdirSync(folder.path)).toEqual([]);
  });

  test('in a file that may not be written is named', () => {
    openReplica(path, { clock: systemClock }).close();
    chmodSync(path, 0o444);
    chmodSync(`${path}.lock`, 0o666);
    chmodSync(folder.path, 0o777);

    const error = asNobody(() => openingError());

    expect(error).toMatchObject({ code: 'replica.path' });
    expect(error.hint).toContain('write access');
  });

  test.skipIf(!canMount)(
    `on a disk that was mounted read-only is named${canMount ? '' : ' (skipped: this user may not mount a tmpfs)'}`,
    () => {
      using disk = mountTmpfs(1_024);
      const file = join(disk.path, 'replica.db');
      openReplica(file, { clock: systemClock }).close();
      disk.remount('ro');

      const error = openingError(file);

      expect(error).toMatchObject({ code: 'replica.path' });
    },
  );
});

describe('a file that is not ours', () => {
  const FOREIGN: readonly (readonly [string, (file: string) => void])[] = [
    ['a SQLite file of somebody else', (file) => fillForeign(file, 'delete')],
    ['a SQLite file in WAL mode', (file) => fillForeign(file, 'wal')],
    [
      'a SQLite file with an application id and no table',
      (file) => {
        const db = new Database(file);
        db.pragma('application_id = 1234');
        db.close();
      },
    ],
    ['a text', (file) => writeFileSync(file, 'origin:\n  url: https://example.com\n')],
    ['a short text', (file) => writeFileSync(file, 'x\n')],
    ['a long text', (file) => writeFileSync(file, 'no database\n'.repeat(1_000))],
    ['zeros', (file) => writeFileSync(file, Buffer.alloc(8_192))],
  ];

  test.each(FOREIGN)('is refused and left as it was, byte for byte: %s', (_what, make) => {
    make(path);
    const before = bytesIn(folder.path);

    const error = openingError();

    expect(error).toMatchObject({ code: 'replica.foreign', exitCode: 1 });
    expect(error.message).toContain(path);
    expect(error.hint).toContain('Nothing was changed');
    expect(bytesIn(folder.path)).toEqual(before);
  });

  test('is refused and left as it was where its owner crashed with changes in the log', () => {
    crashIn(
      path,
      `db.pragma('journal_mode = wal');
       db.exec('CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)');`,
    );
    const before = bytesIn(folder.path);

    const error = openingError();
    const readingError = readingErrorOf(path);

    expect(readingError).toMatchObject({ code: 'replica.foreign' });
    expect(Object.keys(before).toSorted()).toEqual(['replica.db', 'replica.db-wal']);
    expect(error).toMatchObject({ code: 'replica.foreign' });
    expect(bytesIn(folder.path)).toEqual(before);
  });

  test('is refused by readers too', () => {
    fillForeign(path, 'delete');
    const before = bytesIn(folder.path);

    expect(readingErrorOf(path)).toMatchObject({ code: 'replica.foreign' });
    expect(bytesIn(folder.path)).toEqual(before);
  });
});

function fillForeign(file: string, journalMode: 'wal' | 'delete'): void {
  const db = new Database(file);
  db.pragma(`journal_mode = ${journalMode}`);
  db.exec(`CREATE TABLE theirs (a); INSERT INTO theirs VALUES ('precious'); PRAGMA user_version = 7`);
  db.close();
}

describe('a replica in which another client crashed', () => {
  test('is mended as SQLite mends it, and opened', async () => {
    const first = openReplica(path, { clock: systemClock });
    const run = sql`INSERT INTO _rowsync_runs (kind, started_at, outcome) VALUES ('pull', 'then', 'done')`;
    await first.write('Recording', (tx) => tx.prepare(run).run());
    first.close();
    // Out of WAL mode, with a change that was written to the file but never committed.
    crashIn(
      path,
      `db.pragma('journal_mode = delete'); db.pragma('cache_size = 1'); db.pragma('cache_spill = 1');
       db.exec("BEGIN; DELETE FROM _rowsync_runs; CREATE TABLE junk (a)");
       for (let i = 0; i < 2000; i += 1) db.prepare('INSERT INTO junk VALUES (?)').run('x'.repeat(500));`,
    );
    const journalBytes = statSync(`${path}-journal`).size;

    const replica = openReplica(path, { clock: systemClock });
    const kept = replica
      .prepare(sql`SELECT started_at FROM _rowsync_runs`)
      .pluck()
      .all();
    replica.close();

    expect(journalBytes).toBeGreaterThan(512);
    expect(kept).toEqual(['then']);
  });
});

/** Another process opens the file as `db`, does what `script` says, and is gone without a message. */
function crashIn(file: string, script: string): void {
  const whole = `const db = require('better-sqlite3')(process.argv[1]); ${script} process.kill(process.pid, 'SIGKILL')`;
  const { signal, stderr } = spawnSync(process.execPath, ['-e', whole, file], {
    cwd: join(import.meta.dirname, '../..'),
    encoding: 'utf8',
  });
  if (signal !== 'SIGKILL') throw new Error(stderr);
}

function readingErrorOf(file: string): RowsyncError | null {
  try {
    openReader(file).close();
    return null;
  } catch (thrown) {
    return asRowsyncError(thrown);
  }
}

describe('a replica of a newer version', () => {
  test('is refused and left as it was', () => {
    openReplica(path, { clock: systemClock }).close();
    const db = new Database(path);
    db.pragma(`user_version = ${SCHEMA_VERSION + 1}`);
    db.close();
    const before = bytesIn(folder.path);

    const error = openingError();

    expect(error).toMatchObject({ code: 'replica.newer', exitCode: 78 });
    expect(error.message).toContain(`version ${SCHEMA_VERSION + 1}`);
    expect(error.hint).toContain('Nothing was changed');
    expect(bytesIn(folder.path)).toEqual(before);
    expect(readingErrorOf(path)).toMatchObject({ code: 'replica.newer' });
  });
});

describe('a damaged replica', () => {
  test(
    'is called damaged wherever the pull meets the damage',
    async () => {
      const rows = Array.from({ length: 400 }, (_, index) => ({ Title: `note ${index} ${'x'.repeat(200)}` }));
      const codes = new Set<string>();
      for (let page = 1; page <= 24; page += 1) {
        await using fixture = await startFixture({
          tables: [{ name: 'Note', columns: [{ name: 'Title', type: 'Text' }], rows }],
        });
        await fixture.pull();
        fixture.sandbox.store.update('Note', 7, { Title: 'changed' });
        fixture.replica.close();
        overwritePage(fixture.path, page);
        codes.add(readingProblem(fixture.path) ?? 'done');
        try {
          fixture.replica = openReplica(fixture.path, { clock: systemClock });
          const report = await fixture.pull();
          codes.add(report.error?.code ?? report.tables[0]?.error?.code ?? 'done');
        } catch (thrown) {
          codes.add(asRowsyncError(thrown).code);
          fixture.replica = openReplica(join(fixture.folder, 'other.db'), { clock: systemClock });
        }
      }

      // Page 1 has the header; pages that this pull did not need are not met.
      expect([...codes].toSorted()).toEqual(['done', 'replica.damaged']);
    },
    RUN_MS_MAX,
  );
});

/** Reads what `status` and `sql` read; what was wrong. */
function readingProblem(file: string): string | null {
  try {
    const reader = openReader(file);
    try {
      reader.status();
      reader.runs(5);
      reader.identity();
      reader.failures();
      for (const row of reader.query('SELECT * FROM "Note" ORDER BY "Title"').rows) row.at(0);
      return null;
    } finally {
      reader.close();
    }
  } catch (thrown) {
    return asRowsyncError(thrown).code;
  }
}

/** Overwrites one page behind the header. */
function overwritePage(file: string, page: number): void {
  const pageBytes = readFileSync(file).readUInt16BE(16);
  const handle = openSync(file, 'r+');
  writeSync(handle, Buffer.alloc(pageBytes - 100, 0xa5), 0, pageBytes - 100, (page - 1) * pageBytes + 100);
  closeSync(handle);
}

test('a second opening within one process is refused, and let in after close', () => {
  const first = openReplica(path, { clock: systemClock });
  const error = openingError();
  first.close();

  expect(error.code).toBe('replica.inUse');
  openReplica(path, { clock: systemClock }).close();
});

describe('another SQL client that holds a write transaction', () => {
  const count = (replica: Replica): Promise<unknown> =>
    replica.write('Counting', (tx) =>
      tx
        .prepare(sql`SELECT count(*) FROM _rowsync_runs`)
        .pluck()
        .get(),
    );

  test('lets a write wait outside of the event loop, and go on when it has ended', async () => {
    const clock = testClock({ sleepsAdvance: false });
    const replica = openReplica(path, { clock });
    const other = new Database(path);
    other.exec('BEGIN IMMEDIATE');

    const pending = count(replica);
    await clock.sleeper(); // the loop is free: we are here although the write has not come through
    const waitedMs = clock.waits[0] ?? 0;
    other.exec('COMMIT');
    clock.advance(waitedMs);
    const result = await pending;
    other.close();
    replica.close();

    expect(result).toBe(0);
    expect(clock.waits).toHaveLength(1);
    expect(waitedMs).toBeGreaterThanOrEqual(50);
  });

  test('is named when it does not end within five minutes', async () => {
    const clock = testClock();
    const patient: Clock = { ...clock, sleep: async () => clock.advance(90_000) };
    const replica = openReplica(path, { clock: patient });
    const other = new Database(path);
    other.exec('BEGIN IMMEDIATE');

    const error = await count(replica).then(() => null, asRowsyncError);
    other.exec('ROLLBACK');
    const afterwards = await count(replica);
    other.close();
    replica.close();

    expect(error).toMatchObject({ code: 'replica.busy', exitCode: 75 });
    expect(error?.hint).toContain('other SQL client');
    expect(patient.monotonicMs()).toBe(360_000);
    expect(afterwards).toBe(0);
  });

  test('does not keep a waiting write from being stopped', async () => {
    const clock = testClock({ sleepsAdvance: false });
    const replica = openReplica(path, { clock });
    const other = new Database(path);
    other.exec('BEGIN IMMEDIATE');
    const stop = new AbortController();

    const pending = replica.write('Waiting', () => 'done', stop.signal).then(() => null, asRowsyncError);
    await clock.sleeper();
    stop.abort();
    const error = await pending;
    other.close();
    replica.close();

    expect(error).toMatchObject({ code: 'replica.busy' });
  });

  test('does not keep the replica from being opened, nor a reader', () => {
    openReplica(path, { clock: systemClock }).close();
    const other = new Database(path);
    other.exec('BEGIN IMMEDIATE');

    const replica = openReplica(path, { clock: systemClock });
    const reader = openReader(path);
    const { rows } = reader.query('SELECT count(*) FROM sync_runs');

    expect([...rows]).toEqual([[0]]);
    reader.close();
    replica.close();
    other.close();
  });

  test('holds up a pull, which then ends as if nothing had been', async () => {
    const rows = Array.from({ length: 12 }, (_, index) => ({ Title: `note ${index}` }));
    await using fixture = await startFixture(
      { tables: [{ name: 'Note', columns: [{ name: 'Title', type: 'Text' }], rows }] },
      { settings: { pageRows: 5 } },
    );
    await fixture.replica.write('Making the file', () => undefined);
    const other = new Database(fixture.path);
    fixture.sandbox.before(2, () => other.exec('BEGIN IMMEDIATE'), { method: 'select' });
    fixture.sandbox.before(3, () => other.exec('COMMIT'), { method: 'select' });

    const report = await fixture.pull({ settings: { concurrency: 4 } });
    other.close();

    expect(report).toMatchObject({ error: null, tables: [{ error: null, rowCount: 12 }] });
  });
});

describe('a write that fails', () => {
  test('leaves nothing behind, and the next one goes on', async () => {
    const replica = openReplica(path, { clock: systemClock });
    const insert = sql`INSERT INTO _rowsync_runs (kind, started_at, outcome) VALUES ('pull', 'now', 'running')`;
    const constraint = await replica
      .write('Failing', (tx) => {
        tx.prepare(insert).run();
        tx.prepare(sql`INSERT INTO _rowsync_runs (kind) VALUES (NULL)`).run();
      })
      .then(() => null, asRowsyncError);
    const bug = await replica
      .write('Failing', (tx) => {
        tx.prepare(insert).run();
        throw new TypeError('a defect');
      })
      .then(
        () => null,
        (thrown: unknown) => thrown,
      );

    const left = await replica.write('Counting', (tx) =>
      tx
        .prepare(sql`SELECT count(*) FROM _rowsync_runs`)
        .pluck()
        .get(),
    );
    replica.close();

    expect(constraint).toMatchObject({ code: 'replica.failed' });
    expect(constraint?.message).toContain('NOT NULL');
    expect(bug).toBeInstanceOf(TypeError);
    expect(left).toBe(0);
  });
});

describe('a transaction as an object', () => {
  const ONE = sql`SELECT 1`;

  test('refuses to prepare a statement, and to write history, after its end', async () => {
    await using fixture = await startFixture();
    const ended = await fixture.replica.write('Keeping a transaction', (tx) => tx);

    expect(() => ended.prepare(ONE)).toThrow('a transaction is not used after its end');
    expect(() => ended.history).toThrow('a transaction is not used after its end');
    expect(() => ended.because('filter').prepare(ONE)).toThrow('a transaction is not used after its end');
  });

  test('is over for code that kept it when the transaction failed or was rehearsed', async () => {
    await using fixture = await startFixture();
    const kept: Tx[] = [];
    const keep = (tx: Tx): void => void kept.push(tx.because('decision'));
    await fixture.replica.rehearse('Rehearsing', keep);
    await fixture.replica
      .write('Failing', (tx) => {
        keep(tx);
        throw new Error('refused');
      })
      .catch(() => null);

    expect(kept).toHaveLength(2);
    for (const tx of kept) expect(() => tx.prepare(ONE)).toThrow('a transaction is not used after its end');
  });

  test('has the cause of the work that writes, and keeps its run where another cause is given', async () => {
    await using fixture = await startFixture();
    const working = fixture.replica.because({ cause: 'push', runId: 7 });

    const causes = await working.write('Looking', (tx) => [tx.because('filter').cause, tx.cause]);

    expect(causes).toEqual([
      { cause: 'filter', runId: 7 },
      { cause: 'push', runId: 7 },
    ]);
  });
});
