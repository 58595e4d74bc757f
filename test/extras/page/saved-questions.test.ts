/**
 * Questions that are saved under a name, and the chart of an answer.
 */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { answerPage } from '../../../src/extras/page/routes.ts';
import { startDaemon, type TestDaemon } from '../../support/daemon.ts';
import { requestOf } from '../../support/page-request.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { NOTE } from '../../support/two-way.ts';

interface Page {
  readonly status: number;
  readonly location: string | undefined;
  readonly body: string;
}

interface Desk extends TestDaemon {
  readonly get: (path: string, query?: string) => Page;
  readonly post: (fields: Readonly<Record<string, string>>) => Page;
}

async function startDesk(): Promise<Desk> {
  const sandbox = await startTestSandbox({ tables: [NOTE] });
  const daemon = startDaemon(sandbox, '');
  await daemon.idle();
  const path = join(daemon.folder, 'replica.db');
  const page = (request: Parameters<typeof answerPage>[0]): Page => {
    const { status, headers = {}, chunks } = answerPage(request);
    return { status, location: headers['Location'], body: [...chunks].join('') };
  };
  return {
    ...daemon,
    get: (place, query = '') => page(requestOf(path, place, query)),
    post: (fields) => page({ ...requestOf(path, '/edit'), form: Object.entries(fields) }),
    [Symbol.asyncDispose]: async () => {
      await daemon[Symbol.asyncDispose]();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}

const SQL = 'SELECT "Title", "Count" FROM "Note" -- all';

test('a question is saved as a view, has an address of its own, and is dropped again', async () => {
  await using desk = await startDesk();

  const saved = desk.post({ kind: 'save', name: 'All <notes>', sql: SQL });
  const page = desk.get(saved.location ?? '');
  const views = desk.rows('SELECT count(*) AS n FROM "All <notes>"');
  const dropped = desk.post({ kind: 'drop', name: 'All <notes>' });

  expect([saved.status, saved.location]).toEqual([303, '/ask/All%20%3Cnotes%3E']);
  expect(page.body).toContain('<h1><bdi>All &lt;notes&gt;</bdi></h1>');
  expect(page.body).toContain('SELECT &quot;Title&quot;, &quot;Count&quot; FROM &quot;Note&quot; -- all</textarea>');
  expect(page.body).toContain(`/export/csv?${new URLSearchParams({ sql: SQL }).toString()}`);
  expect(views).toEqual([{ n: 6 }]);
  expect(dropped.location).toBe('/ask');
  expect(desk.get('/ask/All%20%3Cnotes%3E').status).toBe(404);
});

test.each([
  ['the name of a table', 'note', SQL, 409],
  ['a name of rowsync', 'sync_mine', SQL, 400],
  ['a second statement', 'two', 'SELECT 1; DROP TABLE "Note"', 400],
  ['a statement that writes', 'writes', 'DELETE FROM "Note"', 400],
])('nothing is saved with %s', async (_title, name, sql, status) => {
  await using desk = await startDesk();

  const answer = desk.post({ kind: 'save', name, sql });

  expect(answer.status).toBe(status);
  expect(desk.rows(`SELECT name FROM sqlite_schema WHERE type = 'view' AND name NOT GLOB 'sync_*'`)).toEqual([]);
  expect(desk.rows('SELECT count(*) AS n FROM "Note"')).toEqual([{ n: 6 }]);
});

test('a name that cannot be had comes back with the question, its answer and the name', async () => {
  await using desk = await startDesk();

  const taken = desk.post({ kind: 'save', name: 'note', sql: SQL });
  const ours = desk.post({ kind: 'save', name: 'sync_mine', sql: SQL });

  expect(taken.body.replaceAll(/\s+/g, ' ')).toContain(
    'role="alert">The question was not saved: A table or question has this name already</p>',
  );
  expect(ours.body).toContain('does not begin with _, sync_ or sqlite_.');
  expect(taken.body).toContain('SELECT &quot;Title&quot;, &quot;Count&quot; FROM &quot;Note&quot; -- all</textarea>');
  expect(taken.body).toContain('aria-label="Answer"');
  expect(taken.body).toMatch(/<details open>\s*<summary>Save this question<\/summary>/);
  expect(taken.body).toMatch(/id="name"\s+name="name"\s+value="note"/);
});

test('dropping reaches no view of rowsync and no table', async () => {
  await using desk = await startDesk();

  for (const name of ['sync_status', 'Note', 'nothing']) desk.post({ kind: 'drop', name });

  expect(desk.rows('SELECT count(*) AS n FROM sync_status, "Note"')).toEqual([{ n: 6 }]);
});

test('an answer of two columns, the second numbers, has a bar for each row', async () => {
  await using desk = await startDesk();
  const bars = (sql: string): readonly string[] => {
    const { body } = desk.get('/ask', new URLSearchParams({ sql }).toString());
    return [...body.matchAll(/<rect class="(\w+)" x="([\d.]+)" y="0" width="([\d.]+)"/g)].map((bar) =>
      bar.slice(1).join(' '),
    );
  };

  expect(bars('VALUES (1, 30), (2, -10), (3, NULL)')).toEqual(['read 25 75', 'failed 0 25', 'read 25 0']);
  expect(bars(`VALUES (1, 'x'), (2, 'y')`)).toEqual([]);
  expect(bars('VALUES (1, 2, 3), (1, 2, 3)')).toEqual([]);
});
