/**
 * Every mutant of a TypeScript file, woven into one text: at each place the running code asks which mutant is active.
 * So a process that loaded the file once can run its tests against each of them. What is changed: conditions and
 * operands (to true, to false), boundaries, arithmetic, defaults, constants, anchors of expressions, calls such as
 * filter and toSorted, and statements, which are removed.
 */
import { parseSync } from 'oxc-parser';

export interface Mutant {
  /** Unique in a run. */
  readonly id: number;
  /** Such as `src/reconcile/merge.ts`. */
  readonly file: string;
  readonly line: number;
  /** The line without the spaces around it. */
  readonly lineText: string;
  readonly from: string;
  /** Empty for a statement that is removed. */
  readonly to: string;
  /** Where `from` begins in the file. */
  readonly start: number;
}

/** A node of the syntax tree, of which only what is used here is typed. */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

const COMPARISONS = new Set(['===', '!==', '==', '!=', '<', '<=', '>', '>=', 'in', 'instanceof']);
const SWAPPED: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
};
const CALLS = new Map([
  ['some', 'every'],
  ['every', 'some'],
  ['min', 'max'],
  ['max', 'min'],
]);
/** Calls whose result has the form of what they are called on. */
const KEEPING = new Set(['filter', 'slice', 'toReversed', 'toSorted', 'trim']);
const LOOPS = new Set(['ForStatement', 'ForOfStatement', 'ForInStatement', 'WhileStatement', 'DoWhileStatement']);
/** Keys below which there is nothing that runs, or nothing that an expression may take the place of. */
const SKIPPED_KEYS = new Set(['typeAnnotation', 'returnType', 'typeParameters', 'typeArguments', 'superTypeArguments']);
const SKIPPED_TYPES = new Set([
  'ImportDeclaration',
  'ExportAllDeclaration',
  'TSInterfaceDeclaration',
  'TSTypeAliasDeclaration',
  'TemplateElement',
]);

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as Partial<Node>).type === 'string';
}

/** Weaves one file. */
class Weaver {
  readonly mutants: Mutant[] = [];
  readonly #file: string;
  readonly #source: string;
  readonly #firstId: number;
  readonly #lineStarts: readonly number[];

  constructor(file: string, source: string, firstId: number) {
    this.#file = file;
    this.#source = source;
    this.#firstId = firstId;
    this.#lineStarts = [...source.matchAll(/^/gm)].map(({ index }) => index);
  }

  #text(node: Node): string {
    return this.#source.slice(node.start, node.end);
  }

  #add(node: Node, to: string): number {
    const line = this.#lineStarts.findLastIndex((start) => start <= node.start) + 1;
    const lineText = (this.#source.slice(this.#lineStarts[line - 1]).split('\n', 1)[0] ?? '').trim();
    const id = this.#firstId + this.mutants.length;
    this.mutants.push({ id, file: this.#file, line, lineText, from: this.#text(node), to, start: node.start });
    return id;
  }

  /** The node with everything in it woven; `parent` holds it under `key`. */
  weave(node: Node, parent: Node | null, key: string): string {
    let text = '';
    let at = node.start;
    for (const [childKey, child] of childrenOf(node)) {
      text += this.#source.slice(at, child.start) + this.weave(child, node, childKey);
      at = child.end;
    }
    text += this.#source.slice(at, node.end);
    if (isRemovable(node)) text = `{ if (!__mutation.at(${this.#add(node, '')})) { ${text} } }`;
    // Also where the statement is gone that would end the loop.
    if (parent !== null && LOOPS.has(parent.type) && key === 'body') return `{ __mutation.tick(); ${text} }`;
    if (isRemovable(node)) return text;
    if (parent === null || !isReplaceable(node, parent, key)) return text;
    const choices = [...new Set(this.#replacements(node, parent, key))];
    if (this.#isCache(node, parent)) return `__mutation.cache(${text})`;
    const chain = choices.map((to) => `__mutation.at(${this.#add(node, to)}) ? (${to}) : `).join('');
    return chain === '' ? text : `(${chain}${text})`;
  }

  /** A map or a set of a module that is empty at first: what one mutant left in it would be found by the next. */
  #isCache(node: Node, parent: Node): boolean {
    return (
      parent.type === 'VariableDeclarator' &&
      /^(?:export )?const /.test(this.#source.slice(this.#source.lastIndexOf('\n', node.start) + 1)) &&
      /^new (?:Map|Set)\b.*\(\)$/.test(this.#text(node))
    );
  }

  #replacements(node: Node, parent: Node, key: string): readonly string[] {
    if (node.type === 'LogicalExpression' && node['operator'] === '??')
      return [this.#text(node['left'] as Node), this.#text(node['right'] as Node)];
    if (isCondition(node, parent, key)) return ['true', 'false', ...this.#boundary(node)];
    if (node.type === 'BinaryExpression') return this.#arithmetic(node);
    if (node.type === 'ArrayExpression') return (node['elements'] as readonly unknown[]).length > 0 ? ['[]'] : [];
    if (node.type === 'CallExpression') return this.#call(node);
    return node.type === 'Literal' ? constants(node, this.#text(node), parent) : [];
  }

  /** A comparison whose bound moves by one. */
  #boundary(node: Node): readonly string[] {
    const operator = String(node['operator']);
    return node.type === 'BinaryExpression' && /^[<>]/.test(operator) ? this.#arithmetic(node) : [];
  }

  #arithmetic(node: Node): readonly string[] {
    const [left, right] = [node['left'] as Node, node['right'] as Node].map((side) => this.#text(side));
    const swapped = SWAPPED[String(node['operator'])];
    const isText = [left, right].some((side) => /^['"`]/.test(side ?? ''));
    return swapped === undefined || isText ? [] : [`${left} ${swapped} ${right}`];
  }

  #call(node: Node): readonly string[] {
    const callee = node['callee'] as Node;
    if (callee.type !== 'MemberExpression' || callee['computed'] === true) return [];
    const object = this.#text(callee['object'] as Node);
    const name = this.#text(callee['property'] as Node);
    const other = CALLS.get(name);
    if (KEEPING.has(name)) return [object];
    return other === undefined ? [] : [`${object}.${other}${this.#source.slice(callee.end, node.end)}`];
  }
}

function childrenOf(node: Node): readonly (readonly [key: string, child: Node])[] {
  return Object.entries(node)
    .filter(([key]) => !SKIPPED_KEYS.has(key))
    .flatMap(([key, value]) =>
      (Array.isArray(value) ? (value as readonly unknown[]) : [value])
        .filter(isNode)
        .map((child) => [key, child] as const),
    )
    .filter(([, { type }]) => !SKIPPED_TYPES.has(type))
    .toSorted(([, a], [, b]) => a.start - b.start)
    .filter(([, child], index, all) => index === 0 || child.start >= (all[index - 1]?.[1].end ?? 0));
}

/** A statement without which the program still parses. */
function isRemovable(node: Node): boolean {
  if (node.type === 'ExpressionStatement') return node['directive'] === null || node['directive'] === undefined;
  return node.type === 'ThrowStatement' || node.type === 'ContinueStatement' || node.type === 'BreakStatement';
}

/** Whether another expression may take the place of this one. */
function isReplaceable(node: Node, parent: Node, key: string): boolean {
  if (parent.type === 'ChainExpression' || parent.type === 'ImportExpression' || parent.type.startsWith('Export'))
    return false;
  if (
    (parent.type === 'MemberExpression' || parent.type === 'CallExpression') &&
    (key === 'object' || key === 'callee')
  )
    return node.type !== 'CallExpression' && node.type !== 'MemberExpression';
  return !(key === 'key' && parent['computed'] !== true);
}

/** Whether a node is asked as yes or no, and is no combination of such. */
function isCondition(node: Node, parent: Node, key: string): boolean {
  if (node.type === 'LogicalExpression' || node.type === 'Literal') return false;
  if (node.type === 'BinaryExpression' && COMPARISONS.has(String(node['operator']))) return true;
  if (node.type === 'UnaryExpression' && node['operator'] === '!') return true;
  // What is negated is asked already.
  if (parent.type === 'UnaryExpression') return false;
  return key === 'test' || (parent.type === 'LogicalExpression' && parent['operator'] !== '??');
}

function constants(node: Node, text: string, parent: Node): readonly string[] {
  const { value } = node;
  if (typeof value === 'boolean') return [String(!value)];
  if (typeof value === 'number') return [String(value + 1)];
  if (typeof value === 'bigint') return [`${value + 1n}n`];
  if (node['regex'] !== undefined) return anchors(text);
  // A compared text is covered by the comparison; one with spaces is read by people, and kept in the list of messages.
  const isCompared = parent.type === 'BinaryExpression' && COMPARISONS.has(String(parent['operator']));
  return typeof value === 'string' && value !== '' && !value.includes(' ') && !isCompared ? ["''"] : [];
}

/** An expression without its anchor at the beginning, and without that at the end. */
function anchors(text: string): readonly string[] {
  const front = text.startsWith('/^') ? [`/${text.slice(2)}`] : [];
  return [...front, ...(/[^\\]\$\/\w*$/.test(text) ? [text.replace(/\$(\/\w*)$/, '$1')] : [])].filter(
    (each) => !each.startsWith('//'),
  );
}

/** The woven text of a file, with its mutants, whose ids follow `firstId`. */
export function weave(
  file: string,
  source: string,
  firstId: number,
): { readonly text: string; readonly mutants: readonly Mutant[] } {
  const { program, errors } = parseSync(file, source);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`);
  const weaver = new Weaver(file, source, firstId);
  const text = weaver.weave(program as unknown as Node, null, '');
  return { text: `const __mutation = globalThis.__mutation;\n${text}`, mutants: weaver.mutants };
}
