/**
 * Megabytes of JSON and XML within and beyond the real bounds: what an attacker sends ends in a fault, what the
 * specification allows is read.
 */
import { describe, expect, test } from 'vitest';
import { WireFault } from '../../src/wire/fault.ts';
import { parseBody } from '../../src/wire/json.ts';
import { readXml, XML_LIMITS, type XmlElement } from '../../src/wire/xml-tree.ts';

describe('JSON', () => {
  test.each([
    ['a page of 500 rows with 1,997 columns', JSON.stringify(Array.from({ length: 500 }, () => wideRow()))],
    ['a large text of commas, brackets and quotes', JSON.stringify([{ Code: ',[{"'.repeat(1_100_000) }])],
    ['a text that ends in backslashes', `["${'\\\\'.repeat(1_100_000)}", 1]`],
  ])('is within the budget: %s', (_, text) => {
    expect(parseBody(text, 'select')).toEqual(JSON.parse(text));
  });

  test.each([
    ['brackets', '['.repeat(31_000_000), 'deeper than 64 levels'],
    ['objects', `[${'{},'.repeat(5_000_000)}{}]`, 'more than 1200000 values'],
    ['numbers', `[${'1,'.repeat(5_000_000)}1]`, 'more than 1200000 values'],
  ])('is over the budget: millions of %s', (_, text, complaint) => {
    expect(() => parseBody(text, 'select')).toThrow(
      expect.objectContaining({
        code: 'origin.tooLarge',
        message: expect.stringContaining(complaint) as string,
      }) as Error,
    );
  });

  function wideRow(): unknown {
    return Object.fromEntries(Array.from({ length: 1_997 }, (_, index) => [`c${index}`, 1]));
  }
});

describe('XML', () => {
  function read(text: string): XmlElement {
    const root = readXml(text);
    if (root instanceof WireFault) throw new Error(root.message);
    return root;
  }

  function faultOf(text: string): string {
    const root = readXml(text);
    return root instanceof WireFault ? root.message : 'no fault';
  }

  // What a hundred bytes of memory each would be taken for.
  const many = 3_000_000;
  test.each([
    ['brackets in a section', `<a> <![CDATA[${']x'.repeat(many)}]]></a>`, 'a section or a comment has'],
    ['hyphens in a comment', `<a><!-- ${'- '.repeat(many)} --></a>`, 'a section or a comment has'],
    ['marks in an instruction', `<a><b/><?x ${'?x'.repeat(many)}?></a>`, 'a section or a comment has'],
    ['quotes in a document type', `<!DOCTYPE a [${'"" '.repeat(many)}]><a/>`, 'a section or a comment has'],
    ['comments behind the root', `<a/>${'<!---->'.repeat(many)}`, 'a section or a comment has'],
    ['line feeds in an attribute', `<a b="${'\n'.repeat(many)}"/>`, 'a tag has'],
  ])('millions of %s are too many', (_, text, complaint) => {
    expect(faultOf(text)).toContain(complaint);
  });

  test.each(['\r', '\r\n'])('millions of line ends written as %j are line feeds', (end) => {
    expect(read(`<a>${end.repeat(many)}</a>`).text).toBe('\n'.repeat(many));
  });

  test('long texts and many tags are read whole, wherever the pieces of the document end', () => {
    const tags = `<b c="${'d'.repeat(8_000)}">e</b>`.repeat(100);
    const text = `${'f\n'.repeat(1_000_000)}<![CDATA[${'g'.repeat(500_000)}]]>`;

    const { children } = read(`<a>${tags} <!-- h --> ${tags}<i>${text}</i></a>`);

    expect(children).toHaveLength(201);
    expect(children.slice(0, 200).every(({ text: inner }) => inner === 'e')).toBe(true);
    expect(children.at(-1)?.text).toBe('f\n'.repeat(1_000_000) + 'g'.repeat(500_000));
  });

  test.each([
    ['1.1 million numeric references', `<a>${'&#65;'.repeat(1_100_000)}</a>`, 'references'],
    ['a million open elements', '<a>'.repeat(1_000_000), 'nested deeper'],
    ['two million elements', `<a>${'<b/>'.repeat(2_000_000)}</a>`, 'elements and attributes'],
    ['a million attributes', `<a ${Array.from({ length: 1_000_000 }, (_, n) => `b${n}=""`).join(' ')}/>`, 'a tag has'],
    ['a million open quotes', `<a ${'b="'.repeat(1_000_000)}`, 'no whitespace between attributes'],
    ['a million open sections', `<a>${'<![CDATA['.repeat(1_000_000)}</a>`, 'a section or a comment'],
    ['a name of a megabyte', `<${'a'.repeat(1_000_000)}/>`, 'a tag has'],
    ['a megabyte of spaces in a tag', `<a${' '.repeat(1_000_000)}`, 'a tag has'],
    ['a megabyte of text without an end', `<a>${'&'.repeat(1_000_000)}`, 'unclosed tag'],
    [
      'a billion laughs',
      `<!DOCTYPE a [<!ENTITY b "${'c'.repeat(1_000)}">]><a>${'&b;'.repeat(1_000)}</a>`,
      'document type',
    ],
  ])('%s end in a fault', (_, text, complaint) => {
    expect(faultOf(text)).toContain(complaint);
  });

  test('within the bounds of the specification nothing is refused', () => {
    const columns = Array.from({ length: 60 }, (_, n) => `<Column_x0020_${n}>&lt;&#xD;\n</Column_x0020_${n}>`).join('');
    const text = `<Response>${`<row id="1">${columns}</row>`.repeat(500)}</Response>`;

    expect(text.length).toBeLessThan(XML_LIMITS.charactersMax);
    expect(read(text).children).toHaveLength(500);
  });
});
