/**
 * What a script says of itself with `--help`: the comment at its head.
 */
import { readFileSync } from 'node:fs';

/** The comment at the head of a file, without its stars. */
export function headerOf(path: string): string {
  const [, comment = ''] = /^\/\*\*\n([^]*?)\n \*\//.exec(readFileSync(path, 'utf8')) ?? [];
  return `${comment.replaceAll(/^ \* ?/gm, '')}\n`;
}
