/**
 * Random acts of colleagues and administrators on a pair of origins: rows inserted, changed and deleted, columns and
 * tables changed, rights given and taken. Takes a pair and a seeded sequence; produces one step, with its differences
 * and the words to tell it.
 */
import type { Random } from '../../../src/sandbox/data/random.ts';
import type { CellInput, Cells, ColumnSpec } from '../../../src/sandbox/store/spec.ts';
import { MODEL_TOKEN } from './origin.ts';
import type { Pair } from './pair.ts';
import { valueTypeOf, type ModelColumn, type ModelTable } from './state.ts';

/** What a step came to. */
export interface Step {
  readonly words: string;
  readonly differences: readonly string[];
  /** What came of it, in short, for counting: `upsert 200`, `upsert row 400 4100`, `act`. */
  readonly outcomes: readonly string[];
}

/** Texts that sort oddly, fold oddly, or need escapes. */
export const TEXTS = [
  'a',
  'A',
  'b',
  'été',
  'ÉTÉ',
  '_x',
  'Zz',
  '',
  ' pad ',
  '10',
  '9',
  'x"y\\z',
  "l'eau",
  '𝒳',
  '﹏',
  '日本',
];
const FREE = { role: 'Administrator', admin: ['ManageData'] };
const ZONES = ['Europe/Paris', 'UTC', 'Asia/Kolkata', 'America/St_Johns', 'Pacific/Apia'];

/** Gives rights back that were taken: without them nothing else can be seen. */
export function giveRightsBack(pair: Pair, random: Random): void {
  if (random.chance(0.2)) {
    pair.act(
      (store) => store.addToken(MODEL_TOKEN),
      (model) => model.restoreToken(),
    );
  }
  if (random.chance(0.03)) {
    pair.act(
      (store) => store.changeUser(FREE),
      (model) => model.changeUser(FREE),
    );
  }
}

/** Something that a colleague or an administrator does. */
export function act(pair: Pair, random: Random): Step {
  const table = random.pick(pair.model.tables());
  const draw = random.next();
  if (draw < 0.35) return colleagueAct(pair, table, random, 'insert');
  if (draw < 0.65) return colleagueAct(pair, table, random, 'update');
  if (draw < 0.78) return colleagueAct(pair, table, random, 'delete');
  if (draw < 0.93) return structureAct(pair, table, random);
  return rightsAct(pair, table, random);
}

function done(words: string, differences: readonly string[]): Step {
  return { words, differences, outcomes: ['act'] };
}

function colleagueAct(pair: Pair, table: ModelTable, random: Random, kind: 'insert' | 'update' | 'delete'): Step {
  const { name } = table;
  const ids = [...table.rows.keys()];
  const id = ids.length === 0 ? 1 : random.pick(ids);
  if (kind === 'delete') {
    return done(
      `delete ${name} ${id}`,
      pair.act(
        (store) => store.delete(name, id),
        (model) => model.delete(name, id),
      ),
    );
  }
  const cells = someCells(table, random);
  const words = `${kind} ${name} ${id} ${JSON.stringify(Object.keys(cells))}`;
  if (kind === 'insert')
    return done(
      words,
      pair.act(
        (store) => store.insert(name, cells),
        (model) => model.insert(name, cells),
      ),
    );
  return done(
    words,
    pair.act(
      (store) => store.update(name, id, cells),
      (model) => model.update(name, id, cells),
    ),
  );
}

function someCells(table: ModelTable, random: Random): Cells {
  const cells: Record<string, CellInput> = {};
  for (const column of table.columns) {
    const isOpen = column.kind === 'Updatable' || (column.kind === 'Key' && valueTypeOf(column) !== 'Autonumber');
    if (column.computed !== null || !isOpen || !random.chance(0.4)) continue;
    cells[column.name] = random.chance(0.15) ? null : someCell(column, random);
  }
  return cells;
}

function someCell(column: ModelColumn, random: Random): CellInput {
  switch (valueTypeOf(column)) {
    case 'Checkbox':
      return random.chance(0.5);
    case 'Numeric':
    case 'Duration':
      return random.pick<CellInput>([0, 1, -2.5, 0.1, 9_007_199_254_740_993n, '12345678901234567890.5']);
    case 'Date':
      return random.pick(['2026-03-29', '2024-02-29']);
    case 'Time':
      return random.pick(['08:30:00', '23:59:59']);
    case 'Timestamp':
      return random.pick(['2026-01-31T12:00:00Z', '2026-03-29T00:59:59Z', '2026-01-31T12:00:00.5Z']);
    case 'Multiline':
      return random.pick(['one', 'one\ntwo']);
    case 'User':
      return 'Jonas Weber <jonas.weber@example.com>';
    case 'Attachment':
      return {
        name: random.pick(['logo;1.png', 'é.txt']),
        mediaType: 'text/plain',
        bytes: Buffer.from(random.pick(['', 'abc'])),
      };
    default:
      return random.pick(TEXTS);
  }
}

function structureAct(pair: Pair, table: ModelTable, random: Random): Step {
  const { name } = table;
  const free = table.columns.filter(({ kind, computed }) => kind === 'Updatable' && computed === null);
  const column = random.pick(free.length > 0 ? free : table.columns);
  const count = random.integer(100, 99_999);
  switch (random.pick(['add', 'rename', 'change', 'change', 'drop', 'table', 'extra'])) {
    case 'add': {
      if (table.columns.length > 24) return done('nothing', []);
      const spec: ColumnSpec = { name: `New ${count}`, ...random.pick(NEW_COLUMNS) };
      return done(
        `add ${spec.name}`,
        pair.act(
          (store) => store.addColumn(name, spec),
          (model) => model.addColumn(name, spec),
        ),
      );
    }
    case 'rename': {
      const now = random.pick([`Renamed ${count}`, column.name.toUpperCase(), `ü/${count}`]);
      if (table.columns.some((other) => other !== column && other.name.toLowerCase() === now.toLowerCase()))
        return done('nothing', []);
      const words = `rename ${name}.${column.name} to ${now}`;
      return done(
        words,
        pair.act(
          (store) => store.renameColumn(name, column.name, now),
          (model) => model.renameColumn(name, column.name, now),
        ),
      );
    }
    case 'change': {
      const isFile = valueTypeOf(column) === 'Attachment';
      // As a text the cell of a file would show its guid, which each side makes up.
      const change = random.pick(CHANGES.filter(({ type }) => !isFile || type === undefined));
      const words = `change ${name}.${column.name} to ${JSON.stringify(change)}`;
      return done(
        words,
        pair.act(
          (store) => store.changeColumn(name, column.name, change),
          (model) => model.changeColumn(name, column.name, change),
        ),
      );
    }
    case 'drop':
      if (free.length < 8) return done('nothing', []);
      return done(
        `drop ${name}.${column.name}`,
        pair.act(
          (store) => store.dropColumn(name, column.name),
          (model) => model.dropColumn(name, column.name),
        ),
      );
    case 'extra':
      return extraTable(pair, `Extra ${count}`);
    default: {
      const now = `Table ${count}`;
      return done(
        `rename ${name} to ${now}`,
        pair.act(
          (store) => store.renameTable(name, now),
          (model) => model.renameTable(name, now),
        ),
      );
    }
  }
}

/** Adds a table, or drops the one that was added before. */
function extraTable(pair: Pair, name: string): Step {
  const old = pair.model.tables().find((table) => table.plural.startsWith('Extra'))?.name;
  if (old !== undefined) {
    return done(
      `drop ${old}`,
      pair.act(
        (store) => store.dropTable(old),
        (model) => model.dropTable(old),
      ),
    );
  }
  const rows = [{ Text: 'a' }, {}];
  const spec = {
    name,
    columns: [{ name: 'Text', type: 'Text' }],
    rows,
    createdFromMs: Date.UTC(2020, 1, 1),
    allowAdd: false,
  };
  return done(
    `add ${name}`,
    pair.act(
      (store) => store.addTable(spec),
      (model) => model.addTable(spec),
    ),
  );
}

const NEW_COLUMNS: readonly Omit<ColumnSpec, 'name'>[] = [
  { type: 'Text', width: 3 },
  { type: 'Text', defaultValue: 'dflt' },
  { type: 'Numeric', defaultValue: 5 },
  { type: 'Checkbox', defaultValue: false },
  { type: 'Timestamp' },
  { type: 'Multiline', options: ['Required'] },
  { type: 'Attachment' },
  { type: 'Location' },
];

const CHANGES: readonly Partial<Pick<ColumnSpec, 'type' | 'options' | 'width' | 'readOnly' | 'displayOptions'>>[] = [
  { type: 'Text' },
  { type: 'Numeric' },
  { type: 'Multiline' },
  { width: 2 },
  { readOnly: true },
  { readOnly: false },
  { options: ['Required'] },
  { options: [] },
  { displayOptions: [] },
];

function rightsAct(pair: Pair, table: ModelTable, random: Random): Step {
  const both = (words: string, change: (origin: Pick<Pair['model'], 'changeUser' | 'setRole'>) => void): Step =>
    done(
      words,
      pair.act(
        (store) => change(store),
        (model) => change(model),
      ),
    );
  switch (random.pick(['zone', 'role', 'rights', 'admin', 'token'])) {
    case 'zone':
      return both(
        'another zone',
        (
          (timezone) => (origin) =>
            origin.changeUser({ timezone })
        )(random.pick(ZONES)),
      );
    case 'role':
      return both(
        'another role',
        (
          (role) => (origin) =>
            origin.changeUser({ role })
        )(random.pick(['Administrator', 'Special', 'Administrator'])),
      );
    case 'rights': {
      const hidden = table.columns
        .filter(() => random.chance(0.15))
        .map((column) => [table.name, column.name] as const);
      const spec = {
        name: 'Special',
        canWrite: random.chance(0.7),
        editOwnOnly: random.chance(0.4),
        hiddenTables: random.chance(0.2) ? [table.name] : [],
        hiddenColumns: hidden,
      };
      return both(`rights ${JSON.stringify(spec)}`, (origin) => origin.setRole(spec));
    }
    case 'admin':
      return both(
        'other permissions',
        (
          (admin) => (origin) =>
            origin.changeUser({ admin })
        )(random.pick([[], ['ManageData']])),
      );
    default:
      return done(
        'a revoked token',
        random.chance(0.4)
          ? pair.act(
              (store) => store.revokeToken(MODEL_TOKEN),
              (model) => model.revokeToken(),
            )
          : pair.act(
              (store) => store.addToken(MODEL_TOKEN),
              (model) => model.restoreToken(),
            ),
      );
  }
}
