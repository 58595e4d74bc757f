/**
 * Brings one sink up to date: reads the cursor of the target, gives its tables their shape, loads tables that need it,
 * and sends changed rows. After any failure, the next call continues from the state of the target.
 */
import { must } from '../../base/assert.ts';
import { asRowsyncError, RowsyncError } from '../../base/errors.ts';
import { stampFromMs } from '../../base/clock.ts';
import { backoffMs } from '../../base/retries.ts';
import { sql } from '../../base/sql.ts';
import { judgeCursor } from './cursor.ts';
import type { Complaint } from '../../reconcile/account/facts.ts';
import { queryText } from '../../replica/query.ts';
import { openReader, type ReplicaReader } from '../../replica/reader.ts';
import { readHeldMoment } from '../shared/fresh-tables.ts';
import {
  forgetRequestedLoad,
  readRequestedLoad,
  readPlace,
  storePlace,
  storeSinkState,
  type SinkPlace,
  type SinkTableState,
} from '../shared/sinks.ts';
import { readHead, readLastSeq, readTableChanges } from '../shared/confirmed-rows.ts';
import type { CopyTarget } from './copy-rows.ts';
import { connect, type PgConnection } from './connection.ts';
import { chosenSources, keptOut } from './table-selection.ts';
import type { SinkContext } from './context.ts';
import { concernsServer } from './postgres-errors.ts';
import {
  readLastEntry,
  sendHistory,
  preparePublic,
  PublicTables,
  writeMoment,
  type ChangedTable,
} from './system-tables.ts';
import { makeRound, NamesChanged, TableFailure, type RoundTable } from './send-round.ts';
import { followShapes, sentTable, type SentTable, type ShapeOutcome } from './shape-tables.ts';
import {
  beginSeries,
  forgetLoads,
  prepareTarget,
  readCursor,
  readPlaces,
  pgSchema,
  type PgSchema,
} from './bookkeeping.ts';

export interface SinkReport {
  /** Rows of tables that were loaded whole. */
  readonly loadedRows: number;
  /** Changed and deleted rows of the others. */
  readonly sentRows: number;
  /** The last touched line that is stored there. */
  readonly seq: number;
  readonly tables: readonly SinkTableState[];
  /** Tables that are there and no longer sent, by their names there. */
  readonly left: readonly string[];
}

/**
 * Tables to load again, by their names here; null for nothing. None means all, and takes over a schema that another
 * replica, or a former file of this one, wrote.
 */
export type RequestedLoad = readonly string[] | null;

/** After a table failed: a try may load it as a whole. */
const TABLE_BACKOFF = { firstMs: 30_000, longestMs: 15 * 60_000 };

/** Works on one sink; used by one caller at a time. */
export class SinkWriter {
  readonly #context: SinkContext;
  readonly #target: PgSchema;
  #public = new PublicTables();
  readonly #troubles = new Map<
    number,
    { readonly error: RowsyncError; readonly count: number; readonly untilMs: number }
  >();
  #connection: PgConnection | null = null;
  #reader: ReplicaReader | null = null;
  #epoch = '';
  #seq = 0;
  #sentRows = 0;
  /** The last history entry of the target. */
  #lastEntry = 0;
  /** The moment that the target says; null for none. */
  #momentAt: string | null = null;
  /** Input and result of the last look at the shapes; null if they have to be checked again. */
  #shaped: { readonly seen: string; readonly outcome: ShapeOutcome } | null = null;

  constructor(context: SinkContext) {
    this.#context = context;
    this.#target = pgSchema(context.settings.schema);
    // A running statement may take minutes, and loses nothing when it is cut off.
    context.signal?.addEventListener('abort', () => void this.#connection?.close(), { once: true });
  }

  isBehind(): boolean {
    const { replica, settings } = this.#context;
    const place = readPlace(replica, settings.name);
    return place !== null && (readHead(replica) > place.sent || readRequestedLoad(replica, settings.name) !== null);
  }

  /** Brings the target level with the replica; problems of single tables are in the report. @throws RowsyncError */
  async work(given: RequestedLoad = null): Promise<SinkReport> {
    try {
      const report = await this.#work(given);
      await this.#note(null, report.tables);
      return report;
    } catch (thrown) {
      const isStopped = this.#context.signal?.aborted === true;
      const error = isStopped ? stoppedError() : asRowsyncError(thrown);
      await this.close();
      if (!isStopped) await this.#note(error, null);
      throw error;
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async close(): Promise<void> {
    this.#reader?.close();
    this.#reader = null;
    const connection = this.#connection;
    this.#connection = null;
    await connection?.close();
  }

  async #note(error: RowsyncError | null, tables: readonly SinkTableState[] | null): Promise<void> {
    const { replica, settings, clock } = this.#context;
    await storeSinkState(replica, settings.name, {
      problem: complaintOf(error),
      tables,
      at: stampFromMs(clock.nowMs()),
    });
  }

  async #work(given: RequestedLoad): Promise<SinkReport> {
    const { replica, settings } = this.#context;
    const requested = readRequestedLoad(replica, settings.name);
    const load = requested ?? given;
    const reader = (this.#reader ??= openSmall(replica.path));
    const isFresh = this.#connection === null || this.#connection.isBroken;
    const loadsAll = load?.length === 0;
    if (isFresh || loadsAll) await this.#begin(loadsAll);
    const sending = this.#sending();
    if (load !== null && load.length > 0) {
      const wanted = chosenSources(reader, settings).filter(({ table }) => load.includes(table.localName));
      const ids = wanted.map(({ table }) => table.id);
      await forgetLoads(sending.session, sending.target, ids);
    }
    if (requested !== null)
      await replica.write('Noting that a load is under way', (tx) => forgetRequestedLoad(tx, settings.name));
    let loadedRows = 0;
    this.#sentRows = 0;
    // Ends when nothing is left to load; each turn loads a table or is the last.
    for (;;) {
      const turn = await this.#turn(sending, reader);
      loadedRows += turn.loadedRows;
      if (turn.isLoading) continue;
      const sent = new Set(turn.states.map(({ tableId }) => tableId));
      const left = (await readPlaces(sending.session, sending.target)).filter(({ tableId }) => !sent.has(tableId));
      return {
        loadedRows,
        sentRows: this.#sentRows,
        seq: this.#seq,
        tables: turn.states,
        left: left.map(({ name }) => name),
      };
    }
  }

  #sending(): CopyTarget {
    const session = must(this.#connection, 'it was opened before rows are sent');
    return { session, target: this.#target, deletes: this.#context.settings.deletes };
  }

  /** Reads the cursor of the target; begins a new series if this replica did not leave it there, or takes it over. */
  async #begin(isAgreed: boolean): Promise<void> {
    const { replica, settings, clock } = this.#context;
    await this.#connection?.close();
    this.#connection = null;
    const session = await connect(settings.address);
    this.#connection = session;
    await session.transact(async () => {
      await prepareTarget(session, this.#target);
      await preparePublic(session, this.#target);
    });
    const who = replicaName(replica);
    await session.transact(async () => {
      const own = requirePlace(this.#context);
      const cursor = await readCursor(session, this.#target);
      const verdict = judgeCursor(own, cursor, isAgreed);
      if (verdict === 'taken') throw takenError(this.#target, cursor?.replica ?? '');
      if (verdict === 'go' && cursor !== null) {
        this.#epoch = cursor.epoch;
        this.#seq = cursor.seq;
        return;
      }
      const epoch = Array.from({ length: 16 }, () => Math.floor(clock.random() * 16).toString(16)).join('');
      const seq = readHead(replica);
      // Noted before it is stored there: if the answer is lost, the file still knows both series.
      const place: SinkPlace = { epoch, former: cursor?.epoch ?? own.former, sent: seq, pending: null };
      await replica.writeDurably('Beginning to send', (tx) => storePlace(tx, settings.name, place));
      await beginSeries(session, this.#target, { epoch, seq, replica: who });
      if (verdict === 'again') this.#context.log.warn('sink.again', { sink: settings.name });
      this.#epoch = epoch;
      this.#seq = seq;
    });
    await this.#storeSent(this.#seq);
    this.#shaped = null;
    this.#lastEntry = await readLastEntry(session, this.#target);
    this.#public = new PublicTables();
  }

  async #storeSent(seq: number): Promise<void> {
    const { replica, settings } = this.#context;
    const place = requirePlace(this.#context);
    if (place.sent === seq && place.pending === null) return;
    await replica.write('Noting what was sent', (tx) =>
      storePlace(tx, settings.name, { ...place, sent: seq, pending: null }),
    );
  }

  /** Shapes, and a round that loads the next table; `isLoading` if there was one, so that further ones may follow. */
  async #turn(
    sending: CopyTarget,
    reader: ReplicaReader,
  ): Promise<{ readonly loadedRows: number; readonly isLoading: boolean; readonly states: readonly SinkTableState[] }> {
    const { settings, clock } = this.#context;
    for (;;) {
      if (this.#context.signal?.aborted === true) throw stoppedError();
      const tableChanges = readTableChanges(reader);
      const sources = chosenSources(reader, settings);
      const tables = sources.filter(({ table }) => table.state !== 'loading').map(sentTable);
      const resting = new Map(
        [...this.#troubles].flatMap(([id, { error, untilMs }]) =>
          untilMs > clock.monotonicMs() ? [[id, error] as const] : [],
        ),
      );
      try {
        const shaped = await this.#follow(sending, tables, resting);
        const places = new Map(
          (await readPlaces(sending.session, sending.target)).map((place) => [place.tableId, place]),
        );
        const usable = tables
          .filter(({ id }) => !shaped.problems.has(id))
          .map((table): RoundTable => {
            const place = places.get(table.id) ?? { seq: null, loadedSeq: null };
            return { table, place, isStanding: shaped.standing.has(table.id) };
          });
        const toLoad = usable.filter((one) => needsLoad(one, tableChanges.get(one.table.id) ?? -1));
        const loading = new Set(toLoad.map(({ table }) => table.id));
        const states = sources.map(({ table }): SinkTableState => {
          const problem = shaped.problems.get(table.id) ?? null;
          const sent = tables.find(({ id }) => id === table.id);
          return {
            tableId: table.id,
            tableName: sent?.name ?? table.localName,
            state:
              sent === undefined ? 'waits' : problem !== null ? 'held' : loading.has(table.id) ? 'loading' : 'live',
            problem: complaintOf(problem),
          };
        });
        const [load = null] = toLoad;
        if (load !== null) await this.#note(null, states);
        const taking = usable.filter(({ isStanding }) => isStanding);
        const loadedRows = await this.#round(sending, reader, { tables: taking, load });
        // The round moved the cursor past the lines of whole tables; one that came since the tables were read would
        // wait for the next look.
        if (load !== null || !this.#isOutdated(reader, tables, tableChanges))
          return { loadedRows, isLoading: load !== null, states };
      } catch (thrown) {
        if (!(thrown instanceof NamesChanged)) this.#troubled(thrown, tables);
      }
    }
  }

  /** Whether a table ended its first load, or may have changed in any row, since these were read. */
  #isOutdated(reader: ReplicaReader, tables: readonly SentTable[], tableChanges: ReadonlyMap<number, number>): boolean {
    const { settings } = this.#context;
    const known = new Set(tables.map(({ id }) => id));
    const hasNew = chosenSources(reader, settings).some(
      ({ table }) => table.state !== 'loading' && !known.has(table.id),
    );
    return hasNew || [...readTableChanges(reader)].some(([id, seq]) => known.has(id) && tableChanges.get(id) !== seq);
  }

  /** Checks shapes only if one of them, or the set of omitted tables, changed since the last check. */
  async #follow(
    { session, target, deletes }: CopyTarget,
    tables: readonly SentTable[],
    except: ReadonlyMap<number, RowsyncError>,
  ): Promise<ShapeOutcome> {
    const seen = JSON.stringify([
      tables.map(({ id, name, source, shape }) => [id, name, shape, source.table.name]),
      [...except.keys()],
    ]);
    if (this.#shaped?.seen === seen) return this.#shaped.outcome;
    const outcome = await session.transact(async () => {
      await writeMoment(session, target, null); // a new column has no values yet
      return await followShapes(session, target, { tables, deletes, except });
    });
    this.#momentAt = null;
    const isSettled =
      [...outcome.problems.keys()].every((id) => except.has(id)) &&
      tables.every(({ id }) => outcome.standing.has(id) || outcome.problems.has(id));
    this.#shaped = isSettled ? { seen, outcome } : null;
    return outcome;
  }

  /** Leaves out a table that failed alone. @throws errors that concern more than one table. */
  #troubled(thrown: unknown, tables: readonly SentTable[]): void {
    if (!(thrown instanceof TableFailure) || this.#connection?.isBroken !== false)
      throw thrown instanceof TableFailure ? thrown.error : thrown;
    const { tableId, error } = thrown;
    this.#shaped = null;
    if (concernsServer(error)) throw error;
    const { clock, log, settings } = this.#context;
    const count = (this.#troubles.get(tableId)?.count ?? 0) + 1;
    const waitMs = backoffMs(TABLE_BACKOFF, count);
    this.#troubles.set(tableId, { error, count, untilMs: clock.monotonicMs() + waitMs });
    const table = tables.find(({ id }) => id === tableId)?.name ?? String(tableId);
    log.warn('sink.tableFailed', {
      sink: settings.name,
      table,
      code: error.code,
      message: error.message,
      hint: error.hint,
      waitMs,
    });
  }

  /** Returns how many rows were loaded. */
  async #round(
    sending: CopyTarget,
    reader: ReplicaReader,
    { tables, load }: { readonly tables: readonly RoundTable[]; readonly load: RoundTable | null },
  ): Promise<number> {
    const { session } = sending;
    const { replica, settings } = this.#context;
    const hasNews =
      load !== null ||
      readHead(reader) > this.#seq ||
      tables.some(({ place }) => place.seq !== null && place.seq < this.#seq);
    const out = keptOut(reader, settings);
    const changed: readonly ChangedTable[] = this.#public.read(reader, out);
    const hasHistory = readLastSeq(reader) > this.#lastEntry;
    const isOfMoment = (readHeldMoment(reader)?.at ?? null) === this.#momentAt;
    if (!hasNews && changed.length === 0 && !hasHistory && isOfMoment) return 0;
    const made = await session.transact(async () => {
      const round = await makeRound(sending, reader, {
        tables,
        load,
        epoch: this.#epoch,
        from: this.#seq,
        onPart: () => this.#context.onStep?.('part'),
      });
      this.#context.onStep?.('rows');
      await this.#public.write(sending, changed);
      await writeMoment(session, this.#target, round.moment);
      const bounds = { after: this.#lastEntry, upTo: round.lastEntry, out };
      if (hasHistory) await sendHistory(session, this.#target, reader, bounds);
      this.#context.onStep?.('written');
      const place = requirePlace(this.#context);
      if (round.to !== place.sent) {
        // On the disk before the target commits: if its answer is lost, this may be its cursor.
        await replica.writeDurably('Noting what is sent', (tx) =>
          storePlace(tx, settings.name, { ...place, pending: round.to }),
        );
      }
      this.#context.onStep?.('noted');
      return round;
    });
    this.#context.onStep?.('committed');
    this.#seq = made.to;
    this.#sentRows += made.sentRows;
    if (hasHistory) this.#lastEntry = made.lastEntry;
    this.#momentAt = made.moment?.at ?? null;
    this.#public.settle(changed);
    for (const { table } of tables) this.#troubles.delete(table.id);
    if (load !== null) this.#troubles.delete(load.table.id);
    await this.#storeSent(made.to);
    return made.loadedRows;
  }
}

function complaintOf(error: RowsyncError | null): Complaint | null {
  return error === null ? null : { code: error.code, message: error.message, hint: error.hint };
}

function stoppedError(): RowsyncError {
  return new RowsyncError('originDown', 'origin.stopped', {
    message: 'The work on the sink was abandoned because rowsync was asked to stop',
    hint: 'The next one continues from there.',
  });
}

/** Opens a reader with a small cache: each table is read once, and a large cache would only grow the process. */
function openSmall(path: string): ReplicaReader {
  const reader = openReader(path);
  reader.prepare(sql`PRAGMA cache_size = -2000`).run();
  return reader;
}

/** Whether a table has to be loaded: never was, lost there, asked for, or any row may have changed (`changedSeq`). */
function needsLoad({ place: { loadedSeq }, isStanding }: RoundTable, changedSeq: number): boolean {
  return loadedSeq === null || !isStanding || changedSeq > loadedSeq;
}

function requirePlace({ replica, settings }: SinkContext): SinkPlace {
  const place = readPlace(replica, settings.name);
  if (place !== null) return place;
  throw new RowsyncError('replica', 'replica.failed', {
    message: `The replica does not know the sink ${settings.name}`,
    hint: 'The configuration changed meanwhile; run the command again.',
  });
}

/** Names the replica (address and database) in the target, for people who look there. */
function replicaName(replica: SinkContext['replica']): string {
  return queryText(replica, sql`SELECT url || ' ' || database FROM _rowsync_identity`) ?? '';
}

function takenError({ schema }: PgSchema, replica: string): RowsyncError {
  return new RowsyncError('needsPerson', 'sink.taken', {
    message: `The schema ${schema} has rows of another replica, or of this one from before it was made anew (${replica}); nothing was sent`,
    hint: 'Give the sink another schema; or let it take over what is there, which compares every row: rowsync sink load.',
  });
}
