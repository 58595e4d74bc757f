/**
 * Decisions handed to the daemon's loop are carried out between two pieces of work, or the person learns within seconds
 * that they were not.
 */
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import type { PersonDecision } from '../../../src/capture/person-decision.ts';
import type { DecisionAnswer } from '../../../src/extra.ts';
import { DecisionQueue } from '../../../src/extras/http/decision-queue.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { testClock } from '../../support/clock.ts';
import { decisionFields, PAGE_YAML, postOf, signIn, startTroubled } from '../../support/page.ts';
import { ask } from '../../support/http.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { NOTE, startTwoWay } from '../../support/two-way.ts';

const RETRY: PersonDecision = { kind: 'retry', ids: [] };

function still(): {
  readonly clock: ReturnType<typeof testClock>;
  readonly decisions: DecisionQueue;
  readonly asked: () => number;
} {
  const clock = testClock({ sleepsAdvance: false });
  let count = 0;
  const decisions = new DecisionQueue(clock, () => void (count += 1));
  return { clock, decisions, asked: () => count };
}

test('are carried out in the order in which they came', async () => {
  await using fixture = await startTwoWay();
  const { decisions, asked } = still();
  const answers = [decisions.ask(RETRY), decisions.ask({ kind: 'resolve', id: 9, take: 'local', value: null })];

  expect(await decisions.carryOut({ replica: fixture.replica, log: silentLogger })).toBe(true);

  expect(asked()).toBe(2);
  expect(await Promise.all(answers)).toEqual<DecisionAnswer[]>([
    { kind: 'done', words: '0 rows to be tried again by the next push', rowCount: 0, decided: [] },
    { kind: 'problem', words: 'there is no conflict 9' },
  ]);
  expect(await decisions.carryOut({ replica: fixture.replica, log: silentLogger })).toBe(false);
});

test('that nobody takes up in time are never carried out', async () => {
  await using fixture = await startTwoWay();
  const { clock, decisions } = still();
  const answer = decisions.ask(RETRY);
  await clock.sleeper();
  clock.advance(10_000);

  const { kind, words } = await answer;
  expect(kind).toBe('busy');
  expect(words).toContain('nothing was changed');
  expect(await decisions.carryOut({ replica: fixture.replica, log: silentLogger })).toBe(false);
});

test('that wait for another program at the file end with the patience of the person, and change nothing', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  const { clock, decisions } = still();
  const other = new Database(fixture.path);
  other.exec('BEGIN IMMEDIATE');
  const answer = decisions.ask({ kind: 'discard', table: 'Note', rowId: 1 });
  const carriedOut = decisions.carryOut({ replica: fixture.replica, log: silentLogger });
  await clock.sleeper();
  clock.advance(10_000);

  const { kind, words } = await answer;
  other.exec('COMMIT');
  other.close();

  expect(await carriedOut).toBe(false);
  expect(kind).toBe('failed');
  expect(words).toMatch(/^nothing was changed: .*database is locked/);
  expect(fixture.rows('SELECT "Title" FROM "Note" WHERE _id = 1')).toEqual([{ Title: 'mine' }]);
});

test('more than a person could make are turned away', async () => {
  const { decisions } = still();
  const waiting = Array.from({ length: 100 }, () => decisions.ask(RETRY));

  expect(await decisions.ask(RETRY)).toMatchObject({ kind: 'busy' });
  decisions.close();
  expect((await Promise.all(waiting)).every(({ kind }) => kind === 'busy')).toBe(true);
});

test('that the replica cannot take are answered with its words', async () => {
  const fixture = await startTwoWay();
  const { decisions } = still();
  const answer = decisions.ask(RETRY);
  fixture.execute('DROP TABLE _rowsync_rows');
  await decisions.carryOut({ replica: fixture.replica, log: silentLogger });

  const { kind, words } = await answer;
  expect(kind).toBe('failed');
  expect(words).toContain('nothing was changed');
  await fixture[Symbol.asyncDispose]();
});

test('wait for the work under way', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox, PAGE_YAML);
  const { port, cookie, token, seen } = await signIn(daemon);
  const order: string[] = [];
  let answered: Promise<unknown> = Promise.resolve();
  const body = { token, ...decisionFields({ seen }) };
  sandbox.before(
    1,
    async () => {
      answered = ask({ port }, '/decide', postOf(body, port, { Cookie: cookie })).then(({ status }) =>
        order.push(`${status}`),
      );
      await ask({ port }, '/livez'); // by now the form has arrived
      order.push('page');
    },
    { method: 'select' },
  );
  daemon.cycle();
  await daemon.idle();
  await answered;

  expect(order).toEqual(['page', '303']);
  const events = daemon.events().map(({ event }) => event);
  const before = events.slice(0, events.indexOf('person.decided'));
  const count = (name: string): number => before.filter((event) => event === name).length;
  expect(count('work.finished')).toBe(count('work.started'));
});
