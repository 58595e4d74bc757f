/**
 * A filter that asks for texts of a unique column is answered by an index. Whatever changes, the answer is what reading
 * every row gives: the same filter with `or false` behind it has no index.
 */
import { expect, test } from 'vitest';
import { Random } from '../../../src/sandbox/data/random.ts';
import type { Store } from '../../../src/sandbox/store/store.ts';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { columnReference, textLiteral } from '../../../src/wire/formula.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { seeds } from '../../support/seeds.ts';
import { call } from '../client.ts';

/** Letters that change their length or their place with their case are among them: ß, İ, the sign for Kelvin. */
const LETTERS = [
  'a',
  'A',
  'é',
  'É',
  'e',
  'e\u{301}',
  'ß',
  'ẞ',
  'ss',
  'İ',
  'i',
  'ı',
  'k',
  '\u{212A}',
  ' ',
  '"',
  '1',
  'ａ',
];
const COLUMNS = ['Code', 'Mail', 'Note'];

function drawText(random: Random): string {
  return Array.from({ length: random.integer(0, 2) }, () => random.pick(LETTERS)).join('');
}

function drawCells(random: Random): Readonly<Record<string, string | null>> {
  return Object.fromEntries(COLUMNS.map((name) => [name, random.chance(0.1) ? null : drawText(random)]));
}

function makeTable(random: Random): TableSpec {
  const columns = [
    { name: 'Code', type: 'Text', options: ['Unique'] },
    { name: 'Mail', type: 'EMail', options: ['Unique'] },
    { name: 'Note', type: 'Text' },
  ];
  return { name: 'T', columns, rows: Array.from({ length: 300 }, () => drawCells(random)) };
}

function drawFilter(random: Random): string {
  const column = random.pick(COLUMNS);
  const clauses = Array.from(
    { length: random.integer(1, 4) },
    () => `${columnReference(random.chance(0.9) ? column : random.pick(COLUMNS))} = ${textLiteral(drawText(random))}`,
  );
  return clauses.join(' or ');
}

function change(random: Random, store: Store): void {
  const id = random.integer(1, 320);
  switch (random.integer(0, 3)) {
    case 0:
      store.delete('T', id);
      return;
    case 1:
      store.insert('T', drawCells(random));
      return;
    case 2:
      store.update('T', id, drawCells(random));
      return;
    default:
      // More than the store keeps of the changes of a table, so that the index is made again.
      store.change(() => {
        for (let count = 0; count < 1_100; count += 1) store.update('T', 1 + (count % 300), { Code: drawText(random) });
      });
  }
}

test.each(seeds(5))('an index answers as reading every row does, after any changes: seed %i', async (seed) => {
  const random = new Random(seed);
  await using sandbox = await startTestSandbox({ tables: [makeTable(random)] });
  const ask = async (filter: string): Promise<string> => {
    const query = COLUMNS.map((name) => `column=${name}`).join('&');
    const answer = await call(sandbox, `T/select.json?${query}&filter=${encodeURIComponent(filter)}`);
    expect({ filter, status: answer.status }).toEqual({ filter, status: 200 });
    return answer.text;
  };
  let foundCount = 0;

  for (let step = 0; step < 60; step += 1) {
    const filter = drawFilter(random);
    const narrowed = random.chance(0.3) ? `(${filter}) and [Note] <> "a"` : filter;
    const answer = await ask(narrowed);
    expect({ narrowed, answer }).toEqual({ narrowed, answer: await ask(`(${narrowed}) or false`) });
    foundCount += (JSON.parse(answer) as unknown[]).length;
    for (let count = random.integer(0, 3); count > 0; count -= 1) change(random, sandbox.store);
  }

  expect(foundCount).toBeGreaterThan(60);
});
