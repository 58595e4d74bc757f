/**
 * Values of other types than text on their whole way: edited by SQL, merged, sent, read back in the form that the origin gives them.
 */
import { expect, test } from 'vitest';
import { atOrigin, codesOf, here, pushNow } from '../support/push.ts';
import { captured, startTwoWay } from '../support/two-way.ts';

test.each([
  ['1e19', '10000000000000000000'],
  ['-1.5e300', `-15${'0'.repeat(299)}`],
  ['1234567890123456789.0', '1234567890123456800'],
])('the number %s, edited by SQL, outlasts what a colleague writes beside it, and is pushed', async (number, digits) => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Count" = ${number} WHERE _id = 1`);
  fixture.sandbox.store.update('Note', 1, { Body: 'theirs' });

  const { tables } = await fixture.pull();
  const merged = fixture.rows('SELECT CAST("Count" AS TEXT) AS number, "Body" FROM "Note" WHERE _id = 1');
  const report = await pushNow(fixture);

  expect(tables[0]?.error).toBeNull();
  expect(merged).toEqual([{ number: digits, Body: 'theirs' }]);
  expect(codesOf(report)).toEqual([]);
  expect(String(atOrigin(fixture, ['Count']).at(0))).toBe(`1,${digits}`);
  expect(await captured(fixture)).toEqual([]);
  expect(here(fixture, ['Body']).at(0)).toEqual([1, 'theirs']);
});
