/**
 * What a disk may show after a power cut: rebuilt from the record of disk-log.c. Content that was not synced may be
 * there in part, page by page and torn within one; names whose folder was not synced may be old, new, or some of each.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Random } from '../../src/sandbox/data/random.ts';

const KINDS = ['', 'create', 'write', 'truncate', 'sync', 'rename', 'unlink', 'link', 'mkdir', 'syncFolder'] as const;
const HEAD_BYTES = 21;
/** What a disk writes whole. */
const SECTOR_BYTES = 512;

/** One recorded operation. */
export interface Operation {
  readonly kind: (typeof KINDS)[number];
  readonly inode: bigint;
  readonly offset: number;
  readonly data: Buffer;
  readonly paths: readonly string[];
  /** Where its record ends. */
  readonly end: number;
}

/** Reads a record. */
export function readRecord(path: string): readonly Operation[] {
  const bytes = readFileSync(path);
  const operations: Operation[] = [];
  for (let at = 0; at < bytes.length;) {
    const kind = KINDS[bytes.readUInt8(at)];
    if (kind === undefined || kind === '') throw new Error(`No record begins at ${at}`);
    const end = at + HEAD_BYTES + bytes.readUInt32LE(at + 17);
    const data = bytes.subarray(at + HEAD_BYTES, end);
    operations.push({
      kind,
      inode: bytes.readBigUInt64LE(at + 1),
      offset: Number(bytes.readBigUInt64LE(at + 9)),
      data,
      paths: kind === 'write' ? [] : data.toString().split('\0').slice(0, -1),
      end,
    });
    at = end;
  }
  return operations;
}

/** A change of content that is not synced yet. */
interface Change {
  readonly offset: number;
  /** Null cuts the file to `offset`. */
  readonly data: Buffer | null;
}

/** A file or a folder. */
interface Node {
  /** What is in a folder by name, as a process sees it, and as it is synced; null for a file. */
  readonly names: { seen: Map<string, Node>; readonly synced: Map<string, Node> } | null;
  content: Buffer;
  changes: Change[];
}

/** A change of names that is not synced yet; a rename concerns two places, and is one. */
interface Renaming {
  readonly from: Place | null;
  readonly to: Place | null;
  readonly node: Node;
}

interface Place {
  readonly folder: Node;
  readonly name: string;
}

/** How much of what was not synced is there: nothing, all, all names in order but no content, or some of it. */
export const SURVIVALS = ['synced', 'all', 'names', 'some', 'torn'] as const;

/** One of them. */
export type Survival = (typeof SURVIVALS)[number];

/** A disk that knows what is synced. */
export class Disk {
  readonly #folder: string;
  readonly #root = newNode(null);
  readonly #nodes = new Map<bigint, Node>();
  #pending: Renaming[] = [];

  /** Begins with a folder and what is in it, synced. */
  constructor(folder: string, start: ReadonlyMap<string, { readonly inode: bigint; readonly content: Buffer | null }>) {
    this.#folder = folder;
    for (const [path, { inode, content }] of [...start].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      const node = path === folder ? this.#root : newNode(content);
      this.#nodes.set(inode, node);
      if (node !== this.#root) this.#rename(null, path, node);
    }
    for (const change of this.#pending) rename(change, 'synced');
    this.#pending = [];
  }

  /** Takes over one operation. */
  apply({ kind, inode, offset, data, paths: [path = '', other = ''] }: Operation): void {
    const known = this.#nodes.get(inode);
    if (kind === 'create' || kind === 'mkdir') {
      const node = newNode(kind === 'mkdir' ? null : Buffer.alloc(0));
      this.#nodes.set(inode, node);
      this.#rename(null, path, node);
    } else if (known === undefined) return;
    else if (kind === 'write') known.changes.push({ offset, data });
    else if (kind === 'truncate') known.changes.push({ offset, data: null });
    else if (kind === 'sync') settle(known);
    else if (kind === 'syncFolder') this.#syncFolder(known);
    else if (kind === 'unlink') this.#rename(path, null, known);
    else this.#rename(kind === 'rename' ? path : null, other, known);
  }

  /** Writes what may be seen after a power cut now in the place of the folder. */
  writeTo(survival: Survival, random: Random): void {
    const names = new Map<Node, Map<string, Node>>();
    const namesOf = (folder: Node): Map<string, Node> => {
      const found = names.get(folder) ?? new Map(folder.names?.synced);
      names.set(folder, found);
      return found;
    };
    for (const { from, to, node } of this.#pending) {
      const isThere = survival === 'all' || survival === 'names' || (survival !== 'synced' && random.chance(0.5));
      if (!isThere) continue;
      if (from !== null && namesOf(from.folder).get(from.name) === node) namesOf(from.folder).delete(from.name);
      if (to !== null) namesOf(to.folder).set(to.name, node);
    }
    rmSync(this.#folder, { recursive: true, force: true });
    const write = (path: string, node: Node): void => {
      if (node.names === null) {
        writeFileSync(path, contentAfter(node, survival, random), { mode: 0o600 });
        return;
      }
      mkdirSync(path);
      for (const [name, inside] of namesOf(node)) write(join(path, name), inside);
    };
    write(this.#folder, this.#root);
  }

  #rename(from: string | null, to: string | null, node: Node): void {
    const change = {
      from: from === null ? null : this.#placeOf(from),
      to: to === null ? null : this.#placeOf(to),
      node,
    };
    rename(change, 'seen');
    this.#pending.push(change);
  }

  #placeOf(path: string): Place {
    const parts = relative(this.#folder, path).split('/');
    const name = parts.pop() ?? '';
    let folder = this.#root;
    for (const part of parts) {
      const next = folder.names?.seen.get(part);
      if (next === undefined) throw new Error(`${path} is in no folder of the record`);
      folder = next;
    }
    return { folder, name };
  }

  #syncFolder(folder: Node): void {
    const isIn = ({ from, to }: Renaming): boolean => from?.folder === folder || to?.folder === folder;
    for (const change of this.#pending.filter(isIn)) rename(change, 'synced');
    this.#pending = this.#pending.filter((change) => !isIn(change));
  }
}

function newNode(content: Buffer | null): Node {
  return {
    names: content === null ? { seen: new Map(), synced: new Map() } : null,
    content: content ?? Buffer.alloc(0),
    changes: [],
  };
}

/** What was made under a name meanwhile is not what this change took away. */
function rename({ from, to, node }: Renaming, which: 'seen' | 'synced'): void {
  if (from?.folder.names?.[which].get(from.name) === node) from.folder.names[which].delete(from.name);
  to?.folder.names?.[which].set(to.name, node);
}

function settle(node: Node): void {
  node.content = changed(node.content, node.changes);
  node.changes = [];
}

function changed(content: Buffer, changes: readonly Change[]): Buffer {
  let result = Buffer.from(content);
  for (const { offset, data } of changes) {
    const bytes = data === null ? offset : Math.max(result.length, offset + data.length);
    if (bytes !== result.length) {
      const grown = Buffer.alloc(bytes);
      result.copy(grown, 0, 0, bytes);
      result = grown;
    }
    data?.copy(result, offset);
  }
  return result;
}

/** Some writes arrive and others do not; of one that is torn, some sectors do. */
function contentAfter(node: Node, survival: Survival, random: Random): Buffer {
  if (survival === 'all') return changed(node.content, node.changes);
  if (survival === 'synced' || survival === 'names') return node.content;
  const arrived = node.changes.filter(() => random.chance(0.5));
  if (survival === 'some') return changed(node.content, arrived);
  return changed(
    node.content,
    arrived.flatMap(({ offset, data }) =>
      data === null ? [{ offset, data }] : sectors(offset, data).filter(() => random.chance(0.5)),
    ),
  );
}

function sectors(offset: number, data: Buffer): readonly Change[] {
  const parts: Change[] = [];
  for (let at = 0; at < data.length;) {
    const end = Math.min(data.length, at + SECTOR_BYTES - ((offset + at) % SECTOR_BYTES));
    parts.push({ offset: offset + at, data: data.subarray(at, end) });
    at = end;
  }
  return parts;
}
