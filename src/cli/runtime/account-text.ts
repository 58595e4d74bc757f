/**
 * Prints the list of problems for people at a terminal, and turns it into an exit code.
 */
import { EXIT } from '../../base/errors.ts';
import { countText, printable, someOf } from '../../base/text.ts';
import type { Config } from '../../config/load.ts';
import { problemsAt, problemsOf } from '../../daemon/account-facts.ts';
import type { Invocation } from '../../extra.ts';
import { worstOf, type Problem } from '../../reconcile/account/account.ts';
import type { Severity } from '../../reconcile/account/problems.ts';

const HEADINGS: readonly (readonly [string, readonly Severity[]])[] = [
  ['needs attention', ['damaged', 'person']],
  ['late', ['late']],
  ['to know', ['notice']],
];

/** What `rowsync status --exit-code` ends with, by the worst problem. */
const EXIT_BY_SEVERITY: Readonly<Record<Severity, number>> = {
  damaged: EXIT.unusable,
  person: EXIT.needsPerson,
  late: EXIT.tryLater,
  notice: EXIT.done,
};

export function accountExitCode(problems: readonly Problem[]): number {
  return EXIT_BY_SEVERITY[worstOf(problems) ?? 'notice'];
}

/** Problems with what to do, the most severe first; empty for none. Tables with the same problem share a paragraph. */
export function accountText(problems: readonly Problem[]): string {
  return HEADINGS.map(([heading, severities]) => {
    const some = problems.filter(({ severity }) => severities.includes(severity));
    const groups = Map.groupBy(some, ({ code, sentence, hint }) => JSON.stringify([code, sentence, hint]));
    return some.length === 0 ? '' : `\n${heading}:\n${[...groups.values()].map(paragraph).join('')}`;
  }).join('');
}

/** The account at the end of a run, which has no daemon beside it. */
export function accountAfter(config: Config, { session, extras }: Invocation): readonly Problem[] {
  const added = problemsOf(extras);
  return problemsAt(config, { keeper: 'nobody', complaints: [], added, nowMs: session.clock.nowMs() });
}

/** The account below a text; problems that it names are not repeated. */
export function accountBeside(problems: readonly Problem[], said: string): string {
  return accountText(problems.filter(({ sentence, words = sentence }) => !said.includes(printable(words))));
}

function paragraph(group: readonly Problem[]): string {
  const [first] = group;
  if (first === undefined) return ''; // groups are never empty
  const names = group.flatMap(({ table }) => table ?? []);
  const each = names.length > 1 && first.sentence.startsWith(countText(first.count)) ? ', each' : '';
  const where = names.length === 0 ? '' : `${someOf(names)}${each}: `;
  const hint = first.hint === '' ? '' : `    what to do: ${printable(first.hint)}\n`;
  return `  ${printable(where + first.sentence)}\n${hint}`;
}
