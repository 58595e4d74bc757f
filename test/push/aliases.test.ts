/** Pushes call columns by their aliases, so that a value is not written into another column where a colleague renames one meanwhile. */
import { expect, test } from 'vitest';
import { atOrigin, codesOf, pushNow } from '../support/push.ts';
import { startBehindProxy } from '../support/fault-proxy.ts';

// Specification, client: 4.6-5, 4.6-12, 4.6-15
test.each([
  ['json', '[{"@row.id":1,"title_alias":"mine"}]', '[{"title_alias":"new","code_alias":"c9"}]'],
  [
    'xml',
    '<?xml version="1.0" encoding="utf-8"?><rows><row id="1"><title_alias>mine</title_alias></row></rows>',
    '<?xml version="1.0" encoding="utf-8"?><rows><row><title_alias>new</title_alias><code_alias>c9</code_alias></row></rows>',
  ],
] as const)(
  'an update and an upsert name columns by aliases, the one to match too (%s)',
  async (format, update, upsert) => {
    await using fixture = await startBehindProxy({ editing: { match: 'Code' }, format });
    const { proxy, sandbox } = fixture;
    for (const name of ['Title', 'Code'])
      sandbox.store.changeColumn('Note', name, { alias: `${name.toLowerCase()}_alias` });
    await fixture.pull();
    fixture.execute(`
    UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1;
    INSERT INTO "Note" ("Title", "Code") VALUES ('new', 'c9')`);

    const report = await pushNow(fixture);

    const sent = proxy.requests.filter(({ method }) => method === 'POST');
    const named = sent.map(({ path, body }) => `${path.split('/').at(-1)} ${body.toString()}`);
    expect(named.toSorted()).toEqual([`update.${format} ${update}`, `upsert.${format}?match=code_alias ${upsert}`]);
    expect(codesOf(report)).toEqual([]);
    expect(atOrigin(fixture, ['Title'])).toContainEqual([1, 'mine']);
  },
);

test('a value reaches its column where that is renamed before the request, and another one gets its name', async () => {
  await using fixture = await startBehindProxy();
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  fixture.sandbox.before(
    1,
    () => {
      fixture.sandbox.store.renameColumn('Note', 'Title', 'Heading');
      fixture.sandbox.store.renameColumn('Note', 'Body', 'Title');
    },
    { method: 'update' },
  );

  await pushNow(fixture);

  expect(atOrigin(fixture, ['Heading', 'Title'])).toContainEqual([1, 'mine', null]);
});
