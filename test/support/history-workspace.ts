/**
 * A workspace whose replica has a history of 40 minutes, for the commands that read it.
 *
 *    await using history = await startHistory();          // a mirror; or startHistory(HISTORY_TWO_WAY)
 *    await history.run(['log', '--json']);
 */
import { systemClock, type Clock } from '../../src/base/clock.ts';
import { makeWorkspace } from './child.ts';
import { startTestSandbox, type TestSandbox } from './sandbox.ts';
import { runCli } from './session.ts';
import { NOTE } from './two-way.ts';

const CONFIG = `tables: { Note: { history: true } }\n`;
/** The same as a two-way table. */
export const HISTORY_TWO_WAY = `tables: { Note: { push: true, match: Code, history: true } }\n`;

/** A clock that stands at a minute after 2026-11-25 08:00 UTC. */
function world(): { clock: Clock; at: (minute: number) => void } {
  let nowMs = Date.parse('2026-11-25T08:00:00Z');
  return {
    clock: { ...systemClock, nowMs: () => nowMs },
    at: (minute) => (nowMs = Date.parse('2026-11-25T08:00:00Z') + minute * 60_000),
  };
}

/** A workspace with a history. */
export interface HistoryWorkspace extends AsyncDisposable {
  readonly folder: string;
  readonly clock: Clock;
  readonly sandbox: TestSandbox;
  readonly at: (minute: number) => void;
  run(args: readonly string[]): Promise<{ exitCode: number; stdout: string; stderr: string }>;
}

/** Row 1: changed at 10, changed and back at 20 and 30. Row 2: deleted at 20. Row 7: new at 30. It is 40 now. */
export async function startHistory(yaml = CONFIG): Promise<HistoryWorkspace> {
  const { clock, at } = world();
  const sandbox = await startTestSandbox({ tables: [NOTE], clock });
  const made = makeWorkspace(sandbox, yaml);
  const { folder } = made;
  const run = (args: readonly string[]) => runCli(args, { folder, clock });
  await run(['pull']);
  at(10);
  sandbox.store.update('Note', 1, { Title: 'one', Count: 12.5 });
  await run(['pull']);
  at(20);
  sandbox.store.update('Note', 1, { Body: 'for a while' });
  sandbox.store.delete('Note', 2);
  await run(['pull', '--confirm']);
  at(30);
  sandbox.store.update('Note', 1, { Body: null });
  sandbox.store.insert('Note', { Title: 'seven', Code: 'c7' });
  await run(['pull']);
  at(40);
  return {
    folder,
    clock,
    sandbox,
    at,
    run,
    [Symbol.asyncDispose]: async () => {
      made[Symbol.dispose]();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}
