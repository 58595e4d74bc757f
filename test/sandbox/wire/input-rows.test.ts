import { describe, expect, test } from 'vitest';
import type { InputRow } from '../../../src/sandbox/wire/input-rows.ts';
import { WireFault } from '../../../src/wire/fault.ts';
import { FORMATS } from '../../support/formats.ts';

const { json, xml } = FORMATS;

/** Rows with plain entries in place of maps. */
function plain(rows: readonly InputRow[] | WireFault): unknown {
  if (rows instanceof WireFault) return rows.message;
  return rows.map(({ id, cells }) => ({ id, cells: [...cells] }));
}

describe('JSON bodies', () => {
  test('a bare object is one row', () => {
    expect(plain(json.readInputRows(' {"A": "x"} '))).toEqual([{ id: null, cells: [['A', 'x']] }]);
  });

  test.each([
    ['{"@row.id":5}', 5],
    ['{"@row.id":"5"}', 5],
    ['{"@row.id":null}', null],
    ['{"@row.id":9007199254740991}', Number.MAX_SAFE_INTEGER],
  ])('%s names the row %s', (body, id) => {
    expect(plain(json.readInputRows(body))).toEqual([{ id, cells: [] }]);
  });

  test('of two equal names the last counts, and other fields of rows are ignored', () => {
    const body = '[{"A":1,"@row.allow":"Edit","A":2,"@row.type":"Grand"}]';

    expect(plain(json.readInputRows(body))).toEqual([{ id: null, cells: [['A', 2]] }]);
  });

  test('columns with the names of JavaScript are columns', () => {
    const body = '{"__proto__":1,"constructor":2,"toString":3}';

    expect(plain(json.readInputRows(body))).toEqual([
      {
        id: null,
        cells: [
          ['__proto__', 1],
          ['constructor', 2],
          ['toString', 3],
        ],
      },
    ]);
  });

  test('numbers keep every digit', () => {
    const rows = json.readInputRows('[{"A":9007199254740993,"B":0.1234567890123456789}]');
    const cells = rows instanceof WireFault ? new Map() : rows[0]?.cells;
    const read = json.inputReader('Numeric', 'UTC');

    expect(read(cells?.get('A'))).toBe(9007199254740993n);
    expect(read(cells?.get('B'))).toBe('0.1234567890123456789');
  });

  test.each([
    ['', 'The body is not complete JSON'],
    ['[{"A":"x"},]', 'The body is not complete JSON'],
    ['A=1&B=2', 'The body is not complete JSON'],
    ['[1]', 'Row 1 of the body is a number, not an object'],
    ['[{},[]]', 'Row 2 of the body is an array, not an object'],
    ['null', 'Row 1 of the body is null, not an object'],
    ['"text"', 'Row 1 of the body is a string, not an object'],
    ['[{"@row.id":1.5}]', '"@row.id" of row 1 is not an integer'],
    ['[{"@row.id":"x"}]', '"@row.id" of row 1 is not an integer'],
    ['[{"@row.id":-1}]', '"@row.id" of row 1 is not an integer'],
    ['[{"@row.id":true}]', '"@row.id" of row 1 is not an integer'],
    ['[{"@row.id":9007199254740993}]', '"@row.id" of row 1 is not an integer'],
    ['[{"@row.id":""}]', '"@row.id" of row 1 is not an integer'],
    [`{"A":${'['.repeat(9)}${']'.repeat(9)}}`, 'Row 1 of the body nests values too deeply'],
    [`{"A":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 'Row 1 of the body nests values too deeply'],
    [`${'[1e9,'.repeat(100_000)}0${']'.repeat(100_000)}`, 'Row 1 of the body is'],
  ])('%.40s is a fault', (body, message) => {
    const rows = json.readInputRows(body);

    expect(rows).toBeInstanceOf(WireFault);
    // The deepest bodies may also exhaust the parser's stack, which is a fault as well.
    const starts = [message, 'The body is not complete JSON'];
    expect(starts.some((start) => String(plain(rows)).startsWith(start))).toBe(true);
  });

  test('a fault never quotes the body', () => {
    expect(plain(json.readInputRows('{"a": secret}'))).not.toContain('secret');
  });
});

describe('XML bodies', () => {
  test('root and rows have any names, cells the names of columns', () => {
    const body =
      '<x:import xmlns:x="urn:x"><Kunde id="5" class="c"><Order_x0020_No>1</Order_x0020_No><e/></Kunde><b id=""/></x:import>';

    expect(plain(xml.readInputRows(body))).toEqual([
      {
        id: 5,
        cells: [
          ['Order No', '1'],
          ['e', null],
        ],
      },
      { id: null, cells: [] },
    ]);
  });

  // Specification, sandbox: 2.4-2
  test('an empty element and one marked nil are null, spaces are not', () => {
    const body = '<r><r><a/><b></b><c i:nil="true" xmlns:i="urn:i">x</c><d> </d></r></r>';

    expect(plain(xml.readInputRows(body))).toEqual([
      {
        id: null,
        cells: [
          ['a', null],
          ['b', null],
          ['c', null],
          ['d', ' '],
        ],
      },
    ]);
  });

  test('of two equal names the last counts', () => {
    expect(plain(xml.readInputRows('<r><r><a>1</a><a>2</a></r></r>'))).toEqual([{ id: null, cells: [['a', '2']] }]);
  });

  test.each([
    ['', 'The XML document, line 1, column 0: document must contain a root element'],
    ['<r>text</r>', 'The root element of the body holds text instead of rows'],
    ['<r><r>text</r></r>', 'Row 1 of the body holds text instead of columns'],
    ['<r><r/><r><a><b/></a></r></r>', 'Row 2 of the body has a column that holds elements'],
    ['<r><r id="x"/></r>', 'The attribute "id" of row 1 is not an integer'],
    ['<r><r id="1.0"/></r>', 'The attribute "id" of row 1 is not an integer'],
    ['<!DOCTYPE r><r/>', 'The XML document, line 1, column 16: a document type is not accepted'],
  ])('%s is a fault', (body, message) => {
    expect(plain(xml.readInputRows(body))).toBe(message);
  });
});
