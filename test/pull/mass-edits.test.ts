/**
 * What following costs behind a change of many rows, right after a first load, and beside a pull.
 */
import { expect, test } from 'vitest';
import { testClock } from '../support/clock.ts';
import { expectSame, note, startFollowed } from '../support/followed.ts';
import { pushNow } from '../support/push.ts';
import { startFixture, type Fixture } from '../support/replica.ts';
import { twoWaySettings } from '../support/two-way.ts';

/** Requests of one follow. */
async function costOf(fixture: Fixture): Promise<number> {
  fixture.sandbox.requests.clear();
  const { tables } = await fixture.pull({ follow: true });
  expect(tables).toMatchObject([{ isFollowed: true, error: null }]);
  return fixture.sandbox.requests.count({});
}

/** A mass edit of all rows within one second. */
function editAll({ sandbox }: Fixture, rowCount: number): void {
  for (let id = 1; id <= rowCount; id += 1) sandbox.store.update('Note', id, { Count: 7 });
}

test.each([40, 200])('a mass edit of %i rows costs its pages once, and two requests afterwards', async (rowCount) => {
  const { fixture, clock } = await startFollowed(rowCount);
  await using _ = fixture;
  editAll(fixture, rowCount);
  clock.advance(60_000);

  const costs = [await costOf(fixture), await costOf(fixture), await costOf(fixture)];

  const pageCount = Math.ceil(rowCount / 4); // a page of five begins with the last row of the one before
  expect(costs[0]).toBeLessThanOrEqual(pageCount + 3);
  expect(costs.slice(1)).toEqual([2, 2]);
  expectSame(fixture);
});

test('a mass edit that a pull brought costs one more request once, and two afterwards', async () => {
  const { fixture, clock } = await startFollowed(200);
  await using _ = fixture;
  editAll(fixture, 200);
  clock.advance(60_000);
  await fixture.pull();

  const costs = [await costOf(fixture), await costOf(fixture)];

  expect(costs).toEqual([3, 2]);
});

test('behind a mass edit, one changed row costs one page', async () => {
  const { fixture, clock } = await startFollowed(200);
  await using _ = fixture;
  editAll(fixture, 200);
  clock.advance(60_000);
  await costOf(fixture);
  clock.advance(60_000);
  fixture.sandbox.store.update('Note', 3, { Title: 'later' });

  const costs = [await costOf(fixture), await costOf(fixture)];

  expect(costs[0]).toBe(4); // the rows are counted, then their seconds, one page, and the description
  expectSame(fixture);
});

test('a mass edit is read once more if its second was hardly over', async () => {
  const { fixture, clock } = await startFollowed(40);
  await using _ = fixture;
  editAll(fixture, 40);
  await costOf(fixture);
  // In the same second, as far as the stamp says: it neither grows nor is there one more.
  fixture.sandbox.store.update('Note', 3, { Title: 'once more' });
  clock.advance(60_000);

  await costOf(fixture);

  expectSame(fixture);
  expect(await costOf(fixture)).toBe(2);
});

test('behind a mass edit, stamps that come late within the overlap are noticed', async () => {
  const { fixture, clock } = await startFollowed(200);
  await using _ = fixture;
  clock.advance(100_000);
  editAll(fixture, 199);
  clock.advance(60_000);
  await costOf(fixture);
  await costOf(fixture);
  clock.setBack(150_000);
  fixture.sandbox.store.update('Note', 200, { Title: 'late' });
  clock.setBack(-150_000);

  const { tables } = await fixture.pull({ follow: true });

  expect(tables).toMatchObject([{ isFollowed: true, updatedCount: 1 }]);
  expectSame(fixture);
});

test('rows are read each time if the origin does not count them by seconds', async () => {
  const { fixture, clock } = await startFollowed(40);
  await using _ = fixture;
  fixture.rewrite = (body) => (body.includes('"Id//COUNT"') ? body.replaceAll('"Date Modified":', '"Else":') : body);
  editAll(fixture, 40);
  clock.advance(60_000);
  await costOf(fixture);

  expect(await costOf(fixture)).toBeGreaterThan(10);
  expectSame(fixture);
});

test('a large push of our own costs its pages once, and two requests afterwards', async () => {
  const clock = testClock({ startMs: Date.UTC(2026, 0, 1) });
  const settings = { ...twoWaySettings(), pageRows: 5, follows: 'all' as const };
  await using fixture = await startFixture({ tables: [note(60)], clock }, { clock, settings });
  await fixture.pull();
  clock.advance(3_600_000);
  await fixture.pull();
  fixture.execute('UPDATE "Note" SET "Count" = 5');
  await pushNow(fixture, { clock });
  clock.advance(60_000);

  const costs = [await costOf(fixture), await costOf(fixture)];

  expect(costs[0]).toBeLessThan(22);
  expect(costs[1]).toBe(2);
});

test('a large table is followed right after its first load', async () => {
  const clock = testClock({ startMs: Date.UTC(2026, 0, 1) });
  await using fixture = await startFixture(
    { tables: [note(60)], clock },
    { clock, settings: { pageRows: 5, follows: 'large' as const } },
  );
  await fixture.pull();
  fixture.sandbox.store.update('Note', 7, { Title: 'later' });

  const { tables } = await fixture.pull({ follow: 'known' });

  expect(tables).toMatchObject([{ isFollowed: true, updatedCount: 1 }]);
  expectSame(fixture);
});

test('following a small table never costs more requests than a pull', async () => {
  const clock = testClock({ startMs: Date.UTC(2026, 0, 1) });
  const database = { tables: [note(3)], clock };
  const requestsOf = async (follow: boolean): Promise<readonly number[]> => {
    await using fixture = await startFixture(database, { clock, settings: { follows: 'large' as const } });
    await fixture.pull();
    const counts = [];
    for (let round = 1; round <= 3; round += 1) {
      const settings = { follows: follow ? ('all' as const) : ('large' as const) };
      counts.push((await fixture.pull({ follow, settings })).requestCount);
    }
    return counts;
  };

  const [pulls, follows] = [await requestsOf(false), await requestsOf(true)];

  expect(follows.map((count, round) => count <= (pulls[round] ?? 0))).toEqual([true, true, true]);
});

test.each([3, 60])('to be followed later costs a first load of %i rows no request', async (rowCount) => {
  const requestsOf = async (follows: 'large' | 'none'): Promise<number> => {
    await using fixture = await startFixture({ tables: [note(rowCount)] }, { settings: { pageRows: 5, follows } });
    return (await fixture.pull()).requestCount;
  };

  const [followed, swept] = [await requestsOf('large'), await requestsOf('none')];

  expect(followed).toBe(swept);
});

test('a row that changes during a first load is brought by the follow behind it', async () => {
  const clock = testClock({ startMs: Date.UTC(2026, 0, 1) });
  await using fixture = await startFixture(
    { tables: [note(60)], clock },
    { clock, settings: { pageRows: 5, concurrency: 1, follows: 'large' as const } },
  );
  clock.advance(3_600_000);
  let answerCount = 0;
  fixture.rewrite = (body) => {
    answerCount += 1;
    if (answerCount === 6) {
      fixture.sandbox.store.update('Note', 2, { Title: 'meanwhile' });
      clock.advance(3_600_000);
      fixture.sandbox.store.update('Note', 60, { Title: 'later' });
    }
    return body;
  };
  await fixture.pull();

  const { tables } = await fixture.pull({ follow: 'known' });

  expect(tables).toMatchObject([{ isFollowed: true }]);
  expectSame(fixture);
});
