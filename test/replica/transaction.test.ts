/** A transaction as an object: it ends with the transaction, and says why rows change. */
import { expect, test } from 'vitest';
import { sql } from '../../src/base/sql.ts';
import type { Tx } from '../../src/replica/connection.ts';
import { startFixture } from '../support/replica.ts';

const ONE = sql`SELECT 1`;

test('refuses to prepare a statement, and to tell its journal, after its end', async () => {
  await using fixture = await startFixture();
  const ended = await fixture.replica.write('Keeping a transaction', (tx) => tx);

  expect(() => ended.prepare(ONE)).toThrow('a transaction is not used after its end');
  expect(() => ended.history).toThrow('a transaction is not used after its end');
  expect(() => ended.because('filter').prepare(ONE)).toThrow('a transaction is not used after its end');
});

test('is over for code that kept it when the transaction failed or was rehearsed', async () => {
  await using fixture = await startFixture();
  const kept: Tx[] = [];
  const keep = (tx: Tx): void => void kept.push(tx.because('decision'));
  await fixture.replica.rehearse('Rehearsing', keep);
  await fixture.replica
    .write('Failing', (tx) => {
      keep(tx);
      throw new Error('refused');
    })
    .catch(() => null);

  expect(kept).toHaveLength(2);
  for (const tx of kept) expect(() => tx.prepare(ONE)).toThrow('a transaction is not used after its end');
});

test('has the cause of the work that writes, and keeps its run where another cause is given', async () => {
  await using fixture = await startFixture();
  const working = fixture.replica.because({ cause: 'push', runId: 7 });

  const causes = await working.write('Looking', (tx) => [tx.because('filter').cause, tx.cause]);

  expect(causes).toEqual([
    { cause: 'filter', runId: 7 },
    { cause: 'push', runId: 7 },
  ]);
});
