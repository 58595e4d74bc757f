/**
 * What must be true once rows were put back: no row is there twice, each has its last values, references lead where
 * they led, and nothing of anybody else was changed but references that had to follow. Knows nothing of how it is done.
 * Pure.
 */
import type { Complaint } from '../oracles/verdict.ts';
import { nameIn, type Colleagues, type KnownRow } from './colleagues.ts';
import { isIdentified, REFERENCES, TABLES, type PutbackSetup, type Reference } from './setup.ts';

/** A line of `sync_putback`. */
export interface PutbackLine {
  readonly kind: string;
  readonly table: string;
  readonly oldId: number;
  readonly state: string;
  readonly reason: string | null;
}

/** Everything that is judged. */
export interface PutbackSides {
  readonly setup: PutbackSetup;
  readonly colleagues: Colleagues;
  /** The rows that stayed, as they stood before anything was put back. */
  readonly stayed: readonly KnownRow[];
  readonly lines: readonly PutbackLine[];
}

/** Everything that is wrong at rest. */
export function judgePutback(sides: PutbackSides): readonly Complaint[] {
  const index = new Index(sides);
  return [
    ...sides.colleagues.lost().flatMap((row) => judgeLost(row, sides, index)),
    ...sides.stayed.flatMap((row) => judgeStayed(row, sides, index)),
    ...judgeWrites(sides),
    ...sides.lines.flatMap(({ kind, table, oldId, state, reason }) =>
      kind === 'link' && state !== 'done'
        ? [{ oracle: 'L1', what: `the reference of ${table} ${oldId} is ${state}: ${reason}` }]
        : [],
    ),
  ];
}

/** No row is twice at the origin, whoever made it: asked at any time. */
export function judgeTwice({ setup, colleagues }: Pick<PutbackSides, 'setup' | 'colleagues'>): readonly Complaint[] {
  return TABLES.flatMap((table) => {
    const byName = Map.groupBy(colleagues.rows(table), ({ name }) => name);
    return [...byName].flatMap(([name, { length }]) =>
      length > 1
        ? [
            {
              oracle: 'I4',
              what: `${table} ${name} is there ${length} times${isIdentified(setup, table) ? ', though its name is unique' : ''}`,
            },
          ]
        : [],
    );
  });
}

class Index {
  readonly now: ReadonlyMap<string, KnownRow>;
  readonly byId: ReadonlyMap<string, KnownRow>;
  readonly lostByKey: ReadonlyMap<string, KnownRow>;
  readonly liveKeys: ReadonlySet<string>;
  readonly #lines: ReadonlyMap<string, PutbackLine>;

  constructor({ colleagues, lines }: PutbackSides) {
    const rows = TABLES.flatMap((table) => colleagues.rows(table));
    this.now = new Map(rows.map((row) => [nameIn(row.table, row.name), row]));
    this.byId = new Map(rows.map((row) => [nameIn(row.table, row.id), row]));
    this.liveKeys = new Set(rows.map(({ table, key }) => nameIn(table, key)));
    this.lostByKey = new Map(colleagues.lost().map((row) => [nameIn(row.table, row.key), row]));
    const own = lines.filter(({ kind }) => kind === 'row');
    this.#lines = new Map(own.map((line) => [nameIn(line.table, line.oldId), line]));
  }

  stateOf({ table, id }: KnownRow): string {
    return this.#lines.get(nameIn(table, id))?.state ?? 'never planned';
  }

  reasonOf({ table, id }: KnownRow): string {
    return this.#lines.get(nameIn(table, id))?.reason ?? '';
  }

  /** The row that a key led to; null if it never left, or never was known. */
  parentOf({ to }: Reference, key: string): KnownRow | null {
    return key === '' ? null : (this.lostByKey.get(nameIn(to, key)) ?? null);
  }

  /** The key that leads where this one led. */
  keyNow(reference: Reference, key: string): string {
    const parent = this.parentOf(reference, key);
    if (parent !== null) return this.now.get(nameIn(parent.table, parent.name))?.key ?? '';
    return this.liveKeys.has(nameIn(reference.to, key)) ? key : '';
  }
}

function referencesOf(table: string): readonly Reference[] {
  return REFERENCES.filter((one) => one.table === table);
}

function judgeLost(row: KnownRow, { setup, colleagues }: PutbackSides, index: Index): readonly Complaint[] {
  const { table, id, name } = row;
  const state = index.stateOf(row);
  const what = `${table} ${id} (${name})`;
  const there = index.now.get(nameIn(table, name));
  const parents = referencesOf(table).flatMap((one) => index.parentOf(one, row.keys.get(one.column) ?? '') ?? []);
  if (state === 'waiting' && parents.some((parent) => ['waiting', 'inDoubt'].includes(index.stateOf(parent))))
    return [];
  // What somebody made again meanwhile may be ours or not: a person looks.
  if (state === 'inDoubt' && (!isIdentified(setup, table) || colleagues.touched.has(name))) return [];
  if (state !== 'done' && state !== 'there')
    return [{ oracle: 'I1', what: `${what} does not come back: ${state}, ${index.reasonOf(row)}` }];
  if (there === undefined) return [{ oracle: 'I1', what: `${what} is ${state}, and not at the origin` }];
  if (state === 'there' || colleagues.touched.has(name)) return [];
  const wrong = there.note === row.note ? [] : [`Note ${there.note} for ${row.note}`];
  for (const reference of referencesOf(table)) {
    const had = row.keys.get(reference.column) ?? '';
    const [has, wanted] = [there.keys.get(reference.column), index.keyNow(reference, had)];
    const parent = index.parentOf(reference, had);
    const waits = has === '' && parent !== null && index.stateOf(parent) === 'inDoubt';
    if (has !== wanted && !waits) wrong.push(`${reference.column} ${has} for ${wanted}, which was ${had}`);
  }
  return wrong.map((difference) => ({ oracle: 'I2', what: `${what} came back as ${there.id} with ${difference}` }));
}

function judgeStayed(row: KnownRow, { setup, colleagues }: PutbackSides, index: Index): readonly Complaint[] {
  const { table, id, name } = row;
  if (colleagues.touched.has(name)) return [];
  const there = index.byId.get(nameIn(table, id));
  if (there?.note !== row.note) return [{ oracle: 'I3', what: `${table} ${id} (${name}) stayed, and was changed` }];
  return referencesOf(table).flatMap((reference) => {
    const { column } = reference;
    const held = row.keys.get(column) ?? '';
    const had = held === '' && setup.history ? (colleagues.emptied.get(`${nameIn(table, id)} ${column}`) ?? '') : held;
    const parent = index.parentOf(reference, had);
    const isBack = parent !== null && index.stateOf(parent) === 'done';
    const allowed = isBack
      ? [index.keyNow(reference, had)]
      : [held, ...(parent === null ? [] : [index.keyNow(reference, had)])];
    const has = there.keys.get(column) ?? '';
    return allowed.includes(has)
      ? []
      : [
          {
            oracle: 'I3',
            what: `${table} ${id} (${name}) stayed, and has ${column} "${has}" for "${allowed.join('" or "')}"`,
          },
        ];
  });
}

/** What the origin's log says of our requests: nothing is deleted or invented, and rows of others keep their values. */
function judgeWrites({ colleagues, setup }: PutbackSides): readonly Complaint[] {
  const names = new Set(colleagues.lost().map(({ table, name }) => nameIn(table, name)));
  const made = new Set<string>();
  return colleagues.origin.log.flatMap(({ by, kind, table, id, cells }): readonly Complaint[] => {
    if (by !== 'api') return [];
    const name = String(cells['Name']);
    if (kind === 'delete') return [{ oracle: 'I3', what: `${table} ${id} was deleted` }];
    if (kind === 'create') {
      const isTwice = made.has(nameIn(table, name));
      made.add(nameIn(table, name)).add(`made ${nameIn(table, id)}`);
      if (isTwice) return [{ oracle: 'I4', what: `${table} ${name} was created twice` }];
      return names.has(nameIn(table, name)) ? [] : [{ oracle: 'invented', what: `${table} ${name} was never lost` }];
    }
    const isOwn = made.has(`made ${nameIn(table, id)}`) || isIdentified(setup, table);
    return isOwn || (cells['Note'] === undefined && cells['Name'] === undefined)
      ? []
      : [{ oracle: 'I3', what: `${table} ${id} was written over` }];
  });
}
