/**
 * `rowsync conflicts`, `resolve` and `discard`: what was changed on both sides, and what a person decides about it.
 * They never ask the origin; the next run carries the result there.
 */
import type { Command } from 'commander';
import { EXIT, usageError } from '../../base/errors.ts';
import type { PersonDecision } from '../../capture/person-decision.ts';
import { type ConflictLine, readUnseen, shownSince, takenVersion } from '../../replica/bookkeeping/conflicts.ts';
import { openReader } from '../../replica/reader.ts';
import { decide } from './carry-out-decision.ts';
import { loadNamedConfig, numberArgument, printResult } from '../runtime/invocation.ts';
import type { Invocation, Runner } from '../../extra.ts';
import { ROW_CONFLICT_TEXTS } from '../report/push-report.ts';
import { listTable } from '../terminal/table.ts';
import { rowNamer } from '../../replica/bookkeeping/row-names.ts';
import { plural, printable, shellWord, truncate } from '../../base/text.ts';
import { jsonCells } from '../../wire/exact-json.ts';

const LIST_EXAMPLES = `
Open conflicts wait for you and hold up their row only. Edits of the last seven days that lost to a change at the origin (by the
policy of their table) or to a delete there (under every policy) are listed apart until you say that you saw them; any version can
still be taken with --again. The exit code is 3 while a conflict is open.

Examples:
  rowsync conflicts
  rowsync conflicts --seen 14                  the lost edits up to that number were looked at
  rowsync conflicts --all --json               those that were decided long ago, too`;

const RESOLVE_EXAMPLES = `
VERSION is local, remote or base, NULL for no value, or a value of your own after an equals sign.

Examples:
  rowsync resolve 12 --take local
  rowsync resolve 12 --take '=Main Street 5'
  rowsync resolve 12 --take remote --again                         what is decided already needs --again
  UPDATE sync_conflicts SET resolution = 'remote'
    WHERE id = 12 AND state = 'open'    in SQL, carried out by the next run`;

const DISCARD_EXAMPLES = `
What is given up stays in sync_conflicts, where "rowsync resolve ID --take local --again" takes it again. --all leaves rows alone that are in
conflict or were refused: name each of them.

Examples:
  rowsync discard Customer 17
  rowsync discard Customer --all`;

export function addConflictCommands(program: Command, runner: Runner): void {
  program
    .command('conflicts')
    .description('list what was changed both here and at the origin')
    .option('--all', 'also those that are decided')
    .option('--seen <id>', 'say that you saw the edits that lost, up to that number')
    .addHelpText('after', LIST_EXAMPLES)
    .action(runner(list));
  program
    .command('resolve')
    .argument('<id>', 'number of the conflict')
    .requiredOption('--take <version>', 'local, remote, base, NULL, or =VALUE')
    .option('--again', 'decide anew what is decided, discarded or settled already')
    .description('decide a conflict')
    .addHelpText('after', RESOLVE_EXAMPLES)
    .action(runner(resolve));
  program
    .command('discard')
    .argument('<table>', 'name of the table')
    .argument('[id]', '_id of the row')
    .option(
      '--all',
      'every edited row of the table that is neither in conflict nor refused; also those in doubt, which it names',
    )
    .description('put an edited row back to what the origin last confirmed')
    .addHelpText('after', DISCARD_EXAMPLES)
    .action(runner(discard));
}

type ListFlags = { readonly all?: boolean; readonly seen?: string };

async function list(invocation: Invocation, { all: isAll = false, seen }: ListFlags): Promise<number> {
  if (seen !== undefined) return decide(invocation, { kind: 'seen', upToId: numberOf(seen, 'number of a conflict') });
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  using reader = openReader(config.replica.path);
  const conflicts = reader.conflicts({ all: isAll });
  const lost = reader.isOlder() ? [] : readUnseen(reader, shownSince(invocation.session.clock.nowMs()));
  const { stdout } = invocation.session;
  const form = { width: stdout.width(), nameOf: rowNamer(reader) };
  await printResult(
    invocation,
    { conflicts, lost },
    isAll ? listText(conflicts, form) : openText(conflicts, lost, form),
  );
  return conflicts.some(({ state }) => state === 'open') ? EXIT.needsPerson : EXIT.done;
}

interface ListForm {
  readonly width: number | null;
  readonly nameOf: ReturnType<typeof rowNamer>;
}

const RESOLVE = '\n  rowsync resolve ID --take local|remote|base|NULL|=VALUE';

function openText(open: readonly ConflictLine[], lost: readonly ConflictLine[], form: ListForm): string {
  const last = lost.at(-1);
  if (form.width === null) return listText([...open, ...lost], form);
  if (last === undefined) return listText(open, form);
  const conflicts = open.length === 0 ? '' : `${listText(open, form)}\n`;
  return (
    `${conflicts}${boxText(lost, form)}${plural(lost.length, 'edit')} lost to a change or a delete at the origin\n` +
    `  take one back with: rowsync resolve ID --take local --again\n  once you saw them:  rowsync conflicts --seen ${last.id}\n`
  );
}

function listText(conflicts: readonly ConflictLine[], form: ListForm): string {
  if (conflicts.length === 0) return 'No conflicts\n';
  const box = boxText(conflicts, form);
  if (form.width === null) return box;
  const openCount = conflicts.filter(({ state }) => state === 'open').length;
  const count = plural(conflicts.length, 'conflict');
  if (openCount === 0)
    return `${box}${count}, none of them open; any kept version can still be taken:${RESOLVE} --again\n`;
  const open = openCount === conflicts.length ? '' : `, ${openCount} open`;
  return `${box}${count}${open}; decide one with:${RESOLVE}\n`;
}

function boxText(conflicts: readonly ConflictLine[], { width, nameOf }: ListForm): string {
  const titles = ['id', 'table', 'row', 'row name', 'what', 'base', 'local', 'remote', 'taken', 'state'];
  const cells = conflicts.map((line) => [
    String(line.id),
    line.table,
    String(line.rowId),
    nameOf(line.table, line.rowId),
    line.column ?? ROW_CONFLICT_TEXTS[line.kind] ?? line.kind,
    ...(line.kind === 'cell'
      ? [line.base, line.local, line.remote].map((value) => (value === null ? 'NULL' : String(value)))
      : [line.base === null ? '' : 'the row', rowText(line.local, line.base), rowText(line.remote, line.base)]),
    takenVersion(line),
    line.problem === null ? line.state : `${line.state}: ${line.problem}`,
  ]);
  return listTable(titles, cells, width);
}

const VALUE_CHARS_MAX = 40;

/** A version of a whole row for people: the columns that differ from what both had, or all that have a value. */
function rowText(row: ConflictLine['local'], base: ConflictLine['base']): string {
  if (row === null) return base === null ? '' : 'deleted';
  const before = keptCells(base);
  const changes = [...keptCells(row)].flatMap(([name, now]) => {
    const was = before.get(name) ?? 'NULL';
    const [from, to] = [was, now].map((text) => truncate(text, VALUE_CHARS_MAX));
    return was === now ? [] : [base === null ? `${name}: ${to}` : `${name}: ${from} -> ${to}`];
  });
  return changes.length === 0 ? 'unchanged' : changes.join(', ');
}

/** Cells of a row that is kept as JSON, in words, by name. Numbers keep every digit. */
function keptCells(row: ConflictLine['base']): ReadonlyMap<string, string> {
  const cells = jsonCells(String(row ?? '{}')) ?? new Map<string, string>();
  return new Map([...cells].map(([name, json]) => [name, json === 'null' ? 'NULL' : json]));
}

type ResolveFlags = { readonly take: string; readonly again?: boolean };

async function resolve(invocation: Invocation, id: string, { take, again = false }: ResolveFlags): Promise<number> {
  const version = takeFrom(take);
  return decide(invocation, { kind: 'resolve', id: numberOf(id, 'number of a conflict'), isAgain: again, ...version });
}

async function discard(
  invocation: Invocation,
  table: string,
  id: string | undefined,
  { all = false }: { readonly all?: boolean },
): Promise<number> {
  if ((id === undefined) !== all)
    throw usageError(
      'discard takes either the _id of a row or --all',
      '`rowsync plan` lists edited rows with their _id.',
    );
  return decide(invocation, { kind: 'discard', table, rowId: id === undefined ? null : numberOf(id, '_id of a row') });
}

function takeFrom(text: string): Pick<PersonDecision & { kind: 'resolve' }, 'take' | 'value'> {
  if (text === 'local' || text === 'remote' || text === 'base') return { take: text, value: null };
  if (text === 'NULL') return { take: 'value', value: null };
  if (text.startsWith('=')) return { take: 'value', value: text.slice(1) };
  throw usageError(
    `--take is local, remote, base, NULL, or a value after "=", and not ${printable(text)}`,
    `Nothing was decided. For this text itself: --take ${shellWord(`=${text}`)}`,
  );
}

function numberOf(text: string, what: string): number {
  const hint = '`rowsync conflicts` lists conflicts with their numbers, SELECT * FROM sync_changes edited rows.';
  return numberArgument(text, what, hint);
}
