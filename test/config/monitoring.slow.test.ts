/**
 * The files for monitoring that come with rowsync: they name metrics and views that there are, and Prometheus' own tool
 * finds the alarms right and ringing when they should. That part is skipped where promtool is not installed.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { expect, test } from 'vitest';
import { sql } from '../../src/base/sql.ts';
import { startFixture } from '../support/replica.ts';

function textOf(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
}

const METRICS = new Set(textOf('docs/reference/metrics.md').match(/rowsync_\w+/g));

function hasPromtool(): boolean {
  try {
    execFileSync('promtool', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

test.each(['config/alerts.yml', 'config/grafana.json'])('%s names metrics that there are', (path) => {
  const named = new Set(textOf(path).match(/rowsync_\w+/g));

  expect([...named].filter((name) => !METRICS.has(name))).toEqual([]);
  expect(named.size).toBeGreaterThan(8);
});

test('the dashboard is one that Grafana reads: every panel has a place, a query and a number of its own', () => {
  const dashboard = JSON.parse(textOf('config/grafana.json')) as {
    panels: { id: number; gridPos: { x: number; w: number }; targets: { expr: string }[] }[];
  };
  const { panels } = dashboard;

  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  expect(panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([]);
  expect(panels.flatMap(({ targets }) => targets).filter(({ expr }) => expr === '')).toEqual([]);
});

test('the file for Datasette has queries that run, and facets over columns that there are', async () => {
  await using fixture = await startFixture({ tables: [] });
  const { databases } = parse(textOf('config/rowsync.datasette.yaml')) as {
    databases: {
      replica: { queries: Record<string, { sql: string }>; tables: Record<string, { facets: string[] }> };
    };
  };
  const { queries, tables } = databases.replica;
  const columnsOf = (view: string): readonly unknown[] =>
    fixture.replica
      .prepare(sql`SELECT name FROM pragma_table_info(?)`)
      .pluck()
      .all(view);
  const ours = Object.entries(tables).filter(([name]) => name.startsWith('sync_'));

  for (const { sql: text } of Object.values(queries)) expect(fixture.rows(text)).toEqual([]);
  for (const [view, { facets }] of ours) expect(columnsOf(view)).toEqual(expect.arrayContaining(facets));
});

test.skipIf(!hasPromtool())('promtool finds the alarms right, and ringing when they should (needs promtool)', () => {
  const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

  const checked = execFileSync('promtool', ['check', 'rules', path('../../config/alerts.yml')], { encoding: 'utf8' });
  const tested = execFileSync('promtool', ['test', 'rules', path('alerts.rules.yml')], { encoding: 'utf8' });

  expect(checked).toContain('SUCCESS: 10 rules found');
  expect(tested).toContain('SUCCESS');
});
