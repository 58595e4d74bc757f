/**
 * Entries of the history as CloudEvents: each once, in order, in blocks that fit into memory.
 */
import { expect, test } from 'vitest';
import { readEvents, sequenceNumber } from '../../../src/extras/history/events.ts';
import { openReader } from '../../../src/replica/reader.ts';
import { HISTORY } from '../../support/history.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';
import { NOTE } from '../../support/two-way.ts';

const SOURCE = 'file:///replica.db';

function readAfter(fixture: Fixture, after: number) {
  using reader = openReader(fixture.path);
  return readEvents(reader, after, SOURCE);
}

/** A mirror whose history has a beginning and `count` entries of row 1 with a text of so many characters. */
async function startKept(count: number, length = 1): Promise<Fixture> {
  const settings = { tableOptions: () => ({ sort: null, history: HISTORY }) };
  const fixture = await startFixture({ tables: [{ ...NOTE, name: 'My Note' }] }, { settings });
  await fixture.pull();
  const seq = `(SELECT seq FROM _rowsync_columns WHERE local_name = 'Body')`;
  fixture.execute(`INSERT INTO _rowsync_history (table_id, row_id, kind, at, not_before, not_after, cause, cells)
    SELECT t.id, 1, 'update', unixepoch('2026-11-25'), NULL, unixepoch('2026-11-25'), 'pull',
      json_array(json_array(${seq}, NULL, printf('%.*c', ${length}, 'x')))
    FROM _rowsync_tables t, (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count}) SELECT i FROM n)`);
  return fixture;
}

test('an event has a type, a subject and the entry, and its number as the id', async () => {
  await using fixture = await startKept(1);
  fixture.execute(
    `INSERT INTO _rowsync_history (kind, at, cause, cells) VALUES ('restored', unixepoch('2026-11-26'), 'restore', '{"knownUntil":null}')`,
  );

  const events = readAfter(fixture, 0);

  expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3]);
  const [begin, update, restored] = events.map(({ json }) => JSON.parse(json) as Record<string, unknown>);
  expect(begin).toMatchObject({
    specversion: '1.0',
    id: '1',
    source: SOURCE,
    type: 'rowsync.history.begin',
    subject: 'My%20Note',
  });
  expect(update).toMatchObject({
    id: '2',
    type: 'rowsync.row.updated',
    subject: 'My%20Note/1',
    time: '2026-11-25T00:00:00Z',
    datacontenttype: 'application/json',
    data: { id: 2, table: 'My Note', rowId: 1, kind: 'update', before: { Body: null }, after: { Body: 'x' } },
  });
  expect(restored).toMatchObject({ type: 'rowsync.history.restored', data: { table: null, rowId: null } });
  expect(restored).not.toHaveProperty('subject');
  expect(events.every(({ json }) => !json.includes('\n'))).toBe(true);
});

test.each([
  ['many', 600, 1, 500],
  ['large', 20, 100_000, 10],
  ['larger than a block', 2, 1_200_000, 1],
])('%s events come in blocks, one behind the other', async (_what, count, length, blockMax) => {
  await using fixture = await startKept(count, length);
  const seen: number[] = [];
  const sizes: number[] = [];
  for (let block = readAfter(fixture, 1); block.length > 0; block = readAfter(fixture, seen.at(-1) ?? 0)) {
    sizes.push(block.length);
    seen.push(...block.map(({ seq }) => seq));
  }

  expect(seen).toEqual(Array.from({ length: count }, (_, index) => index + 2));
  expect(Math.max(...sizes)).toBe(blockMax);
});

test('a number of another replica is refused, and the last one has nothing behind it', async () => {
  await using fixture = await startKept(1);

  expect(readAfter(fixture, 2)).toEqual([]);
  expect(() => readAfter(fixture, 3)).toThrow('The history ends at 2, before 3');
});

test.each([
  ['0', 0],
  ['4711', 4711],
  ['9007199254740991', 9_007_199_254_740_991],
  ['9007199254740992', null],
  ['-1', null],
  ['1.5', null],
  ['', null],
  [' 1', null],
  ['1e3', null],
])('the number of an event, %j', (text, number) => {
  expect(sequenceNumber(text)).toBe(number);
});
