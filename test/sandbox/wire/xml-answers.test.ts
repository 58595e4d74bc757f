/** Texts that the sandbox writes into XML. */
import { expect, test } from 'vitest';
import { escapeAttribute, xmlText } from '../../../src/sandbox/wire/xml-answers.ts';
import { WireFault } from '../../../src/wire/fault.ts';
import { attributeOf, readXml } from '../../../src/wire/xml-tree.ts';

test('an attribute is read as the same text', () => {
  const text = `a & b < c > d "e" 'f' ]]> g\r\n\th`;

  const element = readXml(`<a b="${escapeAttribute(text)}"/>`);

  expect(element instanceof WireFault ? element : attributeOf(element, 'b')).toBe(text);
});

test('a text has the replacement character for each that XML does not allow', () => {
  expect(xmlText('a\0b\ud83dc\uffffd\te😀')).toBe('a\ufffdb\ufffdc\ufffdd\te😀');
});
