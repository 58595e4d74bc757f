/**
 * Formats a line of the log: JSON, JSON after a priority for journald (sd-daemon(3)), or short for a terminal.
 */
import { printable } from './text.ts';

export type LogForm = 'json' | 'journal' | 'terminal';

/** The priorities of syslog that journald reads from the start of a line. */
const PRIORITY_BY_LEVEL: Readonly<Record<string, number>> = { error: 3, warn: 4, info: 6, debug: 7 };

export function formLine(line: string, form: LogForm): string {
  if (form === 'json') return line;
  const parsed: unknown = JSON.parse(line);
  const fields = new Map(Object.entries(typeof parsed === 'object' && parsed !== null ? parsed : {}));
  const level = String(fields.get('level'));
  if (form === 'journal') return `<${PRIORITY_BY_LEVEL[level] ?? 6}>${line}`;
  const time = String(fields.get('time')).slice(11, 19);
  const facts = [...fields].filter(([name]) => !['level', 'time', 'event'].includes(name));
  const text = facts.map(([name, value]) => ` ${name}=${factText(value)}`).join('');
  return `${time} ${level.padEnd(5)} ${String(fields.get('event'))}${printable(text)}\n`;
}

/** Lines of plain text with the priority of a level in front of each. */
export function withPriorities(level: 'error' | 'warn', text: string): string {
  return text.replaceAll(/^(?=.)/gm, `<${PRIORITY_BY_LEVEL[level]}>`);
}

function factText(value: unknown): string {
  const text = String(value);
  return typeof value === 'string' && (text === '' || text.includes(' ')) ? JSON.stringify(text) : text;
}
