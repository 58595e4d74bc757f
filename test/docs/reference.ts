/**
 * The pages of reference, made from the program itself: help texts, the schema of the configuration, the records of
 * errors and events, the metrics of a daemon, and the views of a new replica. Produces file names and their text.
 */
import { SECTIONS } from '../support/sections.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { ERROR_CODES } from '../../src/base/errors.ts';
import { LOG_EVENTS } from '../../src/base/log-events.ts';
import { COMMAND_GROUPS } from '../../src/extra.ts';
import { manOptions } from '../../src/extras/manual/man-command.ts';
import { optionsJsonSchema } from '../../src/config/options.ts';
import { metricsText } from '../../src/extras/http/metrics.ts';
import { openReplica } from '../../src/replica/database.ts';
import { ALL_PROBLEMS } from '../support/account-facts.ts';
import { queryRows } from '../../src/replica/query.ts';
import { sql } from '../../src/base/sql.ts';
import { readProofs, type Proof } from '../specification/markers.ts';
import { CHAPTERS, NOT_CONCERNED, SIDES, STATEMENTS, type Side } from '../specification/statements.ts';
import { MEASURES } from '../support/measures.ts';
import { runCli } from '../support/session.ts';
import { VIEWS } from './views.ts';

const MADE = '<!-- Made by `npm run docs`. Changes by hand are lost. -->';

/** A page with its title and an introduction. */
function page(title: string, ...parts: readonly string[]): string {
  return `${[`# ${title}`, MADE, ...parts].join('\n\n')}\n`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Text that a cell of a table can have. */
function cell(text: string): string {
  return text
    .replaceAll('|', String.raw`\|`)
    .replaceAll('\n', ' ')
    .replaceAll('<', '&lt;');
}

async function helpOf(words: readonly string[]): Promise<string> {
  const { stdout } = await runCli([...words, '--help'], { width: 100 });
  return stdout.trimEnd();
}

/** Names of the commands that a help text lists. */
function commandsIn(help: string): readonly string[] {
  const headings = ['Commands', ...COMMAND_GROUPS].join('|');
  const lists = [...help.matchAll(new RegExp(String.raw`^(?:${headings}):\n((?: .*\n)*)`, 'gm'))];
  const names = lists.flatMap(([, list = '']) => [...list.matchAll(/^ {2}([a-z]+)/gm)].map(([, name = '']) => name));
  return names.filter((name) => name !== 'help');
}

async function commandParts(words: readonly string[]): Promise<readonly string[]> {
  const help = await helpOf(words);
  const own = [`## ${['rowsync', ...words].join(' ')}`, `\`\`\`\n${help}\n\`\`\``];
  const inner: string[] = [];
  for (const name of commandsIn(help)) inner.push(...(await commandParts([...words, name])));
  return [...own, ...inner];
}

function configurationPage(): string {
  const options = manOptions(optionsJsonSchema(SECTIONS));
  const rows = options.map(({ path, description, preset }) => [
    `\`${path}\``,
    cell(description),
    preset === null ? '' : `\`${cell(preset)}\``,
  ]);
  const intro = '`PATTERN` stands for the name of a table or a pattern such as `*`.';
  return page('Configuration: every option', intro, table(['option', 'what it does', 'default'], rows));
}

function recordPage(title: string, intro: string, record: Readonly<Record<string, string>>): string {
  const rows = Object.entries(record).map(([name, meaning]) => [`\`${name}\``, cell(meaning)]);
  return page(title, intro, table(['name', 'meaning'], rows));
}

async function metricsPage(): Promise<string> {
  const text = await metricsText(MEASURES);
  const found = text.matchAll(/^# HELP (\S+) (.+)\n# TYPE \S+ (\w+)\n\S+?(?:\{(.+)\})? \S+$/gm);
  const rows = [...found].map(([, name = '', help = '', kind = '', labels = '']) => [
    `\`${name}\``,
    kind,
    [...labels.matchAll(/(\w+)="/g)].map(([, label]) => label).join(', '),
    cell(help),
  ]);
  return page('Metrics', 'No label has the value of a row.', table(['metric', 'kind', 'labels', 'meaning'], rows));
}

/**
 * The views of a new replica, and their columns. @throws Error for a column without a text, and a text without a
 * column.
 */
function viewsPage(): string {
  const folder = mkdtempSync(join(tmpdir(), 'rowsync-docs-'));
  const replica = openReplica(join(folder, 'replica.db'), { clock: systemClock });
  try {
    const views = queryRows(replica, sql`SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name`, []).map(
      ([name]) => String(name),
    );
    const unknown = Object.keys(VIEWS).filter((name) => !views.includes(name));
    if (unknown.length > 0) throw new Error(`there is no view ${unknown.join()}`);
    const parts = views.map((view) => {
      const columns = queryRows(replica, sql`SELECT name FROM pragma_table_info(?)`, [view]).map(([name]) =>
        String(name),
      );
      const { rows = '', columns: texts = {} } = VIEWS[view] ?? {};
      const wrong = [
        ...columns.filter((name) => !(name in texts)),
        ...Object.keys(texts).filter((name) => !columns.includes(name)),
      ];
      if (wrong.length > 0) throw new Error(`${view}: ${wrong.join()} are not the same as in test/docs/views.ts`);
      const lines = columns.map((name) => [`\`${name}\``, cell(texts[name] ?? '')]);
      return `## ${view}\n\nOne row for ${rows}.\n\n${table(['column', 'says'], lines)}`;
    });
    return page('Views', 'All stamps are UTC.', ...parts);
  } finally {
    replica.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function problemsPage(): string {
  const rows = ALL_PROBLEMS.map(({ code, severity, why }) => [`\`${code}\``, severity, cell(why)]);
  return page(
    'Problems',
    'What `rowsync status`, the page, `/readyz`, the metrics, notices and agents say is wrong: all show the same list. Codes are stable.',
    'The exit code of `rowsync status --exit-code` is that of the worst: damaged 78, person 3, late 75; a notice changes nothing.',
    table(['code', 'severity', 'meaning'], rows),
  );
}

/** The files whose tests prove a statement of a side; why that is not needed; or that there is none. */
function proofCell(statement: string, side: Side, proofs: readonly Proof[]): string {
  const files = proofs.flatMap((proof) => (proof.side === side && proof.statement === statement ? [proof.file] : []));
  if (files.length > 0) return [...new Set(files)].map((file) => `\`${file.replace('.test.ts', '')}\``).join(', ');
  return NOT_CONCERNED[side][statement] ?? '**none**';
}

function specificationPage(): string {
  const proofs = readProofs();
  const numbers = Object.keys(STATEMENTS);
  const parts = CHAPTERS.map(([chapter, title]) => {
    const rows = numbers
      .filter((number) => number.startsWith(`${chapter}-`))
      .map((number) => [
        number,
        cell(STATEMENTS[number] ?? ''),
        ...SIDES.map((side) => proofCell(number, side, proofs)),
      ]);
    return `## ${chapter} ${title}\n\n${table(['', 'statement', 'client: tests', 'sandbox: tests'], rows)}`;
  });
  const counts = SIDES.map((side) => {
    const cells = numbers.map((number) => proofCell(number, side, proofs));
    const noneCount = cells.filter((text) => text === '**none**').length;
    const testedCount = cells.filter((text) => text.startsWith('`')).length;
    return `- ${side}: ${testedCount} have an independent test, ${noneCount} have none, ${numbers.length - testedCount - noneCount} leave it nothing to do.`;
  });
  const intro =
    'The specification of the Records API, statement by statement, in our own words, with the chapters of the original. Beside each ' +
    'statement stand the files in test/ that prove it independently: over raw HTTP, or with bytes that were written by hand. Search ' +
    'such a file for the number to find the test.';
  return page('The specification and its tests', intro, `${numbers.length} statements:`, counts.join('\n'), ...parts);
}

/** Every page, by its file name in docs/reference/. */
export async function referencePages(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    ['commands.md', page('Commands', ...(await commandParts([])))],
    ['configuration.md', configurationPage()],
    ['errors.md', recordPage('Errors', 'Codes are stable: match on them, not on messages.', ERROR_CODES)],
    [
      'log-events.md',
      recordPage('Log events', 'Names are stable. No line has a secret or the value of a row.', LOG_EVENTS),
    ],
    ['metrics.md', await metricsPage()],
    ['specification.md', specificationPage()],
    ['problems.md', problemsPage()],
    ['views.md', viewsPage()],
  ]);
}
