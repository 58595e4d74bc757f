/**
 * The whole way of one batch, from the ids of edited rows to settled ones. The process may end between any two steps; stored batches are settled later.
 * The network is never awaited inside a transaction.
 */
import type { RowsyncError } from '../base/errors.ts';
import type { Turn } from '../base/pipeline.ts';
import { judgeAnswers, storeAnswers, type Answered } from './answers.ts';
import { askAbout } from './ask.ts';
import { step, type IdBlock, type Round, type TablePush } from './context.ts';
import { read } from './read.ts';
import { record } from './record.ts';
import { NOT_SENT, send } from './send.ts';
import { settleFound } from './settle.ts';

/** Stages that one batch of a table enters at a time. */
export const PUSH_LANES = ['record', 'send', 'settle'] as const;

/** A batch among the others of its round. */
type PushTurn = Turn<(typeof PUSH_LANES)[number]>;

/**
 * Pushes one block of rows, beside other blocks of the same kind. Returns what stops the table; null for nothing. @throws RowsyncError of origin and
 * replica, `guard.deletes`, `push.shape`.
 */
export async function pushBatch(
  run: TablePush,
  block: IdBlock,
  round: Round,
  turn: PushTurn,
): Promise<RowsyncError | null> {
  const found = await read(run, block);
  if (!found.mayGoAhead) await turn.alone();
  const recorded = await turn.enter('record', async () => (turn.isStopped() ? null : record(run, found, round)));
  if (recorded === null) return null;
  const sent = await turn.enter('send', async () => {
    const { stop, outcomes } = turn.isStopped() ? NOT_SENT : await send(run, recorded.batch, recorded.contents);
    if (stop !== null) turn.stop();
    const answered = judgeAnswers(recorded.batch, outcomes);
    const settling = settle(run, answered, turn);
    // A row that was refused or lost may concern the rows of the next batch.
    if (!answered.isPlain) await settling;
    return { stop, settling };
  });
  await sent.settling;
  return sent.stop;
}

/** Stores the answers, reads the rows back, and merges them. */
async function settle(run: TablePush, answered: Answered, turn: PushTurn): Promise<void> {
  await run.context.origin.requestsLeave(); // the next batch, before storing keeps the event loop busy
  await step(run, 'store');
  const left = await storeAnswers(run, answered);
  if (left === null) return;
  const findings = await askAbout(run, left, { isAtOnce: true });
  await turn.enter('settle', () => settleFound(run, left, findings));
}
