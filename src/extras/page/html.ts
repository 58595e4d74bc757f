/**
 * HTML in which escaping cannot be forgotten. The tag `html` escapes every value. It refuses templates with a value
 * where no escaping helps: outside quotes in a tag, in scripts, styles, comments or handlers, or at the start of an
 * address. Characters that act on a terminal or reorder a line are written out (base/text.ts).
 */
import { assert } from '../../base/assert.ts';
import { onceFor } from '../../base/memoize.ts';
import { printableLines } from '../../base/text.ts';

/** A piece of finished HTML; only `html` makes one. */
export class Html {
  readonly #text: string;

  constructor(key: typeof MAKER, text: string) {
    assert(key === MAKER, 'only the tag html makes HTML');
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

const MAKER = Symbol('html');

/** Values of a template: texts are escaped, pieces inserted as they are, lists joined; null and false are nothing. */
export type HtmlPart = string | number | null | false | Html | readonly HtmlPart[];

export function html(strings: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  const literals = unindented(strings);
  return new Html(
    MAKER,
    literals.reduce((text, literal, index) => text + textOf(parts[index - 1] ?? null) + literal),
  );
}

/** A checked template, without its indentation; each is written once in the program. */
const unindented = onceFor((strings: TemplateStringsArray): readonly string[] => {
  const problem = templateProblem(strings);
  assert(problem === null, `a template of the page is safe: ${problem ?? ''}`);
  return strings.map((literal) => literal.replaceAll(/\s*\n\s*/g, '\n'));
});

function textOf(part: HtmlPart): string {
  if (part === null || part === false) return '';
  if (part instanceof Html) return part.toString();
  if (typeof part === 'object') return part.map(textOf).join('');
  return escaped(printableLines(String(part)));
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
};

function escaped(text: string): string {
  return text.replaceAll(/[&<>"'`]/g, (character) => ENTITIES[character] ?? '');
}

/** A text to the letter, for names and values of form fields, which come back. Other text shows what is invisible. */
export function exact(text: string): Html {
  return new Html(MAKER, escaped(text));
}

/** Attributes that a browser follows; a value may only continue an address of this server. */
const ADDRESSES = new Set(['href', 'src', 'action', 'formaction', 'poster', 'data', 'srcset', 'xlink:href', 'ping']);

/** Elements in which entities are not read. */
const RAW = ['script', 'style', 'noscript', 'iframe', 'xmp', 'plaintext', 'template'];

/** Why a template may not be used; null if every value is between tags or inside quotes. */
export function templateProblem(strings: readonly string[]): string | null {
  let before = '';
  for (const literal of strings.slice(0, -1)) {
    before += literal;
    const problem = placeProblem(before);
    if (problem !== null) return problem;
    before += 'x';
  }
  return null;
}

function placeProblem(before: string): string | null {
  if (before.lastIndexOf('<!--') > before.lastIndexOf('-->')) return 'a value is in a comment';
  // Quoted text may hold angle brackets, so it is skipped to find the ends of tags.
  const tag = /<(?:[^<>"']|"[^"]*"|'[^']*')*(?:"[^"]*|'[^']*)?$/.exec(before)?.[0];
  if (tag === undefined) return isInRaw(before) ? 'a value is where no entities are read' : null;
  const attribute = /\s([a-z][a-z0-9:-]*)="([^"]*)$/i.exec(tag);
  if (attribute === null) return 'a value is in a tag, outside of double quotes';
  const name = (attribute[1] ?? '').toLowerCase();
  if (name.startsWith('on') || name === 'style' || name === 'srcdoc') return `a value is in ${name}`;
  if (ADDRESSES.has(name) && !/^(?:\/[^/]|#)/.test(attribute[2] ?? '')) return `a value begins ${name}`;
  return null;
}

function isInRaw(before: string): boolean {
  const text = before.toLowerCase();
  return RAW.some((name) => text.lastIndexOf(`<${name}`) > text.lastIndexOf(`</${name}`));
}
