/**
 * Patterns of names, in which `*` stands for any text and everything else for itself, compared in NFC. Pure.
 */

/** Whether a name is what a pattern says, or is the pattern itself. `ignoreCase`: for names in which case does not count. */
export function matchesPattern(
  pattern: string,
  name: string,
  { ignoreCase = false }: { readonly ignoreCase?: boolean } = {},
): boolean {
  return pattern === name || expressionOf(pattern.normalize('NFC'), ignoreCase).test(name.normalize('NFC'));
}

/** The pattern as a regular expression. */
export function expressionOf(pattern: string, ignoreCase = false): RegExp {
  // Adjacent stars mean the same as one; left in, they would make matching exponential.
  const parts = pattern.split(/\*+/).map((part) => part.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, ignoreCase ? 'sui' : 'su');
}

/** Orders patterns: a name without `*` first, then by the number of literal characters, then by fewer stars. */
export function comparePatterns(a: string, b: string): number {
  const starCount = (pattern: string): number => pattern.split('*').length - 1;
  const literalCount = (pattern: string): number => pattern.length - starCount(pattern);
  const isName = (pattern: string): boolean => starCount(pattern) === 0;
  if (isName(a) !== isName(b)) return isName(a) ? -1 : 1;
  return literalCount(b) - literalCount(a) || starCount(a) - starCount(b);
}
