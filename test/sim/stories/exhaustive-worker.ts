/**
 * A process that plays its share of a scenario's runs, and reports to exhaustive-run.ts. Takes one message with its
 * order.
 */
import { loadEngine } from '../world/engine.ts';
import { playShare, type ExhaustiveOrder } from './exhaustive-share.ts';
import { Runner } from '../run/runner.ts';

async function work(order: ExhaustiveOrder): Promise<void> {
  using runner = new Runner(await loadEngine(new URL(order.root)));
  const report = await playShare(runner, order);
  await new Promise<void>((resolve) => void process.send?.(report, undefined, {}, () => resolve()));
}

process.once('message', (order) => {
  void work(order as ExhaustiveOrder).then(() => process.disconnect?.());
});
