/**
 * What must be true at every moment of a simulated world, looked at in each transaction just before it is committed,
 * and at each request before it leaves. What must be true once all is quiet is in verdict.ts.
 *
 *    fresh   what a good pull brought was true while it ran (freshness.ts)
 *    writer  a commit never leaves the writer flag set
 *    flight  whatever is marked as sent is in a batch, and the reverse
 *    I2      a push writes over nothing that it could have known of (overwrites.ts)
 *    I5      no row leaves the replica that the origin has; none is deleted there that is here or nobody deleted
 *    I6      rows are what the ETag that is kept vouches for (vouching.ts)
 *    I8      of a row that the origin knows, a request has no value of the base, nor one that nobody wrote here
 *    L3      deletes are held, and rows wait at rest, with a cause only (parking.ts)
 *    held    what was edited in an older copy waits for a person (holding.ts)
 *    I17     a column that is not shown keeps its last values, and an edited table that lost one is held (hiding.ts)
 *    history the entries of a commit lead from what the journal knew to what it knows (history.ts)
 *    I11     what a request changes stands in a batch on the disk, row by row and cell by cell (intents.ts)
 */
import { silences } from '../world/cuts.ts';
import type { WireAnswer, TransportFault } from '../../../src/origin/transport.ts';
import type { Replica } from '../../../src/replica/database.ts';
import type { TransactionFacts } from '../../support/surround.ts';
import { sql } from '../../../src/base/sql.ts';
import type { Problem } from '../../../src/reconcile/account/account.ts';
import { Unseen } from './unseen.ts';
import type { Admin } from '../actors/admin.ts';
import type { CycleOrder } from '../world/engine.ts';
import { readBase } from './base.ts';
import { isBeside, type Beside } from '../world/beside.ts';
import { writtenKey, type Books, type LocalRow } from '../world/books.ts';
import { wronglyAsked } from '../world/choosing.ts';
import { flightComplaints } from './flight.ts';
import { Freshness } from './freshness.ts';
import { Hiding } from './hiding.ts';
import { HistoryOracle, type Truth } from './history.ts';
import { Holding } from './holding.ts';
import { Intents, type SentRow } from './intents.ts';
import type { OriginModel } from '../model/origin.ts';
import type { Ask, Column, Names } from '../world/names.ts';
import type { SeenRequest } from '../world/network.ts';
import { Overwrites, type Known } from './overwrites.ts';
import { areColumnsKept, type Setup } from '../world/setup.ts';
import { isMadeByTrigger, type User } from '../actors/user.ts';
import { Parking } from './parking.ts';
import { Silence } from './silence.ts';
import type { SentEver } from './verdict.ts';
import { Vouching } from './vouching.ts';
import type { Writes } from '../world/writes.ts';

/** What oracles may look at. */
export interface OracleParts {
  readonly books: Books;
  readonly names: Names;
  readonly origin: OriginModel;
  readonly admin: Admin;
  readonly user: User;
  readonly writes: Writes;
  readonly beside: Beside | null;
  readonly setup: Setup;
  /** What every surface would say now is not as it should be. */
  readonly account: () => readonly Problem[];
  readonly count: (what: string) => void;
  readonly fail: (oracle: string, what: string) => void;
}

/** Transactions that need not be looked at for rows and ETags: what is wrong with them shows in the next one. */
const LEAVES_ROWS_ALONE = /^(?:Recording a run|Starting a sweep|Storing (?:what|who|the description)|Planning|Placing)/;

/** Watches one world. */
export class Oracles {
  readonly #parts: OracleParts;
  readonly #vouching: Vouching;
  readonly #freshness: Freshness;
  readonly #unseen: Unseen;
  readonly #overwrites: Overwrites;
  readonly #parking: Parking;
  readonly #hiding: Hiding;
  readonly #holding: Holding;
  readonly #silence: Silence;
  readonly #history = new HistoryOracle();
  readonly #usersAt: number[] = [];
  #areClocksSteady: boolean;
  /** Whether an answer said what was not so, or that nothing changed. */
  #hasLied = false;
  /** Whether pulls and pushes are held to what columns say: they keep their names, though some may be hidden. */
  readonly #isJudged: boolean;
  /** The newest batch that a commit has brought to the disk, and the newest of all. */
  #durableBatch = 0;
  #newestBatch = 0;
  #newestEvidence = 0;
  /** Rows that the origin does not have, by what it said last; how many backups were brought back until then. */
  readonly #missing = new Map<number, number>();
  /** Rows that the filter of the table did not select at some moment of this cycle. */
  readonly #outside = new Set<number>();
  /** Rows that the caller was not shown when he asked for them, or wanted them deleted, by their ids. */
  readonly #hidden = new Set<number>();
  /** Rows sent and not settled before the last good pull ended, and all that ever were: ids, tags of new rows. */
  readonly #sent = new Set<unknown>();
  readonly #everSent = new Set<unknown>();
  /** How often columns had changed when the cycle began. */
  #shapeCount = 0;
  readonly #sentEver = {
    ids: new Set<number>(),
    created: new Set<string>(),
    metById: new Map<number, Set<string>>(),
  };

  constructor(parts: OracleParts) {
    this.#parts = parts;
    this.#vouching = new Vouching(parts.names);
    this.#freshness = new Freshness(parts.origin, parts.names);
    this.#unseen = new Unseen(parts.origin);
    this.#overwrites = new Overwrites(parts);
    this.#parking = new Parking(parts);
    this.#hiding = new Hiding(parts);
    this.#holding = new Holding(parts);
    this.#silence = new Silence(parts);
    this.#isJudged = areColumnsKept(parts.setup);
    this.#areClocksSteady = (parts.setup.moments?.aheadMs ?? 0) === 0;
  }

  /** Looks at a transaction that is about to be committed. */
  onCommit(facts: TransactionFacts, replica: Replica): void {
    const { fail } = this.#parts;
    const { flagCount, inFlightCount, batchCount, evidence, batch } = look(replica);
    if (flagCount !== 0) fail('writer', `"${facts.what}" leaves the writer flag set`);
    if (this.#parts.setup.history === true) this.#checkHistory(facts, replica);
    if (inFlightCount + batchCount > 0)
      for (const what of flightComplaints(replica)) fail('flight', `"${facts.what}": ${what}`);
    if (evidence > this.#newestEvidence) this.#checkEvidence(replica);
    const isOfTable = !isBeside(facts.what);
    if (isOfTable && facts.what.startsWith('Looking for the missing rows')) this.#parking.onLook();
    if (isOfTable && facts.what.startsWith('Holding deletes')) this.#parking.onHold(this.#outside);
    this.#newestBatch = batch;
    if (this.#parts.admin.hasLostColumns)
      for (const what of this.#hiding.complaints(replica, facts.what)) fail('I17', `"${facts.what}": ${what}`);
    const isOpenMirror = this.#parts.names.isMirror && this.#parts.user.hadNoTrigger;
    if (this.#isJudged && !isOpenMirror && !LEAVES_ROWS_ALONE.test(facts.what))
      for (const what of this.#vouching.complaints(replica, this.#goneIn(askOf(replica))))
        fail('I6', `"${facts.what}": ${what}`);
  }

  /** After a commit. One that reached the disk took everything before it along. */
  onCommitted({ what, isDurable }: TransactionFacts): void {
    if (isDurable) this.#durableBatch = this.#newestBatch;
    this.#parking.onCommitted(what);
    if (what.startsWith('Noting what was followed')) this.#unseen.onFollowed();
    if (what.startsWith('Planning the push')) this.#overwrites.onPlanned();
  }

  /** A user did something to the replica, and brought it to the disk; `removed` are the rows that went with it. */
  onUserActed(removed: readonly LocalRow[], atMs: number): void {
    this.#usersAt.push(atMs);
    this.#silence.onUserActed();
    this.#durableBatch = this.#newestBatch;
    if (this.#isJudged) this.#overwrites.onUserActed(removed);
  }

  /** There was no space for something. */
  onDiskFull(): void {
    this.#silence.onDiskFull();
  }

  /** A clock was set: here, or at the origin. */
  onClockSet(): void {
    this.#areClocksSteady = false;
    this.#silence.onClockSet();
  }

  /** A person took a version that was kept; the rows before and after. */
  onTaken(before: readonly LocalRow[], after: readonly LocalRow[]): void {
    this.#holding.onTaken(after);
    if (this.#isJudged) this.#overwrites.onTaken(before, after);
  }

  /** A cycle begins. */
  onCycle(order: CycleOrder): void {
    const { pull: isPull, push: isPush, confirm } = order;
    this.#silence.begin(order);
    this.#parking.onCycle();
    this.#holding.onCycle(isPush && confirm);
    this.#shapeCount = this.#parts.admin.shapeCount;
    this.#outside.clear();
    this.#noteOutside();
    // In a story, administrators do nothing that no pull could see.
    const isScripted = this.#parts.setup.actors.length === 0;
    this.#unseen.begin();
    this.#freshness.begin(isPull && (this.#isJudged || isScripted));
  }

  /** Something happened, perhaps at the origin. */
  onTurn(): void {
    this.#freshness.noteTurn();
    this.#silence.noteTurn();
    this.#unseen.noteTurn();
    this.#noteOutside();
  }

  #noteOutside(): void {
    const { names, setup } = this.#parts;
    if (setup.rows === undefined) return;
    for (const row of names.rowsThere()) if (!names.selects(row)) this.#outside.add(row.id);
  }

  /** A row changed without a stamp. */
  onUnstamped(id: number): void {
    this.#unseen.note(id);
  }

  /** A cycle ended, and says what went wrong. */
  onCycleEnd(errors: readonly { readonly code: string }[]): void {
    // Columns that come and go while they are read move as well.
    const isStill = this.#freshness.isStill && this.#shapeCount === this.#parts.admin.shapeCount;
    if (errors.some(({ code }) => code === 'origin.moving') && isStill)
      this.#parts.fail('L1', 'a pull gave up because rows kept moving, and nobody moved any');
    for (const what of this.#parking.complaintsOfGuards(errors.map(({ code }) => code))) this.#parts.fail('L3', what);
    // What was pushed was read back.
    if (errors.length === 0) this.#judgePull();
    const base = readBase((statement) => this.#parts.user.query(statement), this.#parts.names);
    for (const what of this.#silence.complaints(errors, this.#excused(base))) this.#parts.fail('silence', what);
  }

  /** A pull ended; nothing went wrong, and nothing waits. */
  onPulled(): void {
    // What an earlier push left may be settled behind the pull; what was settled before, the pull has asked for.
    const inBatch = this.#inBatch(this.#sent);
    for (const row of this.#sent) if (!inBatch.has(row)) this.#sent.delete(row);
    this.#judgePull();
    if (this.#freshness.isStill) for (const what of silences(this.#parts)) this.#parts.fail('silence', what);
    this.#unseen.onSwept();
    this.#silence.onSwept();
  }

  /** The columns that the replica takes for gone, as someone sees it. */
  #goneIn(ask: Ask): ReadonlySet<Column> {
    return this.#parts.admin.hasLostColumns ? this.#parts.names.goneIn(ask) : new Set();
  }

  /** Those of some rows that stand in a batch which is not settled. */
  #inBatch(rows: ReadonlySet<unknown>): ReadonlySet<unknown> {
    const kept = this.#parts.user.query('SELECT rows FROM _rowsync_batches').join();
    return new Set(
      [...rows].filter((row) => kept.includes(typeof row === 'number' ? `[${row},"` : JSON.stringify(row))),
    );
  }

  #judgePull(): void {
    const { user, names, fail } = this.#parts;
    // What a trigger of theirs changes in a mirror, or gets in past ours, is put right by the next pull.
    if (names.isMirror && (user.hadTrigger || user.hadNoTrigger)) return;
    const waiting = user.query(
      `SELECT row_id FROM _rowsync_rows WHERE state = 'sending' UNION ALL SELECT row_id FROM _rowsync_unreadable`,
    );
    const base = readBase((statement) => user.query(statement), names);
    const { sent, unseen } = this.#excused(base);
    const excused = new Set([...waiting.map(([id]) => Number(id)), ...sent, ...unseen]);
    const gone = this.#goneIn((statement) => user.query(statement));
    for (const what of this.#freshness.complaints(base, excused, gone)) fail('fresh', what);
  }

  /** Rows that the next pull brings, or the next sweep. */
  #excused(base: ReadonlyMap<number, LocalRow> | null): { sent: ReadonlySet<number>; unseen: ReadonlySet<number> } {
    const { user, names } = this.#parts;
    // A row that was not returned to the push behind the pull: it stands as it was sent, and the next pull asks for it.
    const suspects = user.query('SELECT row_id FROM _rowsync_suspects').map(([id]) => Number(id));
    const there = new Set(names.rowsSelected().map(({ id }) => id));
    const asSent = suspects.filter(
      (id) => !there.has(id) && (this.#sent.has(id) || this.#sent.has(base?.get(id)?.tag)),
    );
    // A row outside of the filter stays while an edit of it waits, and until the next pull asks for it.
    const leaving = suspects.filter((id) => this.#outside.has(id));
    // Following tells deletes by the number of rows, which others may keep; then the next pull brings them.
    const isMissed = (id: number): boolean => !there.has(id) || this.#freshness.wasGone(id);
    const uncounted = this.#unseen.hasFollowed ? [...(base?.keys() ?? []).filter(isMissed), ...this.#unseen.ids] : [];
    return { sent: new Set([...asSent, ...leaving]), unseen: new Set(uncounted) };
  }

  /** What was known of rows when users wrote into them, as a copy. */
  known(): Known {
    return this.#overwrites.known();
  }

  /** The replica is an older copy from now on, of which no more is known. */
  goBackTo(known: Known): void {
    this.#overwrites.goBackTo(known);
    this.#parking.onOlderCopy();
    this.#unseen.onReplaced();
    this.#holding.onOlderCopy();
  }

  /** The engine died, and what it sent has arrived or is lost. */
  onDeath(): void {
    this.#parking.onDeath();
  }

  /** The file is another one: an older copy, or what a power cut left. */
  onReplaced(newestEvidence: number, newestBatch: number): void {
    this.#history.forget();
    this.#unseen.onReplaced();
    this.#newestEvidence = newestEvidence;
    this.#newestBatch = newestBatch;
    this.#durableBatch = newestBatch;
    // What was settled since is not any more.
    for (const row of this.#inBatch(this.#everSent)) this.#sent.add(row);
  }

  /** Looks at a request before it leaves. */
  onDeparture(request: SeenRequest): void {
    if (this.#parts.beside?.isAsked(request) === true) return;
    const wrong = wronglyAsked(this.#parts.setup, request.path);
    if (wrong !== null) this.#parts.fail('choice', wrong);
    if (request.kind !== 'change') return;
    if (this.#parts.admin.hasLostColumns)
      for (const what of this.#hiding.complaintsOf(request)) this.#parts.fail('I17', what);
    this.#parking.onDeparture(request);
    const intents = new Intents((statement) => this.#parts.user.query(statement), this.#durableBatch);
    if (request.method === 'delete') this.#checkDelete(request, intents);
    else this.#checkWrite(request, intents);
  }

  /** Rows that the origin has, and of which it said, or may have said, that they are not there. */
  get hidden(): ReadonlySet<number> {
    return this.#hidden;
  }

  /** At rest: rows that wait without a cause. */
  onRest(): void {
    for (const what of this.#parking.complaints()) this.#parts.fail('L3', what);
  }

  /** What the moment is at which a column is hidden, or shown again. */
  momentOf(column: Column | null): readonly string[] {
    return this.#hiding.momentOf(column);
  }

  /** What ever left for the origin. */
  get sentEver(): SentEver {
    return this.#sentEver;
  }

  /** After an answer; `fault` is what happened to it on its way, or null. */
  onAnswer(request: SeenRequest, fault: string | null, result: WireAnswer | TransportFault): void {
    const { method, path, kind } = request;
    const isWrong = fault !== null && kind !== 'change';
    const isLie = isWrong && result.kind === 'answer' && (result.status === 200 || result.status === 304);
    this.#hasLied ||= isLie;
    if (isLie) this.#silence.onLie();
    if (this.#parts.beside?.isAsked(request) === true) return;
    this.#parking.onAnswer(request, fault === null, result);
    if (isWrong) this.#freshness.excuse();
    if (method === 'retrieve' || method === 'delete') this.#noteHidden(request);
    if (method === 'retrieve') this.#noteMissing(request, result);
    if (fault !== null || method !== 'select' || result.kind !== 'answer' || result.status !== 200) return;
    const { etag } = result.headers;
    if (typeof etag === 'string' && this.#isJudged) this.#vouching.note(path, etag, result.body);
  }

  #noteHidden({ query }: SeenRequest): void {
    if (!this.#parts.admin.isNarrowed) return;
    for (const id of new URLSearchParams(query).getAll('id').map(Number)) if (id % 2 === 0) this.#hidden.add(id);
  }

  /** Which rows the origin just said it does not have, also by an answer that lost something else on its way. */
  #noteMissing({ query }: SeenRequest, result: WireAnswer | TransportFault): void {
    const present = idsIn(result);
    const asked = new URLSearchParams(query).getAll('id').map(Number);
    if (present === null || [...present].some((id) => !asked.includes(id))) return;
    for (const id of asked) {
      if (present.has(id)) this.#missing.delete(id);
      else this.#missing.set(id, this.#parts.writes.restoreCount);
    }
  }

  /** What is done to a mirror around its guards is in no entry. */
  #checkHistory({ what }: TransactionFacts, replica: Replica): void {
    const { names, user, fail } = this.#parts;
    if (names.isMirror && (user.hadTrigger || user.hadNoTrigger)) this.#history.forget();
    for (const complaint of this.#history.complaints(replica, what, this.#truth()))
      fail('history', `"${what}": ${complaint}`);
  }

  /**
   * What the intervals of entries are held to; null once a clock was set or an answer lied, and once rows changed here
   * without a write. That is where one of our triggers was dropped, theirs writes into a mirror, a backup of the origin
   * came back, or the caller got or lost rows or rights. Also where names went to another column, or the choice of
   * columns becomes another one.
   */
  #truth(): Truth | null {
    const { setup, origin, user, admin, writes, names } = this.#parts;
    const isOpen = user.hadNoTrigger || (names.isMirror && user.hadTrigger);
    const hasAdminActed =
      writes.restoreCount > 0 || admin.narrowedFrom < Infinity || admin.wasForbidden || admin.hasSwapped;
    if (!this.#areClocksSteady || this.#hasLied || isOpen || hasAdminActed || setup.choosing === 'later') return null;
    return { writes: origin.log, lateMs: setup.follow?.lateMsMax ?? 0, usersAt: this.#usersAt };
  }

  #checkEvidence(replica: Replica): void {
    const found = replica
      .prepare(sql`SELECT seq, table_name, row_id, row_values, reason FROM _rowsync_deleted WHERE seq > ? ORDER BY seq`)
      .raw()
      .all(this.#newestEvidence) as (readonly [number, string, number, string, string])[];
    const { isMirror } = this.#parts.names;
    for (const [seq, table, rowId, values, reason] of found) {
      this.#newestEvidence = seq;
      // Under an id of the origin's, a mirror whose guard was dropped may hold a row of the user's.
      const tag = isMirror ? this.#parts.names.tagOf(rowId) : null;
      const isOrigins = tag === null || values.includes(JSON.stringify(tag));
      const isFiltered = reason === 'filtered' && this.#outside.has(rowId);
      if (isFiltered) this.#parts.count('row left its filter');
      if (isFiltered) continue;
      if (rowId > 0 && isOrigins && this.#isThere(rowId)) {
        this.#parts.fail('I5', `row ${rowId} of ${table} left the replica although the origin has it`);
      }
    }
  }

  /**
   * Whether the origin has a row that the caller may know to be there. Not one that was made after the caller's rights
   * were narrowed to others, since nobody can tell that from one that is gone. Not one that a backup brought back
   * behind the answer that it is.
   */
  #isThere(id: number): boolean {
    const { origin, names, admin } = this.#parts;
    const isHidden = admin.isNarrowed && id % 2 === 0 && id >= admin.narrowedFrom;
    return !isHidden && !this.#isBack(id) && origin.ids(names.table).includes(id);
  }

  /** Whether a backup may have brought a row back behind the answer that it is gone. */
  #isBack(id: number): boolean {
    return (this.#missing.get(id) ?? Infinity) < this.#parts.writes.restoreCount;
  }

  /** What the simulation calls a column; null for one that nobody edits. */
  #columnOf(name: string): string | null {
    return Object.keys(this.#parts.names.fromOrigin({ [name]: '' }))[0] ?? null;
  }

  #checkDelete(request: SeenRequest, intents: Intents): void {
    const ids = new URLSearchParams(request.query).getAll('id');
    // A row that someone deleted once may have come back since.
    const here = new Set(this.#parts.user.rows().map((row) => row.id));
    for (const id of ids) {
      for (const what of intents.complaintsOfDelete(Number(id))) this.#parts.fail('I11', what);
      if (here.has(Number(id))) this.#parts.fail('I5', `row ${id} is to be deleted at the origin, and stands here`);
      const tag = this.#parts.names.tagOf(Number(id));
      const unseen = this.#isJudged ? this.#overwrites.complaintsOfDelete(Number(id)) : [];
      for (const what of unseen) this.#parts.fail('I2', what);
      if (tag !== null && !this.#parts.books.everDeleted.has(tag)) {
        this.#parts.fail('I5', `row ${id} (${tag}) is to be deleted at the origin, and nobody deleted it here`);
      }
    }
  }

  /** The tags of new rows that met a row by its unique value, and continue in it. */
  #metBy(id: number): readonly unknown[] {
    return this.#parts.user
      .query(`SELECT local FROM sync_conflicts WHERE kind = 'cell' AND "column" = 'Tag' AND row_id = ${id}`)
      .flat();
  }

  #noteMatched(id: number, tags: readonly unknown[]): void {
    const { metById } = this.#sentEver;
    metById.set(id, new Set([...(metById.get(id) ?? []), ...tags.map(String)]));
  }

  #checkWrite(request: SeenRequest, intents: Intents): void {
    const rows = JSON.parse(request.body ?? '[]') as readonly SentRow[];
    if (this.#isJudged) for (const what of this.#overwrites.complaints(rows, request)) this.#parts.fail('I2', what);
    const base = readBase((statement) => this.#parts.user.query(statement), this.#parts.names);
    for (const row of rows) {
      for (const what of intents.complaints(row)) this.#parts.fail('I11', what);
      for (const what of this.#holding.complaints(row)) this.#parts.fail('held', what);
      const id = row['@row.id'] ?? null;
      const before = id === null ? undefined : base?.get(Number(id));
      if (id !== null) this.#sentEver.ids.add(Number(id));
      const met = id === null ? [] : this.#metBy(Number(id));
      if (met.length > 0) this.#noteMatched(Number(id), met);
      for (const sent of [this.#sent, this.#everSent])
        sent.add(id === null ? this.#parts.names.fromOrigin(row)['Tag'] : Number(id));
      const tag = id === null ? null : this.#parts.names.tagOf(Number(id));
      const cells = Object.entries(row).filter(([name]) => !name.startsWith('@'));
      const columns = new Map(cells.map(([name, value]) => [this.#columnOf(name), value]));
      const own = String(columns.get('Tag'));
      for (const [name, value] of cells) {
        const column = this.#columnOf(name);
        if (id === null && column !== null) this.#sentEver.created.add(writtenKey({ tag: own, column, value }));
        const known =
          before === undefined || column === null ? undefined : { ...before.cells, Tag: before.tag }[column];
        if (value === known) {
          this.#parts.fail('I8', `${name} = ${value} of row ${String(id)} is sent, and stands in the base`);
        }
        if (tag === null || column === null || isMadeByTrigger(value)) continue;
        // The user's trigger makes nothing of nothing.
        if (column === 'B' && value === null && this.#parts.user.hadTrigger) continue;
        if (column === 'Tag' && met.includes(value)) continue;
        const keys = [tag, ...met].map((owner) => writtenKey({ tag: String(owner), column, value }));
        if (keys.some((key) => this.#parts.books.everWritten.has(key) || this.#sentEver.created.has(key))) continue;
        this.#parts.fail('I8', `${name} = ${String(value)} of ${tag} is sent, and nobody wrote that here`);
      }
    }
  }
}

function askOf(replica: Replica): Ask {
  return (statement) => replica.prepare(statement).raw().all() as unknown[][];
}

/** What tells whether there is anything to look at, by one statement because it is asked at every commit. */
function look(replica: Replica): {
  readonly flagCount: number;
  readonly inFlightCount: number;
  readonly batchCount: number;
  readonly evidence: number;
  readonly batch: number;
} {
  const numbers = replica
    .prepare(
      sql`SELECT (SELECT count(*) FROM _rowsync_writer),
                 (SELECT count(*) FROM _rowsync_rows WHERE state = 'sending'),
                 (SELECT count(*) FROM _rowsync_batches),
                 (SELECT max(seq) FROM _rowsync_deleted),
                 (SELECT max(seq) FROM sqlite_sequence WHERE name = '_rowsync_batches')`,
    )
    .raw()
    .get() as readonly (number | null)[];
  const [flagCount, inFlightCount, batchCount, evidence, batch] = numbers.map(Number);
  return {
    flagCount: flagCount ?? 0,
    inFlightCount: inFlightCount ?? 0,
    batchCount: batchCount ?? 0,
    evidence: evidence ?? 0,
    batch: batch ?? 0,
  };
}

/** The ids of the rows of an answer; null where it is none with rows. */
function idsIn(result: WireAnswer | TransportFault): ReadonlySet<number> | null {
  if (result.kind !== 'answer' || result.status !== 200) return null;
  try {
    const rows = JSON.parse(Buffer.from(result.body).toString('utf8')) as unknown;
    if (!Array.isArray(rows)) return null;
    return new Set(rows.map((row: Readonly<Record<string, unknown>>) => Number(row['@row.id'])));
  } catch {
    return null;
  }
}
