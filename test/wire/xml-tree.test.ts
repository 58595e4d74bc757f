/** What is accepted as XML, what it means, and what an attacker can make it cost. */
import { XMLValidator } from 'fast-xml-parser';
import { describe, expect, test } from 'vitest';

import { WireFault } from '../../src/wire/fault.ts';
import { escapeText, isXmlText, readXml, XML_LIMITS, type XmlElement } from '../../src/wire/xml-tree.ts';

function read(text: string): XmlElement {
  const root = readXml(text);
  if (root instanceof WireFault) throw new Error(root.message);
  return root;
}

function faultOf(text: string): string {
  const root = readXml(text);
  return root instanceof WireFault ? root.message : 'no fault';
}

describe('documents', () => {
  test('a declaration, a byte order mark, comments and instructions are passed over', () => {
    const text = `\ufeff<?xml version='1.0' encoding="UTF-8" standalone='yes' ?>\n<!-- a --><?pi don't?><a>1<?b ?><!----></a>\n<!-- z -->`;

    expect(read(text)).toEqual({ name: 'a', attributes: [], children: [], text: '1' });
  });

  test('attributes keep the text between either kind of quotes', () => {
    const text = `<a b='"1"' c="'&lt;&#x41;>" __proto__="p" constructor = "c"/>`;

    expect(read(text).attributes.map(({ name, value }) => [name, value])).toEqual([
      ['b', '"1"'],
      ['c', "'<A>"],
      ['__proto__', 'p'],
      ['constructor', 'c'],
    ]);
  });

  test('spaces between elements are nothing, spaces in an element are its text', () => {
    expect(read('<a>\n  <b> \n </b>\r\n</a>')).toMatchObject({ text: '', children: [{ text: ' \n ' }] });
  });

  test('each element has its own attributes and text, whatever stands before it', () => {
    expect(read('<a b="1"><c> <d e="2">f<!-- g -->h</d><d/> </c><c i="">j</c></a>')).toEqual({
      name: 'a',
      attributes: [{ name: 'b', value: '1' }],
      text: '',
      children: [
        {
          name: 'c',
          attributes: [],
          text: '',
          children: [
            { name: 'd', attributes: [{ name: 'e', value: '2' }], text: 'fh', children: [] },
            { name: 'd', attributes: [], text: '', children: [] },
          ],
        },
        { name: 'c', attributes: [{ name: 'i', value: '' }], text: 'j', children: [] },
      ],
    });
  });

  test('line ends are line feeds, references to carriage returns stay', () => {
    expect(read('<a>1\r\n2\r3&#xD;&#13;\n<![CDATA[\r\n]]></a>').text).toBe('1\n2\n3\r\r\n\n');
  });

  test.each([
    ['&amp;&lt;&gt;&quot;&apos;', '&<>"\''],
    ['&#65;&#x41;&#x1f600;&#9;', 'AA😀\t'],
    ['&amp;#65;&amp;amp;', '&#65;&amp;'],
    ['<![CDATA[&amp;]]>', '&amp;'],
    ['<![CDATA[]]]]><![CDATA[>]]>', ']]>'],
    ['<![CDATA[<!DOCTYPE b>]]>', '<!DOCTYPE b>'],
  ])('%s is %j', (content, text) => {
    expect(read(`<a>${content}</a>`).text).toBe(text);
  });

  test('only what comes before the root may be a document type', () => {
    expect(read('<a><b><![CDATA[<!DOCTYPE b>]]></b><c/></a>').children[0]?.text).toBe('<!DOCTYPE b>');
  });

  test('children of the root are given away one by one, each with all of its own', () => {
    const taken: XmlElement[] = [];

    const root = readXml('<r><a>1</a><b><c/><d/></b></r>', XML_LIMITS, (child) => taken.push(child));

    expect(taken).toMatchObject([
      { name: 'a', text: '1' },
      { name: 'b', children: [{ name: 'c' }, { name: 'd' }] },
    ]);
    expect(root).toMatchObject({ name: 'r', children: [{ name: 'b' }] });
  });
});

describe('what is written', () => {
  const text = `a & b < c > d "e" 'f' ]]> g\r\n\th`;

  test('is read as the same text', () => {
    expect(read(`<a>${escapeText(text)}</a>`).text).toBe(text);
  });

  test('is only what XML can carry', () => {
    expect(['', 'a\t\n\r😀\ufffd', 'a\u0001', '\uffff', '\ud83d'].map(isXmlText)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});

describe('faults', () => {
  test.each([
    ['nothing', ''],
    ['spaces', ' \n'],
    ['a comment alone', '<!-- a -->'],
    ['text alone', 'abc'],
    ['JSON', '[{"a":1}]'],
    ['an open element', '<a>'],
    ['elements that cross', '<a><b></a></b>'],
    ['a closing tag too many', '<a/></a>'],
    ['a closing tag with an attribute', '<a></a b="1">'],
    ['an attribute without quotes', '<a b=1/>'],
    ['an attribute without value', '<a b/>'],
    ['attributes without a space between', '<a b="1"c="2"/>'],
    ['an attribute twice', '<a b="1" b="2"/>'],
    ['a name that begins with a digit', '<1a/>'],
    ['a name with a sign', '<a×/>'],
    ['no name', '< a/>'],
    ['a lone ampersand', '<a>&</a>'],
    ['a named entity', '<a>&nbsp;</a>'],
    ['an empty reference', '<a>&#;</a>'],
    ['a section that does not end', '<a><![CDATA[b</a>'],
    ['a comment that does not end', '<a/><!-- '],
    ['an instruction that does not end', '<a/><?b'],
    ['an instruction called xml', '<a><?XML b?></a>'],
    ['a declaration that is not at the start', ' <?xml version="1.0"?><a/>'],
    ['a declaration without version', '<?xml?><a/>'],
    ['another encoding', '<?xml version="1.0" encoding="utf-16"?><a/>'],
    ['an encoding that begins with UTF-8', '<?xml version="1.0" encoding="utf-8-x"?><a/>'],
    ['an encoding that ends with UTF-8', '<?xml version="1.0" encoding="x-utf-8"?><a/>'],
    ['a reference to a control character, which XML 1.1 allows', '<?xml version="1.1"?><a>&#1;</a>'],
    ['text and elements', '<a>b<c/></a>'],
    ['elements and text', '<a><c/>b</a>'],
    ['elements and a section', '<a><c>d</c><![CDATA[b]]> </a>'],
    ['text between elements', '<a><c/> b <c/></a>'],
  ])('%s', (_, text) => {
    expect(readXml(text)).toBeInstanceOf(WireFault);
  });

  test.each([
    ['two roots', '<a/><b/>'],
    ['text behind the root', '<a/>b'],
    ['a section before the root', '<![CDATA[b]]><a/>'],
    ['a document type', '<!DOCTYPE a><a/>'],
    ['a document type with an external subset', '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>'],
    ['an entity', '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'],
    ['a document type inside an element', '<a><!DOCTYPE b></a>'],
    ['a declaration inside an element', '<a><!ELEMENT b></a>'],
    ['a section in small letters', '<a><![cdata[b]]></a>'],
    ['an unknown entity', '<a>&unknown;</a>'],
    ["an entity with a name of JavaScript's", '<a>&constructor;</a>'],
    ['a reference to a null', '<a>&#0;</a>'],
    ['a reference to half a character', '<a>&#xD800;</a>'],
    ['a reference beyond Unicode', '<a>&#x110000;</a>'],
    ['a control character', '<a>\u0001</a>'],
    ['a control character in an attribute', '<a b="\u0001"/>'],
    ['a control character in a section', '<a><![CDATA[\u0001]]></a>'],
    ['a control character in a comment', '<a><!--\u0001--></a>'],
    ['a control character in an instruction', '<a><?b \u0001?></a>'],
    ['a character that is none', '<a>\uffff</a>'],
    ['half a character', '<a>\ud83d</a>'],
    ['half a character before others', '<a>\ud83dbc</a>'],
    ['"<" in an attribute', '<a b="<"/>'],
    ['"]]>" in text', '<a>]]></a>'],
    ['"--" in a comment', '<a><!-- -- --></a>'],
    ['a bad reference in an attribute', '<a b="&#0;"/>'],
  ])("%s, which the package's validator lets through", (_, text) => {
    expect(XMLValidator.validate(text)).toBe(true);
    expect(readXml(text)).toBeInstanceOf(WireFault);
  });

  test('a fault names line and column and quotes nothing', () => {
    expect(faultOf('<a>\n  <secret>top &nosuch; secret</secret></a>')).toBe(
      'The XML document, line 2, column 22: undefined entity',
    );
    expect(faultOf('<a>\n<secret></other></a>')).toBe('The XML document, line 2, column 16: unexpected close tag');
    expect(faultOf('<a>\n<secret>')).toBe('The XML document, line 2, column 8: unclosed tag');
    expect(faultOf('<a secret="" secret=""/>')).toBe('The XML document, line 1, column 24: duplicate attribute');
  });

  test('text around the root is told as such', () => {
    expect(faultOf('<a><b/></a>c<d/>')).toBe('The XML document, line 1, column 13: text data outside of root node');
  });

  test('every document that is cut is refused', () => {
    const text = `<?xml version="1.0"?><a b="1"><!-- c --><d e='2'>&amp;<![CDATA[f]]></d><?g h?><i/></a>`;

    for (let length = 0; length < text.length; length += 1)
      expect(readXml(text.slice(0, length))).toBeInstanceOf(WireFault);
    expect(readXml(text)).not.toBeInstanceOf(WireFault);
  });
});

describe('bounds', () => {
  const small = {
    charactersMax: 200,
    nodesMax: 5,
    depthMax: 3,
    referencesMax: 2,
    textCharactersMax: 195,
    tagCharactersMax: 30,
    markupCharactersMax: 200,
    pieceCharacters: 65_536,
  };

  test.each([
    ['characters', `<a>${'x'.repeat(193)}</a>`, `<a>${'x'.repeat(194)}</a>`],
    ['elements and attributes', '<a b="" c=""><d/><e/></a>', '<a b="" c=""><d/><e/><f/></a>'],
    ['levels', '<a><b><c/></b></a>', '<a><b><c><d/></c></b></a>'],
    ['references', '<a b="&lt;">&#65;</a>', '<a b="&lt;">&#65;&#65;</a>'],
    ['characters of a tag', `<${'a'.repeat(27)}/>`, `<${'a'.repeat(28)}/>`],
    ['characters of a tag with attributes', `<a b="${'c'.repeat(21)}"/>`, `<a b="${'c'.repeat(22)}"/>`],
  ])('the number of %s is bounded', (_, within, beyond) => {
    expect(readXml(within, small)).not.toBeInstanceOf(WireFault);
    expect(readXml(beyond, small)).toBeInstanceOf(WireFault);
  });

  test('the number of references is bounded also side by side', () => {
    expect(readXml(`<a>${'&#65;'.repeat(2)}</a>`, small)).not.toBeInstanceOf(WireFault);
    expect(readXml(`<a>${'&#65;'.repeat(3)}</a>`, small)).toMatchObject({
      message: 'The XML document has more than 2 references',
      status: 413,
    });
  });

  test('what only begins references is counted before it is read', () => {
    expect(readXml('<a>&&&</a>', small)).toMatchObject({ status: 413 });
  });

  test('the text of one element is bounded, whatever cuts it into pieces', () => {
    const limits = { ...small, textCharactersMax: 4 };

    expect(readXml('<a>  <b>xx<!---->xx</b>    <c>xxxx</c></a>', limits)).not.toBeInstanceOf(WireFault);
    expect(readXml('<a><b>xx<!---->xxx</b></a>', limits)).toMatchObject({ status: 413 });
    expect(readXml('<a><b>xx<?p ?>xxx</b></a>', limits)).toMatchObject({ status: 413 });
    expect(readXml('<a><b>xx<![CDATA[xxx]]></b></a>', limits)).toMatchObject({ status: 413 });
  });

  describe('of sections, comments and instructions', () => {
    const long = { charactersMax: 200_000, textCharactersMax: 200_000, tagCharactersMax: 1_000 };
    const limits = { ...small, ...long, markupCharactersMax: 100 };
    const x60 = 'x'.repeat(60);
    const x100 = 'x'.repeat(100);
    const comment = `<!--${x60}-->`;

    test.each([
      ['one of 100 characters', `<a/><!--${'x'.repeat(93)}-->`],
      ['two around the end of an element', `<a><?b ${x60}?></a>${comment}`],
      ['two around spaces', `<a/>${comment} ${comment}`],
      ['two around a section', `<a>${comment}<![CDATA[x]]>${comment}</a>`],
      ['two side by side in an element', `<a>${comment}${comment}</a>`],
      ['two instructions side by side in an element', `<a><?b ${x60}?><?b ${x60}?></a>`],
      ['one before a text that is longer than a piece of the document', `<a><!-- c -->${'x'.repeat(70_000)}</a>`],
      ['two instructions before such a text', `<a><?b ${x60}?><?b ${x60}?>${'x'.repeat(70_000)}</a>`],
      ['an instruction amid such a text', `<a>x<?b?>${'x'.repeat(70_000)}</a>`],
      ['one amid such a text', `<a>x<!---->${'x'.repeat(70_000)}</a>`],
    ])('%s are read', (_, text) => {
      expect(readXml(text, limits)).not.toBeInstanceOf(WireFault);
    });

    test.each([
      ['a comment behind the root', `<a/><!--${x100}-->`, 111],
      ['two instructions behind the root', `<a/><?b ${x60}?><?b ${x60}?>`, 136],
      ['two comments behind the root', `<a/>${comment}${comment}`, 138],
      ['spaces behind the root', `<a/>${' '.repeat(101)}`, 105],
      ['an open comment before the root', `<!--${'x'.repeat(97)}`, 101],
      ['an open comment behind a tag', `<a><!--${x100}`, 107],
      ['an open comment behind text', `<a> <!--${x100}`, 108],
      ['an open comment behind another', `<a><!----><!--${x100}`, 114],
      ['an open section', `<a><![CDATA[${x100}`, 112],
      ['an open instruction', `<a><?b ${x100}`, 107],
      ['an open instruction behind another', `<a><?b?><?b ${x100}`, 112],
    ])('more than 100 characters are refused: %s', (_, text, column) => {
      expect(readXml(text, limits)).toMatchObject({
        message: `The XML document, line 1, column ${column}: a section or a comment has more than 100 characters`,
        status: 413,
      });
    });

    test.each([
      ['text', `<a>${x100}`, 'unclosed tag'],
      ['text that begins like a comment', `<a>!--${x100}`, 'unclosed tag'],
      ['a name', `<a><${x100}`, 'unclosed tag'],
      ['comments around the begin of an element', `${comment}<a><!--${x60}`, 'unclosed tag'],
    ])('no more than 100 characters of them are in %s', (_, text, complaint) => {
      const fault = readXml(text, limits);

      expect(fault).toMatchObject({ message: expect.stringContaining(complaint) as string, status: 400 });
    });
  });

  test('a tag that does not end is refused with its place', () => {
    expect(readXml(`<a>\n<b c="${'d'.repeat(60)}`, small)).toMatchObject({
      message: 'The XML document, line 2, column 66: a tag has more than 30 characters',
    });
  });

  test.each([
    ['at the start', '<b'],
    ['behind a tag', '<a><b'],
    ['behind another element', '<a><b/><b'],
    ['behind text', '<a>c<b'],
    ['behind a section', '<a><![CDATA[c]]><b'],
    ['behind a comment', '<a><!-- c --><b'],
    ['behind an instruction', '<a><?c d?><b'],
    ['that closes an element', '<a></a'],
  ])('a tag %s is bounded before it ends', (_, begin) => {
    const limits = { ...small, tagCharactersMax: 50, pieceCharacters: 80 };
    const text = `${begin}${' '.repeat(100)}`;

    expect(readXml(text, limits)).toMatchObject({
      message: 'The XML document, line 1, column 80: a tag has more than 50 characters',
      status: 400,
    });
  });

  test.each([
    ['behind a tag', '<a>', '<b', '/></a>'],
    ['behind text', '<a> ', '<b', '/></a>'],
    ['that closes an element', '<a>c', '</a', '>'],
    ['behind a comment before the root', '<!-- cccccccccccccccccccccccccccc -->', '<a', '/>'],
  ])('a tag %s is bounded by its own characters', (_, before, begin, end) => {
    const tag = (length: number): string => `${begin}${' '.repeat(length - begin.length - end.indexOf('>') - 1)}${end}`;

    expect(readXml(before + tag(30), small)).not.toBeInstanceOf(WireFault);
    expect(readXml(before + tag(31), small)).toMatchObject({
      message: `The XML document, line 1, column ${before.length + 31}: a tag has more than 30 characters`,
    });
  });

  test.each([
    ['spaces behind an element', `<a><b></b>${' '.repeat(100)}</a>`],
    ['spaces behind an empty element', `<a><b/>${' '.repeat(100)}</a>`],
    ['a comment behind an element', `<a><b></b><!--${'-c'.repeat(50)}--></a>`],
    ['text that begins like a tag', `<a>b${'c'.repeat(100)}</a>`],
  ])('no tag is %s', (_, text) => {
    const limits = { ...small, tagCharactersMax: 50, pieceCharacters: 80 };

    expect(readXml(text, limits)).not.toBeInstanceOf(WireFault);
  });

  test('a document is the same in pieces of every length', () => {
    const text =
      '\ufeff<?xml version="1.0"?><!-- a -->\r\n<b c="d&amp;e" f=\'\'>\r\n<g>h&#65;😀i<![CDATA[]]>j]]</g> <!----><k/><?l m?>\n</b > ';
    const whole = read(text);

    for (let pieceCharacters = 1; pieceCharacters < text.length; pieceCharacters += 1) {
      expect(readXml(text, { ...XML_LIMITS, pieceCharacters })).toEqual(whole);
    }
  });

  test('a tag is bounded in every piece of the document', () => {
    const text = `<r>${'\n'.repeat(70_000)}<b c="${'d'.repeat(60)}"/></r>`;

    expect(readXml(text, XML_LIMITS)).not.toBeInstanceOf(WireFault);
    expect(readXml(text, { ...XML_LIMITS, tagCharactersMax: 30, pieceCharacters: 65_536 })).toMatchObject({
      message: 'The XML document, line 70001, column 69: a tag has more than 30 characters',
    });
  });

  test.each(['x', '\n', '😀', '\r\n', '&amp;'])(
    'a text of %j is read whole across pieces of the document',
    (written) => {
      const limits = { ...XML_LIMITS, tagCharactersMax: 20, markupCharactersMax: 100, pieceCharacters: 65_536 };
      const count = 70_000 / written.length;

      expect(readXml(`<r><b>${written.repeat(count)}</b></r>`, limits)).toMatchObject({
        children: [{ text: read(`<a>${written}</a>`).text.repeat(count) }],
      });
    },
  );

  test.each([1, 2, 3, 4, 5, 6, 7, 8, 9])('a tag may begin %d characters before the end of a piece', (before) => {
    const limits = { ...XML_LIMITS, tagCharactersMax: 20, pieceCharacters: 65_536 };
    const text = `<r>${' '.repeat(65_536 - 3 - before)}<b c="d">e</b></r>`;

    expect(readXml(text, limits)).toMatchObject({ children: [{ attributes: [{ name: 'c', value: 'd' }], text: 'e' }] });
  });

  test('what exceeds a bound is answered with 413, everything else with 400', () => {
    expect(readXml('<a></a>', { ...small, charactersMax: 6 })).toMatchObject({ status: 413 });
    expect(readXml('<a><b><c><d/></c></b></a>', small)).toMatchObject({ status: 413 });
    expect(readXml('<a>')).toMatchObject({ status: 400 });
  });
});
