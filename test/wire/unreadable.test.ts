/** The words for a value that cannot be read: what came, and never the value. */
import { expect, test } from 'vitest';
import { unreadableRow, whyUnreadable } from '../../src/wire/unreadable.ts';

test('a row of which several values cannot be read names all of their columns', () => {
  const row = { id: 7, allow: null, values: [null, null] };

  expect(unreadableRow(row, [{ column: 'A', reason: 'so' }])).toEqual({ id: 7, column: 'A', reason: 'so', rest: row });
  expect(
    unreadableRow(row, [
      { column: 'A', reason: 'so' },
      { column: 'B', reason: 'else' },
    ]),
  ).toEqual({ id: 7, column: 'A', reason: 'so; nor can "B" be read' });
});

test.each([
  [5, 'a number'],
  ['secret', 'a string'],
  ['😀', 'a string'],
  ['', 'a string'],
  [null, 'a null'],
])('%j is told by what it is', (raw, kind) => {
  expect(whyUnreadable(raw, kind)).toBe(`${kind} that does not fit the type of the column`);
});

test.each([
  ['the first half, at the end', 'secret \uD83D', 'U+D83D) as character 8', 'maximum length'],
  ['behind other emoji, which count once', '😀😀\uD83D', 'U+D83D) as character 3', 'maximum length'],
  ['the first half, in the middle', 'a\uD83Db', 'U+D83D) as character 2', 'joined to another'],
  ['the second half, at the beginning', '\uDE00 secret', 'U+DE00) as character 1', 'joined to another'],
  ['the wrong way round', '\uDE00\uD83D', 'U+DE00) as character 1', 'joined to another'],
])('half of an emoji is told with its place: %s', (_what, raw, place, cause) => {
  const reason = whyUnreadable(raw, 'a string');

  expect(reason).toContain(place);
  expect(reason).toContain(cause);
  expect(reason).not.toContain('secret');
});
