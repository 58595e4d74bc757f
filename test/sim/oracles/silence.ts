/**
 * Nothing is silent: whenever a cycle has ended, each row that is not as the origin had it meanwhile, and each edit
 * that did not arrive, is named by the account that every surface shows, by itself, by its table, or by why nothing
 * goes on. The exceptions are in limits.ts.
 */
import type { Problem } from '../../../src/reconcile/account/account.ts';
import type { LocalRow, LocalValue } from '../world/books.ts';
import type { CycleOrder } from '../world/engine.ts';
import { readBase } from './base.ts';
import { Freshness } from './freshness.ts';
import { isDocumented, type Circumstances, type Unnamed } from './limits.ts';
import type { OracleParts } from './oracles.ts';
import { isGivenFor } from './reasons.ts';

/** An edit as it stood when a cycle began. */
interface Edit {
  readonly rowId: number;
  /** Null for a whole row that is new or deleted here. */
  readonly column: string | null;
  readonly value: LocalValue;
  readonly isDelete: boolean;
}

/** What is not named, in a sentence. */
type Difference = Unnamed & { readonly what: string };

/** Problems that name a row; each says how many. */
const OF_WAITING = ['rows.refused', 'rows.inDoubt', 'rows.unsendable'] as const;
/** Watches one world. */
export class Silence {
  readonly #parts: OracleParts;
  readonly #freshness: Freshness;
  #edits: ReadonlyMap<string, Edit> = new Map();
  /** The rows in words, by id, as they were when the cycle began. */
  #before: ReadonlyMap<number, string> = new Map();
  /** Rows of which a person decided otherwise than for their edit, which the cycle carries out. */
  #decided: ReadonlySet<number> = new Set();
  #lastConflictId = 0;
  /** Rows that were sent and not settled as the cycle began. */
  #onTheirWay: ReadonlySet<number> = new Set();
  #writeCount = 0;
  #hasUserActed = false;
  #hasLied = false;
  #wasClockSet = false;
  #isDiskFull = false;
  /**
   * Whether the calling user was not shown all of the table in this cycle, and since the last sweep that saw all of it.
   */
  #isNarrowedNow = false;
  #wasNarrowed = false;
  #restoreCount = 0;
  #isPull = false;
  #isPush = false;

  constructor(parts: OracleParts) {
    this.#parts = parts;
    this.#freshness = new Freshness(parts.origin, parts.names);
  }

  /** A cycle begins. */
  begin({ pull, push }: CycleOrder): void {
    const { names, user, writes } = this.#parts;
    this.#freshness.begin(pull);
    this.#parts.beside?.begin(pull);
    this.#isPull = pull;
    this.#isPush = push;
    this.#edits = names.isMirror ? new Map() : this.#editsNow();
    this.#before = new Map(user.rows().map((row) => [row.id, JSON.stringify(row)]));
    this.#lastConflictId = Number(user.query('SELECT coalesce(max(id), 0) FROM sync_conflicts')[0]?.[0]);
    this.#decided = new Set(
      user
        .query(`SELECT row_id FROM sync_conflicts WHERE state = 'open' AND resolution <> 'local'`)
        .map(([id]) => Number(id)),
    );
    this.#onTheirWay = new Set(
      user
        .query(
          `SELECT row.value ->> 0 FROM _rowsync_batches b, json_each(b.rows) row WHERE b.table_id = ${names.tableId}`,
        )
        .map(([id]) => Number(id)),
    );
    writes.collect();
    this.#writeCount = writes.all.length;
    this.#restoreCount = writes.restoreCount;
    this.#hasUserActed = false;
    this.#hasLied = false;
    this.#wasClockSet = false;
    this.#isDiskFull = false;
    this.#wasNarrowed ||= this.#isNarrowedNow;
    this.#isNarrowedNow = this.#isNarrowed();
  }

  noteTurn(): void {
    this.#freshness.noteTurn();
    this.#parts.beside?.noteTurn();
    this.#isNarrowedNow ||= this.#isNarrowed();
  }

  /** All rows were read. */
  onSwept(): void {
    this.#wasNarrowed = this.#isNarrowedNow;
  }

  onUserActed(): void {
    this.#hasUserActed = true;
  }

  onDiskFull(): void {
    this.#isDiskFull = true;
  }

  onClockSet(): void {
    this.#wasClockSet = true;
  }

  /** An answer was wrong and looked right. */
  onLie(): void {
    this.#hasLied = true;
  }

  /** What is wrong with the account after a cycle that ended with these errors. */
  complaints(
    errors: readonly { readonly code: string }[],
    { unseen, sent }: Pick<Circumstances, 'unseen' | 'sent'>,
  ): readonly string[] {
    const { user, names, writes } = this.#parts;
    writes.collect();
    const problems = this.#parts.account();
    const [found] = user.query(`SELECT local_name, state FROM _rowsync_tables WHERE id = ${names.tableId}`);
    const [table = null, state = null] = found ?? [];
    const own = problems.filter((problem) => problem.table === table);
    const isReasonGiven = isGivenFor(problems, { table, state });
    const { misspelt = null } = this.#parts.setup;
    const isRead = problems.every(({ code }) => code !== 'replica.unpulled');
    const isKeyTold = misspelt === null || !isRead || problems.some(({ code }) => code === `config.${misspelt}`);
    const uncounted = [
      ...this.#uncounted(own),
      ...(isKeyTold ? [] : ['a key of the configuration matches nothing, and the account does not name it']),
    ];
    const around: Circumstances = {
      unseen,
      sent,
      isNarrowed: this.#wasNarrowed || this.#isNarrowedNow || this.#isNarrowed(),
      hasLied: this.#hasLied,
      wasRestored: writes.restoreCount > this.#restoreCount,
      isOpenMirror: names.isMirror && (user.hadTrigger || user.hadNoTrigger),
      isDiskFull: this.#isDiskFull,
      wasClockSet: this.#wasClockSet,
    };
    const unnamed = isReasonGiven ? [] : this.#unnamed(own);
    const besides = (this.#isPull ? this.#parts.beside?.unnamed(problems) : null) ?? [];
    const beside = besides.map((one) => ({ kind: 'row' as const, ...one }));
    return [
      ...uncounted,
      ...[...unnamed, ...beside, ...this.#unsaid(errors, problems)]
        .filter((one) => !isDocumented(one, around))
        .map(({ what }) => what),
    ];
  }

  /** Whether the calling user may not see all of the table. */
  #isNarrowed(): boolean {
    const { admin } = this.#parts;
    return admin.isNarrowed || admin.hidden !== null;
  }

  /** What went wrong in this cycle while the account says that all is well. */
  #unsaid(errors: readonly { readonly code: string }[], problems: readonly Problem[]): readonly Difference[] {
    if (problems.some(({ severity }) => severity !== 'notice')) return [];
    return errors.map(({ code }) => ({
      kind: 'error',
      rowId: 0,
      what: `the cycle says ${code}, and the account that all is well`,
    }));
  }

  /** Rows that are listed, and that the account does not count. */
  #uncounted(own: readonly Problem[]): readonly string[] {
    const countOf = (codes: readonly string[]): number =>
      own.reduce((sum, { code, count }) => (codes.includes(code) ? sum + count : sum), 0);
    const { user, names } = this.#parts;
    const [[waiting, unreadable, files, wordless, open, lost] = []] = user.query(
      `SELECT (SELECT count(*) FROM _rowsync_rows WHERE table_id = ${names.tableId} AND state IN ('refused', 'inDoubt')),
              (SELECT count(*) FROM _rowsync_unreadable WHERE table_id = ${names.tableId}),
              (SELECT count(*) FROM sync_files f JOIN _rowsync_tables t ON t.local_name = f."table"
               WHERE t.id = ${names.tableId} AND f.state = 'failed' AND f.vanished IS NULL),
              (SELECT count(*) FROM sync_failures WHERE coalesce(reason, '') = ''),
              (SELECT count(*) FROM _rowsync_conflicts WHERE table_id = ${names.tableId} AND state = 'open'),
              (SELECT count(*) FROM _rowsync_conflicts
               WHERE table_id = ${names.tableId} AND winner = 'origin' AND state = 'decided' AND id > ${this.#lastConflictId})`,
    );
    const countFiles = countOf(['files.failed', 'files.late']);
    const compared: readonly (readonly [string, unknown, number, boolean])[] = [
      ['rows wait', waiting, countOf(OF_WAITING), Number(waiting) === countOf(OF_WAITING)],
      [
        'rows cannot be read',
        unreadable,
        countOf(['rows.unreadable']),
        Number(unreadable) === countOf(['rows.unreadable']),
      ],
      ['rows wait without a reason', wordless, 0, Number(wordless) === 0],
      ['files could not be fetched', files, countFiles, Number(files) <= countFiles],
      ['conflicts are open', open, countOf(['rows.conflicts']), Number(open) === countOf(['rows.conflicts'])],
      [
        'edits lost in this cycle',
        lost,
        countOf(['rows.lost']),
        this.#wasClockSet || Number(lost) <= countOf(['rows.lost']),
      ],
    ];
    return compared.flatMap(([what, count, counted, isRight]) =>
      isRight ? [] : [`${String(count)} ${what}, and the account counts ${counted}`],
    );
  }

  /** Rows and edits that no line names. */
  #unnamed(own: readonly Problem[]): readonly Difference[] {
    const { user, names, writes } = this.#parts;
    const local = names.inReplica((statement) => user.query(statement));
    const listed = new Set(
      user
        .query(
          `SELECT row_id FROM sync_failures UNION SELECT row_id FROM sync_conflicts WHERE state = 'open' OR id > ${this.#lastConflictId}`,
        )
        .map(([id]) => Number(id)),
    );
    const rows = new Map(user.rows().map((row) => [row.id, row] as const));
    const now = names.isMirror ? new Map<string, Edit>() : this.#editsNow();
    const edited = new Set([...now.values()].map(({ rowId }) => rowId));
    const gone = names.goneIn((statement) => user.query(statement));
    const different =
      local === null
        ? this.#isPull && !this.#hasUserActed // who drops it meanwhile knows it, and the next pull says it
          ? [0]
          : []
        : this.#freshness.differing(rows, new Set([...listed, ...edited]), gone);
    // Who acts meanwhile may make an edit again that has arrived.
    const arrived = new Set(
      this.#hasUserActed ? writes.all.slice(this.#writeCount).flatMap(({ by, id }) => (by === 'api' ? [id] : [])) : [],
    );
    // Who edits a row again meanwhile takes back why it waited: it is a new edit.
    const isEditedAgain = (id: number): boolean =>
      this.#hasUserActed && this.#before.get(id) !== JSON.stringify(rows.get(id));
    const waiting =
      this.#isPush && !names.isMirror
        ? [...this.#edits].filter(([key, { rowId }]) => now.has(key) && !arrived.has(rowId) && !isEditedAgain(rowId))
        : [];
    const isTold = own.some(
      ({ code }) => code.startsWith('rows.') || code === 'table.remade' || code === 'column.remade',
    );
    const lost =
      this.#hasUserActed || isTold
        ? []
        : [...this.#edits].filter(
            ([key, edit]) => !now.has(key) && !this.#decided.has(edit.rowId) && !this.#hasArrived(edit, rows),
          );
    return [
      ...different.map((rowId) => ({
        kind: 'row' as const,
        rowId,
        what: `row ${rowId} is not as the origin had it, and the account does not name it`,
      })),
      ...waiting
        .filter(([, { rowId }]) => !listed.has(rowId))
        .map(([key, { rowId }]) => ({
          kind: 'edit' as const,
          rowId,
          what: `the edit ${key} was not pushed, and the account does not say why`,
        })),
      ...lost.map(([key, { rowId }]) => ({
        kind: 'lost' as const,
        rowId,
        what: `the edit ${key} is gone and did not arrive, and the account does not say so`,
      })),
    ];
  }

  #hasArrived({ rowId, column, value, isDelete }: Edit, rows: ReadonlyMap<number, LocalRow>): boolean {
    // No value is written twice, but for NULL. What arrives of a file is judged with the files.
    const isOwn = (write: { readonly id: number }, index: number): boolean =>
      value !== null || index >= this.#writeCount || (write.id === rowId && this.#onTheirWay.has(rowId));
    const written = this.#parts.writes.all.filter(isOwn);
    if (column === 'File') return true;
    if (isDelete) return !rows.has(rowId);
    if (column === null)
      return written.some(({ tag }) => tag === value) || [...rows.values()].some(({ tag }) => tag === value);
    if (written.some(({ cells }) => column in cells && cells[column] === value)) return true;
    return [...rows.values()].some(({ cells, id }) => cells[column] === value && (value !== null || id === rowId));
  }

  /** What stands here otherwise than the origin confirmed it. */
  #editsNow(): ReadonlyMap<string, Edit> {
    const { user, names } = this.#parts;
    const base = readBase((statement) => user.query(statement), names);
    const isHere = names.inReplica((statement) => user.query(statement)) !== null;
    if (base === null || !isHere) return new Map();
    const rows = user.rows();
    const here = new Set(rows.map(({ id }) => id));
    const edits = rows.flatMap((row): readonly (readonly [string, Edit])[] => {
      const before = base.get(row.id);
      const facts = { rowId: row.id, isDelete: false };
      if (before === undefined) return [[`new row ${row.id} (${row.tag})`, { ...facts, column: null, value: row.tag }]];
      return Object.entries(row.cells)
        .filter(([column, value]) => before.cells[column] !== value)
        .map(
          ([column, value]) => [`${column} = ${String(value)} of row ${row.id}`, { ...facts, column, value }] as const,
        );
    });
    const deletes = [...base.keys()]
      .filter((id) => !here.has(id))
      .map((rowId) => [`delete of row ${rowId}`, { rowId, column: null, value: null, isDelete: true }] as const);
    return new Map([...edits, ...deletes]);
  }
}
