/** What is made once: for an object, or for a key. */
import { expect, test } from 'vitest';
import { onceFor, oncePerKey } from '../../src/base/memoize.ts';

test('for an object it is made once, and for its equal once more', () => {
  const made: object[] = [];
  const nameOf = onceFor((of: { readonly name: string }) => {
    made.push(of);
    return of.name.toUpperCase();
  });
  const [one, other] = [{ name: 'a' }, { name: 'a' }];

  expect([nameOf(one), nameOf(one), nameOf(other), nameOf(one)]).toEqual(['A', 'A', 'A', 'A']);
  expect(made).toEqual([one, other]);
});

test.each([undefined, null, 0, ''])('for a key it is made once, also where it is %j', (result) => {
  const made: string[] = [];
  const resultOf = oncePerKey((key: string) => {
    made.push(key);
    return result;
  });

  expect([resultOf('a'), resultOf('b'), resultOf('a')]).toEqual([result, result, result]);
  expect(made).toEqual(['a', 'b']);
});

test('what could not be made is tried again', () => {
  let isThere = false;
  const read = oncePerKey((key: string) => {
    if (!isThere) throw new Error('not yet');
    return key;
  });

  expect(() => read('a')).toThrow('not yet');
  isThere = true;
  expect(read('a')).toBe('a');
});
