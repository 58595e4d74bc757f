/**
 * The fields of the form of a row: what they offer, and what they take beside the stored form of a value.
 */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { executeAsClient } from '../../../src/extras/shared/sql-client.ts';
import { startDaemon } from '../../support/daemon.ts';
import { ask } from '../../support/http.ts';
import { PAGE_YAML, postOf, signIn } from '../../support/page.ts';
import { startTestSandbox } from '../../support/sandbox.ts';

const TASK = {
  name: 'Task',
  columns: [
    { name: 'Name', type: 'Text', options: ['Required'] },
    { name: 'State', type: 'Text' },
    { name: 'Owner', type: 'User' },
    { name: 'Hours', type: 'Numeric' },
    { name: 'Starts', type: 'Timestamp' },
  ],
  rows: Array.from({ length: 30 }, (_, index) => ({
    Name: `task ${index + 1}`,
    State: index % 3 === 0 ? '<open>' : index % 3 === 1 ? 'done' : null,
    Owner: index < 20 ? 'Ana Ruiz <ana@example.com>' : 'Bo <bo@example.com>',
    Hours: index % 2,
  })),
} as const;

test('a column with few values offers them, and one whose values are all different does not', async () => {
  await using sandbox = await startTestSandbox({ tables: [TASK] });
  await using daemon = startDaemon(sandbox, PAGE_YAML);
  await daemon.idle();
  const { port, cookie } = await signIn(daemon);

  for (const row of ['3', 'new']) {
    const { body } = await ask({ port }, `/edit/Task/${row}`, { headers: { Cookie: cookie } });
    const lists = [...body.matchAll(/<datalist id="([^"]+)">(.*?)<\/datalist>/gs)].map(([, id = '', options = '']) => ({
      column: new RegExp(`name="v:(\\w+)"\\s+type="text"\\s+list="${id}"`).exec(body)?.[1],
      values: [...options.matchAll(/value="([^"]*)"/g)].map(([, value]) => value),
    }));
    expect(lists).toEqual([
      { column: 'State', values: ['&lt;open&gt;', 'done'] },
      { column: 'Owner', values: ['Ana Ruiz &lt;ana@example.com&gt;', 'Bo &lt;bo@example.com&gt;'] },
    ]);
  }
});

test('an instant may be written as the page of the row shows it, with the offset of the place', async () => {
  await using sandbox = await startTestSandbox({ tables: [TASK] });
  await using daemon = startDaemon(sandbox, PAGE_YAML);
  await daemon.idle();
  const { port, cookie, token } = await signIn(daemon);
  const { body } = await ask({ port }, '/edit/Task/3', { headers: { Cookie: cookie } });
  const was = /name="w:Starts" value="([^"]+)"/.exec(body)?.[1] ?? '';
  const typed = { 'v:Starts': '2026-06-01 09:30:00 +02:00', 'w:Starts': was };

  const saved = await ask(
    { port },
    '/edit',
    postOf({ token, kind: 'update', table: 'Task', row: '3', ...typed }, port, { Cookie: cookie }),
  );

  expect(saved.headers.location).toBe('/browse/Task/3?_said=update');
  expect(daemon.rows('SELECT "Starts" FROM "Task" WHERE _id = 3')).toEqual([{ Starts: '2026-06-01T07:30:00Z' }]);
});

test('that a field must have a value is said beside an empty one only', async () => {
  await using sandbox = await startTestSandbox({ tables: [TASK] });
  await using daemon = startDaemon(sandbox, PAGE_YAML);
  await daemon.idle();
  const { port, cookie, token } = await signIn(daemon);
  const empty = await ask({ port }, '/edit/Task/new', { headers: { Cookie: cookie } });
  const typed = { 'v:Name': 'filled', 'w:Name': '', 'v:Hours': 'many', 'w:Hours': '' };

  const refused = await ask(
    { port },
    '/edit',
    postOf({ token, kind: 'insert', table: 'Task', row: 'new', ...typed }, port, { Cookie: cookie }),
  );

  expect(empty.body).toContain('<small>must have a value</small>');
  expect(refused.body).toContain('value="filled"');
  expect(refused.body).not.toContain('<small>must have a value</small>');
});

test('a row that may not be deleted says so, and not that a cell is at fault', async () => {
  await using sandbox = await startTestSandbox({ tables: [TASK] });
  await using daemon = startDaemon(sandbox, PAGE_YAML);
  await daemon.idle();
  const { port, cookie, token } = await signIn(daemon);
  // As the origin may say it of a row.
  const asOrigin = `INSERT INTO _rowsync_writer VALUES (1); UPDATE Task SET _allow = 'Edit' WHERE _id = 3; DELETE FROM _rowsync_writer`;
  executeAsClient(join(daemon.folder, 'replica.db'), asOrigin);
  const { body } = await ask({ port }, '/edit/Task/3', { headers: { Cookie: cookie } });
  const seen = Object.fromEntries(
    [...body.matchAll(/name="(w:[^"]+)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]),
  );

  const refused = await ask(
    { port },
    '/edit',
    postOf({ token, kind: 'delete', table: 'Task', row: '3', ...seen }, port, { Cookie: cookie }),
  );

  expect(refused.body).toContain('this row of Task may not be deleted by you');
  expect(refused.body).not.toContain('cannot be saved like this');
});
