/**
 * Whether what waits for a person waits with a cause (L2, L3). A row is in doubt if its answer was lost, and the origin
 * cannot show whether it was accepted. A refused row is one that the origin refused alone, or that could not be sent
 * for a reason that is looked up here. A conflict waits where the policy asks and both sides wrote, and what a guard
 * holds has its cause. Every other oracle excuses what waits, so an engine that parks rows wrongly would pass without
 * this one.
 *
 * Takes requests and what the engine got for them, commits, errors of cycles; returns complaints; what waits is judged
 * at rest.
 */
import { ADDS_FORBIDDEN } from '../../../src/reconcile/push-plan.ts';
import type { WireAnswer, TransportFault } from '../../../src/origin/transport.ts';
import type { KeptRow } from '../../../src/replica/bookkeeping/batches.ts';
import { readBase } from './base.ts';
import type { LocalRow, LocalValue } from '../world/books.ts';
import type { OracleParts } from './oracles.ts';
import type { SeenRequest } from '../world/network.ts';
import { isMadeByTrigger } from '../actors/user.ts';
import { isCut } from '../world/cuts.ts';
import type { OriginWrite } from './verdict.ts';

/** What there is to look at. */
export type ParkingParts = Omit<OracleParts, 'fail'>;

type Kind = 'insert' | 'update' | 'delete';

/** A row of a request that changes rows. */
interface SentRow {
  readonly kind: Kind;
  /** Its id at the origin, and its tag, as far as it has them. */
  readonly names: readonly string[];
  readonly values: ReadonlySet<string>;
  /** The unique value that was sent of a create; null where none was. */
  readonly code: LocalValue;
  readonly hasFile: boolean;
  /** All that was sent of it in columns that people write into, by the names of the simulation. */
  readonly cells: Readonly<Record<string, LocalValue>>;
  /** How often administrators had changed the columns when the engine was last told of them. */
  readonly shapeCount: number;
}

/** A row that waits, and why, as the replica says. */
interface ParkedRow {
  readonly id: number;
  readonly state: string;
  readonly kind: string | null;
  readonly reason: string | null;
  readonly status: number | null;
  /** The values that were sent of it, but for files. */
  readonly sent: readonly string[];
  /** Its id at the origin, and its tag, as far as it has them. */
  readonly names: readonly string[];
}

/** Watches one world. */
export class Parking {
  readonly #parts: ParkingParts;
  /** Rows of requests whose outcome the engine may not know, by the number of the request. */
  readonly #open = new Map<number, readonly SentRow[]>();
  /** Rows with a known outcome, once the engine has stored it. */
  readonly #certain = new Set<number>();
  /** Taken updates with files: the engine does not store such answers, and forgets them unless it settles the rows. */
  readonly #takenFiles = new Set<number>();
  /** Rows of those that were settled: in an older copy they may still be on their way. */
  readonly #settledFiles: SentRow[] = [];
  /**
   * Creates and files that were recorded and did not leave, by the names of their rows: a process that died in between
   * cannot tell.
   */
  readonly #recorded = new Map<string, SentRow>();
  /** The names of the rows of the batches of this plan. */
  #newest: readonly string[] = [];
  /** The names of rows whose file a request took away. */
  readonly #filesTakenAway = new Set<string>();
  /** Rows that were refused alone, by their names, and new ones at which the origin failed. */
  readonly #refused = new Map<string, SentRow[]>();
  readonly #failed = new Map<string, SentRow[]>();
  /** Rows whose requests ended without an answer about them, by their names, with the number of rows of the request. */
  readonly #unanswered = new Map<string, (SentRow & { readonly rowCount: number })[]>();
  /** The rows of a mirror when it was settled which of them are missing. */
  #lookedAt: readonly LocalRow[] | null = null;
  /** What is wrong with the deletes that the last sweep held. */
  #heldWrongly: string | null = null;
  /**
   * Whether a page that has changed was said to be as it was, in this cycle: then rows of a push seem to be missing.
   */
  #isWronglyUnchanged = false;
  /** Questions by values of rows that were answered with something else than what the origin said. */
  readonly #misanswered = new Set<string>();
  /** Rows that were asked for, and answered with something else than what the origin said. */
  readonly #misread = new Set<string>();
  /** Whether an answer may have seemed to say that a column cannot be written. */
  #isRightMisread = false;
  /** Whether rights came and went, or an answer seemed to say so. */
  #isCallerDoubtful = false;
  /** What stood in older copies that were put back, as one text; null while none was. */
  #olderCopies: string | null = null;

  constructor(parts: ParkingParts) {
    this.#parts = parts;
  }

  /** A request that changes rows leaves. */
  onDeparture(request: SeenRequest): void {
    const rows = this.#rowsOf(request);
    this.#open.set(request.number, rows);
    for (const { names, cells } of rows) {
      for (const name of names) {
        if (cells['File'] === null) this.#filesTakenAway.add(name);
        this.#recorded.delete(name);
      }
    }
  }

  /** What the engine gets for it; `isTrue` where that is what the origin said. */
  onAnswer({ number, method, query }: SeenRequest, isTrue: boolean, result: WireAnswer | TransportFault): void {
    if (method === 'user') this.#noteCaller(isTrue, result);
    if (method === 'select' && !isTrue) this.#misanswered.add(new URLSearchParams(query).get('filter') ?? '');
    // At an origin by the letter, a row says what may be written: one that lost a cell takes a right away.
    if (method === 'select' && !isTrue && this.#parts.setup.isLetter) this.#isRightMisread = true;
    if (method === 'retrieve' && !isTrue) {
      for (const id of new URLSearchParams(query).getAll('id')) this.#misread.add(`row ${id}`);
    }
    if (method === 'select' && !isTrue && result.kind === 'answer' && result.status === 304)
      this.#isWronglyUnchanged = true;
    const rows = this.#open.get(number);
    if (rows === undefined) return;
    const noteUnanswered = (): void => {
      for (const row of rows) note(this.#unanswered, { ...row, rowCount: rows.length });
    };
    if (result.kind === 'fault') {
      if (!result.isSent) this.#certain.add(number);
      else noteUnanswered();
      return;
    }
    const { status } = result;
    // A page that something on the way puts in the place of an answer says nothing of the request.
    const isRefused = status >= 400 && status < 500 && !/html/.test(result.headers['content-type']?.toString() ?? '');
    if (status === 200 && isTrue && rows.some(({ kind, hasFile }) => kind === 'update' && hasFile))
      this.#takenFiles.add(number);
    else if (isRefused || (status === 200 && isTrue)) this.#certain.add(number);
    else noteUnanswered();
    const [only] = rows;
    if (isRefused && only !== undefined && rows.length === 1) note(this.#refused, only);
    if (status !== 200) return;
    for (const [index, code] of statusesOf(result).entries()) {
      const row = rows[index];
      if (row === undefined || code < 400) continue;
      // An origin that fails may have made the row before it did.
      note(code >= 500 && row.kind === 'insert' ? this.#failed : this.#refused, row);
    }
  }

  /** After a commit: what was answered is known, unless the power may fail and take it back. */
  onCommitted(what: string): void {
    if (what.startsWith('Planning the push')) this.#newest = [];
    if (what.startsWith('Recording a batch')) this.#noteRecorded();
    if (this.#parts.setup.losesPower) return;
    if (what.startsWith('Settling') && this.#isAllSettled()) {
      for (const number of this.#takenFiles) this.#settledFiles.push(...(this.#open.get(number) ?? []));
      this.#forget(this.#takenFiles);
    }
    if (!what.startsWith('Storing the answer')) return;
    this.#forget(this.#certain);
    // Whatever of it did not leave did not, and that is known now. The batch behind it waits in the file.
    const waiting = new Set(this.#inBatches());
    for (const name of this.#newest) if (!waiting.has(name)) this.#recorded.delete(name);
  }

  #isAllSettled(): boolean {
    const left = `SELECT id FROM _rowsync_batches UNION ALL SELECT row_id FROM _rowsync_rows WHERE state = 'inDoubt'`;
    return this.#parts.user.query(left).length === 0;
  }

  /** What became of these requests is known. */
  #forget(numbers: Set<number>): void {
    for (const number of numbers) this.#open.delete(number);
    numbers.clear();
  }

  /** A cycle begins: what the one before did not store of an answer, because the disk was full, is lost. */
  onCycle(): void {
    this.#heldWrongly = null;
    this.#isWronglyUnchanged = false;
    this.#certain.clear();
  }

  /** The engine died: answers that were not stored are lost. */
  onDeath(): void {
    this.#certain.clear();
  }

  /** An older copy was put in the place of the replica. */
  onOlderCopy(): void {
    const { user } = this.#parts;
    const kept = ['sync_conflicts', 'sync_failures'].map((view) => user.query(`SELECT * FROM ${view}`));
    // A row that is kept as a whole stands in them as JSON.
    const text = JSON.stringify([user.rows(), this.#base(), kept]).replaceAll('\\"', '"');
    this.#olderCopies = [this.#olderCopies, text].join('\n');
  }

  /** What is wrong with the guards that stopped something in a cycle. */
  complaintsOfGuards(codes: readonly string[]): readonly string[] {
    const { admin, setup } = this.#parts;
    // Whoever changes rights gives guards their causes: only that a right to write is missing is known of those.
    // At an origin by the letter, a hidden column looks like one that may not be written.
    const isRightTaken =
      admin.wasForbidden || this.#isRightMisread || (setup.isLetter === true && admin.hasLostColumns);
    if (!isRightTaken && codes.includes('guard.pending')) return ['edits are held, and nobody took a right away'];
    if (codes.includes('guard.deletes') && this.#heldWrongly !== null) return [this.#heldWrongly];
    if (codes.includes('guard.filter') && !this.#isFilterNew())
      return ['rows are held as those outside of another filter, and it is as it was'];
    if (codes.includes('guard.olderCopy') && !this.#parts.user.isOlderCopy)
      return ['edits are held as those of an older copy, and nobody put one back'];
    if (codes.includes('guard.columns') && !admin.hasLostColumns)
      return ['a table is held for columns that vanished, and none did'];
    return codes.includes('guard.pushDeletes') && !this.#areManyDeletedHere()
      ? ['deletes of a push are held, and they are fewer than the guard lets through']
      : [];
  }

  /** Whether the configuration has another filter than at first. */
  #isFilterNew(): boolean {
    const [first = null, later = null] = this.#parts.setup.rows ?? [];
    return later !== null && later.text !== first?.text;
  }

  /**
   * Before a commit behind which it is settled which rows are missing. Without its triggers, a mirror may lose rows
   * before the deletes are held.
   */
  onLook(): void {
    this.#lookedAt = this.#parts.names.isMirror ? this.#base() : null;
  }

  /**
   * Before a commit that holds deletes. Whether they are too many is judged at the end of the cycle. Rows that a push
   * made count as unseen where a sweep continues that began before, and the sweep that follows it sees them. `outside`
   * are rows that the filter did not select at some moment of the cycle.
   */
  onHold(outside: ReadonlySet<number>): void {
    const { setup, origin, names } = this.#parts;
    this.#heldWrongly = null;
    if (this.#isWronglyUnchanged) return;
    // Hidden rows count as missing.
    if (!setup.isAdminAway || origin.user.role !== 'Administrator' || this.#isCallerDoubtful) return;
    // Rows that only left the filter count where none would be left; one may have entered it again since its page was
    // read.
    const base = this.#lookedAt ?? this.#base();
    const selected = new Set(names.rowsSelected().map(({ id }) => id));
    if (base.every(({ id }) => !selected.has(id) || outside.has(id))) return;
    if (this.#isFilterNew()) return;
    const there = new Map(names.rowsThere().map(({ id, tag }) => [id, tag]));
    // What someone put into a mirror around its triggers may have the id of a row that is made there before the commit.
    const isThere = ({ id, tag }: LocalRow): boolean => (names.isMirror ? there.get(id) === tag : there.has(id));
    const missing = base.filter((row) => !isThere(row)).length;
    const isCause = missing >= base.length || missing * 100 > setup.maxDeletePercent * base.length;
    if (!isCause) this.#heldWrongly = `deletes are held although ${missing} of ${base.length} rows are missing`;
  }

  /** What is wrong with the rows that wait now. */
  complaints(): readonly string[] {
    const { user, names } = this.#parts;
    const unreadable = user
      .query(`SELECT row_id FROM _rowsync_unreadable WHERE table_id = ${names.tableId}`)
      .map(([id]) => `row ${Number(id)} counts as unreadable, and the origin shows it`);
    return [...unreadable, ...this.#parked().flatMap((row) => this.#judge(row) ?? [])];
  }

  #judge(row: ParkedRow): string | null {
    const what = `row ${row.id} (${row.names.join(', ')}) is ${row.state}`;
    if (row.state === 'conflicted') return this.#judgeConflicted(row, what);
    if (row.reason === null) return `${what}, and nothing says why`;
    const isCause = row.state === 'inDoubt' ? this.#isDoubtful(row, row.reason) : this.#isRefused(row, row.reason);
    return isCause ? null : `${what} without a cause: ${row.kind} ${row.status ?? ''}: ${row.reason}`;
  }

  #isDoubtful({ names, sent }: ParkedRow, reason: string): boolean {
    if (reason.startsWith('its table was dropped here')) return this.#parts.books.hasLostTable;
    // The row may have been made, and deleted before it was asked for; the list of deleted rows is asked from some
    // seconds before it was sent.
    const isAnyDeleted =
      reason.includes('a row that was never here was deleted there since') &&
      this.#parts.writes.all.some(({ kind }) => kind === 'delete');
    const isCause = (row: SentRow): boolean =>
      row.names.some((name) => names.includes(name) || sent.includes(name)) &&
      (row.hasFile || (row.kind === 'insert' && (isAnyDeleted || this.#isUntellable(row))));
    const unknown = [...this.#open.values()].flat();
    if ([...unknown, ...this.#recorded.values()].some(isCause)) return true;
    if (this.#olderCopies !== null && this.#settledFiles.some(isCause)) return true;
    return this.#olderCopies !== null && (names.length === 0 || names.some((name) => this.#isInOlderCopy(name)));
  }

  /**
   * Whether nothing tells that a new row is at the origin: it has no match value, the answer about that was none, or
   * the caller is another one.
   */
  #isUntellable({ code, cells, shapeCount }: SentRow): boolean {
    const { setup, writes, admin } = this.#parts;
    if (setup.match === null || code === null || this.#isCallerDoubtful) return true;
    // What was sent cannot be compared with other columns.
    if (admin.shapeCount > shapeCount) return true;
    if (this.#misanswered.values().some((filter) => filter.includes(`"${code}"`))) return true;
    // Whatever has its match value there has to be what was sent, cell by cell.
    const holders = new Set(writes.all.flatMap((write) => (write.cells['Code'] === code ? [write.id] : [])));
    const isAsSent = ({ kind, by, cells: there }: OriginWrite): boolean =>
      kind === 'delete' ||
      (kind === 'create' && by === 'api' && Object.entries(cells).every(([column, value]) => there[column] === value));
    return writes.all.some((write) => holders.has(write.id) && !isAsSent(write));
  }

  #isInOlderCopy(name: string): boolean {
    return this.#olderCopies?.includes(`"${name}"`) ?? false;
  }

  #isRefused({ id, kind, status, sent, names }: ParkedRow, reason: string): boolean {
    const { setup, admin, writes, user } = this.#parts;
    const row = user.rows().find((local) => local.id === id);
    if (reason.startsWith('sent alone, it got no answer')) {
      const failed = names.flatMap((name) => this.#unanswered.get(name) ?? []).filter((old) => old.kind === kind);
      return failed.length > 1 && failed.some((old) => old.rowCount === 1 && sent.every((it) => old.values.has(it)));
    }
    // Deleted here since it was refused with values, or the other way round: that it waits for is gone.
    if ((row === undefined) !== (kind === 'delete')) return false;
    if (status !== null || reason.startsWith('the origin says that it has no such row')) {
      const held = new Set(user.valuesOf(id).map(String));
      // A user's trigger may overwrite a refused value unseen, and an unedited match value follows the origin.
      const isHeld = (value: string): boolean => held.has(value) || (kind === 'update' && this.#isMatchOfOrigin(value));
      if (!user.hadTrigger && !sent.every(isHeld)) return false;
      const isThere = this.#parts.names.rowsThere().some(({ tag }) => tag === row?.tag);
      const known = isThere ? [this.#refused] : [this.#refused, this.#failed];
      return names.some((name) =>
        known.some((refused) =>
          refused
            .get(name)
            ?.some((old) => old.kind === kind && (old.hasFile || sent.every((value) => old.values.has(value)))),
        ),
      );
    }
    if (reason === ADDS_FORBIDDEN.reason) return admin.wasForbidden;
    // Columns of an unknown kind cannot be written; the trigger that says so may be gone.
    if (reason.startsWith('the calling user may')) return admin.wasForbidden || user.hadNoTrigger;
    const code = row?.cells['Code'] ?? null;
    if (/^row -?\d+ has the same match value/.test(reason)) {
      if (setup.match === null || code === null) return false;
      const isOfOther = writes.all.some((write) => write.id !== id && write.cells['Code'] === code);
      return isOfOther || user.rows().some((local) => local.id !== id && local.cells['Code'] === code);
    }
    // Nobody knows then whether another row has it; asked again in a while, the origin says so.
    if (/^asked for its match value, the origin answers|^the origin, or a firewall, refuses to look/.test(reason))
      return code !== null && this.#misanswered.values().some((filter) => filter.includes(`"${code}"`));
    // It waits for its timer also once the text is mended.
    if (reason.startsWith('the origin shows its row with a value that cannot be read')) {
      const wasCut = writes.all.some((write) => write.id === id && Object.values(write.cells).some(isCut));
      return wasCut || names.some((name) => this.#misread.has(name));
    }
    // What the triggers refuse came in around them; one of the user's may keep ours from giving a row its key again.
    if (reason.endsWith('must have a value')) return user.hadNoTrigger || user.hadTrigger;
    // A row that is put in its own place while its file is taken away has the file again, as the base still says it.
    if (reason.includes(' takes file: and the name of a file'))
      return user.hadNoTrigger || names.some((name) => this.#filesTakenAway.has(name));
    // Whatever else is said before anything is sent is about a file.
    return /\bfile\b/.test(reason) && (row?.cells['File'] ?? null) !== null;
  }

  /** Whether a value told which row is meant, as the origin had it, and was no edit of anybody here. */
  #isMatchOfOrigin(value: string): boolean {
    const { setup, books, writes } = this.#parts;
    if (setup.match === null || books.everWritten.values().some((key) => key.endsWith(`.Code=${value}`))) return false;
    return writes.all.some(({ cells }) => cells['Code'] === value);
  }

  #judgeConflicted({ id, names }: ParkedRow, what: string): string | null {
    const { setup, user, books, writes, origin } = this.#parts;
    if (setup.policy !== 'ask') return `${what}, and the policy is ${setup.policy}`;
    const open = user.query(`SELECT kind, local, remote FROM sync_conflicts WHERE state = 'open' AND row_id = ${id}`);
    if (open.length === 0) return `${what}, and no conflict is open`;
    const isHere = (text: LocalValue): boolean =>
      books.everWritten.values().some((key) => key.endsWith(`=${String(text)}`));
    const isThere = (text: LocalValue): boolean =>
      // Also into a column that is unknown here.
      [...writes.all, ...origin.log].some(({ cells }) => Object.values(cells).some((value) => value === text));
    const isCause = ([kind, local, remote]: readonly unknown[]): boolean => {
      if (kind === 'deletedHere') return names.some((name) => books.everDeleted.has(name));
      // Such a row is gone, and no person is asked.
      if (kind === 'deletedThere') return false;
      const [here, there] = [local as LocalValue, remote as LocalValue];
      const isMade = isMadeByTrigger(here) || (typeof here === 'string' && UUID.test(here));
      return (here === null || isMade || isHere(here) || isThere(here)) && (there === null || isThere(there));
    };
    return open.every(isCause) ? null : `${what}, and only one side wrote`;
  }

  #parked(): readonly ParkedRow[] {
    const { user, names } = this.#parts;
    const parked = user.query(
      `SELECT r.row_id, r.state, f.kind, f.reason, f.status, f.sent FROM _rowsync_rows r
       LEFT JOIN _rowsync_refusals f ON f.table_id = r.table_id AND f.row_id = r.row_id
       WHERE r.table_id = ${names.tableId} AND r.state IN ('refused', 'inDoubt', 'conflicted')`,
    );
    if (parked.length === 0) return [];
    const known = [...user.rows(), ...this.#base()];
    return parked.map(([rowId, state, kind, reason, status, sent]) => {
      const id = Number(rowId);
      const row = known.find((other) => other.id === id);
      const cells = JSON.parse(textOrNull(sent) ?? '{}') as Readonly<Record<string, LocalValue>>;
      return {
        id,
        state: String(state),
        kind: textOrNull(kind),
        reason: textOrNull(reason),
        status: status === null ? null : Number(status),
        sent: Object.values(cells).map(String),
        names: namesOf(id, row?.tag),
      };
    });
  }

  #noteCaller(isTrue: boolean, result: WireAnswer | TransportFault): void {
    if (result.kind !== 'answer' || result.status !== 200) return;
    const { origin, admin } = this.#parts;
    this.#isCallerDoubtful ||= !isTrue || admin.wasForbidden || origin.user.role !== 'Administrator';
  }

  #rowsOf({ method, query, body }: SeenRequest): readonly SentRow[] {
    const { toldShapeCount: shapeCount } = this.#parts.admin;
    const nothing = { values: new Set<string>(), code: null, hasFile: false, cells: {}, shapeCount };
    if (method === 'delete') {
      const ids = new URLSearchParams(query).getAll('id').map(Number);
      return ids.map((id) => ({ ...nothing, kind: 'delete', names: namesOf(id, this.#tagOf(id)) }));
    }
    const rows = JSON.parse(body ?? '[]') as readonly Readonly<Record<string, LocalValue>>[];
    return rows.map((row) => this.#writeOf(Number(row['@row.id'] ?? 0), row));
  }

  /** A row that is written, with the id that it has at the origin, and cells by the names that requests use. */
  #writeOf(id: number, row: Readonly<Record<string, LocalValue>>): SentRow {
    const cells = this.#parts.names.fromOrigin(row);
    const tag = id > 0 ? this.#tagOf(id) : cells['Tag'];
    return {
      kind: id > 0 ? 'update' : 'insert',
      names: namesOf(id, typeof tag === 'string' ? tag : null),
      values: new Set(Object.values(row).map(String)),
      code: cells['Code'] ?? null,
      hasFile: typeof cells['File'] === 'string',
      cells,
      shapeCount: this.#parts.admin.toldShapeCount,
    };
  }

  /** The tag of a row of the origin; where it is gone there, as it is here. */
  #tagOf(id: number): string | null {
    const { user, names } = this.#parts;
    return names.tagOf(id) ?? user.rows().find((row) => row.id === id)?.tag ?? null;
  }

  #noteRecorded(): void {
    const { user } = this.#parts;
    const newest = [...this.#newest];
    const [[rows] = []] = user.query('SELECT rows FROM _rowsync_batches ORDER BY id DESC LIMIT 1');
    const columns = user.query(`SELECT seq, iif(alias = '', name, alias) FROM _rowsync_columns`);
    const addressBySeq = new Map(columns.map(([seq, address]) => [Number(seq), String(address)]));
    for (const [id, kind, cells] of JSON.parse(textOrNull(rows) ?? '[]') as KeptRow[]) {
      const byName = cells.map(([seq, value]) => [addressBySeq.get(seq) ?? '', value as LocalValue] as const);
      const row = this.#writeOf(id, Object.fromEntries(byName));
      if (kind !== 'insert' && !row.hasFile) continue;
      newest.push(...row.names);
      for (const name of row.names) this.#recorded.set(name, row);
    }
    this.#newest = newest;
  }

  /** Names of the rows of all batches in the file. */
  #inBatches(): readonly string[] {
    const kept = this.#parts.user.query('SELECT rows FROM _rowsync_batches');
    const ids = kept.flatMap(([rows]) => (JSON.parse(textOrNull(rows) ?? '[]') as KeptRow[]).map(([id]) => id));
    return ids.flatMap((id) => namesOf(id, this.#tagOf(id)));
  }

  #areManyDeletedHere(): boolean {
    const here = new Set(this.#parts.user.rows().map(({ id }) => id));
    const base = this.#base();
    const gone = base.filter(({ id }) => !here.has(id)).length;
    return gone * 100 > this.#parts.setup.maxDeletePercent * base.length;
  }

  #base(): readonly LocalRow[] {
    const { user, names } = this.#parts;
    return [...(readBase((statement) => user.query(statement), names)?.values() ?? [])];
  }
}

/** Match values that rowsync makes up itself. */
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4/;

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** What a row goes by. */
function namesOf(id: number, tag: string | null | undefined): readonly string[] {
  return [...(id > 0 ? [`row ${id}`] : []), ...(tag === null || tag === undefined || tag === 'null' ? [] : [tag])];
}

function note<T extends SentRow>(rows: Map<string, T[]>, row: T): void {
  for (const name of row.names) rows.set(name, [...(rows.get(name) ?? []), row]);
}

/** What a list of statuses says of each row; empty for anything else. */
function statusesOf({ body }: WireAnswer): readonly number[] {
  let found: unknown;
  try {
    found = JSON.parse(Buffer.from(body).toString('utf8'));
  } catch {
    return [];
  }
  if (!Array.isArray(found)) return [];
  return found.map((status: unknown) =>
    typeof status === 'object' && status !== null && 'status' in status ? Number(status.status) : 0,
  );
}
