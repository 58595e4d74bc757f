/**
 * The page of a deleted row shows how it comes back at the origin, and sends nothing.
 */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { answerPage } from '../../../src/extras/page/routes.ts';
import { requestOf } from '../../support/page-request.ts';
import { startFamily } from '../../support/putback.ts';

function pageOf(folder: string, query: string, references = {}): string {
  const request = requestOf(join(folder, 'replica.db'), '/browse/Customer/2', query);
  const filesFolder = join(folder, 'replica.db.files');
  const { chunks } = answerPage({ ...request, filesFolder, references });
  return [...chunks].join('');
}

test('the page of a deleted row leads to the plan with the rows that referred to it, and to the command', async () => {
  await using world = await startFamily();
  await world.purge();
  world.sandbox.requests.clear();

  const plain = pageOf(world.folder, '');
  const planned = pageOf(world.folder, '_putback=1');
  const told = pageOf(world.folder, '_putback=1', { Order: { Number: 'Customer' } });

  expect(plain).toContain('<a class="button" href="/browse/Customer/2?_putback=1#putback">Put back…</a>');
  expect(planned).toContain('would be created, parents first:\n  Customer 2 ');
  expect(planned).toContain('\n    Order 2\n      Line 4 with 1 file of 12 B\n');
  expect(planned).toContain('1 file of 12 B');
  expect(planned).toContain('rowsync putback --with &quot;Order,Line,Link&quot; &quot;Customer&quot; 2');
  expect(planned).not.toContain('--confirm puts them back');
  expect(told).not.toContain('guessed: Order.&quot;Number&quot;');
  expect(world.sandbox.requests.all).toEqual([]);
});

test('the plan on the page names rows that stayed and would be linked again', async () => {
  await using world = await startFamily();
  world.store.delete('Customer', 2, { purge: true });
  await world.run('pull', '--confirm');

  const planned = pageOf(world.folder, '_putback=1');

  expect(planned).toContain('would be linked again to a new key: 2 rows that stayed at the origin');
});

test('a row that was deleted by an edit here comes back from its page too, once the delete was pushed', async () => {
  await using world = await startFamily({ yaml: 'tables: { "*": { push: true, history: true } }\n' });
  world.execute('DELETE FROM "Customer" WHERE _id = 2');
  await world.run('pull');
  const waiting = pageOf(world.folder, '');
  await world.run('push', '--confirm');

  const plain = pageOf(world.folder, '');
  const planned = pageOf(world.folder, '_putback=1');

  expect(waiting).toContain('Deleted here, not at the origin yet');
  expect(waiting).not.toContain('Put back…');
  expect(plain).toContain('by an edit here. Its last values:');
  expect(plain).toContain('<bdi class="value">c2</bdi>');
  expect(plain).toContain('<a class="button" href="/browse/Customer/2?_putback=1#putback">Put back…</a>');
  expect(planned).toContain('would be created, parents first:\n  Customer 2\n');
});
