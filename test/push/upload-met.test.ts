/**
 * Files of new rows whose match value a row of the origin has by the time they are sent: what that row shows already is not sent again. And
 * those of new rows that a pull brings in before they are looked for.
 */
import { describe, expect, test } from 'vitest';
import { RowsyncError } from '../../src/base/errors.ts';
import { at, revisionsAt, startAlbum } from '../support/album.ts';
import { readOrigin, readReplica } from '../support/compare.ts';
import { atOrigin, codesOf, setFaults } from '../support/push.ts';
import { captured } from '../support/two-way.ts';

describe('a new row whose match value is that of a row which has come since', () => {
  const file = (name: string, content: string) => ({ name, mediaType: 'text/plain', bytes: Buffer.from(content) });

  test.each([
    ['the same file, sends none', [file('a.txt', 'one')], ['a.txt 1 one']],
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

  test('is settled by another push where the file there cannot be read now, and is sent where it never can', async () => {
    await using fixture = await startAlbum({ match: 'Code' });
    fixture.put('a.txt', 'one');
    fixture.execute(`INSERT INTO "Album" ("Code", "Photo") VALUES ('n', 'file:a.txt')`);
    fixture.sandbox.store.insert('Album', { Code: 'n' });
    fixture.sandbox.store.update('Album', 4, { Photo: file('a.txt', 'one') });
    setFaults(fixture, [{ fault: 'resetBefore', method: 'attachment' }]);
    const options = { conflict: 'local' } as const;

    expect(codesOf(await fixture.upload({ options }))).toEqual(['origin.unreachable']);
    expect(await captured(fixture, 'Album')).toEqual(['insert -2 Code,Photo']);
    setFaults(fixture, [{ fault: 'failure', method: 'attachment' }]);
    await fixture.upload({ options });

    expect(revisionsAt(fixture, 4)).toEqual(['a.txt 2 one', 'a.txt 1 one']);
    expect(await captured(fixture, 'Album')).toEqual([]);
  });
});

describe('a new row without an answer that a pull brought in, and that was deleted there', () => {
  test.each<[string, string, readonly (readonly [number, string])[]]>([
    ['left alone here, leaves', '', []],
    ['edited here, is made again once', `UPDATE "Album" SET "Title" = 'x' WHERE _id = 4`, [[5, 'x']]],
  ])('with a file, and %s', async (_what, statement, expected) => {
    await using fixture = await startAlbum({ match: 'Code' });
    fixture.put('a.txt', 'one');
    fixture.execute(`INSERT INTO "Album" ("Title", "Code", "Photo") VALUES ('t', 'n', 'file:a.txt')`);
    setFaults(fixture, [{ fault: 'resetAfter', method: 'upsert', nth: 1 }]);
    const end = new RowsyncError('originDown', 'origin.stopped', { message: 'the process ends', hint: '' });
    await fixture.upload({
      before: at('readBack', () => {
        throw end;
      }),
    });
    await fixture.pull();
    fixture.sandbox.store.delete('Album', 4);
    fixture.execute(statement);
    const options = { conflict: 'local' } as const;

    await fixture.upload({ options });
    await fixture.upload({ options });

    await fixture.pull();
    expect(atOrigin(fixture, ['Title'], 'Album').slice(3)).toEqual(expected);
    expect(await captured(fixture, 'Album')).toEqual([]);
    expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  });
});
