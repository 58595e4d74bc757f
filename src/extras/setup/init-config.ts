/**
 * The configuration that `rowsync init` writes: from answers to commented YAML. Also what a pasted address means. Pure.
 */
import { type OptionSection, optionsSchema } from '../../config/options.ts';
import type { RouteOptions } from '../../config/proxy.ts';
import { parseYaml } from '../../config/yaml.ts';

export interface PushedTable {
  readonly table: string;
  /** The column that identifies rows; null for none. */
  readonly match: string | null;
  /** Whether rows that are deleted here are deleted there for good. */
  readonly purges?: boolean | undefined;
}

export interface Answers {
  readonly url: string;
  readonly database: string;
  readonly tokenFile: string;
  readonly proxy?: RouteOptions['proxy'];
  readonly caFile?: string | undefined;
  readonly replicaPath: string;
  /** Names or patterns. */
  readonly tables: readonly string[];
  readonly pushed: readonly PushedTable[];
}

/** What an address from a browser says: the origin, and the database where it is in it; null for no web address. */
export function readAddress(pasted: string): { readonly url: string; readonly database: string | null } | null {
  const text = pasted.trim();
  const isFullUrl = /^[a-z][a-z0-9+.-]*:/i.test(text) && !/^[\w.-]+:\d/.test(text);
  // Addresses of this machine without a scheme are sandboxes, which rarely have a certificate.
  const scheme = /^(?:localhost|127\.\d+\.\d+\.\d+)(?=[:/]|$)/i.test(text) ? 'http' : 'https';
  const url = URL.parse(isFullUrl ? text : `${scheme}://${text}`);
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '') return null;
  const [, database] = /\/(?:db|api\/v2)\/(\d{1,20}(?:-\d{1,20})?)(?:[/?#]|$)/.exec(url.pathname) ?? [];
  return { url: url.origin, database: database ?? null };
}

/** What is wrong with the file that these answers make. */
export function answerComplaints(answers: Answers, sections: readonly OptionSection[]): readonly string[] {
  const parsed = optionsSchema(sections).safeParse(parseYaml('the configuration', firstConfigText(answers)).values);
  return parsed.success ? [] : parsed.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`);
}

/** The file. Every text is quoted, so that no name means anything else in YAML, and `$${` keeps variables out. */
export function firstConfigText(answers: Answers): string {
  const quote = (text: string): string => JSON.stringify(text.replaceAll('${', () => '$${'));
  const { pushed, tables } = answers;
  const mirrors = [...new Set(tables)].filter((name) => !pushed.some(({ table }) => table === name));
  return `# What rowsync copies, and where. config/rowsync.example.yaml in the package has every option.
# After a change: rowsync check

origin:
  url: ${quote(answers.url)}
  database: ${quote(answers.database)}
  # A file with an API token, readable by you only (chmod 600).
  tokenFile: ${quote(answers.tokenFile)}
${routeText(answers, quote)}
replica:
  # The SQLite file to keep.
  path: ${quote(answers.replicaPath)}

# Singular names of tables, or patterns in which * matches any text; the most specific one decides alone.
tables:
${mirrors.map((name) => `  # A read-only mirror.\n  ${JSON.stringify(name)}: {}\n`).join('')}${pushed.map((table) => pushedText(table, quote)).join('')}
# When rowsync daemon does what: minute hour day month weekday.
schedule:
  # A pull, then a push of what was edited; edits are also pushed some seconds after they were made.
  sync: '*/5 * * * *'
  # Compares every cell with the origin. Every Sunday night would be '30 3 * * 0'.
  verify: false
`;
}

function routeText({ proxy, caFile }: Answers, quote: (text: string) => string): string {
  const proxyText =
    proxy === undefined ? '' : `  # Every request goes through it.\n  proxy: ${proxyValue(proxy, quote)}\n`;
  const caText = caFile === undefined ? '' : `  # Further trusted authorities.\n  caFile: ${quote(caFile)}\n`;
  return proxyText + caText;
}

function proxyValue(proxy: NonNullable<RouteOptions['proxy']>, quote: (text: string) => string): string {
  if (typeof proxy === 'string') return quote(proxy);
  const pairs = Object.entries(proxy).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key}: ${quote(value)}`],
  );
  return `{ ${pairs.join(', ')} }`;
}

function pushedText({ table, match, purges }: PushedTable, quote: (text: string) => string): string {
  const matchText =
    match === null
      ? '    # match: a unique, writable column that identifies rows; without one, a new row whose answer got lost waits for you.\n'
      : `    # The column that identifies rows.\n    match: ${quote(match)}\n`;
  return `  # Edited here with SQL, and pushed.
  ${JSON.stringify(table)}:
    push: true
${matchText}    # Who wins if both sides changed a cell: origin, local, or ask.
    conflict: origin
    # Where deleted rows go: to the recycle bin of the origin (bin), or nowhere (purge).
    delete: ${purges === true ? 'purge' : 'bin'}
`;
}
