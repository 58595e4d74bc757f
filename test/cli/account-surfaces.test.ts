/**
 * Every problem of the catalogue on every surface that renders the account: what one of them forgets is silent there.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { accountBeside, accountExitCode, accountText } from '../../src/cli/runtime/account-text.ts';
import { accountOfService } from '../../src/extras/service/command.ts';
import { accountResult } from '../../src/extras/check/command.ts';
import { statusText } from '../../src/cli/commands/status.ts';
import { metricsText } from '../../src/extras/http/metrics.ts';
import { judgeNotices, NO_NOTICES_SENT } from '../../src/extras/notices/notices.ts';
import { headlineOf } from '../../src/extras/page/headline.ts';
import { headlineHtml } from '../../src/extras/page/today-html.ts';
import { readyReply } from '../../src/extras/http/server.ts';
import { statusLine } from '../../src/daemon/state.ts';
import { listTables } from '../../src/extras/mcp/tool-process.ts';
import type { Problem } from '../../src/reconcile/account/account.ts';
import { ALL_PROBLEMS } from '../support/account-facts.ts';
import { RESTING_STATE } from '../support/daemon-state.ts';
import { MEASURES, TABLE_STATUS } from '../support/measures.ts';

type Entry = (typeof ALL_PROBLEMS)[number];

function problemOf({ code, severity }: Entry): Problem {
  return { code, severity, table: 'Note', count: 7, since: null, sentence: `${code} is so`, hint: 'Do this.' };
}

const MINUTES = 60_000;

/** What each surface shows of an account; null where the catalogue says why it shows nothing. */
const SURFACES: readonly [string, (problem: Problem, entry: Entry) => string | null][] = [
  ['service status', (problem) => accountText([problem])],
  ['the ends of pull, push, sync and verify', (problem) => accountBeside([problem], 'what the run did')],
  [
    'status',
    (problem) =>
      statusText(
        {
          replica: { path: 'r.db', bytes: 1, isOlder: false },
          identity: null,
          tables: [{ ...TABLE_STATUS, way: null }],
          moreLines: [],
          runs: [],
          problems: [problem],
          keeper: 'nobody',
        },
        { nowMs: 0, width: null },
      ),
  ],
  ['check', (problem) => accountResult(problem).message],
  ['tables for agents', (problem) => JSON.stringify(listTables([TABLE_STATUS], [], { nowMs: 0, problems: [problem] }))],
  [
    'tables for agents, of no listed table',
    (problem) => JSON.stringify(listTables([], [], { nowMs: 0, problems: [problem] })),
  ],
  [
    'the page',
    (problem) =>
      headlineHtml(headlineOf([problem], { state: RESTING_STATE, tables: [TABLE_STATUS], nowMs: 0 }), {
        conflicts: [],
        lost: [],
        lostCount: 0,
        failures: [],
        conflictCount: 0,
        failureCount: 0,
        heldPushes: new Set(),
        formToken: 'a',
      }).toString(),
  ],
  ['/readyz', (problem) => readyReply([problem], true).body],
  [
    'the line of systemd',
    (problem) => (problem.severity === 'notice' ? null : statusLine({ ...RESTING_STATE, problems: [problem] })),
  ],
  [
    'notices',
    (problem, entry) => {
      if (entry.untold !== undefined) return null;
      const at = (nowMs: number, sent = NO_NOTICES_SENT) => judgeNotices([problem], sent, { nowMs, repeatMs: 1e9 });
      const first = at(0);
      return JSON.stringify([first.notices, at(5 * MINUTES, first.sent).notices]);
    },
  ],
];

test.each(SURFACES)('%s shows every problem that the catalogue does not except', (_surface, show) => {
  const silent = ALL_PROBLEMS.filter((entry) => {
    const shown = show(problemOf(entry), entry);
    return shown !== null && !shown.includes(`${entry.code} is so`);
  });

  expect(silent.map(({ code }) => code)).toEqual([]);
});

test.each(ALL_PROBLEMS.map((entry) => [entry.code, entry] as const))(
  '%s counts in the metrics',
  async (code, entry) => {
    const text = await metricsText({ ...MEASURES, problems: [problemOf(entry)] });

    expect(text).toContain(`rowsync_problems{code="${code}",severity="${entry.severity}"} 7`);
  },
);

test.each(ALL_PROBLEMS.map((entry) => [entry.code, entry] as const))('%s decides the exit code', (_code, entry) => {
  expect(accountExitCode([problemOf(entry)])).toBe({ damaged: 78, person: 3, late: 75, notice: 0 }[entry.severity]);
});

test('service status ends with the account of the replica', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rowsync-'));
  const file = join(folder, 'main.yaml');
  writeFileSync(
    file,
    `origin: { url: "https://db.example", database: "1", tokenFile: token }\nreplica: { path: ${folder}/r.db }\n`,
  );

  const text = await accountOfService('main', { extras: [], nowMs: 0 }, file);

  rmSync(folder, { recursive: true });
  expect(text).toContain('There is no replica yet');
});

test('a replica that was moved away is gone, and not one that was never made', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rowsync-'));
  const file = join(folder, 'main.yaml');
  writeFileSync(
    file,
    `origin: { url: "https://db.example", database: "1", tokenFile: token }\nreplica: { path: ${folder}/r.db }\n`,
  );
  writeFileSync(join(folder, 'r.db.sent'), '');

  const text = await accountOfService('main', { extras: [], nowMs: 0 }, file);

  rmSync(folder, { recursive: true });
  expect(text).toContain('r.db is gone, and r.db.sent is still there');
  expect(text).not.toContain('no replica yet');
});

test('service status says that the next start would fail where the configuration has an error', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rowsync-'));
  const file = join(folder, 'main.yaml');
  writeFileSync(file, 'schedule: { pull: never }\n');

  const text = await accountOfService('main', { extras: [], nowMs: 0 }, file);

  rmSync(folder, { recursive: true });
  expect(text).toContain('the next start would fail');
  expect(text).toContain('schedule.pull');
});
