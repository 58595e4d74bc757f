/** Element names against the examples of the rule, the tables of XML 1.0 (fourth edition), and arbitrary names. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { elementFromName, elementWriter, nameFromElement } from '../../src/wire/xml-names.ts';
import { readXml } from '../../src/wire/xml-tree.ts';
import { fuzzRuns } from '../support/fuzz.ts';

// Specification, client: 2.4-47
// Specification, sandbox: 2.4-47
test.each([
  ['Name', 'Name'],
  ['Order Details', 'Order_x0020_Details'],
  ['First/Name', 'First_x002f_Name'],
  ['§ Id', '_x00a7__x0020_Id'],
  ['1st', '_x0031_st'],
  ['a1', 'a1'],
  ['-a', '_x002d_a'],
  ['a-b.c', 'a-b.c'],
  ['.', '_x002e_'],
  ['a:b', 'a_x003a_b'],
  ['Größe', 'Größe'],
  ['数量', '数量'],
  ['Ĳ', '_x0132_'], // a name character only since the fifth edition
  ['\u0301a', '_x0301_a'], // a mark at the start
  ['a\u0301', 'a\u0301'],
  ['😀', '_xd83d__xde00_'],
  ['\ud83d', '_xd83d_'],
  ['a\nb\t', 'a_x000a_b_x0009_'],
  ['"\'<>&]', '_x0022__x0027__x003c__x003e__x0026__x005d_'],
  ['xml', 'xml'],
])('%j is written as %s', (name, element) => {
  expect(elementFromName(name)).toBe(element);
  expect(nameFromElement(element)).toBe(name);
});

test.each([
  ['a:b', 'a:b'],
  [':', ':'],
  [':a 1', ':a_x0020_1'],
  ['xmlns:i', 'xmlns:i'],
  // A colon that is kept closes no escape, so that this underscore begins none.
  ['_x0041:', '_x0041:'],
  ['_x0041_:', '_x005f_x0041_:'],
])('%j is written as %s where colons are kept', (name, element) => {
  expect(elementWriter(':')(name)).toBe(element);
  expect(nameFromElement(element)).toBe(name);
  expect(readXml(`<${element} i:nil="true"/>`)).toMatchObject({ name: element });
});

test('a column without a name is a mistake of ours', () => {
  expect(() => elementFromName('')).toThrow('a column has a name');
});

test.each([
  ['_x00010000_', '\u{10000}'],
  ['_x0010ffff_', '\u{10ffff}'],
  ['_x0000ffff_', '_x0000ffff_'],
  ['_x00110000_', '_x00110000_'],
])('eight digits are one character, or none: %s', (element, name) => {
  expect(nameFromElement(element)).toBe(name);
});

// Specification, client: 2.4-48
// Specification, sandbox: 2.4-48
test.each([
  ['a_b', 'a_b'],
  ['_', '_'],
  ['__', '__'],
  ['_x', '_x'],
  ['_x0020', '_x0020'],
  ['_x002_', '_x002_'],
  ['_xyzzy_', '_xyzzy_'],
  ['_x0020_', '_x005f_x0020_'],
  ['_xabcd_', '_x005f_xabcd_'],
  ['a_x00e9_b', 'a_x005f_x00e9_b'],
  ['_x005f_', '_x005f_x005f_'],
  ['_x0041_x0041_', '_x005f_x0041_x005f_x0041_'],
  // The escape of the next character begins with the underscore that would close this one.
  ['_x0041 ', '_x005f_x0041_x0020_'],
  // .NET reads these as escapes too.
  ['_X0041_', '_x005f_X0041_'],
  ['_x0001F600_', '_x005f_x0001F600_'],
])('the underscore of %j is escaped only where it would read as an escape', (name, element) => {
  expect(elementFromName(name)).toBe(element);
  expect(nameFromElement(element)).toBe(name);
});

test('escapes in capital digits and the eight digits of .NET are read', () => {
  expect(nameFromElement('a_x002F_b')).toBe('a/b');
  expect(nameFromElement('_x0001F600_')).toBe('😀');
  expect(nameFromElement('_x00000041_')).toBe('_x00000041_');
  expect(nameFromElement('_xFFFFFFFF_')).toBe('_xFFFFFFFF_');
});

test('the classes have as many characters as the tables of the fourth edition', () => {
  // Counted with libxml2's xmlIsBaseChar, xmlIsIdeographic, xmlIsCombining, xmlIsDigit and xmlIsExtender:
  // 13,602 + 20,912 letters, 437 marks, 149 digits, 18 extenders; and `_` to begin with, `.`, `-`, `_` inside.
  let firstCount = 0;
  let innerCount = 0;
  for (let unit = 0; unit <= 0xffff; unit += 1) {
    const character = String.fromCharCode(unit);
    if (elementFromName(character) === character) firstCount += 1;
    if (elementFromName(`a${character}`) === `a${character}`) innerCount += 1;
  }

  expect(firstCount).toBe(13_602 + 20_912 + 1);
  expect(innerCount).toBe(13_602 + 20_912 + 437 + 149 + 18 + 3);
});

const TRICKY = fc.string({
  minLength: 1,
  unit: fc.constantFrom('_', 'x', 'X', '0', '4', '1', 'f', ' ', 'a', ':', '😀', '-', '\ud800'),
});

test('every name survives, and is a name to the parser', () => {
  const names = fc.oneof(
    fc.string({ minLength: 1, unit: 'binary' }),
    fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 1 }).map((units) => String.fromCharCode(...units)),
    TRICKY,
  );
  fc.assert(
    fc.property(names, fc.constantFrom(elementFromName, elementWriter(':')), (name, elementOf) => {
      const element = elementOf(name);

      expect(nameFromElement(element)).toBe(name);
      expect(readXml(`<${element}/>`)).toMatchObject({ name: element });
    }),
    fuzzRuns(2_000),
  );
});

test('an element name that we did not write decodes and encodes back to the same name', () => {
  fc.assert(
    fc.property(TRICKY, (element) => {
      const name = nameFromElement(element);

      expect(nameFromElement(elementFromName(name))).toBe(name);
    }),
    fuzzRuns(2_000),
  );
});
