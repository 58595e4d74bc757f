/**
 * The kinds of options that the configuration has more than once: a section, a number within bounds, a size, a text of
 * one form. Each says in one sentence what it must be, and carries its meaning into the JSON Schema.
 */
import * as z from 'zod';
import { guessText } from '../reconcile/option-bindings.ts';

// A configuration is read once: zod would compile functions that run a single time.
z.config({ jitless: true });

/** Paths and names: anything but an empty text or one with control characters, which no editor shows. */
export const PRINTABLE = /^(?!\s*$)[^\p{Cc}]+$/u;

/** A mapping in which every key is declared; an unknown one is a problem of its own that names the known ones. */
export function mapping<Shape extends z.ZodRawShape>(mustBe: string, shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  return z.strictObject(shape, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? unknownKey(issue.keys, Object.keys(shape)) : mustBe),
  });
}

export function section<Shape extends z.ZodRawShape>(shape: Shape, doc: string): z.ZodObject<Shape, z.core.$strict> {
  return mapping('must be a mapping of options', shape).meta({ description: doc });
}

function unknownKey(given: readonly string[], known: readonly string[]): string {
  // All keys that zod finds in one place share a message.
  const guess = given.length === 1 ? guessText(given.join(), known) : '';
  return `is not a known option${guess}; known here: ${known.join(', ')}`;
}

interface NumberOption {
  readonly from: number;
  readonly to: number;
  readonly default: number;
  readonly unit: string;
  readonly doc: string;
}

export function integerOption(option: NumberOption) {
  return numberOption(z.int, `must be a whole number from ${option.from} to ${option.to}`, option);
}

export function decimalNumber(option: NumberOption) {
  return numberOption(z.number, `must be a number from ${option.from} to ${option.to}`, option);
}

function numberOption(kind: (given: { error: string }) => z.ZodNumber, error: string, option: NumberOption) {
  return kind({ error })
    .min(option.from, { error })
    .max(option.to, { error })
    .default(option.default)
    .meta({ description: `${option.doc} Unit: ${option.unit}.` });
}

/** A size as people write it, 2GB, or a number of bytes; in bytes. */
export function size(doc: string) {
  const error = 'must be a size such as 500MB or 2GB, or a whole number of bytes';
  // Up to a pebibyte: more than any disk that rowsync will see.
  const count = z
    .int({ error })
    .min(1, { error })
    .max(2 ** 50, { error });
  return z
    .union([count, z.string({ error }).regex(/^[1-9]\d{0,5}(?:KB|MB|GB|TB)$/, { error })], { error })
    .transform((given) => (typeof given === 'number' ? given : bytesOf(given)))
    .meta({ description: doc });
}

function bytesOf(given: string): number {
  return Number(given.slice(0, -2)) * 1000 ** (['KB', 'MB', 'GB', 'TB'].indexOf(given.slice(-2)) + 1);
}

/** A text of one form; by default a path or a name. */
export function text(given: { readonly pattern?: RegExp; readonly mustBe: string; readonly doc: string }) {
  const { pattern = PRINTABLE, mustBe: error, doc } = given;
  return z.string({ error }).regex(pattern, { error }).meta({ description: doc });
}

/** A list of texts, one at least. */
export function textList(error: string, item = z.string({ error }).min(1, { error })) {
  return z.array(item, { error }).min(1, { error });
}

export function choice<const Word extends string>(words: readonly Word[], doc: string) {
  const error = `must be ${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
  return z.enum(words, { error }).meta({ description: doc });
}
