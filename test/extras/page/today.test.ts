/**
 * The first page after signing in, read from a replica: what changed in the last day and by whom, and how fresh each
 * table is.
 */
import { describe, expect, test } from 'vitest';
import type { PageRequest } from '../../../src/extras/page/request.ts';
import { ensureSinks } from '../../../src/extras/shared/sinks.ts';
import { RESTING_STATE } from '../../support/daemon-state.ts';
import { testClock, type TestClock } from '../../support/clock.ts';
import { formsOf, pageOf, readText, requestOf } from '../../support/page-request.ts';
import { pushNow } from '../../support/push.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';
import { capture, NOTE, twoWaySettings } from '../../support/two-way.ts';

const HOUR_MS = 3_600_000;
/** A table whose rows were made a month before the clock of a test. */
const OLD = { ...NOTE, createdFromMs: Date.UTC(2026, 3, 1) };
const UNSTAMPED = { name: 'Plain', columns: [{ name: 'A', type: 'Text' }], rows: [{ A: 'x' }], systemColumns: false };

type Day = Fixture & {
  readonly clock: TestClock;
  /** The first page now. */
  readonly page: (changes?: Partial<PageRequest>) => string;
};

/** A pulled replica, at noon of a day in May. */
async function startDay(
  options: Parameters<typeof startFixture>[0] = { tables: [OLD] },
  extra: Parameters<typeof startFixture>[1] = {},
): Promise<Day> {
  const clock = testClock({ startMs: Date.UTC(2026, 4, 1, 12, 30) });
  const fixture = await startFixture({ ...options, clock }, { clock, ...extra });
  await fixture.pull();
  const page = (changes: Partial<PageRequest> = {}): string => {
    const request = requestOf(fixture.path, '/');
    const nowMs = clock.nowMs();
    const around = request.around === null ? null : { ...request.around, nowMs };
    return pageOf({ ...request, nowMs, around, ...changes }).body;
  };
  return Object.assign(fixture, { clock, page });
}

const HISTORY = { keepDays: 400, bytesMax: 1_000_000 };
const KEPT = { settings: { tableOptions: () => ({ sort: null, history: HISTORY }) } };
const EDITED_AND_KEPT = {
  settings: { tableOptions: () => ({ sort: null, ...twoWaySettings().tableOptions('Note'), history: HISTORY }) },
};

/** The lines about the last day: table, changes, and by whom. */
function dayOf(body: string): readonly (readonly string[])[] {
  const part = /<table class="tables day">.*?<\/table>/.exec(body)?.[0] ?? '';
  return part
    .split('<tr>')
    .slice(2)
    .map((line) =>
      [/<th scope="row">.*?<\/th>/, /data-label="(?:Rows|Changes)">.*?<\/td>/, /data-label="By whom">.*?<\/td>/].map(
        (cell) =>
          readText((cell.exec(line)?.[0] ?? '').replace(/^data-label="[^"]*">/, ''))
            .replaceAll(/\s+/g, ' ')
            .trim(),
      ),
    );
}

/** The bars of the first table: how many changes each hour has, the oldest first, without empty hours. */
function barsOf(body: string): readonly string[] {
  const spark = /<svg class="spark".*?<\/svg>/.exec(body)?.[0] ?? '';
  return [...spark.matchAll(/<title>(.*?)<\/title>/g)].flatMap(([, title = '']) =>
    title.startsWith('0,') ? [] : [title],
  );
}

describe('the last day', () => {
  test('without a history is what the origin stamped, by table, hour and person', async () => {
    await using day = await startDay({ tables: [OLD, { ...OLD, name: 'Quiet' }] });
    day.sandbox.store.update('Note', 1, { Title: 'one' });
    day.clock.advance(2 * HOUR_MS);
    day.sandbox.store.update('Note', 2, { Title: 'two' });
    day.sandbox.store.update('Note', 3, { Title: 'three' });
    await day.pull();

    const body = day.page();

    expect(body).toContain('<h2 id="day">Changed in the last 24 hours</h2>');
    expect(body).toContain('From the stamps of the origin');
    expect(dayOf(body)).toEqual([['Note', '3', 'Alice Martin 3']]);
    expect(body).toContain('<a href="/browse/Note"><bdi>Note</bdi></a>');
    expect(barsOf(body)).toEqual(['1, 3 h ago', '2, 1 h ago']);
    expect(body).toContain('aria-label="3 in 24 hours, most 1 hour ago"');
  });

  test('is empty where nothing changed, and of a change before it nothing is said', async () => {
    await using day = await startDay();
    day.sandbox.store.update('Note', 1, { Title: 'one' });
    await day.pull();
    day.clock.advance(24 * HOUR_MS);

    expect(day.page()).toContain('<h2 id="day">Nothing changed in the last 24 hours</h2>');
    expect(dayOf(day.page())).toEqual([]);
    day.clock.advance(-HOUR_MS);
    expect(dayOf(day.page())).toEqual([['Note', '1', 'Alice Martin 1']]);
  });

  test('has rows that the origin deleted, also where nothing else changed', async () => {
    await using day = await startDay();
    day.sandbox.store.delete('Note', 1, { purge: true });
    await day.pull();

    const body = day.page();

    expect(dayOf(body)).toEqual([['Note', '0 1 deleted', '']]);
    expect(body).toContain('aria-label="none in 24 hours"');
  });

  test('says that a table without a stamp cannot be counted', async () => {
    await using day = await startDay({ tables: [OLD, UNSTAMPED] });

    expect(day.page()).toContain('1 table without a Date Modified cannot be counted.');
  });

  test('counts what an origin whose clock is ahead stamped as now', async () => {
    await using day = await startDay({ tables: [OLD] });
    day.clock.advance(5 * HOUR_MS);
    day.sandbox.store.update('Note', 1, { Title: 'one' });
    await day.pull();
    day.clock.advance(-5 * HOUR_MS);

    expect(barsOf(day.page())).toEqual(['1, 1 h ago']);
  });

  test('names six people, and counts the others together', async () => {
    await using day = await startDay();
    for (const id of [1, 2, 3, 4, 5, 6]) day.sandbox.store.update('Note', id, { Title: `t${id}` });
    for (const name of ['g', 'h']) day.sandbox.store.insert('Note', { Title: name, Code: name });
    await day.pull();
    day.execute(`INSERT INTO _rowsync_writer VALUES (1);
      UPDATE "Note" SET "Last Modified By" = 'P' || _id || ' <p@example.com>'; DELETE FROM _rowsync_writer`);

    const [line = []] = dayOf(day.page());

    expect(line[1]).toBe('8');
    expect(line[2]?.match(/P\d 1/g)).toHaveLength(6);
    expect(line[2]).toMatch(/others 2$/);
    expect(line[2]).not.toContain('example.com');
  });

  test('comes from the history where a table has one, with the last changes, and edits here as such', async () => {
    await using day = await startDay({ tables: [OLD] }, EDITED_AND_KEPT);
    for (const title of ['one', 'two']) {
      day.sandbox.store.update('Note', 1, { Title: title });
      await day.pull();
    }
    day.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 2; DELETE FROM "Note" WHERE _id = 3`);
    await capture(day);
    await pushNow(day);
    day.execute(`UPDATE _rowsync_history SET at = unixepoch('2026-05-01T12:00:00Z') WHERE cause = 'edit'`);

    const body = day.page();
    const changes = readText(/<h2 id="changes">.*?<\/section>/.exec(body)?.[0] ?? '');

    expect(body).toContain('From the history: every change that rowsync saw.');
    expect(dayOf(body)).toEqual([['Note', '3 1 deleted', 'Alice Martin 2 edited here 1']]);
    expect(changes).toMatch(/one → two/);
    expect(changes).toMatch(/title 2 → mine/);
    expect(body).toContain('<a href="/browse/Note/1"><bdi>Note</bdi> 1</a>');
  });

  test('says so where only some tables have a history', async () => {
    const tableOptions = (name: string) => ({ sort: null, ...(name === 'Note' ? { history: HISTORY } : {}) });
    await using day = await startDay({ tables: [OLD, { ...OLD, name: 'Quiet' }] }, { settings: { tableOptions } });

    expect(day.page()).toContain('From the history where a table has one; otherwise from the stamps of the origin');
  });

  test('a new row that the origin took is led to under the number that it has now', async () => {
    await using day = await startDay({ tables: [OLD] }, EDITED_AND_KEPT);
    day.execute(`INSERT INTO "Note" ("Title") VALUES ('fresh')`);
    await capture(day);
    const waiting = day.page();
    await pushNow(day);

    expect(waiting).toMatch(/<a href="\/browse\/Note\/-\d+">/);
    expect(day.page()).not.toMatch(/<a href="\/browse\/Note\/-\d+">/);
    expect(day.page()).toContain('<a href="/browse/Note/7"><bdi>Note</bdi> 7</a>');
  });
});

describe('freshness', () => {
  /** The tables in their order, each as a person reads its line. */
  const tablesOf = (body: string): readonly string[] =>
    (/<table class="tables fresh">.*?<\/table>/.exec(body)?.[0] ?? '')
      .split('<tr>')
      .slice(2)
      .map((line) => readText(line).replaceAll(/\s+/g, ' ').trim());

  test('has each table with its state, rows and age, and what each quarter of the day was', async () => {
    await using day = await startDay({ tables: [OLD, { ...OLD, name: 'A/b', rows: [] }] });
    day.clock.advance(180_000);
    const refreshByTable = new Map([['Note', 'swept "every" hour']]);

    const body = day.page({ state: { ...RESTING_STATE, refreshByTable } });

    expect(tablesOf(body)).toEqual(['A/b steady 0 3 min ago –', 'Note steady 6 3 min ago –']);
    expect(body).toContain('<a href="/browse/A%2Fb"><bdi>A/b</bdi></a');
    expect(body).toContain('<span class="state ok" title="swept &quot;every&quot; hour">steady</span>');
    expect(body).toContain('aria-label="Quarters of an hour: not known 95 of 96, read whole 1 of 96"');
  });

  test('has the tables that need a person first, and says what waits to be pushed', async () => {
    await using day = await startDay(
      {
        tables: [
          { ...OLD, name: 'A' },
          { ...OLD, name: 'B' },
        ],
      },
      { settings: twoWaySettings() },
    );
    day.execute(`UPDATE "B" SET "Code" = 'c3' WHERE _id = 1; UPDATE "B" SET "Title" = 'x' WHERE _id = 2`);
    await pushNow(day);
    day.execute(`UPDATE "A" SET "Title" = 'x' WHERE _id = 2`);

    const body = day.page();

    expect(tablesOf(body)).toEqual(['B two-way steady 6 just now 1 parked', 'A two-way steady 6 just now 1 to push']);
    expect(readText(body)).toContain('1 table needs attention');
    for (const form of formsOf(body)) expect(form['token']).toBe('token');
  });

  test('says what comes, before the first pull', async () => {
    await using fixture = await startFixture({ tables: [OLD] });

    const { status, body } = pageOf(requestOf(fixture.path, '/'));

    expect(status).toBe(200);
    expect(body).toContain('<title>Nothing was pulled yet · rowsync</title>');
    expect(body).toContain('Tables are listed here as soon as the first pull has begun.');
  });

  test('has a line for each sink', async () => {
    await using day = await startDay();
    await ensureSinks(day.replica, ['ware<house>']);

    expect(day.page()).toContain('<p>Sink <bdi>ware&lt;house&gt;</bdi>: nothing was sent yet</p>');
  });
});

test('the page is loaded again without scripts, but not while a person may be typing a value for a conflict', async () => {
  const settings = { tableOptions: twoWaySettings({ conflict: 'ask' }).tableOptions };
  await using day = await startDay({ tables: [OLD] }, { settings });
  const before = day.page();
  day.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  day.sandbox.store.update('Note', 1, { Title: 'theirs' });
  await day.pull();

  const body = day.page();

  expect(before).toContain('http-equiv="refresh" content="60"');
  expect(body).toContain('1 conflict to decide');
  expect(body).not.toContain('http-equiv="refresh"');
});

test('a database is named in the title, and a history that is kept changes nothing of it', async () => {
  await using day = await startDay({ tables: [OLD] }, KEPT);

  expect(day.page()).toContain(`<title>The table is up to date · database ${day.sandbox.database}</title>`);
});
