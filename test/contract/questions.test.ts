/**
 * What nobody has documented (origin facts, sections 1.2, 2.1, 4.1, 5.4, 5.5 and 8). Each question is put to the server under
 * test, and the answers are printed at the end. The sandbox must give the answers that rowsync assumes; of a real database any
 * answer is welcome. What reading answers is asked by `rowsync contract`, too.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';

import { answerOf, QUESTIONS, REQUESTS_MAX } from '../../src/extras/questions/questions.ts';
import type { RowFields, Server } from '../../src/extras/questions/server.ts';
import { isFree, openTarget, type Target } from './target.ts';

/** A question that only writing answers; null where the table has no such column. */
interface WritingQuestion {
  readonly question: string;
  readonly ask: (target: Target) => Promise<string | null>;
  readonly assumed: string;
}

/** What becomes of a value in a column of a type. */
function given(type: string, value: unknown, assumed: string): WritingQuestion {
  return {
    question: `What becomes of ${JSON.stringify(value)} in a ${type} column?`,
    ask: async (target) => {
      const column = target.writable?.columns.find((each) => each.type === type && isFree(each));
      if (column === undefined) return null;
      return withRow(target, { [column.name]: value }, async (id, table) => {
        const rows = (await target.json(`${table}/retrieve.json?id=${id}`)) as readonly RowFields[];
        return JSON.stringify(rows[0]?.[column.name]);
      });
    },
    assumed,
  };
}

const WRITING: readonly WritingQuestion[] = [
  {
    question: 'With which status and code does an update of a missing record fail?',
    ask: async (target) => {
      const [status] = await post(target, 'update', [{ '@row.id': 2_147_483_600 }]);
      return `${status?.status}, code ${status?.errors?.[0]?.code ?? 'none'}`;
    },
    assumed: '404, code 4000',
  },
  {
    question: 'Does `updated` list rows that were just created?',
    ask: (target) =>
      withRow(target, {}, async (id, table) => {
        const from = encodeURIComponent(new Date(Date.now() - 600_000).toISOString());
        const answer = await target.call(`${table}/updated.json?from=${from}`);
        if (answer.status !== 200) return `no such method (${answer.status})`;
        const rows = JSON.parse(answer.text) as readonly RowFields[];
        return rows.some((row) => row['@row.id'] === id) ? 'yes' : 'no';
      }),
    assumed: 'yes',
  },
  given('Date', 1_700_000_000, 'refused (400)'),
  given('Date', '2026/11/26', 'refused (400)'),
  given('Checkbox', null, 'null'),
  given('Checkbox', 'true', 'refused (400)'),
  given('Multiline', '', '""'),
  given('Text', 5, 'refused (400)'),
  given('Numeric', '', 'refused (400)'),
  given('Numeric', 12.1234567, '12.123457'),
];

let target: Target;
const answers: string[] = [];

beforeAll(async () => {
  target = await openTarget();
});

afterAll(async () => {
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

test.for(WRITING)('$question', async (asked, context) => {
  context.skip(target.writable === null, 'no table may be written to');
  const answer = await asked.ask(target);
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

interface Status {
  readonly status: number;
  readonly id?: number;
  readonly errors?: readonly { readonly code?: number }[];
}

async function post(to: Target, method: string, rows: unknown): Promise<readonly Status[]> {
  const answer = await to.call(`${to.writable?.alias}/${method}.json`, {
    verb: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(rows),
  });
  return JSON.parse(answer.text) as readonly Status[];
}

/** Creates a row, looks at it, and deletes it again. */
async function withRow(
  at: Target,
  cells: Readonly<Record<string, unknown>>,
  look: (id: number, table: string) => Promise<string>,
): Promise<string | null> {
  const table = at.writable?.alias ?? '';
  const text = at.writable?.columns.find((column) => column.type === 'Text' && isFree(column));
  const [status] = await post(at, 'create', [{ ...(text === undefined ? {} : { [text.name]: 'contract' }), ...cells }]);
  if (status?.status !== 201 || status.id === undefined) return `refused (${status?.status})`;
  try {
    return await look(status.id, table);
  } finally {
    await at.call(`${table}/delete.json?id=${status.id}&purge=1`);
  }
}
