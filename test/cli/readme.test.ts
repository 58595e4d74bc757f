/**
 * What the README promises, held against the program: the views and their columns, the configuration, the queries.
 */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { beforeAll, expect, test } from 'vitest';
import { optionsSchema } from '../../src/config/options.ts';
import { FAULTS, readFaultPlan } from '../../src/sandbox/faults.ts';
import { makeWorkspace } from '../support/child.ts';
import { startTestSandbox } from '../support/sandbox.ts';
import { runCli } from '../support/session.ts';

const readme = readFileSync('README.md', 'utf8');

/** Columns of the public views as they are, by view. */
const columnsByView = new Map<string, readonly string[]>();
const exitCodes: number[] = [];

beforeAll(async () => {
  await using sandbox = await startTestSandbox();
  using workspace = makeWorkspace(sandbox);
  await runCli(['pull'], workspace);
  const query =
    "SELECT v.name AS view, c.name AS column FROM sqlite_schema v, pragma_table_info(v.name) c WHERE v.type = 'view'";
  const { stdout } = await runCli(['sql', '--json', query], workspace);
  for (const { view, column } of JSON.parse(stdout) as { view: string; column: string }[]) {
    columnsByView.set(view, [...(columnsByView.get(view) ?? []), column]);
  }
  for (const sql of queries()) exitCodes.push((await runCli(['sql', sql], workspace)).exitCode);
}, 60_000);

/** The queries of the README, which the sample data can answer. */
function queries(): readonly string[] {
  const blocks = [...readme.matchAll(/```sql\n(.*?)```/gs)].map((match) => match[1] ?? '');
  const arguments_ = [...readme.matchAll(/rowsync sql '([^']+)'/g)].map((match) => match[1] ?? '');
  return [...blocks, ...arguments_];
}

/** Names that the part about a view gives for its columns: first cells of its table, or words in backticks. */
function documentedColumns(view: string): readonly string[] {
  const start = readme.indexOf(`\n\`${view}\`, one row`);
  const part =
    start < 0
      ? ''
      : readme
          .slice(start + 1)
          .split(/\n(?=`sync_|##)/, 1)
          .join('');
  const cells = [...part.matchAll(/^\| *([a-z0-9_, ]+?) *\|/gm)].map((match) => match[1] ?? '');
  if (cells.length > 0) return cells.filter((cell) => cell !== 'column').flatMap((cell) => cell.split(', '));
  return [
    ...part
      .split(': ')
      .slice(1)
      .join(': ')
      .matchAll(/`([a-z_]+)`/g),
  ].map((match) => match[1] ?? '');
}

test('every public view is described with exactly its columns', () => {
  const documented = new Map([...columnsByView.keys()].map((view) => [view, documentedColumns(view).toSorted()]));

  expect(columnsByView.size).toBe(9);
  expect(documented).toEqual(new Map([...columnsByView].map(([view, columns]) => [view, columns.toSorted()])));
});

test('every query that is shown runs on the sample data', () => {
  expect(queries().length).toBeGreaterThan(1);
  expect(exitCodes).toEqual(queries().map(() => 0));
});

/** The values of all YAML in a part of the README. */
function yamlBlocks(text: string): readonly unknown[] {
  return [...text.matchAll(/```yaml\n(.*?)```/gs)].map((match) => parse(match[1] ?? '') as unknown);
}

test('every configuration that is shown is valid', () => {
  const [configurations = ''] = readme.split('### Faults on request');

  expect(yamlBlocks(configurations).map((values) => optionsSchema.safeParse(values).success)).toEqual([
    true,
    true,
    true,
  ]);
});

test('the faults that are shown are valid, and all of them are listed', () => {
  const [, section = ''] = readme.split('### Faults on request');

  const listed = [...section.matchAll(/^\| (`.*?`) +\|/gm)].flatMap((row) => row[1]?.match(/\w+/g) ?? []);

  expect(yamlBlocks(section).map(readFaultPlan)).toEqual([expect.objectContaining({ seed: 7 })]);
  expect(listed.toSorted((a, b) => (a < b ? -1 : 1))).toEqual(Object.keys(FAULTS).toSorted((a, b) => (a < b ? -1 : 1)));
});
