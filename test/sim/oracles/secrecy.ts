/**
 * I16: logs and messages contain no token and no value of a row. Values are texts that are given out once in all, so
 * each one that turns up in a line is known for what it is. Names of files are no values. Takes what the engine says;
 * returns complaints. Pure.
 */
import type { Tokens } from '../world/books.ts';
import { MODEL_TOKEN } from '../model/origin.ts';

/** What looks like the text of a cell; what stands in a hash or behind another word is none. */
const LIKE_A_VALUE = /(?<![0-9A-Za-z])(?:[abcmtuwyz]|never)\d{4,}(?![0-9a-f])/g;

/** What is wrong with something that was said: `where` is a word for it, `text` all of it. */
export function leaksOf(where: string, text: string, tokens: Tokens): readonly string[] {
  const values = text.match(LIKE_A_VALUE)?.filter((value) => tokens.isGiven(value)) ?? [];
  const secrets = text.includes(MODEL_TOKEN) ? ['the token'] : [];
  return [...secrets, ...values].map((what) => `${where} tells ${what}: ${text}`);
}
