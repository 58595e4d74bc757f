/** What the log says of an account, compared with the one before. */
import { expect, test } from 'vitest';
import { loggerOf } from '../../src/base/log.ts';
import { AccountWatch } from '../../src/daemon/account-watch.ts';
import { problem } from '../support/status.ts';

function watching() {
  const lines: unknown[] = [];
  const log = loggerOf((level) => (event, facts) => void lines.push([level, event, facts?.table, facts?.message]));
  const watch = new AccountWatch();
  return {
    watch,
    /** Takes an account, and returns what was logged of it. */
    take: (...problems: Parameters<AccountWatch['take']>[0]) => {
      lines.length = 0;
      watch.take(problems, log);
      return [...lines];
    },
  };
}

const held = problem('table.held', { table: 'Note', sentence: 'Note is held' });

test('a problem is logged when it is found, and once more when it is solved', () => {
  const { watch, take } = watching();

  expect(take(held)).toEqual([['warn', 'problem.found', 'Note', 'Note is held']]);
  expect(watch.problems).toEqual([held]);
  expect(take(held)).toEqual([]);
  expect(take()).toEqual([['info', 'problem.solved', 'Note', undefined]]);
  expect(watch.problems).toEqual([]);
  expect(take(held)).toHaveLength(1);
});

test('a problem whose words change is logged again, and is not solved', () => {
  const { take } = watching();
  take(held);

  expect(take({ ...held, sentence: 'Note is still held' })).toEqual([
    ['warn', 'problem.found', 'Note', 'Note is still held'],
  ]);
});

test('the same problem of another table is another one', () => {
  const { take } = watching();
  take(held);

  expect(take(held, { ...held, table: 'Order' })).toEqual([['warn', 'problem.found', 'Order', 'Note is held']]);
  expect(take({ ...held, table: 'Order' })).toEqual([['info', 'problem.solved', 'Note', undefined]]);
});

test('of two problems with one code and one table, the one that is over is solved, and the other is not found anew', () => {
  const [one, other] = ['one', 'other'].map((sentence) => problem('work.failed', { sentence }));
  const both = [one, other].filter((it) => it !== undefined);
  const solved = [['info', 'problem.solved', null, undefined]];

  for (const left of both) {
    const { watch, take } = watching();
    expect(take(...both)).toHaveLength(2);
    expect(take(left)).toEqual(solved);
    expect(watch.problems).toEqual([left]);
    expect(take(left)).toEqual([]);
    expect(take(...both)).toHaveLength(1);
  }
});

test('problems keep the order of the account', () => {
  const [one, other, third] = ['one', 'other', 'third'].map((sentence) => problem('work.failed', { sentence }));
  const { watch, take } = watching();
  const accounts = [[other], [one, other], [third, other, one]].map((all) => all.filter((it) => it !== undefined));

  for (const account of accounts) {
    take(...account);

    expect(watch.problems).toEqual(account);
  }
});
