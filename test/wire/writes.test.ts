/** Rows of the write methods, as the client sends them and as the sandbox reads them, in both formats. */
import { describe, expect, test } from 'vitest';
import { ExactNumber } from '../../src/wire/exact-json.ts';
import { WireFault } from '../../src/wire/fault.ts';
import { readStatuses, rowIdFrom } from '../../src/wire/writes.ts';
import * as golden from '../fixtures/wire/documents.ts';
import { FORMATS } from '../support/formats.ts';

describe.each([
  ['json', golden.OUTGOING_JSON],
  ['xml', golden.OUTGOING_XML],
] as const)('in %s', (extension, body) => {
  const format = FORMATS[extension];

  test('every form of a value is written', () => {
    expect(format.writeInputRows(golden.OUTGOING, golden.ROW_ZONE)).toBe(body);
  });

  test('what is written is read as the same values', () => {
    const rows = format.readInputRows(body);
    if (rows instanceof WireFault) throw new Error(rows.message);

    const read = rows.map(({ id, cells }, index) => ({
      id,
      cells: golden.OUTGOING[index]?.cells.map(({ name, type }) => ({
        name,
        type,
        value: format.inputReader(type, golden.ROW_ZONE)(cells.get(name)),
      })),
    }));

    expect(read).toEqual(golden.OUTGOING);
  });

  test('no rows are no rows', () => {
    expect(format.readInputRows(format.writeInputRows([], 'UTC'))).toEqual([]);
  });

  test('a body that is cut anywhere is a fault', () => {
    for (let length = 0; length < body.length; length += 1) {
      expect(format.readInputRows(body.slice(0, length))).toBeInstanceOf(WireFault);
    }
  });
});

describe('statuses', () => {
  test.each([
    [{ status: 200 }, { status: 200, id: null, key: null, errors: [] }],
    [
      { status: 201, id: 1, key: 'a' },
      { status: 201, id: 1, key: 'a', errors: [] },
    ],
    [
      { status: 304, id: '7', key: 5 },
      { status: 304, id: 7, key: '5', errors: [] },
    ],
    [
      { status: 400, id: 'x' },
      { status: 400, id: null, key: null, errors: [] },
    ],
    [
      { status: 599, id: 0 },
      { status: 599, id: 0, key: null, errors: [] },
    ],
  ])('%j is read', (status, expected) => {
    expect(readStatuses([status], 1, 'upsert')).toEqual([expected]);
  });

  test.each([
    [{ status: 199 }, 'is not a status'],
    [{ status: 600 }, 'is not a status'],
    [{ status: 200, id: 0 }, 'is not the id of a row'],
    [{ status: 200, id: 'x' }, 'is not the id of a row'],
    [{ status: 399, id: 1.5 }, 'is not the id of a row'],
  ])('%j is refused, with the number of its row', (status, words) => {
    expect(() => readStatuses([{ status: 200 }, status], 2, 'upsert')).toThrow(
      expect.objectContaining({ message: expect.stringMatching(`upsert, row 2.*${words}`) as string }),
    );
  });

  test('anything else than a list is refused', () => {
    expect(() => readStatuses({ status: 200 }, 1, 'upsert')).toThrow('an array of statuses was expected');
  });

  test.each([
    [0, 0],
    ['0', 0],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
    [new ExactNumber('9007199254740993'), undefined],
    [-1, undefined],
    ['1x', undefined],
    ['x1', undefined],
    ['', undefined],
    [' 5', undefined],
    ['5 ', undefined],
    ['1e3', undefined],
    [1.5, undefined],
    [true, undefined],
  ])('%o as an id is %s', (value, id) => {
    expect(rowIdFrom(value)).toBe(id);
  });
});
