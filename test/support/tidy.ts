/**
 * The rules of this repository that a linter cannot say, as pure functions from text to complaints. test/tidy.test.ts
 * runs each one on the tree, and on text that breaks it.
 */
import { readFileSync } from 'node:fs';
import { parseSync, Visitor } from 'oxc-parser';

/** A file of the repository; `path` is relative to its top, with forward slashes. */
export interface TidyFile {
  readonly path: string;
  readonly text: string;
}

const ROOMS_PAGE = readFileSync(new URL('../../docs/design/rooms.md', import.meta.url), 'utf8');

/**
 * What each room of src may import, from the table of docs/design/rooms.md: rooms above it, but for those of its last
 * column.
 */
export const LAYERS: Readonly<Record<string, readonly string[]>> = readRooms(ROOMS_PAGE);

function readRooms(page: string): Readonly<Record<string, readonly string[]>> {
  const rows = [...page.matchAll(/^\| `([\w/]+)` +\|[^|]*\|([^|]*)\|$/gm)];
  const rooms = rows.map(([, room = '']) => room);
  return Object.fromEntries(
    rows.map(([, room = '', except = ''], index) => [
      room,
      rooms.slice(0, index).filter((above) => !except.includes(`\`${above}\``)),
    ]),
  );
}

/** What an extra can bring, and the list of extras: the only files beside the rooms. */
const [INTERFACE, LIST] = ['src/extra.ts', 'src/extras.ts'];

/** Where each npm package may be imported: folders, or parts of one. */
export const OWNERS: Readonly<Record<string, readonly string[]>> = {
  undici: ['src/origin/'],
  'p-queue': ['src/base/', 'src/origin/', 'src/files/', 'src/extras/shared/'],
  'better-sqlite3': [
    'src/replica/',
    'src/sandbox/store/',
    'src/extras/backup/',
    'src/extras/questions/',
    'src/extras/contracts/',
    'src/extras/shared/',
  ],
  'fast-xml-parser': ['src/wire/'],
  saxes: ['src/wire/'],
  xmlchars: ['src/wire/'],
  cron: ['src/config/'],
  pino: ['src/base/'],
  commander: ['src/cli/', 'src/extras/'],
  zod: [
    'src/config/',
    'src/extras/shared/',
    'src/extras/mcp/',
    'src/extras/http/',
    'src/extras/postgres/',
    'src/extras/backup/',
    'src/extras/notices/',
    'src/extras/questions/',
  ],
  '@modelcontextprotocol/sdk': ['src/extras/mcp/'],
  yaml: ['src/config/'],
  table: ['src/cli/terminal/'],
  'cli-progress': ['src/cli/terminal/'],
  diff: ['src/cli/report/'],
  'csv-parse': ['src/extras/import/'],
  'csv-stringify': ['src/base/'],
  'prom-client': ['src/extras/http/'],
  mime: ['src/push/'],
  pg: ['src/extras/postgres/'],
  'pg-copy-streams': ['src/extras/postgres/'],
  'hyparquet-writer': ['src/extras/export/'],
  hyparquet: ['src/extras/export/', 'src/extras/import/'],
};

interface Import {
  /** Undefined where an `import()` does not take a literal. */
  readonly specifier: string | undefined;
  readonly isLazy: boolean;
}

function importsOf({ path, text }: TidyFile): readonly Import[] {
  const { module, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path} does not parse: ${errors[0]?.message}`);
  const reExports = module.staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ moduleRequest }) => (moduleRequest ? [moduleRequest.value] : [])),
  );
  const literal = /^(['"`])([^'"`$]*)\1$/;
  return [
    ...module.staticImports.map(({ moduleRequest }) => ({ specifier: moduleRequest.value, isLazy: false })),
    ...reExports.map((specifier) => ({ specifier, isLazy: false })),
    ...module.dynamicImports.map(({ moduleRequest: { start, end } }) => ({
      specifier: literal.exec(text.slice(start, end))?.[2],
      isLazy: true,
    })),
  ];
}

/** The room of a file, or undefined for none; a room may be a folder in another one. */
function layerOf(path: string): string | undefined {
  const [, inner, outer = ''] = /^src\/(([\w-]+)(?:\/[\w-]+)?)\//.exec(path) ?? [];
  return inner !== undefined && Object.hasOwn(LAYERS, inner) ? inner : Object.hasOwn(LAYERS, outer) ? outer : undefined;
}

function resolve(from: string, specifier: string): string {
  return new URL(specifier, `file:///${from}`).pathname.slice(1);
}

/** Layers, package owners, the purity of reconcile/, and the one lazy way into the sandbox. */
export function importProblems(file: TidyFile): readonly string[] {
  if (file.path === INTERFACE) return rootProblems(file, (target) => !/^src\/extras[./]/.test(target));
  if (file.path === LIST)
    return rootProblems(file, (target) => target === INTERFACE || /^src\/extras\/\w+\/extra\.ts$/.test(target));
  const layer = layerOf(file.path) ?? '';
  const allowed = LAYERS[layer];
  if (allowed === undefined) return [`${file.path}: stands in no layer`];
  return importsOf(file).flatMap(({ specifier, isLazy }) => {
    const complaint = importProblem(file.path, { layer, allowed, specifier, isLazy });
    return complaint === undefined ? [] : [`${file.path}: ${complaint}`];
  });
}

function rootProblems(file: TidyFile, isFine: (target: string) => boolean): readonly string[] {
  return importsOf(file).flatMap(({ specifier = '' }) => {
    const target = specifier.startsWith('.') ? resolve(file.path, specifier) : null;
    return target === null || isFine(target) ? [] : [`${file.path}: may not import ${target}`];
  });
}

function importProblem(
  path: string,
  { layer, allowed, specifier, isLazy }: Import & { layer: string; allowed: readonly string[] },
): string | undefined {
  if (specifier === undefined) return 'import() takes a literal';
  if (specifier.startsWith('.')) {
    const named = resolve(path, specifier);
    if (named === INTERFACE && /^(?:cli|extras)/.test(layer)) return undefined;
    if (named === LIST) return path === 'src/cli/main.ts' ? undefined : 'only cli/main.ts reads the list of extras';
    const target = layerOf(named);
    if (target === undefined) return `imports ${specifier}, outside of the layers`;
    if (target === layer) return undefined;
    if (target.startsWith('extras/') && !layer.startsWith('extras/')) return `the core may not import ${target}/`;
    if (target === 'sandbox' && layer === 'extras/shared')
      return isLazy ? undefined : 'imports sandbox/ other than by import()';
    if (allowed.includes(target)) return undefined;
    return `${layer}/ may not import ${target}/`;
  }
  if (layer === 'reconcile') return `reconcile/ imports ${specifier}, but is pure`;
  if (specifier.startsWith('node:')) return undefined;
  const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
  const owners = OWNERS[name];
  if (owners === undefined) return `imports ${name}, which has no owner`;
  return owners.some((owner) => path.startsWith(owner))
    ? undefined
    : `imports ${name}, which belongs to ${owners.join(', ')}`;
}

/** The 3 to 15 lines that say what a file owns come first (after a shebang, if there is one). */
export function headerProblems({ path, text }: TidyFile): readonly string[] {
  const header = /^(?:#!.*\n)?(\/\*\*\n(?: \*.*\n)+)/.exec(text)?.[1];
  if (header === undefined) return [`${path}: does not start with a header comment`];
  const lineCount = header.split('\n').length - 1;
  return lineCount <= 15 ? [] : [`${path}: the header comment has ${lineCount} lines, at most 15 are read`];
}

/** Timers outside of the clock: each one with the reason why the clock's `sleep` cannot do it. */
const TIMER_HOMES: Readonly<Record<string, string>> = {
  'src/base/clock.ts': 'it is the clock',
  'src/origin/transport.ts': 'the deadline of a request interrupts a socket; nothing sleeps',
  'src/extras/http/loop-delay.ts': 'it measures how late the loop of this process is; nothing sleeps',
};

const CLOCK = ['src/base/clock.ts'];
const TIMERS = Object.keys(TIMER_HOMES);

/** Names that may only be used in their homes, and where those are. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  'process.exit': ['src/cli/main.ts'],
  'process.env': ['src/config/'],
  'Date.now': CLOCK,
  'new Date()': CLOCK,
  'Math.random': CLOCK,
  'performance.now': CLOCK,
  setTimeout: TIMERS,
  setInterval: TIMERS,
  setImmediate: TIMERS,
  console: [],
  'node:process': [],
  'node:timers': [],
  'node:timers/promises': CLOCK,
  'node:perf_hooks': ['src/extras/http/loop-delay.ts'],
  'node:console': [],
};

/** Time, randomness, the environment, the way out and the console are used in their homes only. */
export function bannedProblems(file: TidyFile): readonly string[] {
  const used = [...namesUsed(file), ...importsOf(file).flatMap(({ specifier }) => specifier ?? [])];
  return [...new Set(used)].flatMap((name) => {
    const homes = Object.hasOwn(HOMES, name) ? HOMES[name] : undefined;
    if (homes === undefined || homes.some((home) => file.path.startsWith(home))) return [];
    return [`${file.path}: uses ${name}, which ${homes.length === 0 ? 'is banned' : `belongs to ${homes.join(', ')}`}`];
  });
}

/** What a file calls, hands on or takes from an object: `name`, `object.name` and `new Name()` without arguments. */
function namesUsed({ path, text }: TidyFile): readonly string[] {
  const names: string[] = [];
  const visitor = new Visitor({
    CallExpression: ({ callee, arguments: given }) => {
      names.push(...[callee, ...given].flatMap((node) => (node.type === 'Identifier' ? [node.name] : [])));
    },
    MemberExpression: ({ object, property }) => {
      if (object.type !== 'Identifier') return;
      const name = property.type === 'Identifier' ? property.name : property.type === 'Literal' ? property.value : '';
      names.push(object.name, object.name === 'globalThis' ? String(name) : `${object.name}.${String(name)}`);
    },
    NewExpression: ({ callee, arguments: given }) => {
      if (callee.type === 'Identifier' && given.length === 0) names.push(`new ${callee.name}()`);
    },
    VariableDeclarator: ({ id, init }) => {
      if (init?.type !== 'Identifier') return;
      names.push(init.name);
      if (id.type !== 'ObjectPattern') return;
      for (const property of id.properties) {
        if (property.type === 'Property' && property.key.type === 'Identifier')
          names.push(`${init.name}.${property.key.name}`);
      }
    },
  });
  visitor.visit(parseSync(path, text).program);
  return names;
}

/** A surface that judges tables or errors for itself, where it should render the account. */
export function accountProblems({ path, text }: TidyFile): readonly string[] {
  if (!/^src\/(?:cli|daemon|extras)\//.test(path) || path === 'src/daemon/account-facts.ts') return [];
  const judging = [
    /\baccountOf\(/,
    /\breadComplaints\(/,
    /\btable\.(?:problem|hint)\b/,
    /\{[^{}]*\bproblem\b[^{}]*\}(?:: (?:TableStatus|KeptTable)\b| = table;)/,
  ];
  return judging.flatMap((pattern) => {
    const [found] = pattern.exec(text) ?? [];
    return found === undefined ? [] : [`${path}: judges for itself (${found}); render the account`];
  });
}

/** Who may write user tables and bases: the writer of rows and its statements, or for a reason of their own. */
const ROW_WRITERS: Readonly<Record<string, string>> = {
  'src/capture/writer/': 'the one writer',
  'src/replica/rows.ts': 'its statements',
  'src/replica/user-tables.ts': 'copies whole tables and columns where their shape changes',
  'src/replica/triggers.ts': 'reads the program of a statement, and runs none',
  'src/extras/shared/sql-client.ts': 'writes as any SQL client does, through the triggers',
  'src/extras/history/undo.ts': 'writes as any SQL client does, through the triggers',
  'src/extras/backup/rebuild-command.ts': 'text for people',
  'src/capture/edit-triggers.ts': 'the triggers themselves',
  'src/replica/bookkeeping/': 'tables of ours',
  'src/history/prune.ts': 'tables of ours',
  'src/sandbox/': 'the origin of tests',
  'src/extras/postgres/': 'writes to PostgreSQL',
};

const WRITES_ROWS = [
  /\b(?:upsertRows|writeRows|copyFromBase|removeRows|keepEvidence|forgetGone|storeRowStates)\(tx\b/,
  /\b(?:keepConflicts|settleConflicts|storeRefusal|forgetRefusals|suspectPushedRows)\(tx\b/,
  /\b(?:INSERT INTO|UPDATE|DELETE FROM) \$\{/,
];

/** A file that writes rows, states or conflicts past the one writer. */
export function writerProblems({ path, text }: TidyFile): readonly string[] {
  if (!path.startsWith('src/') || Object.keys(ROW_WRITERS).some((home) => path.startsWith(home))) return [];
  return WRITES_ROWS.flatMap((pattern) => {
    const [found] = pattern.exec(text) ?? [];
    return found === undefined
      ? []
      : [`${path}: writes rows (${found}…); build outcomes for capture/writer/apply-outcome.ts`];
  });
}

/** Words that say a thing is not finished. */
export function leftoverProblems({ path, text }: TidyFile): readonly string[] {
  const words = text.match(/\b(?:TODO|FIXME|XXX|HACK|for now|simplified|stub(?:bed|s)?|not implemented)\b/g) ?? [];
  return [...new Set(words)].map((word) => `${path}: says "${word}"`);
}

const WIDTH_MAX = 120;

/** The formatter breaks code at the width, but no comment. A text in quotes is one line, so that it can be found. */
export function widthProblems({ path, text }: TidyFile): readonly string[] {
  const wide = text.split('\n').flatMap((line, at) => (line.length > WIDTH_MAX && isComment(line) ? [at + 1] : []));
  return wide.map((line) => `${path}:${line}: a comment is longer than ${WIDTH_MAX} characters`);
}

function isComment(line: string): boolean {
  return /^\s*(?:\*|\/\*|\/\/)/.test(line) && !line.includes('://');
}

// Put together from parts, so that this file does not break its own rule.
const PRIVATE = [
  {
    what: 'a path of one machine',
    pattern: new RegExp(`(?<![\\w.~-])/(?:${['work', 'root', 'home/\\w+'].join('|')})/[\\w.]`),
  },
  {
    what: 'a package registry',
    pattern: new RegExp(['registry\\.(?:npm|yarn)', 'npmjs\\.org', 'pypi\\.org'].join('|'), 'i'),
  },
];

/** Nothing names the machine it was written on, or a package registry. */
export function privacyProblems({ path, text }: TidyFile): readonly string[] {
  return PRIVATE.flatMap(({ what, pattern }) => {
    const found = pattern.exec(text)?.[0];
    return found === undefined ? [] : [`${path}: names ${what} (${found})`];
  });
}

const TOP_LEVEL = ['src', 'test', 'config', 'packaging', 'systemd', '.ci'];

/**
 * Every path that a README names exists. A path is what stands in backquotes and starts with a folder of the repository
 * (in the maps for developers also with a folder of src, or a source file's name alone), and what a link leads to.
 */
export function pathProblems({ path, text }: TidyFile, files: readonly string[]): readonly string[] {
  const quoted = [...text.matchAll(/`([\w.@-]+(?:\/[\w.@-]+)*\/?)`/g)].map((match) => match[1] ?? '');
  const linked = [...text.matchAll(/\]\((?![a-z]+:|#)([^)#\s]+)/g)].map((match) => resolve(path, match[1] ?? ''));
  const isDeveloper = path === 'src/README.md' || path === 'docs/design/large-changes.md';
  const exists = (target: string): boolean => {
    const bare = target.replace(/\/$/, '');
    return files.some(
      (file) => file === bare || file.startsWith(`${bare}/`) || (isDeveloper && file.endsWith(`/${bare}`)),
    );
  };
  const isPath = (token: string): boolean => {
    const [first = '', rest] = token.split('/');
    if (rest === undefined) return isDeveloper && token.endsWith('.ts');
    return TOP_LEVEL.includes(first) || (isDeveloper && (first === 'extras' || Object.hasOwn(LAYERS, first)));
  };
  const missing = [
    ...quoted.filter((token) => isPath(token) && !exists(token) && !(isDeveloper && exists(`src/${token}`))),
    ...linked.filter((target) => !exists(target)),
  ];
  return [...new Set(missing)].map((token) => `${path}: names ${token}, which does not exist`);
}

/** A changelog for users: newest first, `## Unreleased` or `## 1.2.3 (YYYY-MM-DD)`, one bullet a change. */
export function changelogProblems({ path, text }: TidyFile, version: string): readonly string[] {
  const lines = text.split('\n');
  const headings = lines.filter((line) => line.startsWith('## '));
  const shape = /^## (?:Unreleased|\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\))$/;
  const current = headings[0] ?? '';
  return [
    ...(lines[0] === '# Changelog' ? [] : [`${path}: does not start with "# Changelog"`]),
    ...headings.filter((line) => !shape.test(line)).map((line) => `${path}: "${line}" is no version with its date`),
    ...(current === '## Unreleased' || current.startsWith(`## ${version} (`)
      ? []
      : [`${path}: has no entry for ${version}`]),
    ...lines.filter((line) => /^\s*[*+] /.test(line)).map((line) => `${path}: "${line}" is a bullet other than "- "`),
  ];
}
