import { expect, test } from 'vitest';
import { CATALOGUE, catalogueWith, type AddedProblem } from '../../../src/reconcile/account/problems.ts';

test('a problem that an extra brings comes right before the one that it names', () => {
  const added: readonly AddedProblem[] = [
    { code: 'sink.failed', severity: 'person', why: 'one', before: 'log.failed' },
    { code: 'sink.late', severity: 'late', why: 'two', before: 'log.failed' },
  ];

  const all = catalogueWith(added).map(({ code }) => code);

  expect(all).toHaveLength(CATALOGUE.length + 2);
  expect(all.slice(all.indexOf('sink.failed'), all.indexOf('log.failed') + 1)).toEqual([
    'sink.failed',
    'sink.late',
    'log.failed',
  ]);
});
