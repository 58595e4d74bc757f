/** Tables at a moment: whatever happened since, each is what it was then, cell by cell. */
import { expect, test } from 'vitest';
import { reverseEntry, showTableAt } from '../../../src/extras/history/past-tables.ts';
import { openReader } from '../../../src/replica/reader.ts';
import {
  HISTORY,
  journalled,
  momentOf,
  tableState,
  type Moment,
  type Reader,
  type State,
} from '../../support/history.ts';
import { pushNow } from '../../support/push.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';
import { seeds } from '../../support/seeds.ts';
import { capture, NOTE, twoWaySettings } from '../../support/two-way.ts';

const MIRROR = { tableOptions: () => ({ sort: null, history: HISTORY }), maxDeletePercent: 100 };
const TWO_WAY = {
  tableOptions: () => ({ ...twoWaySettings({ match: 'Code' }).tableOptions(''), sort: null, history: HISTORY }),
  maxDeletePercent: 100,
};

/** A table as it was behind an entry, as a reader shows it. */
function shownAt(fixture: Fixture, seq: number): State {
  const reader = openReader(fixture.path);
  try {
    const db = reader as unknown as Reader; // statements with the same methods
    const [table] = journalled(db);
    if (table === undefined) throw new Error('there is no journal');
    showTableAt(reader, { id: table.tableId, table: table.localName }, seq);
    return tableState(db, table.tableId, table.localName);
  } finally {
    reader.close();
  }
}

function stateOf({ states }: Moment): State | undefined {
  return [...states.values()][0];
}

/** Numbers from a seed (a linear congruential generator). */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const VALUES = [`'one'`, `'1'`, `'caf\u00E9'`, 'NULL', `''`, `CAST(x'ff41' AS TEXT)`, `'{"blob":"00"}'`];
const NUMBERS = ['1', '1.5', '9007199254740993', 'NULL', '-0.0', '1e300'];

/** One thing that happens, at the origin or here. */
function happen(fixture: Fixture, pick: (below: number) => number, step: number): void {
  const { store } = fixture.sandbox;
  const ids = store.ids('Note');
  const id = ids[pick(ids.length)] ?? 1;
  const act = pick(6);
  if (act === 0) store.insert('Note', { Title: `new ${step}`, Code: `n${step}` });
  else if (act === 1) store.update('Note', id, { Title: `title ${step}`, Count: step / 4 });
  else if (act === 2 && ids.length > 2) store.delete('Note', id);
  else if (act === 3) fixture.execute(`UPDATE "Note" SET "Body" = ${VALUES[pick(VALUES.length)]} WHERE _id = ${id}`);
  else if (act === 4) fixture.execute(`UPDATE "Note" SET "Count" = ${NUMBERS[pick(NUMBERS.length)]} WHERE _id = ${id}`);
  else fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('mine ${step}', 'm${step}')`);
}

test.each(seeds(12))('a table at any entry is what it was then (seed %i)', async (seed) => {
  const pick = randomFrom(seed);
  await using fixture = await startFixture({ tables: [NOTE] }, { settings: TWO_WAY });
  await fixture.pull();
  const moments: Moment[] = [momentOf(fixture.path)];

  for (let step = 0; step < 12; step += 1) {
    happen(fixture, pick, step);
    const next = pick(4);
    if (next === 0) await fixture.pull({ confirm: true });
    else if (next === 1) await pushNow(fixture, { confirm: true });
    else if (next === 2) await capture(fixture);
    moments.push(momentOf(fixture.path));
  }

  for (const moment of moments) expect(shownAt(fixture, moment.seq)).toEqual(stateOf(moment));
});

test('a mirror at any entry is what it was then', async () => {
  await using fixture = await startFixture({ tables: [NOTE] }, { settings: MIRROR });
  const { store } = fixture.sandbox;
  await fixture.pull();
  const moments: Moment[] = [momentOf(fixture.path)];
  const steps = [
    () => store.update('Note', 1, { Title: 'one', Body: 'b' }),
    () => store.delete('Note', 2),
    () => store.insert('Note', { Title: 'seven', Code: 'c7' }),
    () => store.update('Note', 1, { Title: 'title 1', Body: null }),
    () => store.renameColumn('Note', 'Title', 'Heading'),
    () => store.update('Note', 3, { Heading: 'three' }),
  ];
  for (const step of steps) {
    step();
    await fixture.pull({ confirm: true });
    moments.push(momentOf(fixture.path));
  }

  for (const moment of moments) expect(shownAt(fixture, moment.seq)).toEqual(stateOf(moment));
});

test.each([
  { kind: 'insert', after: ['a', 'b'], cells: [{ index: 0, before: null }], before: null },
  { kind: 'update', after: ['a', 'b'], cells: [{ index: 1, before: 2n }], before: ['a', 2n] },
  { kind: 'delete', after: null, cells: [{ index: 1, before: 'was' }], before: [null, 'was'] },
  { kind: 'forgotten', after: ['a', 'b'], cells: [{ index: 0, before: null }], before: [null, 'b'] },
  { kind: 'forgotten', after: null, cells: [{ index: 0, before: null }], before: null },
] as const)('$kind of $after, taken back, leaves $before', ({ kind, after, cells, before }) => {
  expect(reverseEntry(after, { kind, cells }, 2)).toEqual(before);
});
