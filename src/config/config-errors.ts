/**
 * Problems of a configuration as shown to the operator: where (line, path), what is expected, and what is there. A
 * value is shown as it is in the file, before any environment variable is put in, and never where it could be a
 * secret.
 */
import { isAlias, isMap, isScalar, isSeq, type Document, type LineCounter, type Node } from 'yaml';
import type * as z from 'zod';

/** Where an option is: keys and list indexes from the top of the file. */
export type OptionPath = readonly (string | number)[];

export interface ConfigProblem {
  readonly path: OptionPath;
  /** What must be there, or what is wrong; continues a sentence that begins with the path. */
  readonly complaint: string;
  /** Whether the value is shown; it is not where the complaint says it all. */
  readonly showValue: boolean;
}

/** Problems shown in one message; the rest is counted. A screenful, and a bound on what a broken file can print. */
const PROBLEMS_MAX = 50;

/** Characters of a value shown. */
const VALUE_CHARS_MAX = 60;

/** Options whose value is never shown in a problem. */
const SECRET_KEY = /token|password|secret|credential|webhook|proxy/i;

/** The problems that validation found below an option, each key that is not an option as one of its own. */
export function problemsFromIssues(
  issues: readonly z.core.$ZodIssue[],
  parent: OptionPath = [],
): readonly ConfigProblem[] {
  return issues.flatMap((issue) => {
    const path = [...parent, ...issue.path.map((key) => (typeof key === 'symbol' ? String(key) : key))];
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({ path: [...path, key], complaint: issue.message, showValue: false }));
    }
    if (issue.code === 'invalid_union') {
      // The alternative that matched far enough to look into the value is the intended one.
      const meant = issue.errors.find((inner) =>
        inner.some((it) => it.path.length > 0 || it.code === 'unrecognized_keys'),
      );
      if (meant !== undefined) return problemsFromIssues(meant, path);
    }
    return [{ path, complaint: issue.message, showValue: true }];
  });
}

/** The lines of an error message, one per problem, in the order in which they are in the file. */
export function describeProblems(
  problems: readonly ConfigProblem[],
  { document, lines }: { readonly document: Document; readonly lines: LineCounter },
): readonly string[] {
  const placed = problems
    .map((problem) => ({ problem, place: placeOf(document, problem.path) }))
    .toSorted((a, b) => a.place.offset - b.place.offset);
  const sentences = placed.map(({ problem, place: { offset, node } }) => {
    const where = `${offset < 0 ? '' : `line ${lines.linePos(offset).line}, `}${textFromPath(problem.path)}`;
    return `${where} ${describe(problem, node)}`;
  });
  const unique = [...new Set(sentences)];
  const rest = unique.length - PROBLEMS_MAX;
  return rest > 0 ? [...unique.slice(0, PROBLEMS_MAX), `and ${rest} more`] : unique;
}

function describe({ path, complaint, showValue }: ConfigProblem, node: unknown): string {
  if (!showValue) return complaint;
  return node === undefined ? `is missing: it ${complaint}` : `${complaint}; it is ${textFromNode(path, node)}`;
}

/** `tables.Order Details.sort[0]`; a key that would be misread is quoted. */
function textFromPath(path: OptionPath): string {
  if (path.length === 0) return 'the file';
  return path
    .map((key) =>
      typeof key === 'number' ? `[${key}]` : /^[^.[\]"\p{Cc}]+$/u.test(key) ? `.${key}` : `.${JSON.stringify(key)}`,
    )
    .join('')
    .replace(/^\./, '');
}

function textFromNode(path: OptionPath, node: unknown): string {
  if (isSeq(node)) return 'a list';
  if (isMap(node)) return 'a mapping';
  const value = isScalar(node) ? node.value : null;
  if (value === null) return 'empty';
  if (path.some((key) => typeof key === 'string' && SECRET_KEY.test(key))) return 'not shown, since it may be a secret';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'string') return `a ${typeof value}`;
  // An address can carry a password before its @.
  const text = value.replace(/\/\/[^/@]*@/, '//…@');
  return JSON.stringify(text.length > VALUE_CHARS_MAX ? `${text.slice(0, VALUE_CHARS_MAX)}…` : text);
}

/** What is at a path (undefined: nothing), and the position of the deepest key of it that exists (-1: none). */
function placeOf(document: Document, path: OptionPath): { readonly node: unknown; readonly offset: number } {
  let node: unknown = document.contents;
  let offset = -1;
  for (const key of path) {
    const found = child(node, key);
    if (found === undefined) return { node: undefined, offset };
    offset = found.at.range?.[0] ?? offset;
    node = isAlias(found.next) ? found.next.resolve(document) : found.next;
  }
  return { node, offset };
}

function child(node: unknown, key: string | number): { readonly at: Node; readonly next: unknown } | undefined {
  if (isSeq<Node>(node)) {
    const item = node.items[Number(key)];
    return item === undefined ? undefined : { at: item, next: item };
  }
  if (!isMap<Node>(node)) return undefined;
  const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === String(key));
  return pair === undefined ? undefined : { at: pair.key, next: pair.value };
}
