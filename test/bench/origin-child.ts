/**
 * A sandbox in a process of its own, so that a benchmark does not measure it. Started by origin.ts, which sends orders
 * to change rows; ends with its parent.
 */
import { systemClock } from '../../src/base/clock.ts';
import { startSandbox } from '../../src/sandbox/main.ts';
import { TABLE } from './data.ts';

/** What the parent may ask for. */
export type Order =
  | { readonly kind: 'edit'; readonly percent: number }
  /** Rows from the middle on, in which a number changes without a stamp, as a formula does. */
  | { readonly kind: 'recompute'; readonly rowCount: number }
  | { readonly kind: 'deleteFirst' }
  | { readonly kind: 'append'; readonly rowCount: number }
  /** Changes nothing: the answer to any order is how many milliseconds this process has worked until then. */
  | { readonly kind: 'nothing' };

/** Where the sandbox listens. */
export interface Address {
  readonly url: string;
  readonly database: string;
  readonly token: string;
}

const [dataPath, latencyText] = process.argv.slice(2);
const sandbox = await startSandbox({ clock: systemClock, dataPath, latencyMs: Number(latencyText ?? '0') });

/** So that each edit is one. */
let editCount = 0;

function obey(order: Exclude<Order, { readonly kind: 'nothing' }>): void {
  const rows = sandbox.store.rows(TABLE);
  const ids = rows.map(({ id }) => id);
  switch (order.kind) {
    case 'edit': {
      // Every hundredth row or so, spread evenly; which ones does not matter, only that they stand on many pages.
      editCount += 1;
      const step = 100 / order.percent;
      for (let at = step / 2; at < ids.length; at += step) {
        sandbox.store.update(TABLE, ids[Math.floor(at)] ?? 0, { Customer: `edited ${editCount}` });
      }
      return;
    }
    case 'recompute':
      for (const { id, values } of rows.slice(rows.length / 2).slice(0, order.rowCount)) {
        const { Quantity: quantity = 0, 'Date Modified': stamp = null } = values;
        sandbox.store.update(TABLE, id, { Quantity: Number(quantity) + 1, 'Date Modified': stamp });
      }
      return;
    case 'deleteFirst':
      sandbox.store.delete(TABLE, ids[0] ?? 0);
      return;
    case 'append':
      for (let count = 0; count < order.rowCount; count += 1) sandbox.store.insert(TABLE, { Customer: 'appended' });
  }
}

process.on('message', (order: Order) => {
  if (order.kind !== 'nothing') obey(order);
  process.send?.(performance.eventLoopUtilization().active);
});
process.on('disconnect', () => {
  void sandbox.stop();
});
const { url, database, token } = sandbox;
process.send?.({ url, database, token } satisfies Address);
