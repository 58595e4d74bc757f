/**
 * Answers to other requests that fit the one that was sent: something on the way says once more what it said before. A
 * new row cannot have got the id of a row that is known already.
 */
import { expect, test } from 'vitest';
import type { Origin } from '../../src/origin/client.ts';
import type { StatusDescriptor } from '../../src/wire/writes.ts';
import { atOrigin, countsOf, here, pushNow } from '../support/push.ts';
import type { Fixture } from '../support/replica.ts';
import { startTwoWay } from '../support/two-way.ts';

/** Answers the second create with what the first one was answered, and keeps it from the origin. */
function replayCreate(fixture: Fixture): void {
  const { origin } = fixture;
  const answers: (readonly StatusDescriptor[])[] = [];
  const replay =
    (write: Origin['create']): Origin['create'] =>
    async (request, options) => {
      const [first] = answers;
      const answer = first !== undefined && answers.length === 1 ? first : await write(request, options);
      answers.push(answer);
      return answer;
    };
  const create = replay((request, options) => origin.create(request, options));
  const upsert: Origin['upsert'] = (request, options) =>
    replay(() => origin.upsert(request, options))(request, options);
  fixture.origin = { ...origin, create, upsert };
}

function titles(fixture: Fixture): readonly unknown[] {
  return here(fixture, ['Title']).map((row) => (row as readonly unknown[])[1]);
}

test('a new row that nothing identifies waits for a person, and the row that was named stays as it is', async () => {
  await using fixture = await startTwoWay();
  replayCreate(fixture);
  fixture.execute(`INSERT INTO "Note" ("Title", "Count") VALUES ('first', 1)`);
  await pushNow(fixture);
  fixture.execute(`INSERT INTO "Note" ("Title", "Count") VALUES ('second', 2)`);

  expect(countsOf(await pushNow(fixture))).toEqual({ inDoubt: 1, parked: 1 });

  expect(titles(fixture)).toEqual([
    'second',
    'title 1',
    'title 2',
    'title 3',
    'title 4',
    'title 5',
    'title 6',
    'first',
  ]);
});

test('a new row with a match value is sent again', async () => {
  await using fixture = await startTwoWay({ editing: { match: 'Code' } });
  replayCreate(fixture);
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('first', 'n1')`);
  await pushNow(fixture);
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('second', 'n2')`);

  expect(countsOf(await pushNow(fixture))).toEqual({ inserted: 1 });

  expect(atOrigin(fixture, ['Title', 'Code']).slice(6)).toEqual([
    [7, 'first', 'n1'],
    [8, 'second', 'n2'],
  ]);
  expect(titles(fixture).slice(6)).toEqual(['first', 'second']);
});
