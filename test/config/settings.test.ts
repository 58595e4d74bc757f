/** What the configuration makes of a table, and of the whole work, as settings of pulls, pushes and files. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import type { Config } from '../../src/config/load.ts';
import {
  columnChoice,
  filesSettings,
  originSecrets,
  originSettings,
  pullSettings,
  pushSettings,
  takesInserts,
} from '../../src/config/settings.ts';
import { configFolder, GOOD, TOKEN } from '../support/config.ts';

let load: (yaml?: string) => Config;
beforeEach(() => {
  const made = configFolder();
  // The folder of the replica, which has the key of masks.
  mkdirSync(join(made.folder, 'data'));
  load = (yaml = '') => made.load(`${GOOD}${yaml}`).config;
});

test('a table without options is a read-only mirror of all rows and columns, with the latest files', () => {
  const config = load();

  expect(pullSettings(config).tableOptions('Note')).toEqual({
    sort: null,
    columns: null,
    rows: null,
    editing: null,
    columnNames: new Map(),
    history: null,
  });
  expect(pushSettings(config).tableOptions('Note')).toBeNull();
  expect(filesSettings(config).rule('Note')).toEqual({
    mode: 'latest',
    maxFileBytes: null,
    types: null,
    name: 'tables.*.files',
  });
});

test('a table that is left out has no settings anywhere', () => {
  const config = load('tables: { "*": { push: true }, Old: false }');

  expect(pullSettings(config).tableOptions('Old')).toBeNull();
  expect(pushSettings(config).tableOptions('Old')).toBeNull();
  expect(pushSettings(config).columns?.('Old')).toBeNull();
  expect(filesSettings(config).rule('Old')).toBeNull();
});

test('a pushed table asks the origin in case of doubt, and every option says otherwise', () => {
  const plain = { match: null, conflict: 'origin', workflow: 'run', purges: false, inserts: true };
  const config = load(`tables:
  Plain: { push: true }
  Full: { push: { insert: false }, match: Code, conflict: ask, workflow: suppress, delete: purge }
`);

  for (const editingOf of [
    (name: string) => pullSettings(config).tableOptions(name)?.editing,
    (name: string) => pushSettings(config).tableOptions(name),
  ]) {
    expect(editingOf('Plain')).toEqual(plain);
    expect(editingOf('Full')).toEqual({
      match: 'Code',
      conflict: 'ask',
      workflow: 'suppress',
      purges: true,
      inserts: false,
    });
  }
});

test.each([
  [undefined, true],
  [true, true],
  [{}, true],
  [{ insert: true }, true],
  [{ insert: false }, false],
])('with push: %j rows may be added: %s', (push, expected) => {
  expect(takesInserts({ push })).toBe(expected);
});

test('history has bounds of its own for what is not said', () => {
  const config = load(`tables:
  A: { history: true }
  B: { history: { keep: 30d } }
  C: { history: { maxBytes: 1MB } }
  D: { history: false }
`);

  expect(['A', 'B', 'C', 'D'].map((name) => pullSettings(config).tableOptions(name)?.history)).toEqual([
    { keepDays: 400, bytesMax: 2_000_000_000 },
    { keepDays: 30, bytesMax: 2_000_000_000 },
    { keepDays: 400, bytesMax: 1_000_000 },
    null,
  ]);
});

test('columns and masks are a choice, with what match and sort need', () => {
  const options = {
    columns: { exclude: ['Notes*'] },
    mask: { Mail: 'hash' as const, Name: { constant: 'x' } },
    match: 'Code',
    sort: ['Day'],
  };

  expect(columnChoice({ pattern: 'Note', options })).toEqual({
    include: null,
    exclude: ['Notes*'],
    masks: [
      { pattern: 'Mail', kind: 'hash' },
      { pattern: 'Name', kind: 'constant', constant: 'x' },
    ],
    isOfOneTable: true,
    match: 'Code',
    sort: ['Day'],
  });
  expect(columnChoice({ pattern: 'No*', options: { columns: { include: ['A'] } } })).toMatchObject({
    include: ['A'],
    exclude: [],
    isOfOneTable: false,
    match: null,
    sort: null,
  });
  expect(columnChoice({ pattern: 'Note', options: { mask: { A: 'null' } } })).toMatchObject({
    include: null,
    exclude: [],
  });
  expect(columnChoice({ pattern: 'Note', options: { match: 'Code', sort: ['Day'] } })).toBeNull();
});

test.each([
  ['', 'large'],
  ['schedule: { follow: false }', 'none'],
  ['schedule: { follow: "* * * * *" }', 'all'],
  ['schedule: { follow: false }\ntables: { "*": {}, A: { schedule: { follow: auto } } }', 'large'],
  ['tables: { "*": {}, A: { schedule: { follow: "0 * * * *" } } }', 'all'],
])('which tables are followed, with %j: %s', (yaml, expected) => {
  expect(pullSettings(load(yaml)).follows).toBe(expected);
});

test('files follow the rule of their table, which a run can name', () => {
  const config = load(`files: { maxBytes: 1GB }
tables:
  '*': { files: none }
  Photo: { files: { maxFileBytes: 1MB, types: [image/*] } }
`);
  const { rule, ...settings } = filesSettings(config);

  expect(settings).toMatchObject({ folder: `${config.replica.path}.files`, bytesMax: 1e9, isShared: false });
  expect(rule('Note')).toMatchObject({ mode: 'none', name: 'tables.*.files' });
  expect(rule('Photo')).toEqual({ mode: 'latest', maxFileBytes: 1e6, types: ['image/*'], name: 'tables.Photo.files' });
});

test('the origin gets its address, its login and the limits of calls', () => {
  const settings = originSettings(load('limits: { concurrency: 2, requestsPerSecond: 5 }'));

  expect(settings).toMatchObject({
    url: 'https://example.net',
    database: '21995',
    credentials: { kind: 'bearer', token: TOKEN },
    concurrency: 2,
    requestsPerSecond: 5,
  });
});

test('the key of masks is made when a mask first needs it, and is the same from then on', () => {
  const config = load();
  const first = originSettings(config).maskKey?.();

  expect(first).toMatch(/^\S{20,}$/);
  expect(originSettings(config).maskKey?.()).toBe(first);
  expect(pushSettings(config).secrets).toEqual([TOKEN, first]);
});

test('a pull may make the key of masks after a push has begun, and no message shows it', () => {
  const config = load();
  const pushing = pushSettings(config);
  expect(pushing.secrets).toEqual([TOKEN]);

  writeFileSync(config.replica.maskKeyFile, 'a-key-of-masks-as-the-file-has-it-0123456789', { mode: 0o600 });

  expect(pushing.secrets).toHaveLength(2);
});

test('texts that no log may show are those of the login, and of the proxy', () => {
  const proxied = load().origin;
  const route = { proxy: { url: 'http://proxy.example', login: { user: 'me', password: 'proxy-password' } } };

  expect(originSecrets({ origin: { ...proxied, route } })).toEqual([TOKEN, 'proxy-password']);
  expect(originSecrets({ origin: { ...proxied, credentials: null } })).toEqual([]);
});
