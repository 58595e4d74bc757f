/**
 * Every text that the program may print, read from its sources, so that a change of words is a diff of one file and a
 * person can read all of them. What is not a sentence (SQL, names, single words) stays out; an inserted value is shown
 * as an ellipsis.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { parseSync, Visitor } from 'oxc-parser';

const SRC = new URL('../../src/', import.meta.url);
const SQL_WORDS =
  'SELECT|INSERT|UPDATE|DELETE|CREATE|WITH|DROP|ALTER|PRAGMA|FROM|WHERE|ORDER BY|GROUP BY|LEFT|JOIN|AND|OR|CASE|BEGIN|SAVEPOINT|ON' +
  '|REPLACE|ATTACH|DETACH|LOCK|COPY|GRANT|SET|RETURNING|UNION|AFTER|BEFORE|WHEN|TRUNCATE|COLLATE|PRIMARY|REFERENCES|CHECK';
/** How a text for the database begins; one for people is lower case or a sentence. */
const SQL = new RegExp(`^(?:--|\\(|(?:${SQL_WORDS})\\b)`);

/** The texts, one a line, in order and without repetitions. */
export function messagesText(): string {
  const paths = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.ts') && !path.startsWith('sandbox/') && !path.endsWith('/assets.ts'));
  const texts = paths.flatMap((path) => messagesOf(path, readFileSync(new URL(path, SRC), 'utf8')));
  return `${[...new Set(texts)].toSorted().join('\n')}\n`;
}

/** The texts of a source file. */
export function messagesOf(path: string, source: string): readonly string[] {
  const texts: string[] = [];
  const code = new Set<number>();
  const visitor = new Visitor({
    TaggedTemplateExpression: ({ tag, quasi }) => {
      if (/^(?:sql|String\.raw)$/.test(source.slice(tag.start, tag.end))) code.add(quasi.start);
    },
    Literal: ({ value }) => {
      if (typeof value === 'string') texts.push(value);
    },
    TemplateLiteral: ({ start, quasis }) => {
      if (!code.has(start)) texts.push(quasis.map(({ value }) => value.cooked ?? value.raw).join('…'));
    },
  });
  visitor.visit(parseSync(path, source).program);
  return texts.flatMap(sentencesOf);
}

function sentencesOf(text: string): readonly string[] {
  if (SQL.test(text.trim())) return [];
  const parts = text.split(/<[^<>]*>|\n/).map((part) => part.replaceAll(/\s+/g, ' ').trim());
  return parts.filter((part) => /[a-z]{2}/.test(part) && /\S \S/.test(part));
}
