/**
 * The attached files of one world: its disk, the people who work with files, and what must be true of them. The world
 * asks here wherever files differ from rows, and knows nothing else of them. Takes the setup; produces deeds,
 * complaints.
 */
import type { Replica } from '../../../src/replica/database.ts';
import { sql } from '../../../src/base/sql.ts';
import type { Tokens } from './books.ts';
import { FileDisk, type FileImage } from './files-disk.ts';
import { FilePeople, type FileDeed } from '../actors/files-people.ts';
import { FILE_COLUMN, type FilesSetup } from './files-setup.ts';
import {
  judgeFiles,
  judgeStore,
  uploadKey,
  type OriginFile,
  type ShownFile,
  type Upload,
} from '../oracles/files-verdict.ts';
import { readBody } from '../model/body.ts';
import { Refusal } from '../model/call.ts';
import type { OriginModel } from '../model/origin.ts';
import type { Names } from './names.ts';
import type { Draw } from './tape.ts';
import type { User } from '../actors/user.ts';
import type { Complaint } from '../oracles/verdict.ts';

/** What the files of a world are made with. */
export interface FilesWorldParts {
  readonly setup: FilesSetup;
  readonly origin: OriginModel;
  readonly names: Names;
  readonly tokens: Tokens;
  readonly user: User;
  readonly count: (what: string) => void;
}

/** The files of a world, which begins with what stood on the disk of another one; null where its table has none. */
export function filesOf(
  setup: FilesSetup | null,
  image: FileImage | null,
  parts: Omit<FilesWorldParts, 'setup'>,
): FilesWorld | null {
  return setup === null ? null : new FilesWorld({ ...parts, setup }, image);
}

/** The files of one world. */
export class FilesWorld {
  readonly disk = new FileDisk();
  readonly #people: FilePeople;
  readonly #parts: FilesWorldParts;
  /** Which files the origin held when a backup was brought back, by the number of writes before that. */
  readonly #restores = new Map<number, ReadonlySet<string>>();

  constructor(parts: FilesWorldParts, image: FileImage | null) {
    this.#parts = parts;
    if (image !== null) this.disk.restore(image);
    this.#people = new FilePeople({ ...parts, disk: this.disk });
  }

  /** Someone does something with files. */
  act(draw: Draw): FileDeed {
    return this.#people.act(draw);
  }

  /** A user has a file to attach. */
  haveFile(name: string, content: string): void {
    this.#people.haveFile(name, content);
  }

  /** The power fails; the draw says how much of what was not synced is left. */
  losePower(draw: Draw): string {
    const survival = draw.pick(['synced', 'names', 'all'] as const);
    this.disk.losePower(survival);
    return `of the files, what was not synced is gone (${survival})`;
  }

  /** What the cell said that asked for a file of this name. */
  askedFor(name: string): string | null {
    return this.#people.askedFor(name);
  }

  /** The rows of an upload as JSON, with what users wrote where files stand; null for a body without files. */
  rowsOfUpload(contentType: string, body: Uint8Array): string | null {
    if (!contentType.startsWith('multipart/related')) return null;
    const read = readBody(body, contentType);
    if (read instanceof Refusal) return null;
    const rows = read.rows.map(({ id, cells }) => {
      const values = cells.map(([name, raw]) => {
        const file = typeof raw === 'string' && raw.startsWith('cid:') ? read.files.get(raw.slice(4)) : undefined;
        return [name, file === undefined ? raw : (this.askedFor(file.name) ?? `unknown ${file.name}`)] as const;
      });
      return { ...(id === null ? {} : { '@row.id': id }), ...Object.fromEntries(values) };
    });
    return JSON.stringify(rows);
  }

  /** What is wrong in a transaction that is about to be committed. */
  onCommit(replica: Replica): readonly Complaint[] {
    const named = replica
      .prepare(sql`SELECT DISTINCT sha256 FROM _rowsync_files WHERE sha256 IS NOT NULL`)
      .pluck()
      .all() as string[];
    return judgeStore(this.disk, named);
  }

  /** A backup of the origin was brought back: files that it does not hold are gone there. */
  noteRestore(): void {
    const held = this.#atOrigin().map(({ rowId, name }) => uploadKey(rowId, name));
    this.#restores.set(this.#parts.origin.log.length, new Set(held));
  }

  /** What is wrong once nothing moves any more. */
  judge(): readonly Complaint[] {
    const { setup, user, origin, names } = this.#parts;
    return judgeFiles({
      setup,
      disk: this.disk,
      shown: this.#shown(),
      origin: this.#atOrigin(),
      selected: new Set(names.rowsSelected().map(({ id }) => id)),
      uploads: origin.log.flatMap(({ by, kind, id, cells }, index): readonly Upload[] => {
        const held = this.#restores.get(index);
        const upload = { by, rowId: id, name: partsOf(cells[FILE_COLUMN]).name, held: null };
        return [
          ...(held === undefined ? [] : [{ by: 'admin', rowId: 0, name: '', held }]),
          ...(kind === 'delete' || cells[FILE_COLUMN] === undefined ? [] : [upload]),
        ];
      }),
      mayHold: (name, content) => this.#people.mayHold(name, content),
      isOlderCopy: user.isOlderCopy,
    });
  }

  #shown(): readonly ShownFile[] {
    const { user } = this.#parts;
    return user
      .query('SELECT row_id, guid, revision, bytes, sha256, state, reason, vanished, path FROM sync_files')
      .map((row) => {
        const [rowId, guid, revision, bytes, sha256, state, reason, vanished, path] = row;
        return { rowId, guid, revision, bytes, sha256, state, reason, vanished, path } as ShownFile;
      });
  }

  #atOrigin(): readonly OriginFile[] {
    const { origin, names } = this.#parts;
    const column = names.atOrigin(FILE_COLUMN);
    const shownByRow = new Map(
      origin.rows(names.table).map(({ id, values }) => [id, partsOf(values[column] ?? null).guid]),
    );
    return origin.table(names.table).files.map(({ row, guid, name, revision, bytes }) => {
      const isShown = shownByRow.get(row) === guid;
      return { rowId: row, guid, name, revision, content: Buffer.from(bytes), isShown };
    });
  }
}

/** What the value of a cell says. */
export function partsOf(value: unknown): { readonly name: string; readonly guid: string } {
  const [, name = '', guid = ''] = /^(.*);\d+;([^;]+)$/s.exec(typeof value === 'string' ? value : '') ?? [];
  return { name, guid };
}
