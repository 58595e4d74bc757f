/**
 * What the XML readers and the writer decide beyond whole documents, which format.test.ts has (specification 2.4 to
 * 2.7; origin facts 1.2, 2.5).
 */
import { describe, expect, test } from 'vitest';
import type { OutgoingRow } from '../../src/wire/writes.ts';
import { WIRE_FORMATS } from '../../src/wire/format.ts';
import { carriesXmlInput, readXmlRows, writeXmlInputRows } from '../../src/wire/xml.ts';

const { xml } = WIRE_FORMATS;
const A = [{ name: 'A', type: 'Text' }] as const;
const TABLE = '<id>1</id><recordName>T</recordName>';

function rowsOf(content: string): ReturnType<typeof readXmlRows> {
  return readXmlRows(`<Response>${content}</Response>`, A, 'select');
}

function failureOf(read: () => unknown): unknown {
  try {
    read();
  } catch (error) {
    return error;
  }
  return 'nothing was thrown';
}

describe('descriptors', () => {
  test('a table may have no columns and no views', () => {
    const table = xml.readTable(`<Response>${TABLE}<columns/><views/></Response>`, 'describe');

    expect(table).toMatchObject({ columns: [], views: [] });
  });

  test('a list keeps its only item, and an object its only field', () => {
    const fields =
      '<marks><mark>a</mark></marks><plans><plan><name>b</name></plan></plans><owner><name>c</name></owner>';

    const { other } = xml.readDatabase(`<Response><id>1</id><tables/>${fields}</Response>`, 'describe');

    expect(other).toEqual({ marks: ['a'], plans: [{ name: 'b' }], owner: { name: 'c' } });
  });

  test.each([
    ['true', true],
    ['false', false],
    ['yes', false],
  ])('a switch of %s is %s', (text, read) => {
    const table = xml.readTable(
      `<Response>${TABLE}<showTab>${text}</showTab><columns/><views/></Response>`,
      'describe',
    );

    expect(table.showTab).toBe(read);
  });

  test('an error has the root <Error>, whatever else has a message', () => {
    const fields = '<status>404</status><message>m</message>';

    expect(xml.readError(`<Error>${fields}</Error>`)).toEqual({ error: 404, code: null, message: 'm', source: null });
    expect(xml.readError(`<Response>${fields}</Response>`)).toBeUndefined();
  });
});

describe('rows', () => {
  test.each([
    ['x:nil="true"', null],
    ['x:nil="1"', null],
    ['x:nil="false"', 'v'],
    ['x:lang="true"', 'v'],
    ['nil="true"', 'v'],
  ])('an element with %s holds %j', (attribute, value) => {
    expect(rowsOf(`<row id="1"><A ${attribute}>v</A></row>`).rows[0]?.values).toEqual([value]);
  });

  test('each row may have its columns in an order and a spelling of its own', () => {
    const columns = ['A b', 'B:c'].map((name) => ({ name, type: 'Text' }) as const);
    const text = `<Response><row id="1"><A_x0020_b>1</A_x0020_b><B:c>2</B:c></row>
      <row id="2"><B:c>4</B:c><A_x0020_b>3</A_x0020_b></row>
      <row id="3"><A_x00000020_b/><B_x003a_c>6</B_x003a_c><A_x0020_b>5</A_x0020_b></row>
      <row id="4"><A_x0020_b>7</A_x0020_b><B:c>8</B:c></row></Response>`;

    const values = readXmlRows(text, columns, 'select').rows.map((row) => row.values);

    expect(values).toEqual([1, 3, 5, 7].map((first) => [String(first), String(first + 1)]));
  });

  test('a row has its color', () => {
    expect(rowsOf('<row id="1" color="#FF0000"><A>v</A></row>').rows).toEqual([
      { id: 1, allow: null, color: '#FF0000', values: ['v'] },
    ]);
  });

  test('an unreadable value is told by what came instead of a value', () => {
    const columns = [...A, { name: 'N', type: 'Numeric' }] as const;
    const text =
      '<Response><row id="1"><A><b>1</b></A><N>1</N></row><row id="2"><A>1</A><N>x</N></row><row id="3"><A><b/></A><N>x</N></row></Response>';

    expect(readXmlRows(text, columns, 'select').unreadable.map(({ column, reason }) => [column, reason])).toEqual([
      ['A', 'elements instead of text'],
      ['N', 'text that does not fit the type of the column'],
      ['A', 'elements instead of text; nor can "N" be read'],
    ]);
  });

  test.each([
    ['<row id="1"><A>1</A></row><record id="2"><A>1</A></record>', 'element 2 of the answer is not a <row>'],
    ['<row type="Grand"/><row><A>1</A></row>', 'row 2 has no integer attribute "id"'],
  ])('%s is refused with the place', (content, complaint) => {
    expect(failureOf(() => rowsOf(content))).toMatchObject({
      code: 'origin.unexpected',
      message: `select: ${complaint}`,
    });
  });

  test('rows below another root are no answer', () => {
    expect(failureOf(() => readXmlRows('<Rows><row id="1"><A>1</A></row></Rows>', A, 'select'))).toMatchObject({
      code: 'origin.unexpected',
      message: 'select: the root element is not <Response>',
    });
  });

  test('an answer beyond the bounds is too large, not cut', () => {
    expect(failureOf(() => rowsOf(`<row id="1">${'<A>'.repeat(20)}${'</A>'.repeat(20)}</row>`))).toMatchObject({
      code: 'origin.tooLarge',
    });
  });
});

describe('rows that stand for others (origin facts 1.2)', () => {
  const DAYS = [
    { name: 'Day', otherName: 'Day//FD', type: 'Date' },
    { name: 'Count', type: 'Numeric' },
  ] as const;
  const OTHER = 'Day_x002f__x002f_FD';
  const NIL = 'xmlns:i="x" i:nil="true"';

  test.each([
    ['a group under its name', `<row><Day>2026-11-21</Day><Count>2</Count></row>`, null, '2026-11-21', 2],
    [
      'a group under its other name',
      `<row><${OTHER}>2026-11-21</${OTHER}><Count>2</Count></row>`,
      null,
      '2026-11-21',
      2,
    ],
    [
      'a group without a value',
      `<row><Day ${NIL}/><${OTHER}>2026-11-21</${OTHER}><Count>2</Count></row>`,
      null,
      null,
      2,
    ],
    ['all of them', `<row type="Grand"><Day>2026-11-21</Day><Count>9</Count></row>`, 'Grand', null, 9],
    ['all of them, without the group', `<row type="Grand"><Count>9</Count></row>`, 'Grand', null, 9],
  ])('are read: %s', (_what, row, type, day, count) => {
    const rollups = xml.readRollups(`<Response>${row}</Response>`, DAYS, 'totals');

    expect(rollups).toEqual([{ type, values: [day, count] }]);
  });

  test('a group of a text is null or empty as it came', () => {
    const rows = `<row><A ${NIL}/></row><row><A></A></row>`;

    expect(xml.readRollups(`<Response>${rows}</Response>`, A, 'totals').map(({ values }) => values)).toEqual([
      [null],
      [''],
    ]);
  });

  test.each([
    ['<row><Day>2026-11-21</Day><Count>1</Count></row><row><Day>2026-11-21</Day></row>', 2, 'Count'],
    ['<row><Day>2026-11-21</Day><Count>x</Count></row>', 1, 'Count'],
    ['<row><Count>1</Count></row>', 1, 'Day'],
  ])('are not %s', (content, row, column) => {
    expect(failureOf(() => xml.readRollups(`<Response>${content}</Response>`, DAYS, 'totals'))).toMatchObject({
      code: 'origin.unexpected',
      message: `totals: row ${row} has no usable "${column}"`,
    });
  });
});

describe('rows of a write', () => {
  function rowOf(...values: readonly (string | number | null)[]): OutgoingRow {
    const cells = values.map(
      (value, index) => ({ name: `c${index}`, type: typeof value === 'number' ? 'Numeric' : 'Text', value }) as const,
    );
    return { id: null, cells };
  }

  test('the characters of XML are escaped once', () => {
    expect(writeXmlInputRows([rowOf('a & <b>')], 'UTC')).toContain('<c0>a &amp; &lt;b&gt;</c0>');
  });

  test.each([
    ['a text', [rowOf('a')], true],
    ['a null and a number', [rowOf(null, 1)], true],
    ['an empty text, which would arrive as null', [rowOf('')], false],
    ['a control character', [rowOf('\u0001')], false],
    ['one value of two that it cannot say', [rowOf('a', '')], false],
    ['one row of two that it cannot say', [rowOf('a'), rowOf('')], false],
  ])('whether XML can say them: %s', (_what, rows, carries) => {
    expect(carriesXmlInput(rows)).toBe(carries);
  });

  test('a text that XML cannot carry is never sent, and its value not named', () => {
    const failure = failureOf(() => writeXmlInputRows([rowOf('secret\u0001')], 'UTC'));

    expect(failure).toMatchObject({
      code: 'origin.unsendable',
      message: 'a value of the column "c0" has characters that XML cannot carry',
    });
  });
});
