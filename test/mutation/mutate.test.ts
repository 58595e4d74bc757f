import { stripTypeScriptTypes } from 'node:module';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { weave } from './mutate.ts';

function changesOf(source: string): readonly string[] {
  return weave('a.ts', source, 0).mutants.map(({ from, to }) => `${from} → ${to === '' ? 'removed' : to}`);
}

test.each([
  ['a condition', 'if (a) b;', ['b; → removed', 'a → true', 'a → false']],
  ['a comparison', 'const x = a < b;', ['a < b → true', 'a < b → false', 'a < b → a <= b']],
  ['operands', 'if (a && !b) c;', ['a → true', 'a → false', '!b → true', '!b → false', 'c; → removed']],
  ['a default', 'const x = a ?? b;', ['a ?? b → a', 'a ?? b → b']],
  ['arithmetic', 'const x = a - b;', ['a - b → a + b']],
  ['constants', "const x = [7, true, 'a', 'words for people'];", ['7 → 8', 'true → false', "'a' → ''"]],
  ['anchors', 'const x = /^a$/;', ['/^a$/ → /a$/', '/^a$/ → /^a/']],
  ['calls', 'const x = a.some(b), y = a.filter(b);', ['a.some(b) → a.every(b)', 'a.filter(b) → a']],
  ['statements', 'for (const x of a) { if (x) continue; throw x; }', ['continue; → removed', 'throw x; → removed']],
])('changes %s', (_what, source, changes) => {
  expect(changesOf(source)).toEqual(expect.arrayContaining([...changes]));
});

test.each([
  ['types', "type A = 'a' | 1; interface B { readonly c: 'd' }"],
  ['a chain that may end early', 'const x = a?.filter(b).length;'],
  ['a call whose name every object has', 'const x = a.toString();'],
])('changes nothing in %s', (_what, source) => {
  expect(changesOf(source)).toEqual([]);
});

test('a cache of a module is offered to be emptied before each run of a test, another map is not', () => {
  const kept = weave('a.ts', 'const a = new Map<string, number>();', 0).text;
  const others = weave('a.ts', 'const b = new Map([[1, 2]]);\nfunction f() {\n  const c = new Map();\n}', 0).text;

  expect(kept).toContain('const a = __mutation.cache(new Map<string, number>());');
  expect(others).not.toContain('cache');
});

test('a loop is counted also where the statement is gone that would end it', () => {
  const source = 'globalThis.answer = () => { let n = 0; while (n < 3) n += 1; return n; };';
  const { text, mutants } = weave('a.ts', source, 0);
  const gone = mutants.find(({ from, to }) => from === 'n += 1;' && to === '')?.id;
  const answer = (active: number | undefined): unknown => {
    let ticks = 0;
    const tick = (): void => {
      ticks += 1;
      if (ticks > 10) throw new Error('endless');
    };
    const scope = { __mutation: { at: (id: number) => id === active, tick }, answer: () => 0 };
    runInNewContext(text, scope);
    return scope.answer();
  };

  expect(answer(undefined)).toBe(3);
  expect(() => answer(gone)).toThrow('endless');
});

test('woven code does what it did, and another thing for each change of it', () => {
  const source =
    'globalThis.answer = (n: number): string => { let t = n > 2 ? `a` : `b`; if (n === 5) t += `!`; return t; };';
  const { text, mutants } = weave('a.ts', source, 10);
  const answers = (active: number): readonly string[] => {
    const scope = { __mutation: { at: (id: number) => id === active, tick: () => undefined }, answer: String };
    runInNewContext(stripTypeScriptTypes(text), scope);
    return [1, 2, 3, 5].map((number) => scope.answer(number));
  };

  expect(answers(0)).toEqual(['b', 'b', 'a', 'a!']);
  expect(mutants.map(({ id, from, to }) => [id, `${from} → ${to}`, answers(id).join()])).toEqual(
    expect.arrayContaining([
      [expect.any(Number), 'n > 2 → true', 'a,a,a,a!'],
      [expect.any(Number), 'n > 2 → n >= 2', 'b,a,a,a!'],
      [expect.any(Number), 't += `!`; → ', 'b,b,a,a'],
      [expect.any(Number), 'n === 5 → true', 'b!,b!,a!,a!'],
    ]),
  );
  expect(mutants.filter(({ id }) => answers(id).join() === answers(0).join())).toEqual([]);
});
