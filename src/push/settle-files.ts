/**
 * What became of the files of a batch. Input: its rows, and what the origin has of them now. Output: which files arrived although
 * their answer got lost, told by content; which cells show a revision of ours, whose content is then put into the file store. And which
 * files are there before anything is sent.
 *
 * A file is never sent twice where the origin has it already (I4), and never kept under a revision that may be somebody else's
 * (I15). Requests: for each file without an answer one list, and a download for each new revision of the same size.
 */
import { createHash } from 'node:crypto';
import { asRowsyncError } from '../base/errors.ts';
import type { Batch, BatchRow } from '../capture/batches.ts';
import { brokenRevision } from '../origin/failures.ts';
import type { AttachmentRequest } from '../origin/files.ts';
import { columnMode, downloadProblem, fileFromCell } from '../reconcile/files.ts';
import {
  acceptedRevision,
  isBeyondComparing,
  isOvertaken,
  likelyRevisions,
  mayBeHidden,
  revisionsToCompare,
  showsName,
  type SentFile,
} from '../reconcile/uploads.ts';
import { baseTarget } from '../replica/compare.ts';
import { readCellFiles, readFileColumns, type FileColumn, type UploadedFile } from '../replica/files.ts';
import { readRowsById } from '../replica/rows.ts';
import type { AttachmentInfo } from '../wire/attachments.ts';
import type { Row } from '../wire/schema.ts';
import type { TablePush } from './context.ts';
import type { FoundRows } from './lookup.ts';

/** What is known of the files of a batch. */
export interface FileFindings {
  /** Columns whose files the origin has, by the id here of rows whose answer got lost. */
  readonly arrived: ReadonlyMap<number, ReadonlySet<number>>;
  /** Rows whose answer got lost and whose files the origin does not let be compared. */
  readonly unclear: ReadonlySet<number>;
  /** Rows that may be a create whose answer got lost; those with other files are left out. */
  readonly alike: ReadonlyMap<number, readonly Row[]>;
  /** Columns whose files arrived, and that show something newer of somebody else's, by the origin's id of their row. */
  readonly overtaken: ReadonlyMap<number, ReadonlySet<number>>;
  /** Cells, by the origin's id of their row, that show a file of ours whose content is in the store. */
  readonly shown: readonly ShownFile[];
}

interface ShownFile {
  readonly rowId: number;
  readonly column: FileColumn;
  readonly value: string;
  readonly file: UploadedFile;
}

/** Finds out what became of the files of a batch. @throws RowsyncError of the origin. */
export async function findFiles(
  run: TablePush,
  { rows, sentAt }: Batch,
  looked: {
    readonly found: FoundRows;
    readonly byValue: ReadonlyMap<number, Row>;
    readonly alike: ReadonlyMap<number, readonly Row[]>;
    /** Whether the answers to the batch came a moment ago. */
    readonly isAtOnce: boolean;
  },
): Promise<FileFindings> {
  const withFiles = rows.filter(({ cells }) => cells.some(({ file }) => file !== undefined));
  if (withFiles.length === 0) {
    return { arrived: new Map(), unclear: new Set(), alike: looked.alike, overtaken: new Map(), shown: [] };
  }
  // One that seems to lie ahead was sent before the clock was set back.
  const isOld = Math.abs(run.context.clock.nowMs() - Date.parse(sentAt)) > LOOK_MS_MAX;
  const finding = new Finding(run, { isOld });
  const alike = new Map(looked.alike);
  for (const row of withFiles) {
    if (row.answer !== null) {
      const remote = looked.found.byId.get(row.answer.id ?? row.id);
      if (remote !== undefined && row.answer.as !== 'look') finding.addAccepted(row, remote, looked.isAtOnce);
      continue;
    }
    const remote = looked.found.byId.get(row.id) ?? looked.byValue.get(row.id);
    if (remote !== undefined) await finding.addLost(row, remote);
    else alike.set(row.id, await finding.withSameFiles(row, alike.get(row.id) ?? []));
  }
  const { arrived, unclear, overtaken } = finding;
  return { arrived, unclear, alike, overtaken, shown: await finding.keep() };
}

/** A new row with files, and the row of the origin that has its match value. */
export interface MetFiles {
  /** The id here. */
  readonly id: number;
  readonly remote: Row;
  readonly files: readonly {
    readonly column: number;
    readonly value: string;
    readonly file: Omit<SentFile, 'before'>;
  }[];
}

/**
 * Of files that new rows attach, those that the rows which have their match values show already, under the same name and with the same
 * content: such a row may be what an earlier request made of the new one, unseen by whoever looked. What the origin does not let be
 * compared is not among them. @returns the values in the cells here, by column, by the id here. @throws RowsyncError of the origin.
 */
export async function findHeldFiles(
  run: TablePush,
  met: readonly MetFiles[],
): Promise<ReadonlyMap<number, ReadonlyMap<number, string>>> {
  const finding = new Finding(run, { isOld: true });
  const held = new Map<number, ReadonlyMap<number, string>>();
  for (const { id, remote, files } of met) {
    const columns = new Map<number, string>();
    for (const { column, value, file } of files) {
      if (await finding.isHeld(file, remote, column)) columns.set(column, value);
    }
    held.set(id, columns);
  }
  return held;
}

/** A file of ours that a cell shows, whose content is not in the store yet. */
interface OwnFile {
  readonly rowId: number;
  readonly column: FileColumn;
  readonly value: string;
  readonly sent: SentFile;
}

type FileVerdict = 'shown' | 'earlier' | 'absent' | 'hidden' | 'unclear';

class Finding {
  readonly arrived = new Map<number, ReadonlySet<number>>();
  readonly unclear = new Set<number>();
  readonly overtaken = new Map<number, Set<number>>();
  readonly #run: TablePush;
  /** Whether the files were looked for long enough. */
  readonly #isOld: boolean;
  readonly #columns: ReadonlyMap<string, FileColumn>;
  readonly #own: OwnFile[] = [];

  constructor(run: TablePush, { isOld }: { readonly isOld: boolean }) {
    this.#run = run;
    this.#isOld = isOld;
    const columns = readFileColumns(run.context.replica, run.table.id);
    this.#columns = new Map(columns.map((column) => [column.columnName, column]));
  }

  /** A row that the origin took. */
  addAccepted({ kind, answer, cells }: BatchRow, remote: Row, isAtOnce: boolean): void {
    const isNew = kind === 'insert' || answer?.as === 'recreated';
    for (const { column, file } of cells) {
      const value = remote.values[column] ?? null;
      if (file === undefined) continue;
      if (acceptedRevision(file, value, { isNew, isAtOnce }) !== null) this.#addOwn(remote, column, file);
      // Which revisions the row of somebody else's had before is not known.
      else if (answer?.as !== 'met' && isOvertaken(file, value, isNew)) this.#addOvertaken(remote, column);
    }
  }

  /** A row whose answer got lost, as the origin has it. */
  async addLost(row: BatchRow, remote: Row): Promise<void> {
    const arrived = new Set<number>();
    const isChanged = this.#isChanged(row, remote);
    for (const { column, file: sent } of row.cells) {
      // A row that was made again under another id counts its revisions from 1.
      const file = sent === undefined || remote.id === row.id ? sent : { ...sent, before: null };
      const verdict = file === undefined ? 'absent' : await this.#compare(file, remote, column, isChanged);
      // Where the cells differ, the other policies do not send it again by themselves.
      const isNone = (remote.values[column] ?? null) === (file?.before ?? null);
      const isSentAgain = isNone || this.#run.options.conflict === 'local';
      if (verdict === 'unclear' || (verdict === 'hidden' && isSentAgain)) this.unclear.add(row.id);
      if (verdict === 'shown' || verdict === 'earlier') arrived.add(column);
      if (verdict === 'shown' && file !== undefined) this.#addOwn(remote, column, file);
    }
    this.arrived.set(row.id, arrived);
  }

  /** Of rows that have all other values of a create whose answer got lost, those that have its files and are unknown here. */
  async withSameFiles(row: BatchRow, candidates: readonly Row[]): Promise<readonly Row[]> {
    const { context, table } = this.#run;
    const ids = candidates.map(({ id }) => id);
    const known = new Set(readRowsById(context.replica, baseTarget(table), ids).map(({ id }) => id));
    const same: Row[] = [];
    for (const remote of candidates.filter(({ id }) => !known.has(id))) {
      let isSame = true;
      for (const { column, file } of row.cells) {
        if (file === undefined || !isSame) continue;
        const verdict = await this.#compare(file, remote, column, true);
        // What cannot be compared may be it; then there is no telling how many are.
        if (verdict === 'unclear') this.unclear.add(row.id);
        isSame = verdict === 'shown' || verdict === 'earlier';
        if (verdict === 'shown') this.#addOwn(remote, column, file);
      }
      if (isSame) same.push(remote);
    }
    return same;
  }

  /** Whether a row shows a file as it would be sent to it. */
  async isHeld(file: Omit<SentFile, 'before'>, remote: Row, index: number): Promise<boolean> {
    if (!showsName(remote.values[index] ?? null, file.name)) return false;
    return (await this.#compare({ ...file, before: null }, remote, index, true)) === 'shown';
  }

  /** Puts the content of our files into the store; returns the cells that show one. */
  async keep(): Promise<readonly ShownFile[]> {
    const { context, table } = this.#run;
    const kept = new Map<string, boolean>();
    for (const { sent } of this.#own) {
      if (kept.has(sent.sha256)) continue;
      kept.set(sent.sha256, (await context.keepUpload?.(table.name, sent)) ?? false);
    }
    return this.#own.flatMap(({ sent, value, ...place }): readonly ShownFile[] => {
      const file = fileFromCell(value);
      if (file === null || kept.get(sent.sha256) !== true) return [];
      return [{ ...place, value, file: { ...file, type: sent.type, bytes: sent.bytes, sha256: sent.sha256 } }];
    });
  }

  /** Whether a row was changed, or made, since it was sent, as a date in it tells; where it has none, it may have been. */
  #isChanged({ id }: BatchRow, remote: Row): boolean {
    const { context, table } = this.#run;
    const [base] = remote.id === id ? readRowsById(context.replica, baseTarget(table), [id]) : [];
    if (base === undefined) return true;
    const stamps = table.columns.flatMap(({ isStamp }, index) => (isStamp ? [index] : []));
    return stamps.length === 0 || stamps.some((index) => base.values[index] !== remote.values[index]);
  }

  #addOvertaken({ id }: Row, index: number): void {
    this.overtaken.set(id, (this.overtaken.get(id) ?? new Set()).add(index));
  }

  #addOwn(remote: Row, index: number, sent: SentFile): void {
    const column = this.#columnAt(index);
    const value = remote.values[index];
    if (column !== undefined && typeof value === 'string') this.#own.push({ rowId: remote.id, column, value, sent });
  }

  #columnAt(index: number): FileColumn | undefined {
    return this.#columns.get(this.#run.table.columns[index]?.localName ?? '');
  }

  /**
   * shown: the cell shows the file · earlier: it is a revision before that · absent: it did not arrive · hidden: it is none of the
   * revisions that the origin shows, and may have arrived nevertheless.
   */
  async #compare(sent: SentFile, remote: Row, index: number, isChanged: boolean): Promise<FileVerdict> {
    const { origin, signal } = this.#run.context;
    const column = this.#columnAt(index);
    if (column === undefined) return 'unclear';
    const value = remote.values[index] ?? null;
    const showsHistory = columnMode('all', column.options) === 'all';
    const revisions = revisionsToCompare(sent, value, showsHistory);
    const unfound = (listed: Parameters<typeof mayBeHidden>[1]): FileVerdict => {
      return mayBeHidden(sent, listed, { isChanged, showsHistory }) ? 'hidden' : 'absent';
    };
    if (revisions === 0) return value === sent.before && value !== null ? 'absent' : unfound([]);
    const place = { ...column.address, record: { id: remote.id } };
    try {
      const list = await origin.attachments({ ...place, revisions }, { signal });
      if (list.kind === 'notModified') return 'unclear'; // cannot be: no ETag was sent
      const known = new Set(
        readCellFiles(this.#run.context.replica, column, remote.id).map(({ guid }) => guid.toLowerCase()),
      );
      for (const info of likelyRevisions(sent, list.value, known)) {
        if ((await this.#readDigest(place, info)) !== sent.sha256) continue;
        if (isShown(info.guid, String(value))) return 'shown';
        this.#addOvertaken(remote, index);
        return 'earlier';
      }
      return unfound(list.value);
    } catch (thrown) {
      const error = asRowsyncError(thrown);
      if (isBeyondComparing(error, this.#isOld)) return 'unclear';
      throw error;
    }
  }

  /** Reads a revision. @returns the SHA-256 of its content. @throws RowsyncError `origin.truncated` where something else came. */
  async #readDigest(place: Omit<AttachmentRequest, 'version'>, info: AttachmentInfo): Promise<string> {
    const { origin, signal } = this.#run.context;
    const hash = createHash('sha256');
    let bytes = 0;
    const take = (chunk: Uint8Array): void => {
      bytes += chunk.length;
      hash.update(chunk);
    };
    const answer = await origin.attachment({ ...place, version: { guid: info.guid, in: 'path' } }, take, { signal });
    if (answer.kind === 'notModified') throw brokenRevision(info, 'not modified, though no ETag was sent');
    const problem = downloadProblem({ ...info, bytes: info.size }, { ...answer.value, bytes });
    if (problem !== null) throw brokenRevision(info, problem);
    return hash.digest('hex');
  }
}

/** How long a file is looked for while the origin fails to answer; what passes by itself has mostly passed after that. */
const LOOK_MS_MAX = 60 * 60_000;

function isShown(guid: string, value: string): boolean {
  return fileFromCell(value)?.guid.toLowerCase() === guid.toLowerCase();
}
