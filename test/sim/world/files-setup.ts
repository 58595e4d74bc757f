/**
 * Which worlds have attached files, and what is wanted of them. Takes the files tape, whose calm end is a world without
 * files; produces a part of the setup. Pure.
 */
import type { FilesSettings } from '../../../src/files/context.ts';
import type { ColumnSpec, FileSpec } from '../../../src/sandbox/store/spec.ts';
import type { Tokens } from './books.ts';
import type { Tape } from './tape.ts';

/** What stays as it is with the files of a world. */
export interface FilesSetup {
  readonly mode: 'latest' | 'all';
  /** Whether the column shows more than its latest revision. */
  readonly showsHistory: boolean;
  /** Larger files are left out; null for no bound. */
  readonly maxFileBytes: number | null;
  /** Rows of the origin that have a file when the world begins: every so many-th one. */
  readonly everyRows: number;
  /** How often people do something with files, beside the weights of the other actors. */
  readonly weight: number;
}

/** The attachment column of the one table. */
export const FILE_COLUMN = 'File';
/** Where the content of files is, and where users have those that they attach. */
export const STORE_FOLDER = '/store';
export const UPLOAD_FOLDER = '/uploads';
/** No file of a world is longer. */
const FILE_BYTES_MAX = 64;
/** One world in so many has files. */
const WORLDS_PER_FILES = 4;

/** Draws what a world does with files; null for a world without. */
export function drawFiles(tape: Tape): FilesSetup | null {
  const pick = <T>(list: readonly T[]): T => tape.draw().pick(list);
  if (tape.decide(1 / WORLDS_PER_FILES) === 0) return null;
  return {
    mode: pick<FilesSetup['mode']>(['latest', 'all']),
    showsHistory: pick([true, true, false]),
    maxFileBytes: pick([null, null, null, 40]),
    everyRows: pick([2, 1, 3]),
    weight: pick([8, 20, 3]),
  };
}

/** The column as the origin begins with it; none in a world without files. */
export function fileColumns(files: FilesSetup | null): readonly ColumnSpec[] {
  if (files === null) return [];
  return [{ name: FILE_COLUMN, type: 'Attachment', options: files.showsHistory ? ['AllowSeeRevisionHistory'] : [] }];
}

/** The file of a row as the world begins with it. */
export function firstFile(files: FilesSetup | null, tokens: Tokens, index: number): Readonly<Record<string, FileSpec>> {
  if (files === null || index % files.everyRows !== 0) return {};
  return { [FILE_COLUMN]: fileOf(`${tokens.next('f')}.txt`, firstByteCount(index)) };
}

function firstByteCount(index: number): number {
  return 1 + ((index * 13) % FILE_BYTES_MAX);
}

/**
 * The same first files with as little else as makes a difference to what a pull without faults stores of so many rows.
 */
export function calmFiles({ showsHistory, maxFileBytes, everyRows }: FilesSetup, rowCount: number): FilesSetup {
  const indexes = Array.from({ length: rowCount }, (_, index) => index).filter((index) => index % everyRows === 0);
  const isAnyLeftOut = indexes.some((index) => firstByteCount(index) > (maxFileBytes ?? Infinity));
  return {
    mode: 'latest',
    showsHistory,
    maxFileBytes: isAnyLeftOut ? maxFileBytes : null,
    everyRows: Math.min(everyRows, Math.max(rowCount, 1)),
    weight: 0,
  };
}

/** A file whose content begins with its name, cut or filled up to so many bytes. */
export function fileOf(name: string, byteCount: number): FileSpec {
  return { name, mediaType: 'text/plain', bytes: Buffer.from(name.padEnd(FILE_BYTES_MAX, '.').slice(0, byteCount)) };
}

/** What the configuration would say of the files. */
export function filesSettings({ mode, maxFileBytes }: FilesSetup, concurrency: number): FilesSettings {
  const rule = { mode, maxFileBytes, types: null, name: 'tables.Thing.files' } as const;
  return { folder: STORE_FOLDER, bytesMax: null, concurrency, rule: () => rule };
}
