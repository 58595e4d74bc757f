/**
 * The one way from the command line into the sandbox: loaded when a command needs it, so that a program that replicates
 * production carries no server in memory.
 */
import { printable } from '../../base/text.ts';

const loadSandbox = () => import('../../sandbox/main.ts');

type Start = Awaited<ReturnType<typeof loadSandbox>>['startSandbox'];

export type RunningSandbox = Awaited<ReturnType<Start>>;

export type TlsFiles = NonNullable<Parameters<Start>[0]['tls']>;

/** Loads and starts a sandbox. @throws RowsyncError for options that make no sense, or a port that is taken. */
export async function startSandbox(options: Parameters<Start>[0]): Promise<RunningSandbox> {
  const sandbox = await loadSandbox();
  return sandbox.startSandbox(options);
}

/** A title with its lines below it; nothing for no line. */
export function titledText(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : `\n${title}\n${lines.map((line) => `  ${printable(line)}\n`).join('')}`;
}

/** What a rehearsal on a replica cannot show, and what is known of the rules of its origin. */
export function limitsText({ unknown, rules }: Pick<RunningSandbox, 'unknown' | 'rules'>): string {
  const always = 'defaults, formulas, validation, workflow rules, filters and order of views, rights of other users';
  return (
    titledText('Not known here, so it may differ from the origin:', [always, ...unknown]) +
    titledText('Refusals that were seen:', rules)
  );
}
