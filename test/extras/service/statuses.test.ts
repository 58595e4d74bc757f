/**
 * The status of several databases at once.
 */
import { expect, test } from 'vitest';
import { RowsyncError } from '../../../src/base/errors.ts';
import { databasesText, exitCodeOfAll } from '../../../src/extras/service/statuses.ts';
import type { Problem } from '../../../src/reconcile/account/account.ts';
import { NOW, problem, status, table } from '../../support/status.ts';

test('several databases are one table: what is oldest, what waits, and the worst of each', () => {
  const late = { ...status([table('Order'), table('Stock', { freshSince: '2026-11-21T09:00:00Z', pendingCount: 2 })]) };
  const databases = [
    {
      name: 'crm',
      status: { ...late, problems: [problem('rows.refused', { table: 'Stock' })] },
      json: {},
      error: null,
    },
    { name: 'main', status: status([table('Customer')]), json: {}, error: null },
    { name: 'old', status: status([table('Customer', { state: 'restored' })]), json: {}, error: null },
  ];

  expect(databasesText(databases, { nowMs: NOW, width: null })).toBe(
    [
      'service\ttables\trows\tas of\tedits\tstate',
      'crm\t2\t2,468\t3 h ago\t2\tStock: refused',
      'main\t1\t1,234\t6 min ago\t0\tsteady',
      'old\t1\t1,234\t6 min ago\t0\trestored\n',
    ].join('\n'),
  );
  expect(databasesText(databases, { nowMs: NOW, width: 80 })).toContain('rowsync status --service crm');
});

test('the exit code for several databases is that of the worst problem of any, as it is for one', () => {
  const database = (...problems: readonly Problem[]) => ({
    name: 'x',
    status: { ...status([]), problems },
    json: {},
    error: null,
  });
  const person = { ...problem('rows.refused', { table: 'Stock' }), severity: 'person' } as const;
  const late = { ...person, severity: 'late' } as const;

  expect(exitCodeOfAll([database(late), database(person)], true)).toBe(3);
  expect(exitCodeOfAll([database(late), database()], true)).toBe(75);
  expect(exitCodeOfAll([database(person), database({ ...person, severity: 'damaged' })], true)).toBe(78);
  expect(exitCodeOfAll([database(late)], false)).toBe(0);
  expect(
    exitCodeOfAll(
      [
        {
          ...database(),
          status: null,
          error: new RowsyncError('config', 'config.invalid', { message: 'm', hint: 'h' }),
        },
      ],
      true,
    ),
  ).toBe(2);
  const busy = new RowsyncError('replica', 'replica.busy', { message: 'm', hint: 'h' });
  expect(busy.exitCode).toBe(75);
  expect(exitCodeOfAll([database(person), { ...database(), status: null, error: busy }], true)).toBe(3);
});
