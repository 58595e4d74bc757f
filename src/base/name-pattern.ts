/**
 * Patterns of names, in which `*` matches any text and everything else itself, compared in NFC. Each piece between two
 * stars is looked for once, from left to right. One expression for all of it would try every way to share a name among
 * stars. Pure.
 */

/** Whether a pattern matches a name, or is the name. `ignoreCase`: for names in which case does not count. */
export function matchesPattern(
  pattern: string,
  name: string,
  { ignoreCase = false }: { readonly ignoreCase?: boolean } = {},
): boolean {
  return pattern === name || matcherOf(pattern.normalize('NFC'), ignoreCase)(name.normalize('NFC'));
}

export function matcherOf(pattern: string, ignoreCase = false): (text: string) => boolean {
  const pieces = pattern.split('*').map((piece) => RegExp.escape(piece));
  const expressions = pieces.map((piece, index) => {
    const isFirst = index === 0;
    const isLast = index === pieces.length - 1;
    return new RegExp(`${isFirst ? '^' : ''}${piece}${isLast ? '$' : ''}`, ignoreCase ? 'gui' : 'gu');
  });
  return (text) => {
    let at = 0;
    return expressions.every((expression) => {
      expression.lastIndex = at;
      const isThere = expression.test(text);
      at = expression.lastIndex;
      return isThere;
    });
  };
}

/** Orders patterns: a name without `*` first, then by the number of literal characters, then by fewer stars. */
export function comparePatterns(a: string, b: string): number {
  const starCount = (pattern: string): number => pattern.split('*').length - 1;
  const literalCount = (pattern: string): number => pattern.length - starCount(pattern);
  const isName = (pattern: string): boolean => starCount(pattern) === 0;
  if (isName(a) !== isName(b)) return isName(a) ? -1 : 1;
  return literalCount(b) - literalCount(a) || starCount(a) - starCount(b);
}
