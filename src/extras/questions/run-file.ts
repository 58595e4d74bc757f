/**
 * The rows that `rowsync contract --write-in` makes, in a file beside the replica until they are deleted. Each row has the marker of its run in a text
 * column, and each request that writes is noted, and on disk, before it leaves. So a row can be found and deleted whatever became of its answer.
 */
import {
  appendFileSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { dirname } from 'node:path';
import * as z from 'zod';
import { EXIT, RowsyncError, usageError } from '../../base/errors.ts';
import { durationText, plural } from '../../base/text.ts';
import { takeLock } from '../../replica/lock.ts';
import { pathSegment, queryFromPairs, TOP_MAX } from '../../wire/request-paths.ts';
import { jsonOf } from './questions.ts';
import type { RowFields, Server } from './server.ts';

const word = z.string().min(1);
const rowIds = z.array(z.int().positive()).readonly();

const runFileHead = z.object({
  /** Host and path of the database. */
  database: word,
  /** The alias of the table. */
  table: word,
  tableName: word,
  /** The column whose texts begin with the marker. */
  column: word,
  marker: z.string().regex(/^rowsync contract [0-9a-f]{12}$/),
});

/** A request is about to leave, or was answered and made these rows, or these rows were shown with the marker. */
const runFileLine = z.union([z.object({ sentMs: z.int() }), z.object({ made: rowIds }), z.object({ seen: rowIds })]);

type RunFileHead = z.infer<typeof runFileHead>;
type RunFileLine = z.infer<typeof runFileLine>;

/** A request without an answer does nothing any more after this time: the origin and its proxies have given up. */
const ARRIVAL_MS = 120_000;

/** The command that finishes a clean-up. */
export const CLEAN_UP = 'rowsync contract --clean-up';

/** Requests of one clean-up at most. */
export const CLEAN_UP_REQUESTS_MAX = 3;

/** For its owner alone: who could write it could have rows deleted. */
const FILE_MODE = 0o600;

/** More than all lines of a run. */
const FILE_BYTES_MAX = 65_536;

export class RunFile {
  readonly head: RunFileHead;
  readonly path: string;
  /** Ids of rows that the origin said it made. */
  readonly made = new Set<number>();
  /** Those of them that it has not shown since; others are gone once they are no longer shown. */
  readonly unseen = new Set<number>();
  /** When each request left that was not answered. */
  readonly unansweredMs: number[] = [];

  constructor(path: string, head: RunFileHead, lines: readonly RunFileLine[] = []) {
    this.path = path;
    this.head = head;
    for (const line of lines) this.#take(line);
  }

  /** Notes a request that is about to leave. @throws RowsyncError `usage.invalid`. */
  noteSent(sentMs: number): void {
    this.#append({ sentMs });
  }

  /** Notes the rows that the request before made. @throws RowsyncError `usage.invalid`. */
  noteAnswer(made: readonly number[]): void {
    this.#append({ made });
  }

  /** Notes rows that are shown and about to be deleted. */
  noteSeen(ids: readonly number[]): void {
    const seen = ids.filter((id) => this.unseen.has(id));
    if (seen.length === 0) return;
    this.#take({ seen });
    try {
      writeSynced(this.path, { seen });
    } catch {
      // Deleting them matters more: a later clean-up would name them, and a further row needs the file.
    }
  }

  #append(line: RunFileLine): void {
    writeSynced(this.path, line);
    this.#take(line);
  }

  #take(line: RunFileLine): void {
    if ('sentMs' in line) this.unansweredMs.push(line.sentMs);
    else if ('seen' in line) for (const id of line.seen) this.unseen.delete(id);
    else {
      this.unansweredMs.pop();
      for (const id of line.made) {
        this.made.add(id);
        this.unseen.add(id);
      }
    }
  }
}

/** Keeps every other run and clean-up out until it is disposed of; the kernel does so if the process is killed. @throws RowsyncError `replica.inUse`. */
export function holdRunFile(path: string): Disposable {
  try {
    const lock = takeLock(path, FILE_MODE);
    return { [Symbol.dispose]: () => void lock.close() };
  } catch (cause) {
    if (!(cause instanceof RowsyncError) || cause.code !== 'replica.inUse') throw cause;
    const message = 'Another `rowsync contract` writes or cleans up with this configuration';
    throw new RowsyncError('replica', cause.code, { message, hint: 'Run it again, once at a time.', cause });
  }
}

/** Begins the file of a run. @throws RowsyncError `usage.invalid` where it cannot be made. */
export function beginRunFile(path: string, head: RunFileHead): RunFile {
  writeSynced(path, head, constants.O_CREAT | constants.O_EXCL);
  return new RunFile(path, head);
}

/** The file that an earlier run left, if any. @throws RowsyncError `usage.invalid` for one of another database or user, and for a damaged one. */
export function findRunFile(path: string, database: string): RunFile | null {
  if (!existsSync(path)) return null;
  const [first, ...others] = readOwnLines(path);
  if (first === undefined) {
    rmSync(path);
    return null;
  }
  const read = <T>(shape: z.ZodType<T>, line: unknown, number: number): T => {
    const { data } = shape.safeParse(line);
    if (data === undefined) throw unbelieved(path, `line ${number} is not one that a run writes`);
    return data;
  };
  const head = read(runFileHead, first, 1);
  const later = others.map((line, index) => read(runFileLine, line, index + 2));
  if (head.database === database) return new RunFile(path, head, later);
  throw usageError(
    `${path} has rows of another database, ${head.database}`,
    `Run ${CLEAN_UP} with the configuration that it was made with.`,
  );
}

/** Whole lines of a file that nobody else can have written. A last one that was cut, before its request left or after its answer came, is taken off. */
function readOwnLines(path: string): readonly unknown[] {
  try {
    const file = openSync(path, constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const { uid, mode, size } = fstatSync(file);
      const permissions = mode & 0o7777;
      if (uid !== (process.geteuid?.() ?? uid) || permissions !== FILE_MODE || size > FILE_BYTES_MAX)
        throw new Error(
          `it belongs to the user ${uid}, has the mode ${permissions.toString(8)} and is ${size} bytes long`,
        );
      const text = readFileSync(file, 'utf8');
      const whole = text.slice(0, text.lastIndexOf('\n') + 1);
      ftruncateSync(file, Buffer.byteLength(whole));
      return whole
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as unknown);
    } finally {
      closeSync(file);
    }
  } catch (thrown) {
    throw unbelieved(path, thrown instanceof Error ? thrown.message : String(thrown));
  }
}

function unbelieved(path: string, reason: string): RowsyncError {
  return usageError(
    `${path} cannot be used as a run file: ${reason}`,
    'Look into it. Delete the rows that begin with "rowsync contract" in its table by hand, and remove the file.',
  );
}

export function isRowId(id: unknown): id is number {
  return Number.isSafeInteger(id) && Number(id) > 0;
}

/** Also the name of a new file is on disk then. @throws RowsyncError `usage.invalid`, also for a file that somebody removed. */
function writeSynced(path: string, line: RunFileHead | RunFileLine, flags = 0): void {
  try {
    const file = openSync(path, constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW | flags, FILE_MODE);
    const folder = openSync(dirname(path), 'r');
    try {
      appendFileSync(file, `${JSON.stringify(line)}\n`);
      fsyncSync(file);
      if (flags !== 0) fsyncSync(folder);
    } finally {
      closeSync(file);
      closeSync(folder);
    }
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw usageError(`The run file cannot be written, so no further row is made: ${reason}`, `Make ${path} writable.`);
  }
}

export interface CleanUp {
  readonly deletedCount: number;
  /** Ids of rows that it could not delete, or that have lost their marker. */
  readonly leftIds: readonly number[];
  /** Ids of rows that the origin said it made, and never showed. */
  readonly unseenIds: readonly number[];
  /** How long a request without an answer may still make a row. */
  readonly waitMs: number;
  /** Why the run file could not be removed, although no row is left. */
  readonly fileFailure: string | null;
}

/**
 * Deletes the rows of a run, past the recycle bin, and the run file with the last of them. Deletes only rows that were just read with the marker of the
 * run. @throws RowsyncError of the origin, or any error for an answer that it cannot read.
 */
export async function cleanUp(runFile: RunFile, origin: Pick<Server, 'call'>, nowMs: number): Promise<CleanUp> {
  const { table, column, marker } = runFile.head;
  const path = `${pathSegment(table)}/select.json?${queryFromPairs([['column', column]])}&top=${TOP_MAX}`;
  // Without a filter, which would hide a row that lost its marker.
  const readRows = async (): Promise<readonly RowFields[]> => {
    const rows = await jsonOf<readonly RowFields[]>(origin, path);
    if (rows.length >= TOP_MAX)
      throw usageError(`The table has ${TOP_MAX} rows or more`, 'Delete the rows that this run did not make.');
    if (!rows.every((row) => isRowId(row['@row.id']))) throw new Error('A row has no id');
    return rows;
  };
  const idsOf = (rows: readonly RowFields[]): readonly number[] => rows.map((row) => row['@row.id']);
  const before = await readRows();
  runFile.noteSeen(idsOf(before));
  const marked = idsOf(before.filter((row) => String(row[column]).startsWith(marker)));
  const ids = queryFromPairs(marked.map((id) => ['id', id]));
  if (marked.length > 0) await origin.call(`${pathSegment(table)}/delete.json?${ids}&purge=1`);
  const after = idsOf(marked.length > 0 ? await readRows() : before);
  const leftIds = after.filter((id) => marked.includes(id) || runFile.made.has(id));
  const unseenIds = [...runFile.unseen].filter((id) => !after.includes(id));
  const waitMs = Math.max(0, ...runFile.unansweredMs.map((sentMs) => sentMs + ARRIVAL_MS - nowMs));
  const isOver = leftIds.length + unseenIds.length + waitMs === 0;
  const fileFailure = isOver ? remove(runFile.path) : null;
  return { deletedCount: marked.filter((id) => !after.includes(id)).length, leftIds, unseenIds, waitMs, fileFailure };
}

/** @returns why it could not be removed. */
function remove(path: string): string | null {
  try {
    rmSync(path, { force: true });
    return null;
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown);
  }
}

export function cleanUpText(
  { deletedCount, leftIds, unseenIds, waitMs, fileFailure }: CleanUp,
  { path, head: { tableName } }: Pick<RunFile, 'path' | 'head'>,
): readonly [line: string, exitCode: number] {
  const done = `${plural(deletedCount, 'row')} deleted`;
  if (fileFailure !== null) return [`${done}, none left. Remove ${path}: ${fileFailure}`, EXIT.needsPerson];
  const isLeft = leftIds.length + unseenIds.length > 0;
  if (!isLeft && waitMs === 0) return [`${done}, none left`, EXIT.done];
  const sentences = [
    `${done}.`,
    leftIds.length > 0 &&
      `Rows with these ids of the table "${tableName}" could not be deleted, or have no marker: ${leftIds.join(', ')}.`,
    unseenIds.length > 0 &&
      `The origin said that it made rows with these ids in the table "${tableName}", but does not show them: ${unseenIds.join(', ')}.`,
    waitMs > 0 &&
      'A request that left less than two minutes ago was not answered, and the origin or a proxy may still carry it out: ' +
        `run ${CLEAN_UP} in ${durationText(waitMs)}.`,
    isLeft &&
      `Delete by hand the rows that this run made, and run ${CLEAN_UP}. If none of them is left, remove ${path}.`,
  ];
  return [sentences.filter(Boolean).join(' '), isLeft ? EXIT.needsPerson : EXIT.tryLater];
}

export function failedText(
  thrown: unknown,
  { path, head: { tableName, column, marker } }: Pick<RunFile, 'path' | 'head'>,
): readonly [line: string, exitCode: number] {
  const isKnown = thrown instanceof RowsyncError;
  const reason = isKnown ? `${thrown.message}). ${thrown.hint}` : 'the answer is not one of the known ones).';
  return [
    `The rows that were made may be left (${reason} Run ${CLEAN_UP} again; or delete by hand the rows of the table "${tableName}" ` +
      `whose column "${column}" begins with "${marker}", and remove ${path}.`,
    isKnown && thrown.kind !== 'originDown' ? EXIT.needsPerson : EXIT.tryLater,
  ];
}
