/** How answers that differ from what rowsync assumes are told apart, without a value or a name of theirs. */
import { describe, expect, test } from 'vitest';
import { RowsyncError } from '../../../src/base/errors.ts';
import { answerOf, jsonOf, listText, QUESTIONS, tablePath } from '../../../src/extras/questions/questions.ts';
import type { ColumnFields, RawReply, Server, TableFields } from '../../../src/extras/questions/server.ts';

type Answer = Partial<Omit<RawReply, 'headers'>> & {
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
};

function column(id: number, name: string, type: string, given: Partial<ColumnFields> = {}): ColumnFields {
  return { name, alias: `f_${id}`, type, dataOptions: '', kind: 'Updatable', readOnly: false, width: 0, ...given };
}

const TABLE: TableFields = {
  recordName: 'Order Line',
  alias: 't_1',
  key: 'Id',
  columns: [
    column(1, 'Id', 'Autonumber', { kind: 'Key' }),
    column(2, 'Name', 'Text'),
    column(3, 'Changed', 'Timestamp', { kind: 'DateModified' }),
    column(4, 'Made', 'Timestamp', { kind: 'DateCreated' }),
    column(5, 'Place', 'Location'),
    column(6, 'Scan', 'Attachment'),
    column(7, 'Price', 'Numeric'),
    column(8, 'Owner', 'User', { kind: 'RecordOwner' }),
  ],
};

/** An origin that gives one answer after the other, the last one again and again, and what it was asked. */
function serverOf(answers: readonly Answer[], table: Partial<TableFields> = {}): Server & { readonly asked: string[] } {
  const asked: string[] = [];
  const left = [...answers];
  return {
    asked,
    table: { ...TABLE, ...table },
    call: (path) => {
      asked.push(decodeURIComponent(path));
      const { json, text, status = 200, headers = {} } = (left.length > 1 ? left.shift() : left[0]) ?? {};
      const body = text ?? (json === undefined ? '' : JSON.stringify(json));
      return Promise.resolve({ status, text: body, headers: { get: (name) => headers[name.toLowerCase()] ?? null } });
    },
  };
}

/** The answer to the question that begins so. */
async function answerTo(start: string, server: Server): Promise<string | null> {
  const found = QUESTIONS.filter(({ question }) => question.startsWith(start));
  const [asked] = found;
  if (asked === undefined || found.length > 1) throw new Error(`${found.length} questions begin with ${start}`);
  return await answerOf(asked, server);
}

const row = (cells: Readonly<Record<string, unknown>>): Answer => ({ json: [{ '@row.id': 1, ...cells }] });

test.each<[string, readonly Answer[], string | null]>([
  [
    'Does `key//COUNT`',
    [{ json: [{ '@row.type': 'Grand', 'Id//COUNT': 3 }, { 'Id//COUNT': '3' }] }],
    'string, Grand first',
  ],
  ['Does `key//COUNT`', [{ json: [{ 'Id//COUNT': 3 }] }], 'number, no Grand'],
  ['Under which name does a grouped', [row({ 'Id//EQ': 1 })], 'with the suffix'],
  ['Under which name does a grouped', [row({ other: 1 })], 'neither'],
  ['Under which name does a grouped', [{ json: [] }], null],
  ['Under which name does a column', [row({ f_1: 1 })], 'the alias'],
  ['How are the actions', [row({ '@row.allow': 'Edit,Delete' })], 'comma'],
  ['How are the actions', [row({ '@row.allow': 'Edit' })], null],
  ['To which names', [{ status: 404 }, { json: [] }], 'List All'],
  ['To which names', [{ status: 404 }], 'none'],
  ['Which row properties', [row({ '@row.allow': '', '@row.color': '#f00', 'A name': 1, '@row.b4': 1 })], '@row.color'],
  ['In which order', [{ json: [{ '@row.id': 2 }, { '@row.id': 1 }] }], 'another order'],
  ['In which order', [row({})], null],
  ['What does a skip', [row({})], '1 rows'],
  ['Does `column=*`', [row({ Id: 1 })], 'no'],
  ['Does Retrieve leave out', [{ status: 404, text: '[]' }], 'no (404)'],
  ['May top be more', [{ json: [] }], 'yes'],
  ['Which comments', [{ json: [] }, { status: 400 }, { json: [] }], '/* note */, -- note'],
  ['Does `not ([X] =', [row({}), { json: [] }], 'no'],
  ['Does `not ([X] =', [{ json: [] }], null],
  ['Does a filter find a user', [row({ Owner: 'Ada <ada@example.com>' }), { json: [] }], 'no row'],
  ['Does a filter find a user', [row({ Owner: 'Ada' })], null],
  ['Are timestamps in a filter', [row({ Changed: '2026-01-01T12:00:00-05:00' }), { json: [] }], 'no'],
  ['Are timestamps in a filter', [row({ Changed: '2026-01-01T12:00:00+00:00' })], null],
  ['Do timestamps come', [row({ Changed: '2026-01-01T12:00:00.5Z' })], 'yes'],
  ['How many decimals', [{ json: [{ Price: 1.12345678 }, { Price: 2 }] }], 'more than six'],
  ['How many decimals', [row({ Price: 2 })], null],
  ['With which status and code is an unknown table', [{ status: 500, text: '<html>' }], '500, code none'],
  ['Does it have rows', [row({ Made: '2026-01-01T12:00:00Z' }), { json: [{ '@row.id': 2 }] }], 'no'],
  ['Does it have rows', [{ json: [] }], null],
  ['Do its stamps', [row({ Made: '2026-01-01T12:00:00Z' }), row({ modified: '2026-01-01T12:00:00Z' })], 'no'],
  ['Does the value of an attachment', [row({ Scan: 'a.txt;1' })], 'no'],
  ['Are ETags', [{ json: [], headers: { etag: 'W/"1"' } }], 'weak'],
  ['Are ETags', [{ json: [] }], 'none'],
  ['How is a page answered', [{ headers: { etag: '"1"' } }, { status: 304, text: 'x' }], '304 with a body'],
  ['How is a page answered', [{ json: [] }], null],
])('%s … answered with %j: %s', async (question, answers, expected) => {
  expect(await answerTo(question, serverOf(answers))).toBe(expected);
});

test.each(QUESTIONS.map(({ question, ask }) => [question, ask] as const))(
  'a refusal is an answer, and its words are not: %s',
  async (question, ask) => {
    const refused = serverOf([{ status: 418, text: '{"code": 77, "message": "Canary"}' }]);

    const answer = await answerOf({ question, ask, assumed: '' }, refused);

    expect(String(answer)).not.toMatch(/canary/i);
    const isAsked = refused.asked.length > 0;
    expect(!isAsked || answer === null || /418|no|none|refused/.test(answer)).toBe(true);
  },
);

test('a value of an unknown type is shown by its shape, at most 40 characters of it', async () => {
  const shape = (value: unknown) => answerTo('How does a value of such', serverOf([row({ Place: value })]));

  expect(await shape('Ghent 51.05,-3.72 Ünïcode')).toBe('string: a_9.9,-9.9_a');
  expect(await shape({ lat: 51.05 })).toBe('object: {"a":9.9}');
  expect(await shape('a1'.repeat(50))).toHaveLength('string: '.length + 40);
  expect(await answerTo('How does a value of such', serverOf([{ json: [] }]))).toBeNull();
});

test('an unknown type is named only if its name looks like one of the vendor', async () => {
  const described = (...types: readonly string[]): Answer => ({ json: { columns: types.map((type) => ({ type })) } });
  const tables = { json: { tables: [{ alias: 't 1' }, { alias: 't_2' }] } };
  const server = serverOf([
    tables,
    described('Text', 'Location'),
    described('Location', 'Multi-Reference', 'x\ny', '<b>'),
  ]);

  expect(await answerTo('Which column types', server)).toBe('Location, Multi-Reference');
  expect(server.asked).toEqual(['describe.json', 't 1/describe.json', 't_2/describe.json']);
});

describe('a table that has no column for a question', () => {
  const bare = { columns: [column(1, 'Id', 'Autonumber', { kind: undefined, readOnly: undefined, width: undefined })] };

  test('is not asked it', async () => {
    const starts = [
      'How does a value of such',
      'Does `column=*`',
      'Are timestamps',
      'May a timestamp',
      'How many decimals',
      'Does the value of',
    ];
    const server = serverOf([{ json: [] }], bare);

    expect(await Promise.all(starts.map((start) => answerTo(start, server)))).toEqual(starts.map(() => null));
    expect(server.asked).toEqual([]);
  });

  test('says what its description lacks', async () => {
    expect(await answerTo('Do columns say', serverOf([], bare))).toBe('no kind, no readOnly');
    expect(await answerTo('Which columns have', serverOf([], bare))).toBe('texts');
    expect(
      await answerTo(
        'Which columns have',
        serverOf([], { columns: [column(1, 'A', 'Date'), column(2, 'B', 'Text', { width: undefined })] }),
      ),
    ).toBe('some');
  });
});

test('a cut connection answers only the question about the long query string; other failures are no answer', async () => {
  const cutBy = (code: 'origin.unreachable' | 'origin.timeout'): Server => ({
    ...serverOf([]),
    call: () => Promise.reject(new RowsyncError('originDown', code, { message: 'cut', hint: '' })),
  });

  expect(await answerTo('With which status is a query string', cutBy('origin.unreachable'))).toBe('no answer');
  await expect(answerTo('With which status is a query string', cutBy('origin.timeout'))).rejects.toThrow('cut');
  await expect(answerTo('Are ETags', cutBy('origin.unreachable'))).rejects.toThrow('cut');
});

test('an answer of another form is thrown, not answered', async () => {
  await expect(answerTo('In which order', serverOf([{ text: '<html>' }]))).rejects.toThrow(SyntaxError);
  await expect(jsonOf(serverOf([{ status: 404, text: '{}' }]), 'x')).rejects.toMatchObject({
    code: 'origin.refused',
    message: 'refused (404)',
  });
  expect(await jsonOf(serverOf([{ json: { a: 1 } }]), 'x')).toEqual({ a: 1 });
});

test('names of ours in one line, and the path of a table', () => {
  expect([listText([]), listText(['a', 'b'])]).toEqual(['none', 'a, b']);
  expect(tablePath({ table: { ...TABLE, alias: 'a b' } })).toBe('a%20b');
});
