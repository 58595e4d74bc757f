/**
 * What the documents for users show, held against the program: configurations, faults, commands and links. The
 * reference in docs/reference/ is made from the program and has tests of its own.
 */
import { SECTIONS } from '../support/sections.ts';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { expect, test } from 'vitest';
import { optionsSchema } from '../../src/config/options.ts';
import { FAULTS, readFaultPlan } from '../../src/sandbox/server/faults.ts';
import { makeWorkspace } from '../support/child.ts';
import { blocks, documents } from '../support/documents.ts';
import { runCli } from '../support/session.ts';

const README_LINES_MAX = 180;
const PAGE_LINES_MAX = 200;
const REFERENCE = join('docs', 'reference');

test('every configuration and every fault that is shown is valid', () => {
  const shown = blocks('yaml').map(({ path, code }) => ({ path, code, values: parse(code) as object }));
  const plans = shown.filter(({ values }) => 'faults' in values);
  const configurations = shown.filter((example) => !plans.includes(example));

  expect(plans.map(({ values }) => readFaultPlan(values))).toEqual([expect.objectContaining({ seed: 7 })]);
  expect(configurations.length).toBeGreaterThan(8);
  expect(configurations.filter(({ values }) => !optionsSchema(SECTIONS).safeParse(values).success)).toEqual([]);
});

test('every fault of the sandbox is listed', () => {
  const text = readFileSync('docs/sandbox.md', 'utf8').split('\n## Faults on request')[1] ?? '';

  const listed = [...text.matchAll(/^\| (`.*?`) +\|/gm)].flatMap((row) => row[1]?.match(/\w+/g) ?? []);

  expect(listed.toSorted()).toEqual(Object.keys(FAULTS).toSorted());
});

/** Every call of rowsync in the documents: the words before the first option or argument, and its options. */
function calls(): readonly { readonly words: readonly string[]; readonly options: readonly string[] }[] {
  const inline = documents.flatMap(({ text }) =>
    [...text.matchAll(/`(rowsync [^`]+)`/g)].map((match) => match[1] ?? ''),
  );
  const lines = blocks('sh').flatMap(({ code }) => code.split('\n').map((line) => line.split(' #', 1).join('')));
  return [...inline, ...lines]
    .flatMap((line) => line.split(/&&|[|><(]/))
    .flatMap((call) => {
      const [, rest = ''] = /(?:^|sudo |-s |run )(?:rowsync|sandbox)((?: .*)?)$/.exec(call.trim()) ?? [];
      const words = rest.trim().replace(/^-- /, '').split(/\s+/);
      const name = call.includes('run -s sandbox') ? ['sandbox', ...words] : words;
      const options = words.filter((word) => /^--[a-z]/.test(word));
      return /^[a-z]+$/.test(name[0] ?? '') ? [{ words: name, options }] : [];
    });
}

/** Commands that have commands of their own. */
const GROUPS = ['files', 'schema', 'service'];

test('every command and every option that is shown exists', async () => {
  using workspace = makeWorkspace({ url: 'http://127.0.0.1', database: '1', token: 'x' });
  const helps = new Map<string, string>();
  const missing: string[] = [];
  for (const { words, options } of calls()) {
    const command = words.slice(0, GROUPS.includes(words[0] ?? '') && /^[a-z]/.test(words[1] ?? '') ? 2 : 1).join(' ');
    const help = helps.get(command) ?? (await runCli([...command.split(' '), '--help'], workspace)).stdout;
    helps.set(command, help);
    if (!help.startsWith(`Usage: rowsync ${command} `)) missing.push(command);
    missing.push(...options.filter((option) => !help.includes(option)).map((option) => `${command} ${option}`));
  }

  expect(helps.size).toBeGreaterThan(20);
  expect(missing).toEqual([]);
});

/** The name by which a link finds a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

test('every link leads to a file and to a heading of it', () => {
  const links = documents.flatMap(({ path, text }) =>
    [...text.matchAll(/(?:\]\(|srcset="|src=")(?!https?:)([^)"#]*)(?:#([^)"]+))?/g)].map(([, target = '', anchor]) => ({
      path,
      target: target === '' ? path : join(dirname(path), target),
      anchor,
    })),
  );
  const broken = links.filter(({ target, anchor }) => {
    if (target.startsWith(REFERENCE)) return false;
    if (!existsSync(target)) return true;
    const headings = [...readFileSync(target, 'utf8').matchAll(/^#+ (.+)$/gm)].map((match) => anchorOf(match[1] ?? ''));
    return anchor !== undefined && !headings.includes(anchor);
  });

  expect(links.length).toBeGreaterThan(40);
  expect(broken).toEqual([]);
});

test('every page can be read at once', () => {
  const long = documents.filter(({ path, text }) => {
    return text.trimEnd().split('\n').length > (path === 'README.md' ? README_LINES_MAX : PAGE_LINES_MAX);
  });

  expect(long.map(({ path }) => path)).toEqual([]);
});
