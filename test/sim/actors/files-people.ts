/**
 * People on both sides who work with attached files: colleagues upload, replace and delete them, users attach them by
 * SQL, and change or lose what they attached. Every file has a name of its own, so that each attachment can be told at
 * the end. Takes draws; produces changes at the origin, statements for the user, files on the disk, a sentence for
 * each.
 */
import type { LocalValue, Tokens } from '../world/books.ts';
import type { FileDisk } from '../world/files-disk.ts';
import { FILE_COLUMN, fileOf, UPLOAD_FOLDER } from '../world/files-setup.ts';
import type { OriginModel } from '../model/origin.ts';
import type { Names } from '../world/names.ts';
import type { Draw } from '../world/tape.ts';
import type { Done, User } from './user.ts';

/** Whom and what they work with. */
export interface FilePeopleParts {
  readonly origin: OriginModel;
  readonly names: Names;
  readonly tokens: Tokens;
  readonly disk: FileDisk;
  readonly user: User;
  readonly count: (what: string) => void;
}

/** What they did: a sentence, or statements that were carried out. */
export type FileDeed = string | Done | null;

type Act = (draw: Draw) => FileDeed;

/** All of them. */
export class FilePeople {
  /** What a cell said that asked for a file, by the file's name. */
  readonly #askedByName = new Map<string, string>();
  /** All that a file ever held, by its name. */
  readonly #contentsByName = new Map<string, string[]>();
  /** What cells ever said that asked for a file, with the tags of their rows. */
  readonly #attached = new Set<string>();
  readonly #parts: FilePeopleParts;

  constructor(parts: FilePeopleParts) {
    this.#parts = parts;
    parts.disk.put(`${UPLOAD_FOLDER}/readme`, Buffer.from('Files to attach'));
  }

  /** Does what the draw says. */
  act(draw: Draw): FileDeed {
    const [name, act] = draw.weighted<readonly [string, Act]>([
      [6, ['user attaches', (details) => this.#attach(details)]],
      [2, ['user attaches to a new row', (details) => this.#insert(details)]],
      [0.5, ['user attaches to all rows', (details) => this.#attachToAll(details)]],
      [1, ['user clears a file', (details) => this.#clear(details)]],
      [0.5, ['user names no file', (details) => this.#nameNothing(details)]],
      [0.5, ['user copies the value of a file', (details) => this.#copyValue(details)]],
      [1, ['user changes what is attached', (details) => this.#change(details)]],
      [0.5, ['user removes what is attached', (details) => this.#lose(details)]],
      [5, ['colleague uploads', (details) => this.#upload(details)]],
      [1, ['colleague inserts with a file', (details) => this.#insertAtOrigin(details)]],
      [1, ['colleague clears a file', (details) => this.#clearAtOrigin(details)]],
    ]);
    const deed = act(draw);
    if (deed !== null) this.#parts.count(`files ${name}`);
    return deed;
  }

  /** A user has a file to attach, which a cell will ask for by its name alone. */
  haveFile(name: string, content: string): void {
    this.#askedByName.set(name, `file:${name}`);
    this.#store(name, content);
  }

  /** What the cell said that asked for a file of this name. */
  askedFor(name: string): string | null {
    return this.#askedByName.get(name) ?? null;
  }

  /** Whether a file of this name ever held this, or is none of theirs. */
  mayHold(name: string, content: string): boolean {
    return this.#contentsByName.get(name)?.includes(content) ?? true;
  }

  /** Makes a file to attach; returns the value that asks for it. */
  #newFile(draw: Draw): string {
    const name = `${this.#parts.tokens.next('up')}.txt`;
    const asked = `file:${draw.chance(0.5) ? `${UPLOAD_FOLDER}/` : ''}${name}`;
    this.#askedByName.set(name, asked);
    this.#write(name, draw);
    return asked;
  }

  #write(name: string, draw: Draw): void {
    const contents = this.#contentsByName.get(name) ?? [];
    const { bytes } = fileOf(draw.chance(0.1) ? 'user: the same' : name, draw.below(65));
    const content = Buffer.from(bytes).toString();
    // Another time it says something else, with the same length or not.
    const changed = contents.includes(content) ? `${content.slice(1)}${contents.length}` : content;
    this.#store(name, changed);
  }

  #store(name: string, content: string): void {
    this.#contentsByName.set(name, [...(this.#contentsByName.get(name) ?? []), content]);
    this.#parts.disk.put(`${UPLOAD_FOLDER}/${name}`, Buffer.from(content));
  }

  #userDoes(name: string, statement: (table: string, column: string) => string): FileDeed {
    const { names, user } = this.#parts;
    const local = names.inReplica((text) => user.query(text));
    if (local === null || local.File === null) return null;
    const done = user.carryOut(statement(local.T, local.File), name);
    for (const { tag, cells } of user.rows()) this.#attached.add(attachedKey(tag, cells['File']));
    return done;
  }

  /** `value` may say null: then nothing is done. */
  #onRow(draw: Draw, name: string, value: (tag: string) => string | null): FileDeed {
    const rows = this.#parts.user.rows();
    if (rows.length === 0) return null;
    const { id, tag } = draw.pick(rows);
    const literal = value(tag);
    if (literal === null) return null;
    return this.#userDoes(name, (table, column) => `UPDATE ${table} SET ${column} = ${literal} WHERE _id = ${id}`);
  }

  #attach(draw: Draw): FileDeed {
    return this.#onRow(draw, 'attach', () => `'${this.#newFile(draw)}'`);
  }

  #attachToAll(draw: Draw): FileDeed {
    return this.#userDoes('attachToAll', (table, column) => `UPDATE ${table} SET ${column} = '${this.#newFile(draw)}'`);
  }

  #insert(draw: Draw): FileDeed {
    const { names, tokens, user } = this.#parts;
    const local = names.inReplica((text) => user.query(text));
    if (local === null) return null;
    const code = draw.chance(0.5) ? `'${tokens.next('c')}'` : 'NULL';
    const tag = tokens.next('t');
    return this.#userDoes(
      'insertWithFile',
      (table, column) =>
        `INSERT INTO ${table} (${local.Tag}, ${local.Code}, ${local.A}, ${column})
           VALUES ('${tag}', ${code}, '${tokens.next('u')}', '${this.#newFile(draw)}')`,
    );
  }

  #clear(draw: Draw): FileDeed {
    return this.#onRow(draw, 'clearFile', () => 'NULL');
  }

  #nameNothing(draw: Draw): FileDeed {
    return this.#onRow(draw, 'nameNoFile', () => `'file:${this.#parts.tokens.next('none')}.txt'`);
  }

  #copyValue(draw: Draw): FileDeed {
    const { names, user } = this.#parts;
    const values = user.rows().flatMap(({ cells }) => (typeof cells['File'] === 'string' ? [cells['File']] : []));
    if (values.length === 0 || names.inReplica((text) => user.query(text)) === null) return null;
    return this.#onRow(draw, 'copyFileValue', (tag) => {
      const value = draw.pick(values);
      // Who asks for a file twice for one row has it attached twice.
      const isAskedAgain = value.startsWith('file:') && this.#attached.has(attachedKey(tag, value));
      return isAskedAgain ? null : `'${value.replaceAll("'", "''")}'`;
    });
  }

  #change(draw: Draw): FileDeed {
    const name = this.#someName(draw);
    if (name === null) return null;
    this.#write(name, draw);
    return `user: writes another content into ${name}`;
  }

  #lose(draw: Draw): FileDeed {
    const name = this.#someName(draw);
    if (name === null) return null;
    this.#parts.disk.remove(`${UPLOAD_FOLDER}/${name}`);
    return `user: removes ${name}`;
  }

  #someName(draw: Draw): string | null {
    // What was attached last may be on its way.
    const names = [...this.#askedByName.keys()].slice(-3);
    return names.length === 0 ? null : draw.pick(names);
  }

  #upload(draw: Draw): FileDeed {
    const { origin, names } = this.#parts;
    const ids = origin.ids(names.table);
    if (ids.length === 0) return null;
    const id = draw.pick(ids);
    const file = this.#newFileAtOrigin(draw);
    origin.update(names.table, id, { [names.atOrigin(FILE_COLUMN)]: file });
    return `colleague: uploads ${file.name} to row ${id}`;
  }

  #insertAtOrigin(draw: Draw): FileDeed {
    const { origin, names, tokens } = this.#parts;
    const file = this.#newFileAtOrigin(draw);
    const cells = { [names.atOrigin('Tag')]: tokens.next('t'), [names.atOrigin(FILE_COLUMN)]: file };
    return `colleague: inserts row ${origin.insert(names.table, cells)} with ${file.name}`;
  }

  #clearAtOrigin(draw: Draw): FileDeed {
    const { origin, names } = this.#parts;
    const ids = origin.ids(names.table);
    if (ids.length === 0) return null;
    const id = draw.pick(ids);
    origin.update(names.table, id, { [names.atOrigin(FILE_COLUMN)]: null });
    return `colleague: deletes the file of row ${id}`;
  }

  #newFileAtOrigin(draw: Draw): ReturnType<typeof fileOf> {
    const name = `${this.#parts.tokens.next('f')}${draw.chance(0.1) ? '; or "not"' : ''}.txt`;
    // Never empty: what a user attaches may be, and content is all by which the engine tells an attachment whose answer
    // got lost.
    const byteCount = 1 + draw.below(64);
    return draw.chance(0.1) ? { ...fileOf('the same', byteCount), name } : fileOf(name, byteCount);
  }
}

function attachedKey(tag: string, value: LocalValue | undefined): string {
  return `${tag} ${String(value)}`;
}
