/**
 * What nobody has documented (origin facts, sections 1.2, 2.1, 4.1, 5.4, 5.5 and 8). Each question is put to the server
 * under test, and the answers are printed at the end. The sandbox must give the answers that rowsync assumes; of a real
 * database any answer is welcome. They are those of `rowsync contract`.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';

import { answerOf, QUESTIONS, REQUESTS_MAX, Unasked } from '../../src/extras/questions/questions.ts';
import type { Server } from '../../src/extras/questions/server.ts';
import { openWriting, planWriting, WRITING_QUESTIONS, type WritingServer } from '../../src/extras/questions/writing.ts';
import { keepRows, openTarget, type Target } from './target.ts';

let target: Target;
let writing: WritingServer | null = null;
let clean: () => Promise<void> = async () => undefined;
const answers: string[] = [];

beforeAll(async () => {
  target = await openTarget();
  const table = target.writable;
  const plan = table === null ? null : planWriting(table);
  if (table === null || plan === null) return;
  const kept = await keepRows(target, table, plan.mark);
  clean = kept.clean;
  const signal = new AbortController().signal;
  writing = await openWriting(kept.server, plan, { ...kept, nowMs: Date.now, signal });
});

afterAll(async () => {
  await clean();
  process.stdout.write(`Open questions, as ${target.name} answers them:\n${answers.join('\n')}\n`);
  await target.stop();
});

/** Writes an answer down, and returns what it must be: of a real database any answer is welcome. */
function expectedOf(
  { question, assumed }: { question: string; assumed: string | null },
  answer: string | null,
): unknown {
  answers.push(`  ${question} ${answer}`);
  return target.isSandbox ? assumed : answer;
}

/** What no table of the sandbox can be asked. */
const NOTHING_TO_ASK: readonly string[] = ['How does a value of such a type look (a for letters, 9 for digits)?'];

test.for(QUESTIONS)('$question', async (asked, context) => {
  const answer = await answerOf(asked, target);
  context.skip(answer === null && !target.isSandbox, 'nothing to ask it of');
  const assumed = NOTHING_TO_ASK.includes(asked.question) ? null : asked.assumed;

  expect(answer).toBe(expectedOf({ ...asked, assumed }, answer));
});

test.for(WRITING_QUESTIONS)('$question', async (asked, context) => {
  const answer = await answerOf(asked, writing ?? context.skip('no table may be written to')).catch(
    (thrown: unknown) => {
      if (thrown instanceof Unasked) return null;
      throw thrown;
    },
  );
  context.skip(answer === null && !target.isSandbox, 'nothing to ask it of');

  expect(answer).toBe(expectedOf(asked, answer));
});

test('the questions need no more requests than are announced', async () => {
  let count = 0;
  const counting: Server = {
    table: target.table,
    call: (path, sent) => {
      count += 1;
      return target.call(path, sent);
    },
  };

  for (const question of QUESTIONS) await answerOf(question, counting);

  // Before them the command asks for the user, the descriptions and a table with rows.
  expect(count).toBeLessThanOrEqual(REQUESTS_MAX - 9);
});
