/**
 * The rules of this repository that a linter cannot say, run on the tree. Each rule is also run on planted text that
 * breaks it, because a rule that finds nothing looks the same as a rule that looks nowhere.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  accountProblems,
  bannedProblems,
  changelogProblems,
  headerProblems,
  importProblems,
  LAYERS,
  leftoverProblems,
  OWNERS,
  pathProblems,
  privacyProblems,
  widthProblems,
  writerProblems,
  type TidyFile,
} from './support/tidy.ts';
import { untestedProblems } from './support/test-paths.ts';

const TOP = new URL('../', import.meta.url);
/** What git ignores or owns, and what no person wrote. */
const SKIPPED = new Set(['.git', 'node_modules', 'dist', 'release', 'package-lock.json', '.env']);

function filesUnder(folder: string): readonly string[] {
  return readdirSync(new URL(folder, TOP), { withFileTypes: true }).flatMap((entry) => {
    if (SKIPPED.has(entry.name) || entry.name.endsWith('.tgz')) return [];
    return entry.isDirectory() ? filesUnder(`${folder}${entry.name}/`) : [`${folder}${entry.name}`];
  });
}

function readTop(path: string): TidyFile {
  return { path, text: readFileSync(new URL(path, TOP), 'utf8') };
}

const paths = filesUnder('');
const sources = paths.filter((path) => path.startsWith('src/') && path.endsWith('.ts')).map(readTop);
const texts = paths.filter((path) => !/\.(?:sqlite|db|png|gz)$/.test(path)).map(readTop);
const manifest = JSON.parse(readTop('package.json').text) as {
  version: string;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
};

function planted(path: string, ...lines: readonly string[]): TidyFile {
  return { path, text: lines.join('\n') };
}

describe('imports', () => {
  test('point to the left, and packages stay with their owners', () => {
    expect(sources.flatMap(importProblems)).toEqual([]);
    expect(sources.length).toBeGreaterThan(10);
  });

  test.each([
    ['a layer on the right', 'src/wire/a.ts', "import { x } from '../origin/b.ts';", 'wire/ may not import origin/'],
    [
      'a type of a layer on the right',
      'src/replica/a.ts',
      "import type { X } from '../pull/b.ts';",
      'may not import pull/',
    ],
    ['its sibling', 'src/pull/a.ts', "import { x } from '../push/b.ts';", 'pull/ may not import push/'],
    ['a re-export', 'src/base/a.ts', "export { x } from '../wire/b.ts';", 'base/ may not import wire/'],
    ['a re-export of everything', 'src/base/a.ts', "export * from '../wire/b.ts';", 'base/ may not import wire/'],
    ['a lazy import', 'src/base/a.ts', "const x = await import('../wire/b.ts');", 'base/ may not import wire/'],
    ['a computed import', 'src/cli/a.ts', 'const x = await import(name);', 'import() takes a literal'],
    ['a file outside of src', 'src/cli/a.ts', "import x from '../../package.json';", 'outside of the layers'],
    [
      'the sandbox, from the command line',
      'src/extras/shared/a.ts',
      "import { x } from '../../sandbox/b.ts';",
      'other than by import()',
    ],
    ['the sandbox, lazily', 'src/daemon/a.ts', "await import('../sandbox/b.ts');", 'daemon/ may not import sandbox/'],
    [
      'the client, from the sandbox',
      'src/sandbox/a.ts',
      "import { x } from '../origin/b.ts';",
      'may not import origin/',
    ],
    ['a package of another folder', 'src/pull/a.ts', "import { request } from 'undici';", 'undici, which belongs to'],
    ['a package of its own folder’s other part', 'src/sandbox/a.ts', "import D from 'better-sqlite3';", 'belongs to'],
    [
      'a part of a package',
      'src/pull/a.ts',
      "import { x } from 'csv-stringify/sync';",
      'csv-stringify, which belongs to',
    ],
    [
      'a package without an owner',
      'src/cli/a.ts',
      "import x from '@scope/left-pad/x';",
      '@scope/left-pad, which has no owner',
    ],
    ['node, where decisions are made', 'src/reconcile/a.ts', "import fs from 'node:fs';", 'reconcile/ imports node:fs'],
    ['a package, where decisions are made', 'src/reconcile/a.ts', "import x from 'zod';", 'reconcile/ imports zod'],
    ['the list of extras', 'src/config/a.ts', "import { EXTRAS } from '../extras.ts';", 'only cli/main.ts reads'],
    ['an extra, where extras are described', 'src/extra.ts', "import type { X } from './extras/page/b.ts';", 'may not'],
    ['more than its interface, from an extra in the list', 'src/extras.ts', "import './extras/page/b.ts';", 'may not'],
    ['an extra, from the core', 'src/pull/a.ts', "await import('../extras/page/b.ts');", 'the core may not import'],
    [
      'an extra, from another',
      'src/extras/page/a.ts',
      "import { x } from '../mcp/b.ts';",
      'may not import extras/mcp/',
    ],
    ['anything, from no layer', 'src/a.ts', "import x from 'node:fs';", 'stands in no layer'],
  ])('of %s are found', (_what, path, text, complaint) => {
    expect(importProblems(planted(path, text))).toEqual([expect.stringContaining(complaint)]);
  });

  test('to the left, of an owned package and of the sandbox by import() are fine', () => {
    const lines = [
      "import { x } from '../../wire/a.ts';",
      "import 'commander';",
      "await import('../../sandbox/main.ts');",
    ];

    expect(importProblems(planted('src/extras/shared/a.ts', ...lines))).toEqual([]);
  });

  test('of every dependency have an owner, and every owner is a folder of the flow', () => {
    const known = { ...manifest.dependencies, ...manifest.devDependencies };
    expect(Object.keys(manifest.dependencies).filter((name) => !Object.hasOwn(OWNERS, name))).toEqual(['node']);
    expect(Object.keys(OWNERS).filter((name) => !Object.hasOwn(known, name))).toEqual([]);
    const owners = Object.values(OWNERS).flat();
    expect(
      owners.filter(
        (owner) =>
          !Object.keys(LAYERS).some((room) => `src/${room}/`.startsWith(owner) || owner.startsWith(`src/${room}/`)),
      ),
    ).toEqual([]);
  });
});

describe('surfaces', () => {
  test('render the account, and judge nothing for themselves', () => {
    expect(sources.flatMap(accountProblems)).toEqual([]);
  });

  test.each([
    ['the problem of a table', 'src/cli/a.ts', 'if (table.problem !== null) warn();'],
    ['a table by its parts', 'src/extras/page/a.ts', 'const { problem, hint } = table;'],
    ['a parameter by its parts', 'src/extras/mcp/a.ts', 'const f = ({ state, problem }: TableStatus) => problem;'],
    ['facts into an account of its own', 'src/daemon/b.ts', 'const all = accountOf(facts);'],
  ])('that judge %s are found', (_what, path, text) => {
    expect(accountProblems(planted(path, text))).toEqual([expect.stringContaining('judges for itself')]);
  });
});

describe('rows', () => {
  test('are written by the one writer', () => {
    expect(sources.flatMap(writerProblems)).toEqual([]);
  });

  test.each([
    ['by a function of the writer', 'src/pull/a.ts', 'removeRows(tx, table, ids);'],
    ['by a statement', 'src/capture/a.ts', 'tx.prepare(sql`UPDATE ${ident(table.localName)} SET a = 1`).run();'],
  ])('that are written %s elsewhere are found', (_what, path, text) => {
    expect(writerProblems(planted(path, text))).toEqual([expect.stringContaining('writes rows')]);
    expect(writerProblems(planted('src/capture/writer/a.ts', text))).toEqual([]);
  });
});

describe('source files', () => {
  test('start with a header comment', () => {
    expect(sources.flatMap(headerProblems)).toEqual([]);
  });

  test('without a header comment, or with an essay, are found', () => {
    const essay = ['/**', ...Array.from({ length: 20 }, () => ' * word'), ' */'];

    expect(headerProblems(planted('a.ts', "import x from 'y';"))).toEqual([
      'a.ts: does not start with a header comment',
    ]);
    expect(headerProblems(planted('a.ts', '// a note', 'const x = 1;'))).toHaveLength(1);
    expect(headerProblems(planted('a.ts', ...essay, ''))).toEqual([expect.stringContaining('22 lines')]);
    expect(headerProblems(planted('a.ts', '#!/usr/bin/env node', '/**', ' * Owns x.', ' */', ''))).toEqual([]);
  });

  test('use time, randomness, the environment, the way out and the console in their homes only', () => {
    expect(sources.flatMap(bannedProblems)).toEqual([]);
  });

  test.each([
    ['process.exit', 'src/cli/other.ts', 'process.exit(1);'],
    ['process.exit', 'src/cli/other.ts', "process['exit'](1);"],
    ['process.env', 'src/cli/main.ts', 'const { HOME } = process.env;'],
    ['process.env', 'src/cli/main.ts', 'const { env } = process;'],
    ['Date.now', 'src/pull/a.ts', 'const t = Date.now();'],
    ['new Date()', 'src/pull/a.ts', 'const t = new Date();'],
    ['Math.random', 'src/origin/a.ts', 'const r = Math.random();'],
    ['Math.random', 'src/origin/a.ts', 'run(Math.random);'],
    ['performance.now', 'src/pull/a.ts', 'performance.now();'],
    ['setTimeout', 'src/pull/a.ts', 'setTimeout(run, 5);'],
    ['setTimeout', 'src/pull/a.ts', 'globalThis.setTimeout(run, 5);'],
    ['setTimeout', 'src/pull/a.ts', 'promisify(setTimeout);'],
    ['setInterval', 'src/daemon/a.ts', 'setInterval(run, 5);'],
    ['setImmediate', 'src/daemon/a.ts', 'const defer = setImmediate;'],
    ['console', 'src/cli/main.ts', "console.log('x');"],
    ['node:timers/promises', 'src/pull/a.ts', "import { setTimeout as wait } from 'node:timers/promises';"],
    ['node:process', 'src/pull/a.ts', "import { env } from 'node:process';"],
  ])('that use %s in %s are found: %s', (name, path, text) => {
    expect(bannedProblems(planted(path, text)).join('\n')).toContain(`${path}: uses ${name}, which `);
  });

  test('may speak of what is banned, and use what is named alike', () => {
    const text = "// Date.now() is banned\nsocket.setTimeout(5); new Date(0); const x = { console: 'console.log' };";

    expect(bannedProblems(planted('src/pull/a.ts', text))).toEqual([]);
  });

  test('do not say that they are unfinished', () => {
    expect(sources.flatMap(leftoverProblems)).toEqual([]);
  });

  test.each(['// TODO: later', '/* FIXME */', '// good enough for now', '// a simplified reader', '// a stub'])(
    'that say %j are found',
    (text) => {
      expect(leftoverProblems(planted('src/a.ts', text))).toHaveLength(1);
    },
  );
});

describe('comments', () => {
  test('fit the line', () => {
    const written = texts.filter(({ path }) => path.endsWith('.ts'));
    expect(written.flatMap(widthProblems)).toEqual([]);
  });

  test.each([`// ${'a '.repeat(60)}`, `  /** ${'a '.repeat(60)}*/`, ` * ${'a '.repeat(60)}`])(
    'that are too long are found',
    (comment) => {
      expect(widthProblems(planted('src/a.ts', 'const a = 1;', comment))).toEqual([
        'src/a.ts:2: a comment is longer than 120 characters',
      ]);
    },
  );
});

describe('tests', () => {
  test('of every file with logic are under its path', () => {
    expect(untestedProblems(sources, paths)).toEqual([]);
  });

  const branches = 'export const f = (a: number) => (a > 2 ? 1 : a > 1 && a < 9 ? 2 : 3);';
  const file = planted('src/push/send.ts', branches);

  test.each([
    ['none', ['test/push/sender.test.ts', 'test/push/send.ts'], 1],
    ['some', ['test/push/send.test.ts'], 0],
    ['long ones', ['test/push/send.long.test.ts'], 0],
    ['a folder of them', ['test/push/send/retries.test.ts'], 0],
  ])('where a file has %s', (_what, tests, count) => {
    expect(untestedProblems([file], tests, {})).toHaveLength(count);
  });

  test('a file without branches needs none, and an exception is one only while it is needed', () => {
    expect(untestedProblems([planted('src/push/a.ts', 'export const a = (b: number) => b + 1;')], [], {})).toEqual([]);
    expect(untestedProblems([file], [], { 'src/push/send.ts': 'why' })).toEqual([]);
    expect(untestedProblems([file], ['test/push/send.test.ts'], { 'src/push/send.ts': 'why' })).toHaveLength(1);
  });
});

describe('texts', () => {
  test('name no machine and no registry', () => {
    expect(texts.flatMap(privacyProblems)).toEqual([]);
  });

  // Put together from parts, so that this file does not break the rule.
  test.each([
    ['see ', 'work/main/x'].join('/'),
    ['"', 'root/.profile'].join('/'),
    ['', 'home/jane/x'].join('/'),
    ['https://registry', 'npmjs', 'org/x'].join('.'),
  ])('that name %j are found', (text) => {
    expect(privacyProblems(planted('a.md', text))).toHaveLength(1);
  });

  test('may name paths of the repository and of a system', () => {
    expect(privacyProblems(planted('a.md', 'test/work/x, ../work/x and /etc/rowsync/token'))).toEqual([]);
  });
});

describe('documents', () => {
  const MAPS = ['src/README.md', 'docs/design/large-changes.md'];
  const readmes = ['README.md', ...MAPS].map(readTop);

  test('name no path that does not exist', () => {
    expect(readmes.flatMap((readme) => pathProblems(readme, paths))).toEqual([]);
  });

  test.each([
    ['README.md', 'see `src/gone.ts`', 'src/gone.ts'],
    ['README.md', 'see `src/gone/`', 'src/gone/'],
    ['README.md', 'see [the log](NEWS.md)', 'NEWS.md'],
    ['src/README.md', '`wire/gone.ts` reads', 'wire/gone.ts'],
    ['src/README.md', '`extras/gone/gone.ts` reads', 'extras/gone/gone.ts'],
    ['src/README.md', '`gone.ts` reads', 'gone.ts'],
    ['src/README.md', '[up](../NEWS.md)', 'NEWS.md'],
    ['docs/design/large-changes.md', '`wire/gone.ts` reads', 'wire/gone.ts'],
  ])('of which %s says %j are found', (path, text, named) => {
    const problems = pathProblems(planted(path, text), ['src/wire/json.ts']);

    expect(problems).toEqual([`${path}: names ${named}, which does not exist`]);
  });

  test('may name what exists, and paths of other machines', () => {
    const files = ['src/wire/json.ts', 'README.md'];
    const text = '`src/wire/json.ts` `src/wire/` `/etc/rowsync/x` `a/b` [x](src/README.md) [y](https://example.com/z)';

    expect(pathProblems(planted('README.md', text), [...files, 'src/README.md'])).toEqual([]);
    expect(pathProblems(planted('src/README.md', '`wire/json.ts` `json.ts` `wire/` [x](../README.md)'), files)).toEqual(
      [],
    );
  });

  test.each(MAPS)('that say where something is name a file that has it: %s', (map) => {
    const named = [...readTop(map).text.matchAll(/`#?(\w+)` in `([\w/.-]+\.ts)`/g)];
    const missing = named.filter(([, name = '', path = '']) => !readTop(`src/${path}`).text.includes(name));

    expect(missing.map(([said]) => said)).toEqual([]);
    expect(named.length).toBeGreaterThan(3);
  });

  test.each(MAPS)('that say where something is use names that the source has: %s', (map) => {
    const [places = ''] = readTop(map).text.split('## Reading order');
    const names = [...places.matchAll(/`#?([A-Za-z]*[a-z][A-Z]\w*|[A-Z]{2,}_[A-Z_]+)`/g)].map(([, name = '']) => name);
    const source = paths
      .filter((path) => /^(?:src|test\/support)\/.*\.ts$|^systemd\//.test(path))
      .map((path) => readTop(path).text);

    expect(names.filter((name) => !source.some((text) => text.includes(name)))).toEqual([]);
    expect(names.length).toBeGreaterThan(3);
  });

  test('that say where something is have one subject a line, and short lines', () => {
    const [, map = ''] = readTop('src/README.md').text.split('## Where to change what');
    const [entries = ''] = map.split('## Reading order');
    const lines = entries.split('\n').filter((line) => /^ *- /.test(line));

    expect(lines.filter((line) => line.length > 400 || !/^(?:- \*\*|  - )/.test(line))).toEqual([]);
    expect(lines.length).toBeGreaterThan(100);
  });

  test('for users tell what changed, newest first', () => {
    const changelogs = paths.filter((path) => path === 'CHANGELOG.md').map(readTop);

    expect(changelogs.flatMap((changelog) => changelogProblems(changelog, manifest.version))).toEqual([]);
  });

  test.each([
    ['another title', '# News\n\n## Unreleased\n\n- x'],
    ['no entry', '# Changelog\n'],
    ['no entry for this version', '# Changelog\n\n## 0.9.0 (2026-01-01)\n\n- x'],
    ['a version without a date', '# Changelog\n\n## Unreleased\n\n## 0.9.0\n\n- x'],
    ['other bullets', '# Changelog\n\n## Unreleased\n\n* x'],
  ])('that tell it with %s are found', (_what, text) => {
    expect(changelogProblems(planted('CHANGELOG.md', text), '1.0.0')).toHaveLength(1);
  });

  test('that tell it in the right shape are fine', () => {
    const text = '# Changelog\n\n## 1.0.0 (2026-02-01)\n\n- x\n  more\n\n## 0.9.0 (2026-01-01)\n\n- y';

    expect(changelogProblems(planted('CHANGELOG.md', text), '1.0.0')).toEqual([]);
  });
});
