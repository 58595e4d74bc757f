/**
 * What must be true of attached files: at every commit, and once the faults have stopped and nothing moves any more.
 * Takes the disk, what `sync_files` says, the origin, everything that was ever written there; produces what is wrong,
 * in plain sentences.
 *
 *    I15  content that a row names is on the disk, whole and durable; nothing stands under the name of a hash that it
 *         does not have
 *    I1   every file that the origin shows is here and `sync_files` says so     I4   no file is sent twice for one row
 *    I2   what was attached reached the origin as it was (verdict.ts says whether it did)
 */
import { createHash } from 'node:crypto';
import type { FileDisk } from '../world/files-disk.ts';
import { STORE_FOLDER, type FilesSetup } from '../world/files-setup.ts';
import type { Complaint } from './verdict.ts';

/** A row of `sync_files`. */
export interface ShownFile {
  readonly rowId: number;
  readonly guid: string | null;
  readonly revision: number | null;
  readonly bytes: number | null;
  readonly sha256: string | null;
  readonly state: string;
  readonly reason: string | null;
  readonly vanished: string | null;
  readonly path: string | null;
}

/** A revision that the origin has. */
export interface OriginFile {
  readonly rowId: number;
  readonly guid: string;
  readonly name: string;
  readonly revision: number;
  readonly content: Buffer;
  /** Whether its cell shows it. */
  readonly isShown: boolean;
}

/** A file that came to the origin, by the API or by a colleague, or was deleted there. */
export interface Upload {
  readonly by: string;
  readonly rowId: number;
  /** Empty where there is none any more. */
  readonly name: string;
  /** What the origin holds behind a backup that was brought back (`uploadKey`); null where this is an upload. */
  readonly held: ReadonlySet<string> | null;
}

/** Names a file of a row. */
export function uploadKey(rowId: number, name: string): string {
  return `${rowId} ${name}`;
}

/** Files at rest. */
export interface FilesRest {
  readonly setup: FilesSetup;
  readonly disk: FileDisk;
  readonly shown: readonly ShownFile[];
  readonly origin: readonly OriginFile[];
  /** Rows that come here. */
  readonly selected: ReadonlySet<number>;
  readonly uploads: readonly Upload[];
  /** Whether a file of this name ever held this content. */
  readonly mayHold: (name: string, content: string) => boolean;
  /** Whether the replica was replaced by an older copy, which does not know what was sent since. */
  readonly isOlderCopy: boolean;
}

const NAME = new RegExp(`^${STORE_FOLDER}/([0-9a-f]{2})/([0-9a-f]{64})$`);
const hashes = new WeakMap<Buffer, string>();

/** The name of content in the store. */
function hashOf(content: Buffer): string {
  let hash = hashes.get(content);
  if (hash === undefined) hashes.set(content, (hash = createHash('sha256').update(content).digest('hex')));
  return hash;
}

/** Where content stands in the store. */
function storePath(sha256: string): string {
  return `${STORE_FOLDER}/${sha256.slice(0, 2)}/${sha256}`;
}

/** What is wrong with the store: torn files, names that say something else, content that is named and not safe. */
export function judgeStore(disk: FileDisk, named: Iterable<string>): readonly Complaint[] {
  const wrong: string[] = [];
  for (const [path, content] of disk.image()) {
    const name = NAME.exec(path)?.[2];
    if (name !== undefined && (content === null || hashOf(content) !== name)) wrong.push(`${path} is not what it says`);
  }
  for (const sha256 of named) {
    const left = disk.afterPowerCut(storePath(sha256));
    if (left.some((content) => content === null || hashOf(content) !== sha256))
      wrong.push(`content ${sha256} is named, and would not outlive a power cut`);
  }
  return wrong.map((what) => ({ oracle: 'I15', what }));
}

/** Everything that is wrong with the files of a world at rest. */
export function judgeFiles(rest: FilesRest): readonly Complaint[] {
  return [...judgeLeftovers(rest), ...judgeKnown(rest), ...judgeShown(rest), ...judgeUploads(rest)];
}

function judgeLeftovers({ disk }: FilesRest): readonly Complaint[] {
  const incoming = `${STORE_FOLDER}/incoming/`;
  return [...disk.image().keys()]
    .filter((path) => path.startsWith(incoming))
    .map((path) => ({ oracle: 'I15', what: `${path} is left over` }));
}

/**
 * What the origin has is known here, and here where it is wanted. A cell that shows no file is not asked for those that
 * it had: who never saw one there does not know of any.
 */
function judgeKnown({ origin, selected, shown, setup }: FilesRest): readonly Complaint[] {
  const isAll = setup.mode === 'all' && setup.showsHistory;
  const rowsWithFile = new Set(origin.filter((file) => file.isShown).map(({ rowId }) => rowId));
  return origin.flatMap(({ rowId, guid, name, content, isShown }): readonly Complaint[] => {
    if (!selected.has(rowId) || (!isShown && !(isAll && rowsWithFile.has(rowId)))) return [];
    const what = `${name} of row ${rowId}`;
    const file = shown.find((known) => known.rowId === rowId && known.guid === guid);
    if (file === undefined)
      return [{ oracle: 'I1', what: `${what} is at the origin, and sync_files does not have it` }];
    if (file.vanished !== null)
      return [{ oracle: 'I1', what: `${what} is at the origin, and sync_files says it is gone` }];
    const isTooLarge = setup.maxFileBytes !== null && content.length > setup.maxFileBytes;
    if (isTooLarge && file.state === 'skipped') return [];
    if (file.state !== 'here') return [{ oracle: 'I1', what: `${what} is ${file.state} (${String(file.reason)})` }];
    return file.sha256 === hashOf(content) ? [] : [{ oracle: 'I15', what: `${what} is another file here` }];
  });
}

/** What `sync_files` shows as here is there, as it says. */
function judgeShown({ shown, disk }: FilesRest): readonly Complaint[] {
  return shown.flatMap(({ state, path, sha256, bytes, rowId }): readonly Complaint[] => {
    if (state !== 'here') return [];
    const content = path === null ? null : disk.read(path);
    const isTrue = content !== null && hashOf(content) === sha256 && content.length === bytes;
    return isTrue ? [] : [{ oracle: 'I15', what: `${String(path)} of row ${rowId} is not what sync_files says` }];
  });
}

/**
 * What was attached here arrived once, as it was. Without a history at the origin, it is unknown whether a file arrived
 * that a colleague replaced since. Nobody asks for that of a cell that is empty again. A backup of the origin that is
 * brought back takes files with it.
 */
function judgeUploads({ uploads, origin, mayHold, isOlderCopy, setup }: FilesRest): readonly Complaint[] {
  const seen = new Set<string>();
  const complaints: Complaint[] = [];
  for (const { by, rowId, name, held } of uploads) {
    if (held !== null) for (const key of seen) if (!held.has(key)) seen.delete(key);
    // An empty cell that was empty before says that nothing came.
    if (by !== 'api' && (!setup.showsHistory || name === ''))
      for (const key of seen) if (key.startsWith(`${rowId} `)) seen.delete(key);
    if (by !== 'api' || name === '') continue;
    const key = uploadKey(rowId, name);
    if (seen.has(key) && !isOlderCopy)
      complaints.push({ oracle: 'I4', what: `${name} was sent to row ${rowId} twice` });
    seen.add(key);
  }
  for (const { name, content, rowId } of origin) {
    if (!mayHold(name, content.toString()))
      complaints.push({ oracle: 'I2', what: `${name} of row ${rowId} holds at the origin what it never held here` });
  }
  return complaints;
}
