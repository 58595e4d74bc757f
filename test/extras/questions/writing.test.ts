/**
 * `rowsync contract --write-in` at origins that answer as no other does: nothing that is not of the run is touched, and
 * no word of theirs is repeated.
 */
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, test, vi } from 'vitest';
import { must } from '../../../src/base/assert.ts';
import { CLEAN_UP_REQUESTS_MAX, noMadeRows } from '../../../src/extras/questions/clean-up.ts';
import type { ColumnFields, TableFields } from '../../../src/extras/questions/server.ts';
import { WRITE_REQUESTS_MAX } from '../../../src/extras/questions/write-run.ts';
import {
  fill,
  isFree,
  newMarker,
  openWriting,
  planWriting,
  ROWS_MAX,
  WRITING_QUESTIONS,
} from '../../../src/extras/questions/writing.ts';
import type { SeenRequest } from '../../../src/sandbox/server/requests.ts';
import { LATER, MARKER, NOTHING, startWriteWorld, TABLE } from './write-world.ts';

vi.setConfig({ testTimeout: 60_000 });

type World = Awaited<ReturnType<typeof startWriteWorld>>;
type Rows = readonly Readonly<Record<string, unknown>>[];

const LINE = /^(?:as assumed|differs {3}|not asked ) {2}/gm;
const COLLEAGUE = { 'Canary name': 'Canary of a colleague', 'Canary code': 'Canary' };

/** A world whose origin gives the answers that `answer` has; what it reads of a request it must answer. */
async function startOddWorld(
  answer: (request: SeenRequest, world: World, readRows: () => Promise<Rows>) => unknown,
): Promise<World> {
  const started: { world?: World } = {};
  started.world = await startWriteWorld(TABLE, async (request, response) => {
    if (started.world === undefined) return false;
    const incoming: IncomingMessage = response.req;
    const given: unknown = await answer(request, started.world, async () => JSON.parse(await text(incoming)) as Rows);
    if (given === undefined) return false;
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.end(typeof given === 'string' ? given : JSON.stringify(given));
    return true;
  });
  return started.world;
}

/** Makes a row of whatever is sent without an id of a row. */
function take({ sandbox }: World, row: Rows[number]): object {
  const given = row['@row.id'];
  const isThere = sandbox.store.rows('Contract Test').some(({ id }) => id === given);
  if (isThere) return { status: 200, id: given };
  const made = sandbox.store.insert('Contract Test', { 'Canary name': String(row['Canary name']), 'Canary code': 'x' });
  return { status: 201, id: made, key: String(made) };
}

test('an origin that takes whatever it is given gets as many requests and rows as were announced, and no row is left', async () => {
  let rowCount = 0;
  await using world = await startOddWorld(async ({ verb }, to, readRows) => {
    if (verb !== 'POST') return undefined;
    const statuses = (await readRows()).map((row) => take(to, row));
    rowCount += statuses.filter((status) => 'key' in status).length;
    return statuses;
  });

  const { exitCode, stdout } = await world.write();

  expect(exitCode).toBe(0);
  expect(stdout.match(LINE)).toHaveLength(WRITING_QUESTIONS.length);
  expect(stdout).toMatch(
    /differs {5}How is a match by a column that is not Unique answered\? 201; rowsync assumes: 400, code 3106 \(/,
  );
  expect(rowCount).toBe(ROWS_MAX);
  expect(await world.left()).toEqual(NOTHING);
  // Those of `left`, and of a clean-up before it.
  expect(world.sandbox.requests.all.length - 1).toBe(WRITE_REQUESTS_MAX - CLEAN_UP_REQUESTS_MAX);
});

test('a match that is taken on a column that is not Unique, with its answer lost, leaves no row', async () => {
  await using world = await startOddWorld(async ({ method, path }, to, readRows) => {
    if (method !== 'upsert' || !path.includes('match=Canary%20name')) return undefined;
    for (const row of await readRows()) take(to, row);
    return '[{"status":20';
  });

  const { exitCode, stderr } = await world.write();

  expect(exitCode).toBe(75);
  expect(stderr).toMatch(/^8 rows deleted\. A request /m);
  expect((await world.cleanUp({ clock: LATER })).exitCode).toBe(0);
  expect(await world.left()).toEqual(NOTHING);
});

test.for<readonly [answer: string, isAnswered: boolean]>([
  ['null', false],
  ['[]', false],
  ['[null]', false],
  ['"Canary"', false],
  ['{"Canary": 1}', false],
  ['<html>Canary</html>', false],
  ['[{"status":"Canary","id":"Canary","key":"Canary","errors":["Canary"]}]', false],
  ['[{"status":400,"errors":[{"code":"Canary","error":4711471147,"message":"Canary"}]}]', true],
  ['[{"status":4711,"errors":{"code":4711471147}}]', false],
  ['[{"status":201,"id":"Canary"},{"status":201,"id":-4711},{"status":201,"id":4711.5}]', false],
])('nothing of the answer %s to every write is repeated', async ([given, isAnswered]) => {
  await using world = await startOddWorld(async ({ verb }, _to, readRows) => {
    if (verb !== 'POST') return undefined;
    await readRows();
    return given;
  });

  const { exitCode, stdout, stderr } = await world.write();
  const later = await world.cleanUp({ clock: LATER });

  expect([exitCode, later.exitCode]).toEqual([isAnswered ? 0 : 75, 0]);
  expect(stdout.match(LINE)).toHaveLength(WRITING_QUESTIONS.length);
  expect(stdout).not.toMatch(/canary|4711/i);
  expect(stderr.replaceAll('column "Canary name"', '')).not.toMatch(/canary|4711/i);
  expect(await world.left()).toEqual(NOTHING);
});

test.for<readonly [status: number, body: string]>([
  [302, ''],
  [408, '<html>'],
  [408, '{"error":"timeout"}'],
  [200, '<html>'],
  [200, '[{"status":201}]'],
])('after the answer %s %s of a gateway a row may still arrive, and is deleted later', async ([status, body]) => {
  await using world = await startWriteWorld();
  world.sandbox.answerInstead(2, { status, body }, { method: 'create' });

  const { exitCode } = await world.write();
  world.sandbox.store.insert('Contract Test', { 'Canary name': MARKER, 'Canary code': 'late' });
  const later = await world.cleanUp({ clock: LATER });

  expect([exitCode, later.exitCode]).toEqual([75, 0]);
  expect(later.stderr).toBe('1 row deleted, none left\n');
  expect(await world.left()).toEqual(NOTHING);
});

test('an origin that answers a new row with 200 does not hide a row that arrives late', async () => {
  let createCount = 0;
  await using world = await startOddWorld(async ({ method }, to, readRows) => {
    if (method !== 'create') return undefined;
    const rows = await readRows();
    createCount += 1;
    if (createCount === 2) return '';
    return rows.map((row) => ({ ...take(to, row), status: 200 }));
  });

  const { exitCode } = await world.write();

  expect(exitCode).toBe(75);
  expect((await world.cleanUp({ clock: LATER })).exitCode).toBe(0);
  expect(await world.left()).toEqual(NOTHING);
});

test.for(['[{"@row.id": 1, "Canary": "Canary"}]', '{}', 'null', '[null]', '[{"@row.id":"Canary"}]'])(
  'nothing of the rows %s to every read is repeated, and it says that rows may be left',
  async (given) => {
    let count = 0;
    await using world = await startOddWorld(({ method }) => {
      if (!/^(?:select|retrieve|updated|deleted)$/.test(method)) return undefined;
      count += 1;
      return count === 1 ? [] : given;
    });

    const { exitCode, stdout, stderr } = await world.write();

    expect(stdout).not.toMatch(/canary/i);
    expect(stderr.replaceAll('column "Canary name"', '')).not.toMatch(/canary/i);
    expect([exitCode === 0, /may be left|does not show/.test(stderr)]).toEqual([false, true]);
  },
);

test('a row of a colleague that the origin names as the one that was made stays as it is, and is named to look at', async () => {
  const named: { id?: number } = {};
  await using world = await startOddWorld(async ({ method }, { sandbox }, readRows) => {
    if (method !== 'create') return undefined;
    await readRows();
    named.id ??= sandbox.store.insert('Contract Test', COLLEAGUE);
    return [{ status: 201, id: named.id, key: '1' }];
  });

  const { exitCode, stderr } = await world.write();

  expect(exitCode).toBe(3);
  expect(stderr).toContain(
    `Rows with these ids of the table "Contract Test" could not be deleted, or have no marker: ${named.id}.`,
  );
  expect(world.sandbox.store.rows('Contract Test').map(({ values }) => values)).toEqual([
    expect.objectContaining({ ...COLLEAGUE, Notes: null, Balance: null }) as object,
  ]);
});

test('a row that a colleague makes in the table meanwhile stays', async () => {
  await using world = await startOddWorld(({ method }, { sandbox }) => {
    if (method === 'select' && sandbox.store.rows('Contract Test').length === 7)
      sandbox.store.insert('Contract Test', COLLEAGUE);
    return undefined;
  });

  const { exitCode, stderr } = await world.write();

  expect(exitCode).toBe(0);
  expect(stderr).toMatch(/^7 rows deleted, none left$/m);
  expect(await world.left()).toEqual({ ...NOTHING, rows: 1 });
});

function column(id: number, name: string, type = 'Text', given: Partial<ColumnFields> = {}): ColumnFields {
  return { name, alias: `f_${id}`, type, dataOptions: '', ...given };
}

function tableOf(...columns: readonly ColumnFields[]): TableFields {
  return { recordName: 'Contract Test', alias: 't_1', key: 'Key', columns };
}

test('where columns have no kind, the key does not get the marker, which all rows share', () => {
  const [key, other] = [column(1, 'Key'), column(2, 'Name')];

  expect(planWriting(tableOf(key))).toBeNull();
  expect(planWriting(tableOf(key, other))).toEqual({ mark: other, required: [key], unfilled: [] });
});

test('the marker goes into a text that anybody may write, that is wide enough and not unique', () => {
  const unfit = [
    column(1, 'Key', 'Autonumber'),
    column(2, 'Notes', 'Multiline'),
    column(3, 'Code', 'Text', { dataOptions: 'Required, Unique' }),
    column(4, 'Short', 'Text', { width: 39 }),
    column(5, 'Total', 'Text', { kind: 'Formula' }),
    column(6, 'Closed', 'Text', { readOnly: true }),
  ];
  const fit = column(7, 'Name', 'Text', { width: 40, kind: 'Updatable' });

  expect(planWriting(tableOf(...unfit))).toBeNull();
  expect(planWriting(tableOf(...unfit, fit))?.mark).toBe(fit);
  expect([...unfit, fit].filter((each) => !isFree(each)).map(({ name }) => name)).toEqual(['Total', 'Closed']);
});

test('a required column has a value of its type, another one for each row where it is unique; what has none is named', () => {
  const required = (id: number, type: string, more = '', given: Partial<ColumnFields> = {}): ColumnFields =>
    column(id, type + more, type, { dataOptions: `Required${more}`, ...given });
  const filled = [
    required(2, 'Text', ', Unique'),
    required(3, 'Numeric'),
    required(4, 'Date'),
    required(5, 'Checkbox'),
  ];
  const unfilled = [required(6, 'User'), required(7, 'Date', ', Unique'), required(8, 'Multiline', '', { width: 10 })];
  const plan = must(
    planWriting(tableOf(column(1, 'Name'), ...filled, ...unfilled)),
    'there is a column for the marker',
  );

  expect(plan.required).toEqual([...filled, ...unfilled]);
  expect(plan.unfilled).toEqual(unfilled);
  expect(fill({ ...plan, required: filled }, MARKER, 3)).toEqual({
    'Text, Unique': `${MARKER} 3`,
    Numeric: 3,
    Date: '2024-02-29',
    Checkbox: true,
  });
});

test('a marker is that of one run', () => {
  const draws = [0, 0.5, 0.999];
  let turn = 0;

  expect(newMarker(() => draws[(turn += 1) % 3] ?? 0)).toMatch(/^rowsync contract (?:8f0){4}$/);
});

test('each row is written with the marker, and noted until its answer came; after a signal none is', async () => {
  const sent: unknown[] = [];
  let answer: { status: number; text: string } = { status: 200, text: '[{"status":201,"id":7,"key":"7"}]' };
  const table = tableOf(
    column(1, 'Key', 'Autonumber'),
    column(2, 'Name'),
    column(3, 'Code', 'Text', { dataOptions: 'Required' }),
  );
  const call = (path: string, given: { readonly body?: string } = {}) => {
    sent.push([path, given.body === undefined ? null : (JSON.parse(given.body) as unknown)]);
    const said = path.includes('retrieve') ? `[{"@row.id":7,"Name":"${MARKER}"}]` : answer.text;
    return Promise.resolve({ status: answer.status, text: said, headers: { get: () => null } });
  };
  const made = noMadeRows();
  const stopping = new AbortController();
  const plan = must(planWriting(table), 'there is a column for the marker');

  const origin = await openWriting({ table, call }, plan, {
    marker: MARKER,
    made,
    nowMs: () => 5,
    signal: stopping.signal,
  });
  await origin.write('upsert', [{ '@row.id': 7, Code: 'x' }], column(3, 'Code'));
  const answered = { ids: [...made.ids], unansweredMs: [...made.unansweredMs] };
  answer = { status: 502, text: '' };
  await origin.write('create', [{}]);
  stopping.abort();

  await expect(origin.write('create', [{}])).rejects.toMatchObject({ code: 'origin.stopped' });
  expect(origin.firstId).toBe(7);
  expect(answered).toEqual({ ids: [7], unansweredMs: [] });
  expect(made.unansweredMs).toEqual([5]);
  expect(sent).toEqual([
    ['t_1/create.json', [{ Name: MARKER, Code: `${MARKER} 1` }]],
    ['t_1/retrieve.json?id=7', null],
    ['t_1/upsert.json?match=Code', [{ '@row.id': 7, Name: MARKER, Code: 'x' }]],
    ['t_1/create.json', [{ Name: MARKER, Code: `${MARKER} 3` }]],
  ]);
});
