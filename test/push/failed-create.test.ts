/**
 * Rows of which the origin says that it failed, with a status of 5xx beside those of other rows. It may have made a new
 * row before it failed, so that one is looked up before it goes again.
 */
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { Origin } from '../../src/origin/client.ts';
import type { StatusDescriptor } from '../../src/wire/writes.ts';
import { atOrigin, changesSent, countsOf, here, pushNow } from '../support/push.ts';
import type { Fixture } from '../support/replica.ts';
import { startTwoWay } from '../support/two-way.ts';

const MATCHED = { editing: { match: 'Code' } } as const;
const LATER = { ...systemClock, nowMs: () => systemClock.nowMs() + 61_000 };
const UNNAMED = `INSERT INTO "Note" ("Title", "Count") VALUES ('x', 9)`;
const NAMED = `INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1')`;

/**
 * The origin says of every row of the next request that creates rows that it failed, after it took them or instead of
 * that.
 */
function failNext(fixture: Fixture, isTaken: boolean): void {
  const { origin } = fixture;
  let hasFailed = false;
  const failing =
    (write: Origin['create']): Origin['create'] =>
    async (request, options) => {
      if (hasFailed) return write(request, options);
      if (isTaken) await write(request, options);
      hasFailed = true;
      const errors = [{ error: 500, code: null, message: 'something went wrong', source: null }];
      return request.rows.map((): StatusDescriptor => ({ status: 500, id: null, key: null, errors }));
    };
  const create = failing((request, options) => origin.create(request, options));
  const upsert: Origin['upsert'] = (request, options) =>
    failing(() => origin.upsert(request, options))(request, options);
  fixture.origin = { ...origin, create, upsert };
}

function failures(fixture: Fixture): readonly unknown[] {
  return fixture.rows('SELECT kind, status FROM sync_failures');
}

function titles(fixture: Fixture): readonly unknown[] {
  return atOrigin(fixture, ['Title']).filter((row) => (row as unknown[])[1] === 'x');
}

test('a new row that has a match value is found where the origin took it before it failed', async () => {
  await using fixture = await startTwoWay(MATCHED);
  fixture.execute(NAMED);
  failNext(fixture, true);

  expect(countsOf(await pushNow(fixture))).toEqual({ inserted: 1 });
  await pushNow(fixture, { clock: LATER });

  expect(titles(fixture)).toHaveLength(1);
  expect(here(fixture, ['Title']).at(-1)).toEqual([7, 'x']);
  expect(failures(fixture)).toEqual([]);
});

test('a new row that has a match value and was not taken is refused, and goes again after a while', async () => {
  await using fixture = await startTwoWay(MATCHED);
  fixture.execute(NAMED);
  failNext(fixture, false);

  expect(countsOf(await pushNow(fixture))).toEqual({ refused: 1, parked: 1 });
  expect(failures(fixture)).toEqual([{ kind: 'insert', status: 500 }]);
  expect(countsOf(await pushNow(fixture))).toEqual({ parked: 1 });
  expect(countsOf(await pushNow(fixture, { clock: LATER }))).toEqual({ inserted: 1 });

  expect(titles(fixture)).toHaveLength(1);
  expect(failures(fixture)).toEqual([]);
});

describe('a new row that has a match value and was edited on its way', () => {
  /** Pushes the row, which the origin fails to make, and edits it before that is known here. */
  async function pushAndEdit(edit: string, isTaken: boolean): Promise<Fixture> {
    const fixture = await startTwoWay(MATCHED);
    fixture.execute(NAMED);
    failNext(fixture, isTaken);
    const edits = [edit];
    const before = (step: string): void => {
      if (step === 'store') edits.splice(0).forEach((statement) => fixture.execute(statement));
    };
    await pushNow(fixture, { before });
    return fixture;
  }

  test.each([
    ['another text', `UPDATE "Note" SET "Title" = 'y' WHERE "Code" = 'n1'`, [7, 'y', 'n1']],
    ['another unique value', `UPDATE "Note" SET "Code" = 'n2' WHERE "Code" = 'n1'`, [7, 'x', 'n2']],
  ])('goes at once with %s, whether it was taken or not', async (_edit, edit, expected) => {
    for (const isTaken of [false, true]) {
      await using fixture = await pushAndEdit(edit, isTaken);

      expect(atOrigin(fixture, ['Title', 'Code']).slice(6)).toEqual([expected]);
      expect(here(fixture, ['Title', 'Code']).slice(6)).toEqual([expected]);
      expect(failures(fixture)).toEqual([]);
    }
  });

  test('is gone on both sides once it is deleted, whether it was taken or not', async () => {
    for (const isTaken of [false, true]) {
      await using fixture = await pushAndEdit(`DELETE FROM "Note" WHERE "Code" = 'n1'`, isTaken);

      expect(titles(fixture)).toEqual([]);
      expect(here(fixture, ['Title']).slice(6)).toEqual([]);
      expect(failures(fixture)).toEqual([]);
    }
  });
});

test('a new row without a match value waits for a person, whether it was taken or not', async () => {
  for (const isTaken of [false, true]) {
    await using fixture = await startTwoWay();
    fixture.execute(UNNAMED);
    failNext(fixture, isTaken);

    expect(countsOf(await pushNow(fixture))).toEqual({ inDoubt: 1, parked: 1 });
    await pushNow(fixture, { clock: LATER });

    expect(changesSent(fixture)).toEqual(isTaken ? ['create'] : []);
    expect(fixture.rows('SELECT kind, reason FROM sync_failures')).toEqual([
      { kind: 'inDoubt', reason: expect.stringMatching(/^the origin failed when it was sent, and nothing/) as string },
    ]);
  }
});
