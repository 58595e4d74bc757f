/**
 * `rowsync man`: prints the manual page in roff (man(7)), made from the commands and options of the program, so that
 * nothing is missing from it.
 */
import { EventEmitter } from 'node:events';
import type { Command, Option } from 'commander';
import { assert } from '../../base/assert.ts';
import { EXIT } from '../../base/errors.ts';
import { LOG_EVENTS } from '../../base/log-events.ts';
import { loadSections } from '../../cli/runtime/invocation.ts';
import type { Runner } from '../../extra.ts';

const EXAMPLES = `
Examples:
  rowsync man | man -l -
  rowsync man > /usr/local/share/man/man1/rowsync.1`;

export function addManCommand(program: Command, runner: Runner): void {
  program
    .command('man')
    .description('print the manual page')
    .addHelpText('after', EXAMPLES)
    .action(
      runner(async (invocation) => {
        const { optionsJsonSchema } = await import('../../config/options.ts');
        const options = manOptions(optionsJsonSchema(await loadSections(invocation)));
        await invocation.session.stdout.write(manPage(program, options));
        return EXIT.done;
      }),
    );
}

/** What a command prints below its help; Commander keeps it as listeners of an event. */
function afterHelp(command: Command): string {
  let text = '';
  const emitter: object = command;
  assert(emitter instanceof EventEmitter, 'commands of Commander are event emitters');
  emitter.emit('afterHelp', { error: false, command, write: (part: string) => void (text += part) });
  return text;
}

/** An option of the configuration file. */
interface ManOption {
  /** Such as `limits.pageRows`; PATTERN is any pattern of tables. */
  readonly path: string;
  readonly description: string;
  /** As YAML; null for none. */
  readonly preset: string | null;
}

export function manPage(program: Command, options: readonly ManOption[]): string {
  const lines = [
    `.TH ROWSYNC 1 "" "rowsync ${escapeText(program.version() ?? '')}" "User Commands"`,
    '.SH NAME',
    'rowsync \\- local SQLite replica of a hosted table database',
    '.SH SYNOPSIS',
    '.B rowsync',
    '[\\fIoptions\\fR] \\fIcommand\\fR',
    '.SH DESCRIPTION',
    escapeText(program.description()),
    '.SH OPTIONS',
    'Every command takes these.',
    ...program.options.flatMap(optionLines),
    '.SH COMMANDS',
    ...program.commands.flatMap((command) => commandLines(command, command.name())),
    '.SH EXIT STATUS',
    ...textLines(afterHelp(program).replace(/^\s*Exit codes:\n/, '')),
    '.SH CONFIGURATION',
    'A YAML file. In every text, ${NAME} is replaced by an environment variable, ${NAME:-x} by x where it is not set.',
    ...options.flatMap(({ path, description, preset }) => [
      '.TP',
      `.B ${escapeText(path)}`,
      escapeText(preset === null ? description : `${description} Default: ${preset}.`),
    ]),
    '.SH LOG',
    'The daemon writes one JSON object per line. Its events:',
    ...Object.entries(LOG_EVENTS).flatMap(([event, meaning]) => [
      '.TP',
      `.B ${escapeText(event)}`,
      escapeText(meaning),
    ]),
    '.SH FILES',
    ...FILES.flatMap(([path, meaning]) => ['.TP', `.I ${escapeText(path)}`, escapeText(meaning)]),
    '.SH SEE ALSO',
    '.BR sqlite3 (1),',
    '.BR systemctl (1)',
  ];
  return `${lines.join('\n')}\n`;
}

const FILES: readonly (readonly [string, string])[] = [
  [
    'rowsync.yaml, /etc/rowsync/rowsync.yaml, /etc/rowsync/*.yaml',
    'The configuration, where --config names no other: the first that exists. Of several in /etc/rowsync, --service names one.',
  ],
  [
    '/usr/share/doc/rowsync',
    'Installed by the Debian package. In docs/ are documents; in config/ an example and the schema of the configuration, alarms for Prometheus, a dashboard for Grafana, and a file for Datasette.',
  ],
  ['REPLICA.lock', 'Beside the replica: held while a process works on it.'],
  ['REPLICA.sent', 'Beside the replica: tells an older copy that was put back. Move it together with the replica.'],
];

function commandLines(command: Command, path: string): readonly string[] {
  return [
    `.SS rowsync ${escapeText(`${path} ${command.usage()}`.trim())}`,
    escapeText(sentence(command.description())),
    ...command.options.flatMap(optionLines),
    ...textLines(afterHelp(command)),
    ...command.commands.flatMap((child) => commandLines(child, `${path} ${child.name()}`)),
  ];
}

function optionLines({ flags, description }: Pick<Option, 'flags' | 'description'>): readonly string[] {
  return ['.TP', `.B ${escapeText(flags)}`, escapeText(sentence(description))];
}

function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
}

/** Paragraphs are filled; lines that are set in stay as they are. */
function textLines(text: string): readonly string[] {
  const lines: string[] = [];
  let isExample = false;
  for (const line of text.split('\n')) {
    if (line.startsWith('  ') !== isExample && line !== '') {
      lines.push(isExample ? '.EE' : '.EX');
      isExample = !isExample;
    }
    if (line !== '') lines.push(escapeText(isExample ? line.slice(2) : line));
    else if (isExample) lines.push('');
    else if (lines.at(-1) !== '.PP') lines.push('.PP');
  }
  while (lines.at(-1) === '.PP' || lines.at(-1) === '') lines.pop();
  return isExample ? [...lines, '.EE'] : lines;
}

/** Text in which roff sees no command of its own. */
function escapeText(text: string): string {
  const escaped = text
    .replaceAll('\\', String.raw`\e`)
    .replaceAll('-', String.raw`\-`)
    .replaceAll('\n', ' ');
  return /^[.']/.test(escaped) ? String.raw`\&` + escaped : escaped;
}

/** The options of a JSON Schema, each with its path, in the order of the schema. */
export function manOptions(schema: unknown, path = ''): readonly ManOption[] {
  const found = recordOf(schema);
  const inner = (key: string, below: string): readonly ManOption[] =>
    key in found ? manOptions(found[key], below) : [];
  const properties = Object.entries(recordOf(found['properties'])).flatMap(([name, value]) => {
    const at = path === '' ? name : `${path}.${name}`;
    const { description = '', default: preset } = recordOf(value);
    const own = { path: at, description: String(description), preset: presetText(preset) };
    return [own, ...manOptions(value, at)];
  });
  const alternatives = Array.isArray(found['anyOf']) ? found['anyOf'].flatMap((one) => manOptions(one, path)) : [];
  const patterns = path === 'tables' ? inner('additionalProperties', `${path}.PATTERN`) : [];
  return [...properties, ...alternatives, ...patterns];
}

/** Defaults of whole sections say nothing that their options do not. */
function presetText(preset: unknown): string | null {
  if (preset === undefined || (typeof preset === 'object' && preset !== null && Object.keys(preset).length === 0))
    return null;
  return JSON.stringify(preset);
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
