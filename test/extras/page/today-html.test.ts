/**
 * The first page as a text: what it shows to whom, the last day of a table as a strip, and that values are bounded. The
 * browser sees it in test/extras/page/browser.long.test.ts.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { headlineOf } from '../../../src/extras/page/headline.ts';
import { openDecisionsHtml, type OpenDecisions } from '../../../src/extras/page/decisions.ts';
import { documentHtml, topHtml } from '../../../src/extras/page/layout.ts';
import { html } from '../../../src/extras/page/html.ts';
import type { Quarter } from '../../../src/extras/page/run-facts.ts';
import {
  bottomHtml,
  faresOf,
  headlineHtml,
  outagesOf,
  type OutagePeriod,
} from '../../../src/extras/page/today-html.ts';
import { doneHtml } from '../../../src/extras/page/work.ts';
import type { DaemonState } from '../../../src/daemon/state.ts';
import type { Problem } from '../../../src/reconcile/account/account.ts';
import type { ProblemCode } from '../../../src/reconcile/account/problems.ts';
import type { ReplicaIdentity, RunRecord, TableStatus } from '../../../src/replica/reader.ts';
import {
  CONFLICT,
  DECISIONS,
  DOWN,
  FAILURE,
  NOW,
  problemsOf,
  REFUSAL,
  STATE,
  TABLE,
} from '../../support/first-page.ts';
import { fuzzRuns } from '../../support/fuzz.ts';

/** What the parts of the first page are made from. */
interface PageView {
  readonly state: DaemonState;
  readonly replica: { readonly path: string; readonly bytes: number };
  readonly identity: ReplicaIdentity | null;
  readonly problems: readonly Problem[];
  readonly tables: readonly TableStatus[];
  readonly runs: readonly RunRecord[];
  readonly decisions: OpenDecisions;
}

/** These parts in one document. */
function pageHtml({ state, replica, identity, problems, tables, runs, decisions }: PageView): string {
  const headline = headlineOf(problems, { state, tables, nowMs: NOW });
  return documentHtml(
    headline.sentence,
    html`${topHtml({ identity, formToken: decisions.formToken, place: 'Today' })} ${headlineHtml(headline, decisions)}
    ${openDecisionsHtml(decisions, NOW)} ${doneHtml({ runs, results: new Map(), notes: [], held: new Set() }, NOW)}
    ${bottomHtml({ replica, identity, state, lastMoment: null, nowMs: NOW })}`,
    null,
  );
}

/** A page with the account of its tables. */
function pageWith(changes: Partial<PageView>): string {
  const view = { ...VIEW, ...changes };
  return pageHtml({ ...view, problems: problemsOf(view.tables, view.state) });
}

const RUN: RunRecord = {
  id: 1,
  kind: 'pull',
  startedAt: '2026-06-01T11:55:00Z',
  finishedAt: '2026-06-01T11:55:03Z',
  outcome: 'done',
  tableCount: 1,
  requestCount: 12,
  notModifiedCount: 10,
  receivedBytes: 4096,
  insertedCount: 0,
  updatedCount: 0,
  deletedCount: 0,
  errorMessage: null,
};

const VIEW: PageView = {
  state: STATE,
  replica: { path: '/var/lib/rowsync/replica.db', bytes: 2048 },
  identity: {
    url: 'https://www.example.com',
    database: '21995',
    userEmail: 'ada@example.com',
    role: 'Admin',
    timeZone: 'UTC',
  },
  problems: [],
  tables: [TABLE],
  runs: [RUN],
  decisions: DECISIONS,
};

test('the name of a table is said once', () => {
  const held = { ...TABLE, state: 'held', problem: 'Note: 4 of 6 rows would be deleted' };

  expect(pageWith({ tables: [held], decisions: DECISIONS })).toContain('<span>4 of 6 rows would be deleted</span>');
});

test.each<[ProblemCode, boolean]>([
  ['table.held', true],
  ['run.held', true],
  ['table.maskKey', false],
  ['table.kept', false],
])('a problem %s has a button to let it through: %s; what else a person has to do is said', (code, hasButton) => {
  const problem: Problem = {
    code,
    severity: 'person',
    table: null,
    count: 1,
    since: null,
    sentence: 's',
    hint: 'Do it',
  };
  const text = headlineHtml(headlineOf([problem], { state: STATE, tables: [TABLE], nowMs: NOW }), DECISIONS).toString();

  expect(text).toContain('Do it');
  expect(text.includes('Let it through')).toBe(hasButton);
});

test('edits that lost are a link to the part where they are taken back, and no command', () => {
  const problem: Problem = {
    code: 'rows.lost',
    table: 'Note',
    severity: 'notice',
    count: 3,
    sentence: '3 edits lost',
    hint: 'rowsync conflicts',
    since: null,
  };

  const text = pageHtml({ ...VIEW, problems: [problem] });

  expect(text).toContain('<a href="#lost">3 edits lost</a>');
  expect(text).not.toContain('rowsync conflicts');
});

test('who has signed in sees three versions, the origin’s words and the buttons', () => {
  const text = pageHtml({ ...VIEW, decisions: DECISIONS });

  for (const shown of ['before', 'mine', 'theirs', 'Cannot insert duplicate value', '400, 4100', '9007199254740993']) {
    expect(text).toContain(shown);
  }
  const forms = [...text.matchAll(/<form method="post" action="([^"]+)"/g)].map(([, action]) => action);
  expect(forms).toEqual(['/sign-out', '/cycle', '/decide', '/decide', '/decide', '/decide']);
  expect(text.match(/name="token" value="a-token"/g)).toHaveLength(forms.length);
});

describe('a page in which everything that comes from elsewhere is hostile', () => {
  /** The tags of a page, whether they end or not, without what was put into their attributes. */
  const tagsOf = (text: string, given: string): readonly string[] =>
    [...text.matchAll(/<[^<>]*>?/g)].map(([tag]) => tag.replaceAll(given, 'x'));
  const hostilePage = (text: string): string => {
    const row = JSON.stringify({ [text]: text, other: text });
    const failing = { ...DOWN, failure: { ...FAILURE, message: text, hint: text } };
    const conflict = { ...CONFLICT, table: text, column: text, base: text, local: text, remote: text, problem: text };
    return pageWith({
      state: failing,
      replica: { path: text, bytes: 1 },
      identity: { url: text, database: text, userEmail: text, role: text, timeZone: text },
      tables: [{ ...TABLE, table: text, state: 'failed', problem: text, hint: text }],
      runs: [{ ...RUN, outcome: 'failed', errorMessage: text }],
      decisions: {
        ...DECISIONS,
        conflicts: [
          conflict,
          { ...conflict, id: 8, kind: 'deletedHere', column: null, base: row, local: null, remote: row },
        ],
        failures: [{ ...REFUSAL, table: text, column: text, reason: text, sent: row }],
      },
    });
  };
  const piece = fc.oneof(
    fc.constantFrom(
      ...[
        ['<script>alert(1)</script>', '</textarea>', '</bdi>', '"', "'", '`', '>', '<', '&', '&lt;', '<!--', '-->'],
        [']]>', ' onclick=', 'javascript:', '\0', '\u202E', '\u009B', '\uD800', '\n', '{{1}}', '__proto__', 'x'],
      ].flat(),
    ),
    fc.string({ unit: 'binary', maxLength: 4 }),
  );

  /**
   * Without the digests of what a person saw, which differ with it, and what follows a text that was put in; it begins
   * with a word of its own.
   */
  const bareOf = (page: string): string =>
    page.replaceAll(/harmless[^<"]*(?=[<"])/g, 'harmless').replaceAll(/(seen&quot;:&quot;)[\w-]{22}&/g, '$1&');

  test('has the tags of a harmless one and no others, and shows nothing that acts', () => {
    const harmless = tagsOf(bareOf(hostilePage('harmless')), 'harmless');

    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const text = `harmless${pieces.join('')}`;
        const page = hostilePage(text);
        expect(tagsOf(bareOf(page), 'harmless')).toEqual(harmless);
        expect(page.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
      }),
      fuzzRuns(300),
    );
  });
});

const QUARTER_MS = 900_000;
const NOW_QUARTER = 1_000;

/**
 * The last quarters of a strip, at the begin of the last one of them; an outage began and ended so many quarters ago.
 */
function lastOf(
  quarters: readonly (readonly [number, Quarter['fare']])[],
  lateAfterQuarters: number | null,
  outage: readonly [number, number] | null = null,
): string {
  const known = quarters.map(([ago, fare]) => ({ quarter: NOW_QUARTER - ago, fare, wentWell: fare !== 'failed' }));
  const lateAfterMs = new Map(lateAfterQuarters === null ? [] : [['T', lateAfterQuarters * QUARTER_MS]]);
  const outages: readonly OutagePeriod[] =
    outage === null
      ? []
      : [{ fromMs: (NOW_QUARTER - outage[0]) * QUARTER_MS, toMs: (NOW_QUARTER - outage[1]) * QUARTER_MS }];
  const measures = { nowMs: NOW_QUARTER * QUARTER_MS + 1, lateAfterMs, outages };
  const fares = faresOf(new Map([['T', known]]), measures).get('T');
  expect(fares).toHaveLength(96);
  return (fares ?? []).slice(-6).join(' ');
}

test.each([
  [
    'what was pulled is said',
    [
      [5, 'fresh'],
      [4, 'failed'],
      [3, 'followed'],
      [2, 'fresh'],
      [1, 'fresh'],
      [0, 'followed'],
    ],
    2,
    'fresh failed followed fresh fresh followed',
  ],
  ['nothing is known before the first', [[1, 'fresh']], 2, 'unknown unknown unknown unknown fresh calm'],
  ['what should have come and did not is late', [[5, 'fresh']], 2, 'fresh calm calm late late late'],
  ['without a schedule nothing is late', [[5, 'fresh']], null, 'fresh calm calm calm calm calm'],
  [
    'a failure stands until the table is read',
    [
      [5, 'fresh'],
      [2, 'failed'],
    ],
    2,
    'fresh calm calm failed failed failed',
  ],
  ['a success of days ago counts', [[300, 'fresh']], 298, 'calm calm calm calm late late'],
  ['what never went well has failed', [[300, 'failed']], 2, 'failed failed failed failed failed failed'],
  [
    'after a failure of days ago, what went well since and is due is late',
    [
      [300, 'failed'],
      [299, 'fresh'],
    ],
    2,
    'late late late late late late',
  ],
] as const)('%s', (_title, quarters, late, expected) => {
  expect(lastOf(quarters, late)).toBe(expected);
});

test.each([
  ['what is due in an outage has failed', [4, -9], 2, 'fresh calm calm failed failed failed'],
  ['before and after an outage it is late', [1.5, 0.5], 1, 'fresh calm late failed late late'],
  ['what is not due is calm in an outage', [4, -9], 9, 'fresh calm calm calm calm calm'],
] as const)('%s', (_title, outage, late, expected) => {
  expect(lastOf([[5, 'fresh']], late, outage)).toBe(expected);
});

test.each([
  ['a good run', '.', []],
  ['a run that failed as a whole, until now', '.x', [[1, Infinity]]],
  ['further ones of the same outage', '.xx', [[1, Infinity]]],
  [
    'until the next run that read anything',
    '.xx..x.',
    [
      [1, 3],
      [5, 6],
    ],
  ],
] as const)('an outage is known by %s', (_title, runs, expected) => {
  const tries = runs.split('').map((run, index) => {
    const at = new Date(index * 1_000).toISOString();
    return { startedAt: at, finishedAt: at, allFailed: run === 'x' };
  });

  expect(outagesOf(tries).map(({ fromMs, toMs }) => [fromMs / 1_000, toMs / 1_000])).toEqual(expected);
});
