/**
 * Rules about names and words: a type name has one meaning, retired words (docs/glossary.md) do not come back, folders
 * stay small, and what a header names exists. Each rule lists its breaches as short texts without paths, so that moving
 * a file changes none of them.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { parseSync, type Statement } from 'oxc-parser';

/** A source file; `path` begins below src. */
export interface Source {
  readonly path: string;
  readonly text: string;
}

type Rule = (sources: readonly Source[], messages: readonly string[]) => readonly string[];

const FILES_MAX = 25;
const RETIRED_NAMES =
  'way ways sides desk book books ledger journal journals wish wishes front gate frame blame pulse whole torn touched consent consents';
/** Participles that may be part of a field or local name (`isAsked`), but not stand for a noun (`asked`). */
const RETIRED_NOUNS = new Set(['told', 'asked', 'looked', 'wished']);
const RETIRED_PARTS = new Set(RETIRED_NAMES.split(' '));

/**
 * Fields and locals whose word is right, or known to users: columns, keys of JSON, codes, headers, whole numbers, work
 * that is under way.
 */
const FINE_NAMES = new Set(
  [
    'pull_consent push_consent consents way asked sink.inTheWay X-Frame-Options',
    'whole shortWhole wholeMs pendingFrameCount underWay isUnderWay underWayCount',
  ].flatMap((names) => names.split(' ')),
);
const RETIRED_WORDS =
  /\b(?:desks?|ledgers?|journals?|wish(?:es)?|blames?|pulse|torn|consents?|stands?|(?<!there )(?:is|are) no (?!longer)[a-z]+)\b|\b(?:input|output): /gi;

const src = new URL('../../src/', import.meta.url);

/** All source files. */
export function readSources(): readonly Source[] {
  return readdirSync(src, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.ts'))
    .map((path) => ({ path, text: readFileSync(new URL(path, src), 'utf8') }));
}

/** The rules by name. */
export const RULES: Readonly<Record<string, Rule>> = {
  'type declared twice': (sources) => {
    const types = sources.flatMap(({ path, text }) => declarations(path, text).filter(({ isType }) => isType));
    return repeated(types.map(({ name }) => name));
  },
  'folder of more than 25 files': (sources) => {
    const folders = sources.map(({ path }) => path.slice(0, path.lastIndexOf('/')));
    return [...new Set(folders)].filter((folder) => folders.filter((other) => other === folder).length > FILES_MAX);
  },
  'retired word in a name': (sources) =>
    sources.flatMap(({ path, text }) => {
      const file = path.slice(path.lastIndexOf('/') + 1, -'.ts'.length);
      const declared = [file, ...declarations(path, text).map(({ name }) => name)];
      return [
        ...declared.filter((name) => partsOf(name).some((part) => RETIRED_PARTS.has(part) || RETIRED_NOUNS.has(part))),
        ...innerNames(path, text).filter(
          (name) =>
            !FINE_NAMES.has(name) && (RETIRED_NOUNS.has(name) || partsOf(name).some((part) => RETIRED_PARTS.has(part))),
        ),
      ];
    }),
  'retired word in a header': (sources) =>
    sources.flatMap(({ path, text }) => retiredWords(headerOf(text)).map((word) => `${baseName(path)}: ${word}`)),
  'retired word in a message': (_sources, messages) =>
    messages.flatMap((message) => retiredWords(message).map(() => message)),
  'header names what does not exist': (sources) => {
    const all = sources.map(({ text }) => text.slice(headerOf(text).length)).join('\n');
    const known = new Set(all.match(/[\w$]+/g));
    return sources.flatMap(({ path, text }) => {
      const header = headerOf(text);
      const files = (header.match(/\b[\w/-]+\.ts\b/g) ?? []).filter(
        (name) => !sources.some((other) => `/${other.path}`.endsWith(`/${name.replace(/^(?:src|test)\//, '')}`)),
      );
      const names = (header.match(/\b[a-z]+[A-Z]\w*\b/g) ?? []).filter((name) => !known.has(name));
      return [...files, ...names].map((name) => `${baseName(path)}: ${name}`);
    });
  },
};

function retiredWords(text: string): readonly string[] {
  return (text.replaceAll(/\s+\*? ?/g, ' ').match(RETIRED_WORDS) ?? []).map((word) => word.toLowerCase().trim());
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function headerOf(text: string): string {
  return /^(?:#!.*\n)?\/\*\*[^]*?\*\//.exec(text)?.[0] ?? '';
}

function repeated(names: readonly string[]): readonly string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}

/**
 * `readRowHistory` has the parts read, row and history. "Two-way table" is a word of the glossary, other ways are not.
 */
function partsOf(name: string): readonly string[] {
  return name
    .replace(/two-?way/i, '')
    .split(/(?<=[a-z0-9])(?=[A-Z])|[-_]/)
    .map((part) => part.toLowerCase());
}

/** What a file declares at its top level. */
function declarations(path: string, text: string): readonly { readonly name: string; readonly isType: boolean }[] {
  return parseSync(path, text).program.body.flatMap((statement) => {
    const declared = statement.type === 'ExportNamedDeclaration' ? (statement.declaration ?? statement) : statement;
    return namesIn(declared);
  });
}

function namesIn(statement: Statement): readonly { readonly name: string; readonly isType: boolean }[] {
  switch (statement.type) {
    case 'TSInterfaceDeclaration':
    case 'TSTypeAliasDeclaration':
    case 'ClassDeclaration':
      return statement.id === null ? [] : [{ name: statement.id.name, isType: true }];
    case 'FunctionDeclaration':
      return statement.id === null ? [] : [{ name: statement.id.name, isType: false }];
    case 'VariableDeclaration':
      return statement.declarations.flatMap(({ id }) =>
        id.type === 'Identifier' ? [{ name: id.name, isType: false }] : [],
      );
    default:
      return [];
  }
}

/** Names of fields, methods, properties, parameters and variables anywhere in a file. */
function innerNames(path: string, text: string): readonly string[] {
  const names: string[] = [];
  const pattern = (bound: unknown): void => {
    if (!isNode(bound)) return;
    if (bound.type === 'Identifier') names.push(String(bound['name']));
    else if (bound.type === 'Property') pattern(bound['value']);
    else for (const key of ['left', 'argument', 'elements', 'properties']) [bound[key]].flat().forEach(pattern);
  };
  const walk = (node: unknown): void => {
    if (Array.isArray(node)) node.forEach(walk);
    if (!isNode(node)) return;
    const { key } = node;
    if (KEYED.has(node.type) && node['computed'] !== true && isNode(key))
      names.push(String(key['name'] ?? key['value']));
    if (node.type === 'VariableDeclarator') pattern(node['id']);
    if (Array.isArray(node['params'])) node['params'].forEach(pattern);
    Object.values(node).forEach(walk);
  };
  walk(parseSync(path, text).program);
  return names;
}

const KEYED = new Set([
  'Property',
  'PropertyDefinition',
  'MethodDefinition',
  'TSPropertySignature',
  'TSMethodSignature',
]);

interface SyntaxNode {
  readonly type: string;
  readonly [field: string]: unknown;
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

/** All breaches of all rules, sorted and once each. */
export function breaches(sources: readonly Source[], messages: readonly string[]): Record<string, readonly string[]> {
  return Object.fromEntries(
    Object.entries(RULES).map(([name, rule]) => [name, [...new Set(rule(sources, messages))].toSorted()]),
  );
}
