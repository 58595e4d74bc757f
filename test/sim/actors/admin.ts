/**
 * Administrators of the origin: they rename tables and columns, add, retype and drop some, take rights away and give
 * them back, let tokens expire, and bring backups back. Takes draws; produces changes at the origin, and a sentence for
 * each.
 *
 * Columns whose values are judged are never dropped or retyped: their values would be gone by someone's will. And a
 * name that went to another column comes back only after the engine was told so. Answers name columns, so what was read
 * meanwhile looks like what the descriptions before and behind it say, and no client can tell. Where a filter names a
 * column, names are not swapped, and which rows there are is left to others; the column has its name back in the end.
 */
import type { ModelSnapshot, OriginModel } from '../model/origin.ts';
import { RENAMED_CHOSEN, type ChosenColumn } from '../world/choosing.ts';
import type { Column, Names } from '../world/names.ts';
import type { Setup } from '../world/setup.ts';
import type { Draw } from '../world/tape.ts';

/** What administrators work with. */
export interface AdminParts {
  readonly origin: OriginModel;
  readonly names: Names;
  readonly count: (what: string) => void;
  /** The origin is an older one from now on. */
  readonly onRestore: () => void;
  /** Whether the replica has read the columns that it leaves out or masks, so that it knows them by other names. */
  readonly knowsChosen?: boolean;
  /**
   * Columns of the choice that they rename. One whose mask changes is let go by a person, and its former name in the
   * configuration then names none.
   */
  readonly renamedChosen?: readonly ChosenColumn[];
  /** Whether a filter names the column A. */
  readonly isFiltered?: boolean;
}

/** Something that an administrator does, how often, and what counts for it. */
type Duty = readonly [weight: number, duty: readonly [name: string, act: (draw: Draw) => string]];

/** The ids of columns by their names. */
type Owners = ReadonlyMap<string, number>;

/** The role that does not see the rows with even ids. */
const NARROWED = 'Narrowed';

/** What the role may do, whichever it is. */
interface Rights {
  readonly canWrite: boolean;
  /** The column that it does not see; null where it sees all. */
  readonly hidden: Column | null;
}

interface Backup {
  readonly snapshot: ModelSnapshot;
  readonly table: string;
  readonly owners: Owners;
  readonly rights: Rights;
}

/** The columns that are hidden. */
const HIDEABLE = ['A', 'B'] as const;

/** What administrators have to know of what a world chooses. */
export function chosenIn({
  choosing = null,
  isWarm,
  rows,
}: Setup): Pick<AdminParts, 'knowsChosen' | 'renamedChosen' | 'isFiltered'> {
  const renamedChosen = choosing === 'later' ? (['Out'] as const) : RENAMED_CHOSEN;
  return { knowsChosen: choosing !== null && isWarm, renamedChosen, isFiltered: rows !== undefined };
}

/** All administrators. */
export class Admin {
  /** Whether the calling user sees fewer rows than exist: a person who confirms deletes now gives them up. */
  isNarrowed = false;
  /** Ids from here on were given since. */
  narrowedFrom = Infinity;
  /** Whether the calling user ever could not write: edits of read-only columns lose under every policy. */
  wasForbidden = false;
  /** Whether two columns ever swapped their names. */
  hasSwapped = false;
  /** Whether a column was ever hidden from the calling user, dropped or retyped. */
  hasLostColumns = false;
  /**
   * How often columns were changed, hidden or shown, or got other names; and how often they had been when the engine
   * was told of them last.
   */
  shapeCount = 0;
  toldShapeCount = 0;
  readonly #parts: AdminParts;
  #extraCount = 0;
  #isRevoked = false;
  #rights: Rights = { canWrite: true, hidden: null };
  #backup: Backup | null = null;
  /** Who had which name, from the last description on, each time that one changed. */
  #owners: readonly Owners[];

  constructor(parts: AdminParts) {
    this.#parts = parts;
    this.#owners = [this.#ownersNow()];
  }

  /**
   * The engine was told how a table looks, by its name or its alias. An origin that reuses a tag answers 304 although
   * names have changed. Neither has one that refuses to say.
   */
  noteDescribed(address: string, status: number): void {
    const { origin, names } = this.#parts;
    const { name, alias } = origin.table(names.table);
    if (address !== name && address !== alias) return;
    const [told, now] = [this.#owners[0], this.#ownersNow()];
    const isAsTold = [...now].every(([column, id]) => told?.get(column) === id);
    if (status !== 200 && (status !== 304 || !isAsTold)) return;
    this.#owners = [now];
    this.toldShapeCount = this.shapeCount;
  }

  /** Does what the draw says; returns what that was. */
  act(draw: Draw): string {
    const [what, act] = draw.weighted(this.#duties());
    this.#parts.count(`admin ${what}`);
    return `admin: ${act(draw)}`;
  }

  #duties(): readonly Duty[] {
    const { isFiltered = false, knowsChosen = false } = this.#parts;
    const ofNames: readonly Duty[] = [[4, ['renameColumn', (details) => this.#renameColumn(details)]]];
    const ofColumns: readonly Duty[] = [
      [2, ['renameTable', (details) => this.#renameTable(details)]],
      [3, ['addColumn', () => this.#addColumn()]],
      [2, ['changeColumn', (details) => this.#changeColumn(details)]],
      [1, ['dropColumn', (details) => this.#dropColumn(details)]],
      [3, ['token', () => this.#turnToken()]],
    ];
    const ofChosen: readonly Duty[] = [
      [6, ['renameChosen', (details) => this.#renameChosen(details)]],
      [2, ['dropChosen', () => this.#dropChosen()]],
    ];
    if (isFiltered) return [...ofNames, ...ofColumns, ...(knowsChosen ? ofChosen : [])];
    return [
      ...ofNames,
      [2, ['swapColumns', () => this.#swapColumns()]],
      ...ofColumns,
      [3, ['role', () => this.narrowRole()]],
      [2, ['rights', (details) => this.#changeRights(details)]],
      [3, ['backup', () => this.backUpOrRestore()]],
      ...(knowsChosen ? ofChosen : []),
    ];
  }

  /** Gives back every right, and the column its name by which rows are chosen, for the end. */
  tidyUp(): void {
    const { origin, names, isFiltered = false } = this.#parts;
    if (isFiltered && names.atOrigin('A') !== 'A') {
      origin.renameColumn(names.table, names.atOrigin('A'), 'A');
      this.#noteNames();
    }
    origin.restoreToken();
    this.isNarrowed = false;
    this.#setRole({ canWrite: true, hidden: null });
    origin.changeUser({ role: 'Administrator' });
  }

  #renameColumn(draw: Draw): string {
    const column = draw.pick<Column>(['A', 'B']);
    if (column === 'A' && this.#parts.isFiltered === true) this.#parts.count('the column of a filter is renamed');
    return this.#rename(this.#parts.names.atOrigin(column), [column, draw]);
  }

  /** A column that is left out, or masked, gets another name: what was chosen of it stays. */
  #renameChosen(draw: Draw): string {
    const column = draw.pick(this.#parts.renamedChosen ?? RENAMED_CHOSEN);
    const before = this.#parts.names.nameNow(column);
    return before === null ? 'finds no column to rename' : this.#rename(before, [column, draw]);
  }

  #dropChosen(): string {
    const { origin, names } = this.#parts;
    const name = names.nameNow('Out');
    if (name === null) return 'finds no column to drop';
    origin.dropColumn(names.table, name);
    this.hasLostColumns = true;
    this.shapeCount += 1;
    return `drops the column ${name}, which is left out`;
  }

  #rename(before: string, [column, draw]: readonly [first: string, draw: Draw]): string {
    const { origin, names } = this.#parts;
    const now = draw.pick([`${column} of old`, `${column} "quoted"`, `${column}\u00e9`, column]);
    const owners = new Map(this.#ownersNow());
    const id = owners.get(before) ?? 0;
    if (owners.has(now) || this.#comesBack([[now, id]])) return 'leaves all names as they are';
    origin.renameColumn(names.table, before, now);
    this.#noteNames();
    return `renames ${before} to ${now}`;
  }

  #swapColumns(): string {
    const { origin, names } = this.#parts;
    const [one, other] = [names.atOrigin('A'), names.atOrigin('B')];
    const owners = this.#ownersNow();
    const swapped = [
      [one, owners.get(other) ?? 0],
      [other, owners.get(one) ?? 0],
    ] as const;
    if (this.#comesBack(swapped)) return 'leaves all names as they are';
    origin.renameColumn(names.table, one, 'between');
    origin.renameColumn(names.table, other, one);
    origin.renameColumn(names.table, 'between', other);
    this.#noteNames();
    this.hasSwapped = true;
    return `swaps the names ${one} and ${other}`;
  }

  #renameTable(draw: Draw): string {
    const { origin, names } = this.#parts;
    const now = draw.pick(['Thing', 'thing', 'Other Thing']);
    if (now === names.table) return 'leaves the table its name';
    origin.renameTable(names.table, now);
    names.table = now;
    return `renames the table to ${now}`;
  }

  #addColumn(): string {
    this.#extraCount += 1;
    const name = `Extra ${this.#extraCount}`;
    const { origin, names } = this.#parts;
    origin.addColumn(names.table, { name, type: 'Text' });
    this.shapeCount += 1;
    return `adds the column ${name}`;
  }

  #extras(): readonly string[] {
    const { origin, names } = this.#parts;
    return origin.table(names.table).columns.flatMap(({ name }) => (name.startsWith('Extra') ? [name] : []));
  }

  #changeColumn(draw: Draw): string {
    const { origin, names } = this.#parts;
    const extras = this.#extras();
    if (extras.length === 0) return 'finds no column to change';
    const [name, type] = [draw.pick(extras), draw.pick(['Numeric', 'Date', 'Text', 'Checkbox'])];
    origin.changeColumn(names.table, name, { type });
    this.hasLostColumns = true;
    this.shapeCount += 1;
    return `makes ${name} a column of type ${type}`;
  }

  #dropColumn(draw: Draw): string {
    const { origin, names } = this.#parts;
    const extras = this.#extras();
    if (extras.length === 0) return 'finds no column to drop';
    const name = draw.pick(extras);
    origin.dropColumn(names.table, name);
    this.hasLostColumns = true;
    this.shapeCount += 1;
    return `drops the column ${name}`;
  }

  #turnToken(): string {
    this.#isRevoked = !this.#isRevoked;
    if (this.#isRevoked) this.#parts.origin.revokeToken();
    else this.#parts.origin.restoreToken();
    return this.#isRevoked ? 'revokes the token' : 'makes the token good again';
  }

  /** Once in all: a user who loses rights and regains them between two requests looks like one who always had them. */
  narrowRole(): string {
    if (this.isNarrowed) return 'leaves the role as it is';
    this.isNarrowed = true;
    this.narrowedFrom = this.#parts.origin.table(this.#parts.names.table).nextRow;
    this.#setRole({ ...this.#rights, canWrite: true });
    this.#parts.origin.changeUser({ role: NARROWED });
    return 'gives the calling user a role that sees every other row';
  }

  #changeRights(draw: Draw): string {
    const canWrite = draw.chance(0.5);
    this.#setRole({ ...this.#rights, canWrite });
    if (!canWrite) this.wasForbidden = true;
    return canWrite ? 'lets the role write' : 'forbids the role to write';
  }

  /** Hides a column from the calling user, whatever the role, or shows it again. */
  hideOrShow(draw: Draw): string {
    return this.hidden === null ? this.hideColumn(draw.pick(HIDEABLE)) : this.showColumn();
  }

  hideColumn(column: Column): string {
    this.#parts.count('admin hideColumn');
    this.hasLostColumns = true;
    this.shapeCount += 1;
    this.#setRole({ ...this.#rights, hidden: column });
    return `admin: hides the column ${this.#parts.names.atOrigin(column)} from the calling user`;
  }

  showColumn(): string {
    const { hidden } = this;
    if (hidden === null) return 'admin: finds no column hidden';
    this.#parts.count('admin showColumn');
    this.shapeCount += 1;
    this.#setRole({ ...this.#rights, hidden: null });
    return `admin: shows the column ${this.#parts.names.atOrigin(hidden)} to the calling user again`;
  }

  /** The column that the calling user does not see now. */
  get hidden(): Column | null {
    return this.#rights.hidden;
  }

  #setRole(rights: Rights): void {
    const { origin, names } = this.#parts;
    const { canWrite, hidden } = rights;
    this.#rights = rights;
    const hiddenColumns = hidden === null ? [] : [[names.table, names.atOrigin(hidden)] as const];
    for (const name of [NARROWED, 'Administrator']) origin.setRole({ name, canWrite, hiddenTables: [], hiddenColumns });
    origin.knobs.hidesRow = this.isNarrowed ? ({ id }) => id % 2 === 0 : null;
  }

  backUpOrRestore(): string {
    const { origin, names, onRestore } = this.#parts;
    if (this.#backup === null) {
      const rights = this.#rights;
      this.#backup = { snapshot: origin.snapshot(), table: names.table, owners: this.#ownersNow(), rights };
      return 'makes a backup of the origin';
    }
    const { snapshot, table, owners, rights } = this.#backup;
    if (this.#comesBack(owners)) return 'leaves the origin as it is';
    const { nextRow } = origin.table(names.table);
    origin.restore(snapshot);
    this.hasLostColumns = true;
    this.#rights = rights;
    names.table = table;
    this.#noteNames();
    // Ids that were given since are not given again: a row that takes another one's id cannot be told from it.
    origin.table(table).nextRow = nextRow;
    origin.changeUser({ role: this.isNarrowed ? NARROWED : 'Administrator' });
    onRestore();
    return 'brings the backup of the origin back';
  }

  #ownersNow(): Owners {
    const { origin, names } = this.#parts;
    return new Map(origin.table(names.table).columns.map(({ name, id }) => [name, id]));
  }

  #noteNames(): void {
    this.shapeCount += 1;
    this.#owners = [...this.#owners, this.#ownersNow()];
  }

  /** Whether a name would go back to a column that lost it to another one, and the engine could not know. */
  #comesBack(names: Iterable<readonly [name: string, id: number]>): boolean {
    return [...names].some(([name, id]) => {
      const first = this.#owners.findIndex((owners) => owners.get(name) === id);
      return first >= 0 && this.#owners.slice(first).some((owners) => (owners.get(name) ?? id) !== id);
    });
  }
}
