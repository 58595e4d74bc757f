/** The statements of the specification and the tests that name them agree. */
import { expect, test } from 'vitest';
import { proofsIn, readProofs } from './markers.ts';
import { CHAPTERS, NOT_CONCERNED, SIDES, STATEMENTS, UNTESTED } from './statements.ts';

const KNOWN = Object.keys(STATEMENTS);

test('every marker names statements that exist', () => {
  const unknown = readProofs().filter(({ statement }) => !KNOWN.includes(statement));

  expect(unknown).toEqual([]);
});

test.each(SIDES)('each statement has a test of the %s, does not concern it, or is said to have none', (side) => {
  const proven = new Set(readProofs().flatMap((proof) => (proof.side === side ? [proof.statement] : [])));
  const excused = Object.keys(NOT_CONCERNED[side]);
  const untested = KNOWN.filter((number) => !proven.has(number) && !excused.includes(number));

  // One more here lost its test; one fewer has got one, and leaves UNTESTED.
  expect(untested).toEqual(UNTESTED[side]);
  expect(excused.filter((number) => proven.has(number) || !KNOWN.includes(number))).toEqual([]);
});

test('each statement belongs to a chapter, and each chapter counts from 1', () => {
  const chapters = Map.groupBy(KNOWN, (number) => number.split('-')[0] ?? '');

  expect([...chapters.keys()]).toEqual(CHAPTERS.map(([chapter]) => chapter));
  for (const [chapter, numbers] of chapters) {
    expect(numbers).toEqual(numbers.map((_, index) => `${chapter}-${index + 1}`));
  }
});

test.each([
  ["// Specification, server: 1-1\ntest('x'", 'server is no side'],
  ['// Specification, client: 1-1\nconst x = 1;', 'no test below the marker'],
  ['// Specification, client: 1-1', 'no test below the marker'],
])('a marker that stands wrong is an error: %j', (text, message) => {
  expect(() => proofsIn(text, 'a.test.ts')).toThrow(message);
});

test('markers stand above tests, several of them and other comments in between', () => {
  const text = "  // Specification, client: 1-1, 1-2\n  // Specification, sandbox: 1-1\n  // why\n  test.each([])('x'";

  expect(proofsIn(text, 'a.test.ts')).toEqual([
    { statement: '1-1', side: 'client', file: 'a.test.ts' },
    { statement: '1-2', side: 'client', file: 'a.test.ts' },
    { statement: '1-1', side: 'sandbox', file: 'a.test.ts' },
  ]);
});
