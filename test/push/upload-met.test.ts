/**
 * Files of new rows whose match value a row of the origin has by the time they are sent: each goes to that row, once.
 */
import { describe, expect, test } from 'vitest';
import { revisionsAt, startAlbum } from '../support/album.ts';
import { readOrigin, readReplica } from '../support/compare.ts';
import { codesOf } from '../support/push.ts';
import { captured } from '../support/two-way.ts';

describe('a new row whose match value is that of a row which has come since', () => {
  const file = (name: string, content: string) => ({ name, mediaType: 'text/plain', bytes: Buffer.from(content) });

  test.each([
    ['the same file, sends it', [file('a.txt', 'one')], ['a.txt 2 one', 'a.txt 1 one']],
    ['other content under its name, sends it', [file('a.txt', 'two')], ['a.txt 2 one', 'a.txt 1 two']],
    ['its content under another name, sends it', [file('b.txt', 'one')], ['a.txt 2 one', 'b.txt 1 one']],
    [
      'another file in its place, sends it',
      [file('a.txt', 'one'), file('a.txt', 'two')],
      ['a.txt 3 one', 'a.txt 2 two', 'a.txt 1 one'],
    ],
    ['no file, sends it', [], ['a.txt 1 one']],
  ])('and that shows %s', async (_what, theirs, expected) => {
    await using fixture = await startAlbum({ match: 'Code' });
    fixture.put('a.txt', 'one');
    fixture.execute(`INSERT INTO "Album" ("Code", "Photo") VALUES ('n', 'file:a.txt')`);
    fixture.sandbox.store.insert('Album', { Code: 'n' });
    for (const Photo of theirs) fixture.sandbox.store.update('Album', 4, { Photo });

    expect(codesOf(await fixture.upload({ options: { conflict: 'local' } }))).toEqual([]);

    expect(revisionsAt(fixture, 4)).toEqual(expected);
    expect(await captured(fixture, 'Album')).toEqual([]);
    await fixture.pullFiles({ rule: { mode: 'all' } });
    expect(fixture.problems()).toEqual([]);
    expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  });
});
