/**
 * The disk on which a simulated world keeps attached files: in memory, so that it costs nothing and everything happens
 * in one order. It knows what was synced, and what a power cut leaves: content that was not synced is gone, and so may
 * names be whose folder was not. Takes operations, each behind a point at which the process may end; those that fail do
 * so with the system's codes.
 */
import { dirname } from 'node:path';
import type { FileSystem } from '../../../src/base/file-system.ts';

interface FileNode {
  readonly kind: 'file';
  bytes: Buffer;
  /** What a power cut leaves of it. */
  durableBytes: Buffer;
}

type Node = FileNode | { readonly kind: 'folder' };

/** What survives a power cut beside what was synced: nothing, the names of files, or everything. */
export type Survival = 'synced' | 'names' | 'all';

/** What stood on a disk at one moment. */
export type FileImage = ReadonlyMap<string, Buffer | null>;

const NOTHING: Buffer = Buffer.alloc(0);
const FOLDER: Node = { kind: 'folder' };

/** A failure as the system reports it. */
export function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: a simulated disk`), { code });
}

/** The disk of one world. */
export class FileDisk {
  #nodes = new Map<string, Node>([['/', FOLDER]]);
  #durable = new Map<string, Node>([['/', FOLDER]]);

  /** Puts back what was kept of another disk. */
  restore(image: FileImage): void {
    this.#nodes = new Map(
      [...image].map(([path, bytes]): [string, Node] => [
        path,
        bytes === null ? FOLDER : { kind: 'file', bytes, durableBytes: bytes },
      ]),
    );
    this.#durable = new Map(this.#nodes);
  }

  /** All that stands on it; null for a folder. */
  image(): FileImage {
    return new Map([...this.#nodes].map(([path, node]) => [path, node.kind === 'file' ? node.bytes : null]));
  }

  /** Someone who is no part of the engine writes a whole file, durably. */
  put(path: string, bytes: Buffer): void {
    for (let folder = dirname(path); folder !== '/'; folder = dirname(folder)) this.#putNode(folder, FOLDER);
    this.#putNode(path, { kind: 'file', bytes, durableBytes: bytes });
  }

  /** The content of a file; null where there is none. */
  read(path: string): Buffer | null {
    const node = this.#nodes.get(path);
    return node?.kind === 'file' ? node.bytes : null;
  }

  /** What a power cut may leave there: null for nothing. */
  afterPowerCut(path: string): readonly (Buffer | null)[] {
    return [this.#durable, this.#nodes].map((nodes) => {
      const node = nodes.get(path);
      return node?.kind === 'file' && this.#stands(nodes, path) ? node.durableBytes : null;
    });
  }

  /** The power fails. */
  losePower(survival: Survival): void {
    if (survival !== 'all') {
      for (const node of [...this.#nodes.values(), ...this.#durable.values()])
        if (node.kind === 'file') node.bytes = node.durableBytes;
    }
    const left = survival === 'synced' ? this.#durable : this.#nodes;
    this.#nodes = new Map([...left].filter(([path]) => this.#stands(left, path)));
    for (const node of this.#nodes.values()) if (node.kind === 'file') node.durableBytes = node.bytes;
    this.#durable = new Map(this.#nodes);
  }

  /** Makes an empty file. */
  create(path: string): FileNode {
    if (this.#nodes.has(path)) throw systemError('EEXIST');
    if (this.#nodes.get(dirname(path))?.kind !== 'folder') throw systemError('ENOENT');
    const node: FileNode = { kind: 'file', bytes: NOTHING, durableBytes: NOTHING };
    this.#nodes.set(path, node);
    return node;
  }

  /** Makes a folder and those above it; returns the first new one. */
  makeFolder(path: string): string | undefined {
    if (this.#nodes.has(path)) return undefined;
    const above = this.makeFolder(dirname(path));
    this.#nodes.set(path, FOLDER);
    return above ?? path;
  }

  /** Moves a file. */
  rename(from: string, to: string): void {
    const node = this.#found(from);
    if (this.#nodes.get(dirname(to))?.kind !== 'folder') throw systemError('ENOENT');
    this.#nodes.delete(from);
    this.#nodes.set(to, node);
  }

  /** Removes what is there, if anything. */
  remove(path: string): void {
    for (const known of this.#nodes.keys()) {
      if (known === path || known.startsWith(`${path}/`)) this.#nodes.delete(known);
    }
  }

  /** Makes the content of a file durable, or the names in a folder. */
  sync(path: string): void {
    const node = this.#found(path);
    if (node.kind === 'file') {
      node.durableBytes = node.bytes;
      return;
    }
    for (const known of this.#durable.keys()) {
      if (known !== path && dirname(known) === path && !this.#nodes.has(known)) this.#durable.delete(known);
    }
    for (const [known, child] of this.#nodes) {
      if (known !== path && dirname(known) === path) this.#durable.set(known, child);
    }
  }

  /** What is there. */
  lookAt(path: string): { readonly isFile: boolean; readonly bytes: number } {
    const node = this.#found(path);
    return node.kind === 'file' ? { isFile: true, bytes: node.bytes.length } : { isFile: false, bytes: 0 };
  }

  #found(path: string): Node {
    const node = this.#nodes.get(path);
    if (node === undefined) throw systemError('ENOENT');
    return node;
  }

  #putNode(path: string, node: Node): void {
    this.#nodes.set(path, node);
    this.#durable.set(path, node);
  }

  #stands(nodes: ReadonlyMap<string, Node>, path: string): boolean {
    return path === '/' || (nodes.has(path) && this.#stands(nodes, dirname(path)));
  }
}

/**
 * The disk as the engine sees it. `point` is asked before every operation, and may end the process or find the disk
 * full.
 */
export function fileSystemOf(disk: FileDisk, point: (what: string) => Promise<void>): FileSystem {
  return {
    create: async (path) => {
      await point('file create');
      const node = disk.create(path);
      return {
        write: async (chunk) => {
          await point('file write');
          node.bytes = Buffer.concat([node.bytes, chunk]);
        },
        sync: async () => {
          await point('file sync');
          node.durableBytes = node.bytes;
        },
        close: () => Promise.resolve(),
      };
    },
    open: async (path) => {
      await point('file open');
      const facts = disk.lookAt(path);
      const content = disk.read(path) ?? NOTHING;
      return {
        ...facts,
        read: (at, count) => Promise.resolve(Buffer.from(content.subarray(at, at + count))),
        close: () => Promise.resolve(),
      };
    },
    makeFolder: async (path) => {
      await point('file makeFolder');
      return disk.makeFolder(path);
    },
    rename: async (from, to) => {
      await point('file rename');
      disk.rename(from, to);
    },
    remove: async (path) => {
      await point('file remove');
      disk.remove(path);
    },
    sync: async (path) => {
      await point('file sync');
      disk.sync(path);
    },
    lookAt: (path) => disk.lookAt(path),
    realPath: (path) => {
      disk.lookAt(path);
      return path;
    },
  };
}
