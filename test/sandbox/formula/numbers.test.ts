import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { numberLiteral } from '../../../src/wire/formula.ts';
import { matches } from '../../support/formula.ts';
import { fuzzRuns } from '../../support/fuzz.ts';

/** For the longer runs that are asked for by hand. */
const LONG_MS = 600_000;

describe('arithmetic agrees with fractions of big integers', () => {
  // The oracle is independent: numerators over 10^12, one operation, compared without division.
  const scaled = fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n });
  const decimalText = (digits: bigint): string => {
    const magnitude = (digits < 0n ? -digits : digits).toString().padStart(13, '0');
    return `${digits < 0n ? '-' : ''}${magnitude.slice(0, -12)}.${magnitude.slice(-12)}`;
  };
  const literal = (digits: bigint): string => numberLiteral(decimalText(digits));

  test('sums, differences, order and remainders', { timeout: LONG_MS }, () => {
    fc.assert(
      fc.property(
        scaled,
        scaled.filter((b) => b !== 0n),
        (a, b) => {
          const [x, y] = [literal(a), literal(b)];
          const order = a < b ? '<' : a > b ? '>' : '=';

          expect(matches(`${x} ${order} ${y}`)).toBe(true);
          expect(matches(`${x} + ${y} = ${literal(a + b)}`)).toBe(true);
          expect(matches(`${x} - ${y} = ${literal(a - b)}`)).toBe(true);
          expect(matches(`Rem(${x}, ${y}) = ${literal(a % b)}`)).toBe(true);
          expect(matches(`${x} * ${y} / ${y} = ${x}`)).toBe(true);
        },
      ),
      fuzzRuns(500),
    );
  });
});
