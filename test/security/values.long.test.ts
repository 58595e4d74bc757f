/**
 * Values, from the bytes of an answer to the cell of the replica, and from an edit to the row at the origin. Each
 * arrives to the last digit and byte, or is refused where someone sees it.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { fixedText } from '../../src/sandbox/formula/numbers.ts';
import { plainDecimal } from '../../src/wire/decimal.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import { startPlain, type PlainTable } from '../support/plain-origin.ts';
import { atOrigin, codesOf, pushNow } from '../support/push.ts';
import { startTwoWay } from '../support/two-way.ts';

/** Rows of one page. */
const ROW_COUNT = 500;

/** A table of one column with these cells, each the JSON text of its value. */
function tableOf(type: string, cells: readonly string[], more: Partial<PlainTable> = {}): PlainTable {
  const rows = cells.map((cell, index) => `{"@row.id":${index + 1},"V":${cell}}`);
  return { id: 1, name: 'T', columns: [{ id: 10, name: 'V', type }], rows: `[${rows.join(',')}]`, ...more };
}

/** The cells of a pulled table, and the ids of rows that were refused. */
async function pulled(
  table: PlainTable,
): Promise<{ cells: readonly unknown[]; refused: readonly unknown[]; code: string }> {
  await using plain = await startPlain([table]);
  const report = await plain.pull();
  const cells = plain.rows('SELECT V FROM "T" ORDER BY _id').map(({ V }) => V);
  const refused = plain.rows('SELECT row_id FROM sync_failures ORDER BY row_id').map(({ row_id }) => row_id);
  return { cells, refused, code: report.tables[0]?.error?.code ?? 'done' };
}

/** Decimals of 30 digits. */
const DECIMALS = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.bigInt({ min: 10n ** 29n, max: 10n ** 30n - 1n }),
    fc.integer({ min: 1, max: 29 }),
  )
  .map(([sign, digits, at]) => `${sign}${String(digits).slice(0, at)}.${String(digits).slice(at)}`);

/** A stored number as plain digits. */
function digitsOf(stored: unknown): string | undefined {
  return plainDecimal(String(stored));
}

describe('numbers arrive to the last digit', () => {
  const boundaries = Array.from({ length: 65 }, (_, bit) => 2n ** BigInt(bit)).flatMap((power) =>
    [-1n, 0n, 1n].flatMap((by) => [power + by, -(power + by)]),
  );

  test(`the ${boundaries.length} whole numbers around every power of two up to 2^64`, async () => {
    const { cells } = await pulled(tableOf('Numeric', boundaries.map(String)));

    expect(cells.map(String)).toEqual(boundaries.map(String));
    const fits = boundaries.map((number) => BigInt.asIntN(64, number) === number);
    expect(cells.map((cell) => typeof cell === 'bigint')).toEqual(fits);
  });

  test.each<[string, fc.Arbitrary<string>]>([
    ['whole numbers of 64 bits', fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String)],
    ['whole numbers of 200 bits', fc.bigInt({ min: -(2n ** 200n), max: 2n ** 200n }).map(String)],
    ['decimals of 30 digits', DECIMALS],
    [
      'doubles, as they print',
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
    ],
    [
      'numbers with an exponent',
      fc
        .tuple(fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n }), fc.integer({ min: -300, max: 300 }))
        .map(([digits, exponent]) => `${digits}e${exponent}`),
    ],
  ])('%s', async (_title, numbers) => {
    const sent = fc.sample(numbers, { ...fuzzRuns(ROW_COUNT), numRuns: ROW_COUNT });

    const { cells, refused } = await pulled(tableOf('Numeric', sent));

    expect(refused).toEqual([]);
    expect(cells.map(digitsOf)).toEqual(sent.map((text) => plainDecimal(text)));
  });

  test.each(['true', '"abc"', '{}', '[]', '"1,5"', '"0x10"', '"NaN"', '"1e99999"', '"１２"'])(
    '%s in a column of numbers is refused where it is seen',
    async (cell) => {
      const { cells, refused } = await pulled(tableOf('Numeric', ['1', cell, '3']));

      // The row of a mirror is here without that cell, and listed.
      expect(cells).toEqual([1n, null, 3n]);
      expect(refused).toEqual([2n]);
    },
  );
});

describe('texts arrive to the last byte', () => {
  const HOSTILE = [
    '',
    ' ',
    '\0',
    'a\0b',
    '\0'.repeat(1_000),
    '\u0001\u0008\u001B[2J\u007F\u009B31m',
    '\uFEFFmark',
    '\uFFFE\uFFFF',
    '\u202Eexe.txt\u202C',
    'e\u0301 é ﬃ İ ı ẞ',
    '\u{10FFFF}\u{1F600}👨‍👩‍👧‍👦',
    'line\nline\r\nline\rline\u2028line\u2029line\u0085line',
    '__proto__',
    '{"__proto__":{"polluted":true}}',
    "'; DROP TABLE T; --",
    '=HYPERLINK("http://example.org")',
    '</script><script>alert(1)</script>',
    '${process.exit()} {{7*7}} %n%s',
    '\\u0000\\',
  ];

  test('hostile ones, and what no keyboard has', async () => {
    const random = fc.sample(fc.string({ unit: 'binary', maxLength: 50 }), { ...fuzzRuns(400), numRuns: 400 });
    const sent = [...HOSTILE, ...random];

    const { cells, refused } = await pulled(
      tableOf(
        'Text',
        sent.map((text) => JSON.stringify(text)),
      ),
    );

    expect(refused).toEqual([]);
    expect(cells).toEqual(sent);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  test('half a character is refused where it is seen, and its neighbours stand', async () => {
    const halves = ['\uD800', 'a\uDC00', '\uDC00\uD800', '\uD83D', 'x\uD83Dx'];
    const sent = ['before', ...halves, 'behind'];

    const { cells, refused } = await pulled(
      tableOf(
        'Text',
        sent.map((text) => JSON.stringify(text)),
      ),
    );

    expect(cells).toEqual(['before', ...halves.map(() => null), 'behind']);
    expect(refused).toEqual([2n, 3n, 4n, 5n, 6n]);
  });

  test('7 MB plain and 8 MB compressed arrive whole', async () => {
    const long = Array.from({ length: 1_000_000 }, (_, index) =>
      `${(index * 2_654_435_761) >>> 0}`.padStart(8).slice(-8),
    ).join('');

    const plain = await pulled(tableOf('Text', [JSON.stringify(long.slice(0, 7_000_000))]));
    const compressed = await pulled(tableOf('Text', [JSON.stringify(long)], { isCompressed: true }));

    expect(long.length).toBe(8_000_000);
    expect(plain.cells[0] === long.slice(0, 7_000_000)).toBe(true);
    expect(compressed.cells[0] === long).toBe(true);
  });

  test('10 MB plain are refused where it is seen, and nothing of them stands', async () => {
    const { cells, code } = await pulled(tableOf('Text', ['"fits"', JSON.stringify('x'.repeat(10_000_000))]));

    expect(code).toBe('origin.tooLarge');
    expect(cells).toEqual([]);
  });

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', 'length', '0', 'then', 'toJSON'])(
    'of a column called %s, and no object has it from then on',
    async (name) => {
      const columns = [
        { id: 10, name, type: 'Text' },
        { id: 11, name: 'Other', type: 'Text' },
      ];
      const rows = `[{"@row.id":1,${JSON.stringify(name)}:"mine","Other":"b"}]`;
      await using plain = await startPlain([{ id: 1, name: 'T', columns, rows }]);

      await plain.pull();

      expect(plain.cells('SELECT * FROM "T"')).toEqual([
        ['_id', 1n],
        ['_allow', null],
        [name, 'mine'],
        ['Other', 'b'],
      ]);
      expect(Object.getPrototypeOf({})).toBe(Object.prototype);
    },
  );

  test('rows with fields of the prototype change nothing but themselves', async () => {
    const rows = '[{"@row.id":1,"V":"a","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}]';

    const { cells } = await pulled({ ...tableOf('Text', []), rows });

    expect(cells).toEqual(['a']);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});

describe('edits arrive at the origin to the last byte', () => {
  test('whatever SQL can write into a text', async () => {
    await using fixture = await startTwoWay({ editing: { match: 'Code' } });
    const texts = [
      'a\0b',
      '\u202Ex',
      '__proto__',
      "'; --",
      '=1+1',
      '\u001B[2J',
      '\u{1F600}',
      '\uFEFFx',
      'a\u2028b',
      '\\',
    ];
    for (const [index, text] of texts.entries()) {
      const hex = Buffer.from(text).toString('hex');
      fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES (CAST(x'${hex}' AS TEXT), 'v${index}')`);
    }

    const report = await pushNow(fixture);

    expect(codesOf(report)).toEqual([]);
    const arrived = atOrigin(fixture, ['Code', 'Title']).slice(6) as readonly (readonly unknown[])[];
    expect(fixture.rows('SELECT * FROM sync_failures')).toEqual([]);
    expect(new Map(arrived.map(([, code, title]) => [code, title]))).toEqual(
      new Map(texts.map((text, index) => [`v${index}`, text])),
    );
  });

  test('a text of 10 MB', { timeout: 120_000 }, async () => {
    await using fixture = await startTwoWay({ editing: { match: 'Code' } });
    fixture.execute(`UPDATE "Note" SET "Body" = replace(hex(zeroblob(5000000)), '00', 'é') WHERE _id = 1`);

    const report = await pushNow(fixture);

    expect(codesOf(report)).toEqual([]);
    const [[, body] = []] = atOrigin(fixture, ['Body']) as readonly (readonly unknown[])[];
    expect(body === 'é'.repeat(5_000_000)).toBe(true);
    expect(fixture.rows('SELECT * FROM sync_failures')).toEqual([]);
  });

  test('bytes that are no text are refused where it is seen, and not sent as something else', async () => {
    await using fixture = await startTwoWay({ editing: { match: 'Code' } });
    fixture.execute(`UPDATE "Note" SET "Title" = CAST(x'61FF62' AS TEXT) WHERE _id = 1`);
    fixture.execute(`UPDATE "Note" SET "Title" = CAST(x'EDA080' AS TEXT) WHERE _id = 2`);
    fixture.execute(`UPDATE "Note" SET "Title" = 'fine' WHERE _id = 3`);

    await pushNow(fixture);

    expect(atOrigin(fixture, ['Title']).slice(0, 3)).toEqual([
      [1, 'title 1'],
      [2, 'title 2'],
      [3, 'fine'],
    ]);
    expect(fixture.rows('SELECT row_id FROM sync_failures ORDER BY row_id')).toEqual([{ row_id: 1 }, { row_id: 2 }]);
  });

  test('whole numbers of 64 bits and decimals of 30 digits', async () => {
    await using fixture = await startTwoWay({ editing: { match: 'Code' } });
    const whole = [63n, 62n, 53n, 32n].flatMap((bit) =>
      [-2n, -1n, 0n, 1n].flatMap((by) => [2n ** bit + by, -(2n ** bit) - by]),
    );
    const decimals = [
      '123456789012345678901234567.890',
      '0.123456789012345678901234567890',
      '-9.99999999999999999999999999999',
      '0.000000000000000000000000000001',
      '-123456789012345.678901234567891',
      '99999999999999999999999999999.9',
      ...fc.sample(DECIMALS, { ...fuzzRuns(20), numRuns: 20 }),
    ];
    const fitting = whole.filter((number) => BigInt.asIntN(64, number) === number).map(String);
    const numbers = [...fitting, ...decimals];
    for (const [index, number] of numbers.entries()) {
      const written = index < fitting.length ? number : `'${number}'`;
      fixture.execute(`INSERT INTO "Note" ("Title", "Code", "Count") VALUES ('n', 'n${index}', ${written})`);
    }

    let sent = '';
    const onSent = (message: unknown): void => {
      sent += String((message as { readonly chunk: unknown }).chunk); // as undici says it
    };
    subscribe('undici:request:bodyChunkSent', onSent);
    const report = await pushNow(fixture);
    unsubscribe('undici:request:bodyChunkSent', onSent);

    expect(codesOf(report)).toEqual([]);
    expect(fixture.rows('SELECT * FROM sync_failures')).toEqual([]);
    expect(decimals.filter((decimal) => !sent.includes(`:${plainDecimal(decimal)}`))).toEqual([]);
    const arrived = atOrigin(fixture, ['Code', 'Count']).slice(6) as readonly (readonly unknown[])[];
    expect(fitting).toEqual(
      expect.arrayContaining(['9223372036854775807', '-9223372036854775808', '9007199254740993']),
    );
    expect(new Map(arrived.map(([, code, count]) => [code, digitsOf(count)]))).toEqual(
      // As the service does, the sandbox keeps six decimals of what is sent.
      new Map(numbers.map((number, index) => [`n${index}`, plainDecimal(fixedText(number, 6))])),
    );
  });
});
