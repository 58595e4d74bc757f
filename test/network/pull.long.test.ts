/**
 * A fault of every class under a whole pull. Nothing is half applied, and no row and no ETag is lost or believed too
 * soon. Once the fault is over, the next pull makes both sides the same.
 */
import { describe, expect, test } from 'vitest';

import { must } from '../../src/base/assert.ts';
import { readOrigin, readReplica } from '../support/compare.ts';
import { http, type FaultAnswer, type FaultRequest } from '../support/fault-server.ts';
import type { Fixture } from '../support/replica.ts';
import { FAULTS, startFaulty } from './faults.ts';

const isRead = ({ path }: FaultRequest): boolean => /\/(?:select|retrieve)\.json/.test(path);

/** Everything that a pull could have half applied: the rows of users, and what stands for them at the origin. */
function contents(fixture: Fixture): unknown {
  return [
    fixture.rows('SELECT * FROM "Note" ORDER BY _id'),
    fixture.rows('SELECT page, url, etag, row_count, first_id, last_id FROM _rowsync_pages ORDER BY page'),
    fixture.rows('SELECT * FROM sync_deleted'),
    fixture.rows('SELECT * FROM sync_failures'),
    fixture.rows('SELECT * FROM sync_conflicts'),
  ];
}

/** What colleagues did meanwhile. */
function changeOrigin({ sandbox }: Fixture): void {
  sandbox.store.update('Note', 1, { Title: 'changed there' });
  sandbox.store.update('Note', 5, { Title: 'changed there too' });
  sandbox.store.insert('Note', { Title: 'new there', Code: 'n' });
  sandbox.store.delete('Note', 3);
}

/**
 * The same without ETags: a table whose pages are too large forgets them, since it reads smaller pages from then on.
 */
function withoutEtags(all: unknown): unknown {
  return JSON.parse(JSON.stringify(all, (key, value: unknown) => (key === 'etag' ? null : value)));
}

describe.each(FAULTS)('%s', (_title, answer, code) => {
  test('at every page of a pull applies nothing, and at none the next one applies everything', async () => {
    await using fixture = await startFaulty();
    changeOrigin(fixture);
    const before = contents(fixture);
    fixture.proxy.play({ match: isRead, answer, isApplied: false });

    const { tables, error } = await fixture.pull();
    const after = contents(fixture);
    const { faultedCount } = fixture.proxy;
    fixture.proxy.play(null);
    const second = await fixture.pull();

    expect(faultedCount).toBeGreaterThan(0);
    expect([error, ...tables.map((table) => table.error)].flatMap((each) => each?.code ?? [])).toEqual(
      code === '' ? [] : [code],
    );
    const isSmaller = code === 'origin.tooLarge';
    expect(isSmaller ? withoutEtags(after) : after).toEqual(isSmaller ? withoutEtags(before) : before);
    expect([second.error, ...second.tables.map((table) => table.error)].filter((each) => each !== null)).toEqual([]);
    expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  });

  test('behind a good page leaves that page whole and the rest as it was, and the next pull ends it', async () => {
    await using fixture = await startFaulty();
    const old = readReplica(fixture.path);
    changeOrigin(fixture);
    const fresh = readOrigin(fixture.sandbox);
    fixture.proxy.play({ match: isRead, answer, isApplied: false, spares: 1 });

    await fixture.pull();
    const between = readReplica(fixture.path);
    const { faultedCount } = fixture.proxy;
    fixture.proxy.play(null);
    const second = await fixture.pull();

    expect(faultedCount).toBeGreaterThan(0);
    // Row 1 is the only one of the first page that is another one.
    expect(between['Note']).toEqual([fresh['Note']?.[0], ...(old['Note'] ?? []).slice(1)]);
    expect([second.error, ...second.tables.map((table) => table.error)].filter((each) => each !== null)).toEqual([]);
    expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  });
});

describe('an answer of another request, whole and well formed', () => {
  /** The page of the sandbox for another question than the one that was asked. */
  const other =
    (fixture: Fixture, asked: () => FaultRequest, change: (path: string) => string): FaultAnswer =>
    (socket) => {
      const { path, headers } = asked();
      const { authorization = '', accept = '' } = headers;
      void fetch(fixture.sandbox.url + change(path), { headers: { authorization, accept } })
        .then((answer) => answer.text())
        .then((text) => socket.write(http(200, { 'Content-Type': 'application/json', ETag: '"other"' }, text)));
    };

  test.each<[string, RegExp, (path: string) => string]>([
    ['the first page for the second', /select.*skip=2$/, (path) => path.replace('&skip=2', '')],
    ['the last page for the first', /select(?!.*skip)/, (path) => `${path}&skip=4`],
    ['an empty page for the second', /select.*skip=2$/, (path) => path.replace('skip=2', 'skip=400')],
    ['other rows for those that are missing', /retrieve/, (path) => path.replace(/id=\d+.*$/, 'id=1&id=2')],
  ])('%s: no row goes, and the next pull makes both sides the same', async (_title, pattern, change) => {
    await using fixture = await startFaulty();
    changeOrigin(fixture);
    let asked: FaultRequest | undefined;
    const match = (request: FaultRequest): boolean => {
      if (!pattern.test(request.path)) return false;
      asked = request;
      return true;
    };
    const answer = other(fixture, () => must(asked, 'a request was matched'), change);
    fixture.proxy.play({ match, answer, isApplied: false });

    await fixture.pull();
    const gone = fixture.rows('SELECT row_id FROM sync_deleted');
    fixture.proxy.play(null);
    const second = await fixture.pull();

    expect(asked).toBeDefined();
    // The origin deleted row 3; nothing else may go, whoever answered what.
    expect(gone.filter((row) => JSON.stringify(row) !== '{"row_id":3}')).toEqual([]);
    expect([second.error, ...second.tables.map((table) => table.error)].filter((each) => each !== null)).toEqual([]);
    expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  });
});
