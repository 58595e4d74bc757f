/** What the simulation takes for a secret that was told. */
import { expect, test } from 'vitest';
import { Tokens } from '../world/books.ts';
import { MODEL_TOKEN } from '../model/origin.ts';
import { leaksOf } from './secrecy.ts';

const tokens = new Tokens();
const [code, tag, value, file] = [tokens.next('c'), tokens.next('t'), tokens.next('u'), tokens.next('up')];

test('the token is a secret, and so is a text that was given out, also where another one follows', () => {
  expect(leaksOf('a line', `Bearer ${MODEL_TOKEN}`, tokens)).toHaveLength(1);
  expect(leaksOf('a line', `"A" is '${value}', Code=${code}`, tokens)).toHaveLength(2);
  expect(leaksOf('a line', `${value}${tag} ${value}~`, tokens)).toHaveLength(2);
});

test('names of files, texts that nobody was given, and parts of hashes are none', () => {
  expect(leaksOf('a line', `${file}.txt, u9999, column A, 9f${code}, ${code}beef, never0099`, tokens)).toEqual([]);
});
