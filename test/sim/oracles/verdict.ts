/**
 * What must be true once the faults have stopped and nothing moves any more: the invariants of the design, told by
 * values that were written once in all. Takes both sides, what users wrote, and everything that was ever written at the
 * origin; produces what is wrong, in plain sentences. Pure.
 */
import type { ConflictPolicy } from '../../../src/reconcile/merge.ts';
import { writtenKey, type Books, type LocalRow, type LocalValue, type Written } from '../world/books.ts';
import { isMadeByTrigger } from '../actors/user.ts';

/** A write at the origin, or a backup that was brought back there (`restore`; then there is one for each row). */
export interface OriginWrite {
  readonly by: string;
  readonly kind: 'create' | 'update' | 'delete' | 'restore';
  readonly id: number;
  /** Empty where the row has none. */
  readonly tag: string;
  readonly cells: Readonly<Record<string, LocalValue>>;
  /** Whether the caller did not see all rows then, and whether this one was among those. */
  readonly isNarrowed?: boolean;
  readonly isHidden?: boolean;
}

/** What ever left for the origin, whether it arrived or not. */
export interface SentEver {
  /** Rows that were sent with the id that they had there, to be written. */
  readonly ids: ReadonlySet<number>;
  /** What left with the create of a row, by `tag.column=value`. */
  readonly created: ReadonlySet<string>;
  /**
   * Tags of new rows that had met the row of this id by its unique value when it was sent. An older copy does not say
   * so any more.
   */
  readonly metById: ReadonlyMap<number, ReadonlySet<string>>;
}

/** A conflict as it is kept. */
export interface KeptConflict {
  readonly rowId: number;
  readonly kind: string;
  /** Null for whole rows. */
  readonly column: string | null;
  /** What the origin had confirmed, and what it is said to have had then. */
  readonly base: LocalValue;
  readonly remote: LocalValue;
  /** What was here. */
  readonly local: LocalValue;
  /** What was here in the judged columns of a row that the origin deleted; empty for other conflicts. */
  readonly cells: Readonly<Record<string, LocalValue>>;
  readonly winner: string;
  readonly state: string;
}

/** The world at rest. */
export interface Rest {
  readonly books: Books;
  readonly local: readonly LocalRow[];
  readonly base: readonly LocalRow[];
  readonly origin: readonly LocalRow[];
  /** Those of the origin that the filter of the table selects; all where it has none. */
  readonly selected: readonly LocalRow[];
  readonly writes: readonly OriginWrite[];
  /** Rows that wait for a person or a timer, and rows that cannot be read. */
  readonly waiting: ReadonlySet<number>;
  /** Rows of which the origin said that they are not there, since the caller did not see them then. */
  readonly hidden: ReadonlySet<number>;
  /** Whether the replica was replaced by an older copy. */
  readonly isOlderCopy: boolean;
  /** Columns that a trigger of the user's may have written over. */
  readonly overwritten: ReadonlySet<string>;
  readonly conflicts: readonly KeptConflict[];
  readonly policy: ConflictPolicy;
  /** Whether the calling user ever could not write: an edit of a read-only column loses under every policy. */
  readonly wasForbidden: boolean;
  readonly hasSwapped: boolean;
  readonly sent: SentEver;
  /** Everything that is kept about losers and rows that wait, as one text. */
  readonly kept: string;
  /** Cells and whole rows (`column` is null then) of which something is kept, by the row's id then. */
  readonly keptCells: readonly { readonly rowId: number; readonly column: string | null }[];
  /** Last values of rows that the origin deleted, as one text; no edit may end there alone. */
  readonly evidence: string;
  /** Rows that wait because the workflow refused them, which it does not any more, as a person has said. */
  readonly refused: readonly number[];
}

/** A complaint: the invariant and a sentence. */
export interface Complaint {
  readonly oracle: string;
  readonly what: string;
}

/** Everything that is wrong. */
export function judgeRest(rest: Rest): readonly Complaint[] {
  return [
    ...judgeEquality(rest),
    ...judgeEdits(rest),
    ...judgeEmptied(rest),
    ...judgeDeletes(rest),
    ...judgeCreates(rest),
    ...judgeInventions(rest),
    ...judgeConflicts(rest),
    ...judgeWinners(rest),
    ...rest.refused.map((id) => ({ oracle: 'L2', what: `row ${id} waits, and the origin would take it` })),
  ];
}

function textOf({ id, tag, cells }: LocalRow): string {
  return `${id} ${tag} ${JSON.stringify(cells)}`;
}

/**
 * I1: what does not wait is the same on both sides; and the base is what the origin says, whatever waits inside of the
 * filter.
 */
function judgeEquality({ local, base, origin, selected, waiting }: Rest): readonly Complaint[] {
  const still = (rows: readonly LocalRow[]): readonly LocalRow[] => rows.filter(({ id }) => !waiting.has(id));
  const inside = new Set(selected.map(({ id }) => id));
  const staying = new Set(origin.flatMap(({ id }) => (waiting.has(id) && !inside.has(id) ? [id] : [])));
  const confirmed = base.filter(({ id }) => !staying.has(id));
  return [
    ...compare('the replica', still(local), 'the origin', still(selected)),
    ...compare('the base', confirmed, 'the origin', selected),
  ];
}

function compare(
  oneName: string,
  one: readonly LocalRow[],
  otherName: string,
  other: readonly LocalRow[],
): readonly Complaint[] {
  const [oneTexts, otherTexts] = [new Set(one.map(textOf)), new Set(other.map(textOf))];
  const only = (name: string, texts: Set<string>, others: Set<string>): readonly Complaint[] =>
    [...texts].filter((text) => !others.has(text)).map((text) => ({ oracle: 'I1', what: `only ${name} has ${text}` }));
  return [...only(oneName, oneTexts, otherTexts), ...only(otherName, otherTexts, oneTexts)];
}

/** I2: what users wrote reached the origin, or is kept. */
function judgeEdits({
  books,
  writes,
  kept,
  evidence,
  local,
  origin,
  conflicts,
  waiting,
  overwritten,
}: Rest): readonly Complaint[] {
  const reached = new Set(
    writes
      .filter(({ by }) => by === 'api')
      .flatMap(({ tag, cells }) => Object.entries(cells).map(([column, value]) => writtenKey({ tag, column, value }))),
  );
  const { standing, inserted } = books.expected();
  // They stand in the order in which they were written.
  const places = new Map([...standing.keys()].map((key, place) => [key, place]));
  const isLater = (key: string, { tag, column }: Written): boolean =>
    (places.get(key) ?? -1) > (places.get(`${tag}.${column}`) ?? Infinity);
  const isLost = (written: Written): boolean => {
    // A file of the origin is not written again by its value: REPLACE leaves it there, and no client can request it.
    if (written.column === 'File' && !String(written.value).startsWith('file:')) return false;
    if (written.value === null || overwritten.has(written.column) || reached.has(writtenKey(written))) return false;
    // A new row whose unique value a colleague took meanwhile continues in the colleague's: under its own tag, or under
    // that one, if it won. There it was taken, also where someone has written over it since, or has deleted that row; a
    // file shows there as another text.
    const merged = conflicts.filter(
      ({ kind, column, local: tag }) => kind === 'cell' && column === 'Tag' && tag === written.tag,
    );
    const wasTaken = merged.some(({ rowId, remote: tag }) =>
      writes.some(
        ({ by, cells, ...write }) =>
          by === 'api' && (write.id === rowId || write.tag === tag) && cells[written.column] === written.value,
      ),
    );
    // Or it was not sent yet, and a user wrote over it under that tag, or deleted the one row that they are.
    const isGivenUp = merged.some(
      ({ rowId, remote: tag }) =>
        isLater(`${String(tag)}.${written.column}`, written) ||
        writes.some(({ by, kind, id }) => by === 'api' && kind === 'delete' && id === rowId),
    );
    if (isGivenUp) return false;
    const goesOn =
      wasTaken ||
      origin.some(
        ({ id, tag, cells }) =>
          (tag === written.tag || merged.some(({ rowId }) => rowId === id)) && cells[written.column] === written.value,
      );
    return !goesOn && !kept.includes(String(written.value));
  };
  const lost = [...standing.values()].filter(isLost).map(({ tag, column, value }) => ({
    oracle: 'I2',
    what: `${column} = ${String(value)}, written here to ${tag}, is nowhere`,
  }));
  const everThere = new Set(writes.map(({ tag }) => tag));
  const waitingTags = new Set(local.filter(({ id }) => waiting.has(id)).map(({ tag }) => tag));
  const lostRows = [...inserted]
    .filter((tag) => !everThere.has(tag) && !(kept + evidence).includes(tag) && !waitingTags.has(tag))
    .map((tag) => ({ oracle: 'I2', what: `the row ${tag}, inserted here, is nowhere` }));
  return [...lost, ...lostRows];
}

/** Columns that users empty, and into which rowsync writes nothing of its own. */
const EMPTIED = ['A', 'B'] as const;

/**
 * I2, for NULL, which has no text of its own. A cell that users emptied last, and that has a value now, was empty at
 * the origin at some time, or something is kept of it. Rows that wait, or stand on one side only, are judged by the
 * others; one that stands here twice waits as long as one of the two does.
 */
function judgeEmptied(rest: Rest): readonly Complaint[] {
  const { books, writes, keptCells, conflicts, local, origin, waiting, overwritten, isOlderCopy, evidence } = rest;
  const { standing } = books.expected();
  // A row comes back under its former id with a backup, or with the rights to see it. Or it was in doubt, and so
  // discarded, and had come already.
  const mayComeBack = (tag: string): boolean =>
    writes.some(
      ({ kind, ...write }) => kind === 'restore' || (kind === 'create' && write.isHidden && write.tag === tag),
    );
  // Then something is kept of it under another id.
  const isKeptAsRow = (tag: string, id: number): boolean =>
    conflicts.some(
      ({ rowId, kind, column, local: text }) =>
        rowId !== id &&
        column === null &&
        String(text).includes(`"${tag}"`) &&
        (kind === 'inserted' || mayComeBack(tag)),
    );
  // Its maker had no answer, and was not shown it, or asked for it between a delete and a backup. What was emptied
  // before it is met is empty in a row that seems to be new.
  const isBroughtBack = (tag: string): boolean => {
    const deletedAt = writes.findIndex((write) => write.kind === 'delete' && write.tag === tag);
    return deletedAt >= 0 && writes.slice(deletedAt).some((write) => write.kind === 'restore' && write.tag === tag);
  };
  const isMadeUnseen = (tag: string, column: string): boolean =>
    !evidence.includes(tag) &&
    writes.some(
      ({ kind, by, isHidden, ...write }) =>
        kind === 'create' &&
        by === 'api' &&
        write.tag === tag &&
        (write.cells[column] ?? null) !== null &&
        (isHidden === true || isBroughtBack(tag)),
    );
  const emptied = new Set(
    writes.flatMap(({ kind, tag, cells }) =>
      EMPTIED.filter((column) => (kind === 'create' ? (cells[column] ?? null) : cells[column]) === null).map((column) =>
        writtenKey({ tag, column, value: null }),
      ),
    ),
  );
  const here = new Map(local.map((row) => [row.tag, row.id]));
  const waitingTags = new Set(local.filter(({ id }) => waiting.has(id)).map(({ tag }) => tag));
  return origin
    .filter(({ id, tag }) => here.get(tag) === id && !waitingTags.has(tag))
    .flatMap(({ id, tag, cells }) =>
      EMPTIED.filter((column) => {
        const last = standing.get(`${tag}.${column}`);
        if (cells[column] === null || last?.value !== null) return false;
        // In an older copy, a row of the origin may be new: its empty cells empty nothing.
        if (isOlderCopy && last.isNew === true) return false;
        if (overwritten.has(column) || emptied.has(writtenKey({ tag, column, value: null }))) return false;
        if (isKeptAsRow(tag, id) || isMadeUnseen(tag, column)) return false;
        return !keptCells.some((kept) => kept.rowId === id && (kept.column === null || kept.column === column));
      }).map((column) => ({ oracle: 'I2', what: `${column} of ${tag} was emptied here, and nobody emptied it there` })),
    );
}

/** I3: a row that users deleted is gone at the origin, or the delete is listed. */
function judgeDeletes({ books, origin, kept, evidence, waiting, hidden, writes }: Rest): readonly Complaint[] {
  // Deleted at the origin too, and brought back there with a backup since.
  const [gone, back] = [new Set<string>(), new Set<string>()];
  for (const { kind, tag, isHidden = false } of writes) {
    // Hidden from the caller who made it: after a lost answer, it looks like a row that was never made.
    if (kind === 'create' && isHidden) back.add(tag);
    if (kind === 'delete') gone.add(tag);
    if (kind === 'restore' && gone.has(tag)) back.add(tag);
  }
  const there = new Set(origin.filter(({ id }) => !waiting.has(id) && !hidden.has(id)).map(({ tag }) => tag));
  return [...books.expected().deleted]
    .filter((tag) => there.has(tag) && !back.has(tag) && !(kept + evidence).includes(tag))
    .map((tag) => ({ oracle: 'I3', what: `${tag}, deleted here, is at the origin, and nothing says why` }));
}

/**
 * I4: no row is created twice, in any history: a tag is given out once, and again only after its row was deleted. I5:
 * who deleted.
 */
function judgeCreates({ writes, books, local, waiting, conflicts, evidence }: Rest): readonly Complaint[] {
  const complaints: Complaint[] = [];
  const alive = new Map<string, number>();
  let isRestoring = false;
  // Hidden from the caller as they were made, and made again while they were, or since they were taken for gone then,
  // or never known, as where the answer was lost: that looks like rows that are gone.
  const [unseen, excused] = [new Set<number>(), new Set<string>()];
  // Deleted there, and brought back with a backup: made again in between, as a person wanted, or as what had no answer
  // is, they are there twice.
  const [deleted, broughtBack] = [new Set<number>(), new Set<number>()];
  // Deleted on one side, with what someone had written on the other, and taken back by a person.
  const wasTaken = (id: number): boolean =>
    conflicts.some(
      ({ kind, base, state }) =>
        (kind === 'deletedHere' || kind === 'deletedThere') &&
        state === 'resolved' &&
        String(base).startsWith(`{"_id":${id},`),
    );
  for (const { kind, tag, id, by, isNarrowed = false, isHidden = false } of writes.filter(
    (write) => write.tag !== '',
  )) {
    if (kind === 'restore') {
      if (!isRestoring) alive.clear();
      alive.set(tag, id);
      if (deleted.has(id)) broughtBack.add(id);
    }
    isRestoring = kind === 'restore';
    if (kind === 'create') {
      const twin = alive.get(tag);
      if (isHidden) unseen.add(id);
      const isExcused = (other: number): boolean =>
        (unseen.has(other) && (isNarrowed || wasTaken(other) || !evidence.includes(tag))) ||
        (broughtBack.has(other) && (wasTaken(other) || !evidence.includes(tag)));
      if (twin !== undefined && isExcused(twin)) excused.add(tag);
      else if (twin !== undefined)
        complaints.push({ oracle: 'I4', what: `${tag} is created as row ${id} beside row ${twin}` });
      alive.set(tag, id);
    }
    if (kind === 'delete') {
      deleted.add(id);
      if (by === 'api' && !books.everDeleted.has(tag)) {
        complaints.push({ oracle: 'I5', what: `${tag} was deleted at the origin, and nobody deleted it here` });
      }
      if (alive.get(tag) === id) alive.delete(tag);
    }
  }
  const seen = new Set<string>();
  // A create in doubt stands beside the row that it may have made, until a person has looked.
  for (const { tag, id } of local.filter((row) => row.id > 0 || !waiting.has(row.id))) {
    if (seen.has(tag) && !excused.has(tag))
      complaints.push({ oracle: 'I4', what: `${tag} stands here twice, once as row ${id}` });
    seen.add(tag);
  }
  return complaints;
}

/** Match values that rowsync makes up itself. */
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4/;

/** No cell has a value that no actor wrote, on either side. A write by rowsync at the origin does not count as one. */
function judgeInventions({ local, origin, writes, books, hasSwapped, sent, conflicts }: Rest): readonly Complaint[] {
  // What arrives of a file is judged with the files.
  const written = new Set(
    writes.flatMap(({ by, tag, cells }) =>
      Object.entries(cells)
        .filter(([column]) => by !== 'api' || column === 'File')
        .map(([column, value]) => writtenKey({ tag, column, value })),
    ),
  );
  // Read while two columns swapped their names, which the end of the pull notices and reads again; but if the engine
  // dies before that and the row is deleted, the origin does not say any more what it held.
  const deleted = new Set(writes.flatMap(({ kind, tag }) => (kind === 'delete' ? [tag] : [])));
  const isCrossed = ({ tag, column, value }: Written): boolean => {
    const other = { A: 'B', B: 'A' }[column];
    return (
      hasSwapped && deleted.has(tag) && other !== undefined && written.has(writtenKey({ tag, column: other, value }))
    );
  };
  // A new row that met another one by its unique value continues in that one, under either tag.
  const metBy = (id: number): readonly string[] => [
    ...(sent.metById.get(id) ?? []),
    ...conflicts.flatMap(({ kind, column, rowId, local: here, remote }) =>
      kind === 'cell' && column === 'Tag' && rowId === id ? [String(here), String(remote)] : [],
    ),
  ];
  const isKnown = (cell: Written & { readonly id: number }): boolean =>
    isCrossed(cell) ||
    cell.value === null ||
    isMadeByTrigger(cell.value) ||
    (cell.column === 'Code' && UUID.test(String(cell.value))) ||
    [cell.tag, ...metBy(cell.id)].some((tag) => {
      const key = writtenKey({ ...cell, tag });
      return written.has(key) || books.everWritten.has(key);
    });
  return [...local, ...origin].flatMap(({ id, tag, cells }) =>
    Object.entries(cells)
      .map(([column, value]) => ({ id, tag, column, value }))
      .filter((cell) => !isKnown(cell))
      .map(({ column, value }) => ({
        oracle: 'invented',
        what: `${column} of ${tag} is ${String(value)}, which nobody wrote there`,
      })),
  );
}

/**
 * No conflict is about a value that was never in that column, at the origin or, of a row that it deleted, here. Or that
 * was written there here, also by the user's trigger: a row that was here twice for a moment may have two edits, and
 * one takes the origin's place.
 */
function judgeConflicts({ conflicts, writes, books, hasSwapped }: Rest): readonly Complaint[] {
  const there = new Set(
    writes.flatMap(({ cells }) => Object.entries(cells).map(([column, value]) => textAt(column, value))),
  );
  const here = withoutTags(books.everWritten);
  return conflicts
    .flatMap(({ kind, column, remote, cells }) =>
      kind === 'cell' && column !== null ? [[column, remote] as const] : hasSwapped ? [] : Object.entries(cells),
    )
    .filter(([column, value]) => value !== null && !there.has(textAt(column, value)))
    .filter(([column, value]) => !here.has(textAt(column, value)) && !isMadeByTrigger(value))
    .map(([column, value]) => ({
      oracle: 'invented',
      what: `a conflict says that ${column} was ${String(value)}, which it never was`,
    }));
}

/**
 * Conflicts are decided by the policy, in any world. The exception: read-only cells follow the origin. Of a row that
 * was here twice, the later edit takes the place of the other. What was sent goes over whatever the origin has by then.
 * A row that the origin deleted is gone. So no edit wins against the policy over a value that was not sent.
 */
function judgeWinners({ conflicts, policy, wasForbidden, books, sent, writes }: Rest): readonly Complaint[] {
  const [here, created] = [withoutTags(books.everWritten), withoutTags(sent.created)];
  const isMadeHere = (id: number): boolean =>
    writes.some((write) => write.id === id && write.kind === 'create' && write.by === 'api');
  const isWrong = ({ kind, column, base, remote, winner, state }: KeptConflict): boolean => {
    if (kind === 'deletedThere') return winner !== 'origin' || state === 'open';
    if (winner === 'nobody') return policy !== 'ask';
    if (winner === policy || state !== 'decided') return false;
    if (winner === 'origin') {
      const isOfHere = column !== null && (here.has(textAt(column, remote)) || isMadeByTrigger(remote));
      return !(wasForbidden || isOfHere || (kind === 'cell' && base === remote));
    }
    if (column === null) {
      const { _id: id } = JSON.parse(String(base)) as { readonly _id: number };
      return !sent.ids.has(id) && !isMadeHere(id);
    }
    if (base === null || isMadeByTrigger(base)) return false;
    return !here.has(textAt(column, base)) && !created.has(textAt(column, base));
  };
  return conflicts.filter(isWrong).map(({ kind, column, base, remote, winner }) => ({
    oracle: 'policy',
    what: `${winner} won where the policy is ${policy}: ${kind} ${column ?? ''}, ${String(base)} before, ${String(remote)} at the origin`,
  }));
}

/** Values by their columns, whatever the row: of `tag.column=value`. */
function withoutTags(keys: ReadonlySet<string>): ReadonlySet<string> {
  return new Set([...keys].map((key) => key.slice(key.indexOf('.') + 1)));
}

function textAt(column: string, value: LocalValue): string {
  return `${column}=${String(value)}`;
}
