/**
 * The knobs of the model: each way in which an origin may be unsteady, unkind or dishonest, and what stays true then.
 * Also backups and the log, which the simulation judges by.
 */
import { expect, test } from 'vitest';
import { Random } from '../../../src/sandbox/data/random.ts';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import type { RuleEffect } from './knobs.ts';
import { MODEL_TOKEN, OriginModel, type ModelAnswer, type ModelOptions } from './origin.ts';

const NOTE: TableSpec = {
  name: 'Note',
  systemColumns: false,
  columns: [
    { name: 'Title', type: 'Text', options: ['Required'], defaultValue: 'new' },
    { name: 'Code', type: 'Text', options: ['Unique'] },
    { name: 'Count', type: 'Numeric' },
    { name: 'Photo', type: 'Attachment', options: ['AllowSeeRevisionHistory'] },
  ],
  rows: [1, 2, 3, 4, 5, 6].map((number) => ({ Title: `t${number}`, Code: `c${number}`, Count: 7 })),
};

interface Fixture {
  readonly model: OriginModel;
  readonly clock: { nowMs: number };
  readonly get: (path: string, etag?: string) => ModelAnswer;
  readonly post: (method: string, rows: unknown) => readonly Json[];
}

type Json = Readonly<Record<string, unknown>>;

function startModel(options: Partial<ModelOptions> = {}): Fixture {
  const clock = { nowMs: Date.UTC(2026, 0, 1) };
  const model = new OriginModel({ tables: [NOTE], nowMs: () => clock.nowMs, ...options });
  const headers = { authorization: `Bearer ${MODEL_TOKEN}` };
  const get: Fixture['get'] = (path, etag) => {
    const conditional = etag === undefined ? {} : { 'if-none-match': etag };
    return model.answer({
      method: 'GET',
      path: `/secure/api/v2/21995/${path}`,
      headers: { ...headers, ...conditional },
      body: null,
    });
  };
  const post: Fixture['post'] = (method, rows) => {
    const sent = { ...headers, 'content-type': 'application/json' };
    const path = `/secure/api/v2/21995/Note/${method}.json`;
    return jsonOf(model.answer({ method: 'POST', path, headers: sent, body: Buffer.from(JSON.stringify(rows)) }));
  };
  return { model, clock, get, post };
}

function jsonOf({ body }: ModelAnswer): readonly Json[] {
  return JSON.parse(Buffer.from(body).toString()) as readonly Json[];
}

function idsOf(answer: ModelAnswer): readonly unknown[] {
  return jsonOf(answer).map((row) => row['@row.id']);
}

function drawsOf(seed: number): () => number {
  const random = new Random(seed);
  return () => random.next();
}

test('rows that sort alike keep their order only where pages are stable', () => {
  const steady = startModel({ draw: drawsOf(1) });
  const moody = startModel({ draw: drawsOf(1), knobs: { pageOrder: 'unstable' } });
  const pages = ({ get }: Fixture, query: string): ReadonlySet<string> =>
    new Set([1, 2, 3, 4, 5, 6].map(() => idsOf(get(`Note/${query}`)).join()));

  expect(pages(steady, 'select.json?sort=Count').size).toBe(1);
  expect(pages(moody, 'select.json?sort=Count').size).toBeGreaterThan(1);
  expect(pages(moody, 'retrieve.json?id=1&id=2&id=3').size).toBeGreaterThan(1);
  expect(pages(moody, 'select.json?sort=Count&sort=Code')).toEqual(new Set(['1,2,3,4,5,6']));
});

test('draws of 0 are harmless, whatever the knobs', () => {
  const knobs = { pageOrder: 'unstable', etag: 'reused', readLagMsMax: 5000 } as const;
  const { model, get } = startModel({ draw: () => 0, knobs });
  const before = get('Note/select.json');
  model.update('Note', 1, { Title: 'other' });

  const after = get('Note/select.json', before.headers['etag']);

  expect(idsOf(after)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(jsonOf(after)[0]).toMatchObject({ Title: 'other' });
});

test('an ETag for a table changes with rows beyond the page, one for a page does not', () => {
  const statusAfterEdit = (etag: 'page' | 'table' | 'weak'): number => {
    const { model, get } = startModel({ knobs: { etag } });
    const tag = get('Note/select.json?top=2').headers['etag'];
    expect(get('Note/select.json?top=2', tag).status).toBe(304);
    expect(tag).toMatch(etag === 'weak' ? /^W\/"/ : /^"/);
    model.update('Note', 6, { Title: 'other' });
    return get('Note/select.json?top=2', tag).status;
  };

  expect(statusAfterEdit('page')).toBe(304);
  expect(statusAfterEdit('weak')).toBe(304);
  expect(statusAfterEdit('table')).toBe(200);
});

test('a flaky ETag changes without a change, an absent one is not there, a reused one hides a change', () => {
  const flaky = startModel({ knobs: { etag: 'flaky' }, draw: () => 0.9 });
  const first = flaky.get('Note/select.json');
  expect(flaky.get('Note/select.json', first.headers['etag']).status).toBe(200);

  const absent = startModel({ knobs: { etag: 'absent' } });
  expect(absent.get('Note/select.json').headers).not.toHaveProperty('etag');

  const reused = startModel({ knobs: { etag: 'reused' }, draw: () => 0.9 });
  const before = reused.get('Note/select.json');
  reused.model.update('Note', 1, { Title: 'other' });
  expect(reused.get('Note/select.json', before.headers['etag']).status).toBe(304);
});

test.each<[RuleEffect, string, unknown, unknown]>([
  ['trim', 'Title', ' x ', 'x'],
  ['upper', 'Title', 'x', 'X'],
  ['lower', 'Title', 'X', 'x'],
  ['round', 'Count', -1.005, -1.01],
  ['putBack', 'Title', 'x', 't1'],
])('the rule %s makes its own of what was written to %s', (does, column, written, becomes) => {
  const { model, post } = startModel({ knobs: { rules: [{ table: 'Note', column, when: 'write', does }] } });

  const statuses = post('update', [{ '@row.id': 1, [column]: written }]);

  expect(statuses).toMatchObject([{ status: 200, id: 1 }]);
  expect(model.rows('Note')[0]?.values[column]).toBe(becomes);
  expect(model.log.slice(-2)).toMatchObject([
    { by: 'api', kind: 'update', id: 1, cells: { [column]: written }, requestNumber: 1 },
    { by: 'workflow', kind: 'update', id: 1, cells: { [column]: becomes }, requestNumber: 1 },
  ]);
});

test('rules touch another row and create one, in words of their own', () => {
  const rule = { table: 'Note', column: 'Title', when: 'update' } as const;
  const { model, post } = startModel({
    knobs: {
      rules: [
        { ...rule, does: 'touchOther' },
        { ...rule, does: 'createRow' },
      ],
    },
  });

  post('update', [{ '@row.id': 1, Title: 'x' }]);

  const titles = model.rows('Note').map(({ values }) => values['Title']);
  expect(titles).toEqual([
    'x',
    expect.stringMatching(/^w\d+$/),
    't3',
    't4',
    't5',
    't6',
    expect.stringMatching(/^w\d+$/),
  ]);
  expect(new Set(titles).size).toBe(7);
});

test('a rule that breaks a constraint fails its row alone, and leaves nothing of it', () => {
  const { model, post } = startModel({
    knobs: { rules: [{ table: 'Note', column: 'Code', when: 'write', does: 'lower' }] },
  });
  const logged = model.log.length;

  const statuses = post('upsert', [{ '@row.id': 1, Code: 'C2' }, { Code: 'C3', Title: 'z' }, { Code: 'C9' }]);

  expect(statuses).toMatchObject([
    { status: 400, id: 1, errors: [{ error: 409 }] },
    { status: 400, errors: [{ error: 409 }] },
    { status: 201, id: 7, key: '7' },
  ]);
  expect(model.ids('Note')).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(model.rows('Note')[0]?.values['Code']).toBe('c1');
  expect(model.log.slice(logged).map(({ by, kind }) => `${by} ${kind}`)).toEqual(['api create', 'workflow update']);
});

test('a row that the caller cannot see is nowhere, but holds its unique value', () => {
  const { get, post } = startModel({ knobs: { hidesRow: ({ id }) => id === 2 } });

  expect(idsOf(get('Note/select.json'))).toEqual([1, 3, 4, 5, 6]);
  expect(idsOf(get('Note/retrieve.json?id=1&id=2'))).toEqual([1]);
  expect(get('Note/Photo/attachments.json?id=2').status).toBe(403);
  expect(jsonOf(get('Note/delete.json?id=2'))).toMatchObject([{ id: 2, status: 403, error: { code: 4000 } }]);
  expect(post('update', [{ '@row.id': 2, Title: 'x' }])).toMatchObject([{ status: 404 }]);
  expect(post('upsert', [{ Code: 'c2' }])).toMatchObject([{ status: 400, errors: [{ error: 409 }] }]);
});

test('a value that is refused fails its row, and no other row of the request', () => {
  const { model, post } = startModel({
    knobs: { refusesCell: ({ column, value }) => column === 'Title' && value === 'bad' },
  });
  const logged = model.log.length;

  const statuses = post('upsert', [
    { '@row.id': 1, Title: 'good' },
    { '@row.id': 2, Title: 'bad', Count: 8 },
    { Title: 'bad' },
    { Code: 'bad' },
  ]);

  const refused = { status: 400, errors: [{ code: 4105, source: 'Title' }] };
  expect(statuses).toMatchObject([{ status: 200 }, { ...refused, id: 2 }, refused, { status: 201 }]);
  expect(model.log.slice(logged).map(({ kind, id }) => `${kind} ${id}`)).toEqual(['update 1', 'create 7']);
  expect(model.rows('Note')[1]?.values).toMatchObject({ Title: 't2', Count: 7 });
});

test('reads lag behind writes by a drawn time, and no longer than they may', () => {
  const { model, clock, get, post } = startModel({ knobs: { readLagMsMax: 5000 }, draw: () => 0.999 });
  const title = (): unknown => jsonOf(get('Note/retrieve.json?id=1&column=Title'))[0]?.['Title'];
  clock.nowMs += 60_000;
  post('update', [{ '@row.id': 1, Title: 'x' }]);
  model.renameColumn('Note', 'Code', 'Sign');

  expect(title()).toBe('t1');
  expect(get('Note/select.json?column=Code').status).toBe(200);
  expect(post('update', [{ '@row.id': 1, Title: 'x' }])).toMatchObject([{ status: 304 }]);
  clock.nowMs += 5000;
  expect(title()).toBe('x');
  expect(get('Note/select.json?column=Code').status).toBe(400);
});

test('a backup brings rows, structure and ids back, but no guid and no ETag', () => {
  const { model, get } = startModel({ knobs: { etag: 'table' } });
  const file = (text: string) => ({ name: 'a.txt', mediaType: 'text/plain', bytes: Buffer.from(text) });
  const backup = model.snapshot();
  const first = model.insert('Note', { Photo: file('one') });
  const guid = String(model.rows('Note').at(-1)?.values['Photo']);
  model.renameColumn('Note', 'Code', 'Sign');
  const before = get('Note/select.json');

  model.restore(backup);
  const again = model.insert('Note', { Photo: file('one') });

  expect(again).toBe(first);
  expect(model.rows('Note').map(({ values }) => values['Code'])).toEqual(['c1', 'c2', 'c3', 'c4', 'c5', 'c6', null]);
  expect(String(model.rows('Note').at(-1)?.values['Photo'])).not.toBe(guid);
  expect(get('Note/select.json', before.headers['etag']).status).toBe(200);
  expect(idsOf(get('Note/select.json'))).toEqual([1, 2, 3, 4, 5, 6, 7]);
});

test('a backup is not changed by what happens after it, nor by being brought back twice', () => {
  const { model } = startModel();
  const backup = model.snapshot();

  for (let round = 0; round < 2; round += 1) {
    model.delete('Note', 1);
    model.update('Note', 2, { Title: 'x' });
    model.restore(backup);
  }

  expect(model.rows('Note')[1]?.values['Title']).toBe('t2');
  expect(model.ids('Note')).toEqual([1, 2, 3, 4, 5, 6]);
});

test('the log has every write, by whom and for which request', () => {
  const { model, clock, get, post } = startModel();
  const start = model.log.length;
  get('Note/select.json');
  post('create', [{ Title: 'a' }, { Code: 'c1' }]);
  clock.nowMs += 1000;
  model.update('Note', 7, { Count: '1.50', Title: 'a' });
  get('Note/delete.json?id=7&id=8');

  expect(model.log.slice(start)).toEqual([
    {
      at: Date.UTC(2026, 0, 1),
      by: 'api',
      kind: 'create',
      table: 'Note',
      id: 7,
      cells: { Id: '7', Title: 'a', Code: null, Count: null, Photo: null },
      requestNumber: 2,
    },
    {
      at: clock.nowMs,
      by: 'colleague',
      kind: 'update',
      table: 'Note',
      id: 7,
      cells: { Count: 1.5 },
      requestNumber: null,
    },
    {
      at: clock.nowMs,
      by: 'api',
      kind: 'delete',
      table: 'Note',
      id: 7,
      cells: { Id: '7', Title: 'a', Code: null, Count: 1.5, Photo: null },
      requestNumber: 3,
    },
  ]);
  expect(model.requestCount).toBe(3);
});

test('says what each draw decides', () => {
  const reasons = new Set<string>();
  const { model, get, post } = startModel({
    draw: (reason) => {
      reasons.add(reason);
      return 0;
    },
    knobs: {
      pageOrder: 'unstable',
      etag: 'flaky',
      readLagMsMax: 1000,
      rules: [{ table: 'Note', column: 'Title', when: 'write', does: 'touchOther' }],
    },
  });
  model.update('Note', 1, { Title: 'x' });
  post('update', [{ '@row.id': 1, Title: 'y' }]);
  get('Note/select.json');

  expect([...reasons].toSorted()).toEqual(['etag', 'lag', 'order', 'rule']);
});

test('equal draws give equal answers', () => {
  const answers = (): readonly string[] => {
    const { model, get } = startModel({
      draw: drawsOf(7),
      knobs: { pageOrder: 'unstable', etag: 'flaky', readLagMsMax: 900 },
    });
    return [1, 2, 3, 4, 5, 6, 7, 8].map((round) => {
      model.update('Note', (round % 6) + 1, { Count: round });
      const { headers, body } = get('Note/select.json?sort=Count');
      return `${headers['etag']} ${Buffer.from(body).toString()}`;
    });
  };

  expect(answers()).toEqual(answers());
});
