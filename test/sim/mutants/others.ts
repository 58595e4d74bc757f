/**
 * Defences against what no simulated world has: consents, time zones, numbers. Each is taken out by itself, and found
 * by the test that found.ts names.
 */
import type { Mutant } from './mutant.ts';

/** Planted bugs that ordinary tests own. */
export const OTHER_MUTANTS: readonly Mutant[] = [
  {
    name: 'consent-of-a-pull-is-kept',
    without: 'What a person let a pull delete is let through again by every later pull.',
    edits: [
      {
        file: 'pull/pull-table.ts',
        find: 'storeFacts(tx, summary.id, { pull_consent: null })',
        replace: 'summary.id < 0 && storeFacts(tx, summary.id, { pull_consent: null })',
      },
    ],
  },
  {
    name: 'consent-of-a-push-is-kept',
    without: 'What is left of a consent when a push has ended lets later edits through.',
    edits: [
      {
        file: 'push/push-table.ts',
        find: 'storeFacts(tx, table.id, { push_consent: null })',
        replace: 'table.id < 0 && storeFacts(tx, table.id, { push_consent: null })',
      },
    ],
  },
  {
    name: 'consent-is-not-spent',
    without: 'A consent lets as many rows through as it was given for after some of them have left.',
    edits: [
      {
        file: 'replica/bookkeeping/table-errors.ts',
        find: '.run(BigInt(rowCount), tableId);',
        replace: '.run(0n, tableId);',
      },
    ],
  },
  {
    name: 'autumn-hour-without-offset',
    without: 'A local time that comes twice is sent without the offset that tells which of the two is meant.',
    edits: [
      {
        file: 'wire/time-zones.ts',
        find: 'instantsOfLocal(ms + offsetMs, zone).length === 1;',
        replace: 'offsetMs !== null;',
      },
    ],
  },
  {
    name: 'rounded-number-is-another',
    without: 'A number that the origin keeps with six decimals counts as another one than was sent.',
    edits: [
      {
        file: 'wire/column-types.ts',
        find: 'return sent !== null && there !== null && isRoundedTo(',
        replace: 'return sent === null && there !== null && isRoundedTo(',
      },
    ],
  },
  {
    name: 'what-star-returns-is-not-writable',
    without: 'At an origin that does not describe rights, the columns that `*` returns count as read-only.',
    edits: [
      {
        file: 'wire/write-rights.ts',
        find: "return isReturned ? { kind: 'Updatable', readOnly: false }",
        replace: "return isReturned && isKey ? { kind: 'Updatable', readOnly: false }",
      },
    ],
  },
  {
    name: 'unknown-rights-are-kept',
    without: 'A table that had no row when its rights were asked for stays read-only once it has one.',
    edits: [
      {
        file: 'pull/table-description.ts',
        find: 'leavesRightsOpen(value) ? await',
        replace: "leavesRightsOpen(value) && answer.kind === 'ok' ? await",
      },
    ],
  },
  {
    name: 'etag-of-another-format',
    without:
      'An ETag is sent with another URL than the one that it came from, such as the same list in another format.',
    edits: [
      {
        file: 'wire/headers.ts',
        find: 'return kept?.startsWith(`${url} `) === true ? kept.slice(url.length + 1) : null;',
        replace: "return kept?.split(' ')[url === '' ? 0 : 1] ?? null;",
      },
    ],
  },
  {
    name: 'unreadable-rows-verified',
    without: 'verify passes over a row that cannot be read.',
    edits: [
      { file: 'extras/verify/verify.ts', find: 'for (const { id } of unreadable) differing.add(id);', replace: '' },
    ],
  },
  {
    name: 'empty-cell-with-a-base',
    without: 'A row of a two-way table comes without its unreadable cell, which may be pushed.',
    edits: [
      {
        file: 'capture/writer/store-origin-rows.ts',
        find: "if (readTable(tx, target.id).push !== 'off') return [];",
        replace: '',
      },
    ],
  },
  {
    name: 'every-cell-is-written',
    without: 'A row that keeps an edit is written whole, and with it texts that are no UTF-8.',
    edits: [
      {
        file: 'capture/writer/apply-outcome.ts',
        find: 'return before === value ? [] : [{ name, value }];',
        replace: 'return [{ name, value, before }];',
      },
    ],
  },
];
