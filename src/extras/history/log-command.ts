/**
 * `rowsync log` lists what changed, run by run; `rowsync changes` prints the history as events, one JSON object a line.
 */
import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';
import { InvalidArgumentError, type Command } from 'commander';
import { stampFromMs } from '../../base/clock.ts';
import { EXIT, usageError } from '../../base/errors.ts';
import { countText, plural, printable, printableJson, wrapProse } from '../../base/text.ts';
import {
  causeWords,
  entryJson,
  findRun,
  isRenumbering,
  readRunCounts,
  readRunEntries,
  type HistoryEntry,
  type RunCount,
} from './entries.ts';
import { findKnownTable, readKnownTables } from './known-since.ts';
import { schemaChangeText } from '../../pull/schema-changes.ts';
import type { Connection } from '../../replica/connection.ts';
import { readTables } from '../../replica/bookkeeping/tables.ts';
import { openReader } from '../../replica/reader.ts';
import { readSchemaChanges, type SeenSchemaChange } from '../../replica/bookkeeping/schema-changes.ts';
import { cellsText, headText, kindText, listJson } from './history-text.ts';
import { writeAll } from '../../cli/terminal/session.ts';
import { loadNamedConfig, numberArgument } from '../../cli/runtime/invocation.ts';
import type { Flags, Invocation, Runner } from '../../extra.ts';
import { momentOf, MOMENT_FORMS } from './time-argument.ts';
import { readEvents, sequenceNumber } from './events.ts';

/** Kinds of entries that are about one row. */
const ROW_KINDS: ReadonlySet<string> = new Set(['insert', 'update', 'delete']);

/** What the origin took, by the kind of the entry. */
const SENT_KINDS: Readonly<Record<string, string>> = { insert: 'new row', delete: 'delete' };

/** Rows of one run that are shown; JSON has all. */
const ROWS_MAX = 1_000;

const RUNS_HINT = 'rowsync log lists the runs with changes, SELECT * FROM sync_runs all.';

const EXAMPLES = `
The newest run comes first. With --table or --run, the rows are listed as well.
Times: ${MOMENT_FORMS}.

Examples:
  rowsync log --since yesterday
  rowsync log --table Order --since '2026-11-01 08:00' --until 2h
  rowsync log --run 512`;

type LogOptions = Flags<'since' | 'until' | 'table' | 'run'>;

interface LoggedRun extends Pick<RunCount, 'runId' | 'work' | 'from' | 'to'> {
  readonly changes: readonly (Pick<RunCount, 'table' | 'kind' | 'cause' | 'count'> & {
    /** The origin took edits, which are listed where they were made. */
    readonly isAnswer: boolean;
  })[];
  /** What changed in the tables and columns of the origin, and what was made again here. */
  readonly schemaChanges: readonly SeenSchemaChange[];
}

export function addLogCommand(program: Command, runner: Runner): void {
  program
    .command('log')
    .description('list what changed, run by run')
    .option('--since <time>', 'changes that arrived here at this time or later')
    .option('--until <time>', 'changes that arrived here at this time or earlier')
    .option('--table <table>', 'changes of this table, row by row')
    .option('--run <id>', 'changes of this run, row by row')
    .addHelpText('after', EXAMPLES)
    .action(runner(showLog));
}

async function showLog(invocation: Invocation, options: LogOptions): Promise<number> {
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  const { stdout, clock } = invocation.session;
  const stamp = (text: string | undefined, name: string): string | null =>
    text === undefined ? null : stampFromMs(momentOf(text, { name, nowMs: clock.nowMs() }) * 1000);
  const [since, until] = [stamp(options.since, '--since'), stamp(options.until, '--until')];
  const now = stampFromMs(clock.nowMs());
  if (since !== null && since > now) throw usageError(`--since: ${since} lies ahead`, `It is ${now} now.`);
  if (since !== null && until !== null && since > until)
    throw usageError(`--since ${since} is later than --until ${until}`, 'Give the earlier time with --since.');
  const runId = options.run === undefined ? null : numberArgument(options.run, 'number of a run', RUNS_HINT);
  using reader = openReader(config.replica.path);
  const known = readKnownTables(reader);
  const table = options.table === undefined ? null : findKnownTable(known, options.table).table;
  const filter = { table, runId, since, until };
  const changed = table === null ? null : originName(reader, table);
  const isMeant = ({ at, ...change }: SeenSchemaChange): boolean =>
    (since === null || at >= since) &&
    (until === null || at <= until) &&
    (changed === null || [change.table, change.former, change.now].includes(changed));
  const schema = readSchemaChanges(reader, runId).filter(isMeant);
  const runs = runsOf(readRunCounts(reader, filter), schema);
  if (runId !== null && runs.length === 0 && findRun(reader, runId) === null)
    throw usageError(`There is no run ${runId}`, RUNS_HINT);
  const withRows = table !== null || runId !== null;
  const isKept = known.some((one) => one.since !== null && (table === null || one.table === table));
  if (runs.length === 0 && !isKept && !invocation.isJson) {
    await stdout.write(
      `History is off${table === null ? '' : ` for ${printable(table)}`}, so no change was recorded\n`,
    );
    await stdout.write('  what to do: set history: true in the configuration, for all tables or for one\n');
    return EXIT.done;
  }
  const entriesOf = withRows ? (run: LoggedRun) => readRunEntries(reader, run, filter) : null;
  const text = (): Iterable<string> => logText(runs, entriesOf).map((piece) => wrapProse(piece, stdout.width()));
  await writeAll(stdout, invocation.isJson ? logJson(runs, entriesOf) : text());
  return EXIT.done;
}

/** Counts and changes of the schema by run, the newest first. What belongs to no run is a group for each time. */
function runsOf(counts: readonly RunCount[], schema: readonly SeenSchemaChange[]): readonly LoggedRun[] {
  const groups = Map.groupBy(counts, ({ runId, to }) => runId ?? to);
  const changesByRun = Map.groupBy(schema, ({ runId, at }) => runId ?? at);
  const keys = [...new Set([...groups.keys(), ...changesByRun.keys()])];
  const runs = keys.map((key): LoggedRun => {
    const [all, seen] = [groups.get(key) ?? [], changesByRun.get(key) ?? []];
    const times = [...all.flatMap(({ from, to }) => [from, to]), ...seen.map(({ at }) => at)].toSorted();
    return {
      runId: typeof key === 'number' ? key : null,
      work: all[0]?.work ?? (seen.length > 0 ? 'pull' : null),
      from: times[0] ?? '',
      to: times.at(-1) ?? '',
      changes: all.map(({ table, kind, cause, isAnswer, count }) => ({
        table,
        kind,
        cause,
        isAnswer: isAnswer === 1,
        count,
      })),
      schemaChanges: seen,
    };
  });
  // Runs that only saw the schema change take their place among the others.
  return changesByRun.size === 0 ? runs : runs.toSorted((a, b) => (a.to < b.to ? 1 : a.to > b.to ? -1 : 0));
}

/** What the origin calls a table of the history. */
function originName(reader: Connection, localName: string): string {
  return readTables(reader).find((table) => table.localName === localName)?.name ?? localName;
}

/** Reads the entries of a run; null where rows are not listed. */
type RunEntries = ((run: LoggedRun) => Iterable<HistoryEntry>) | null;

function* logJson(runs: readonly LoggedRun[], entriesOf: RunEntries): Generator<string> {
  const items = runs.map((run) => {
    const listed = { ...run, schemaChanges: run.schemaChanges.map(schemaChangeText) };
    if (entriesOf === null) return [printableJson(JSON.stringify(listed))];
    // Begun when its run is written: one statement is open at a time, and none once the reader went away.
    const entries = function* (): Iterable<Iterable<string>> {
      for (const entry of entriesOf(run)) yield [printableJson(entryJson(entry))];
    };
    return listJson(listed, 'entries', entries());
  });
  yield* listJson({}, 'runs', items);
  yield '\n';
}

function* logText(runs: readonly LoggedRun[], entriesOf: RunEntries): Generator<string> {
  if (runs.length === 0) yield 'No changes\n';
  for (const [index, run] of runs.entries()) {
    const span = run.from === run.to ? run.to : `${run.from} to ${run.to}`;
    yield `${index === 0 ? '' : '\n'}${headOf(run)}  ${span}\n`;
    for (const change of run.schemaChanges) yield `  ${schemaChangeText(change)}\n`;
    for (const change of run.changes.toReversed()) {
      yield `  ${printable(change.table ?? 'all tables')}: ${countedText(change)}\n`;
    }
    if (entriesOf !== null) yield* rowsText(entriesOf(run));
  }
}

function countedText(change: LoggedRun['changes'][number]): string {
  const { kind, count, isAnswer } = change;
  if (!ROW_KINDS.has(kind)) return kindText(kind);
  if (isAnswer) return `${plural(count, SENT_KINDS[kind] ?? 'edit')} taken by the origin`;
  return `${countText(count)} ${kindText(kind)}, ${printable(causeWords(change))}`;
}

function headOf({ runId, work, changes }: LoggedRun): string {
  if (runId === null) return changes.some(({ cause }) => cause === 'edit') ? 'edited here' : 'between runs';
  return work === null ? `run ${runId}` : `run ${runId}, ${printable(work)}`;
}

function* rowsText(entries: Iterable<HistoryEntry>): Generator<string> {
  let count = 0;
  for (const entry of entries) {
    if (entry.rowId === null || isRenumbering(entry)) continue;
    count += 1;
    if (count > ROWS_MAX) break;
    yield `    ${printable(entry.table ?? '')} ${entry.rowId}: ${headText(entry)}\n      ${cellsText(entry)}\n`;
  }
  if (count > ROWS_MAX) yield `    the first ${plural(ROWS_MAX, 'row')}; there are more (--json gives all)\n`;
}

const POLL_MS = 1_000;

const CHANGES_EXAMPLES = `
Each line is one event in the JSON format of CloudEvents 1.0; "data" is the entry of the history. The id of an event is its number:
keep the last one that you have worked up, and ask for those after it. Every change comes in order, and at least once.
A daemon with a page gives the same as server-sent events at /changes.

Examples:
  rowsync changes --after 0 | jq -r '[.id, .type, .subject] | @tsv'
  rowsync changes --after 4711 --follow | ./to-queue`;

type ChangesOptions = Flags<never, 'follow'> & { readonly after: number };

export function addChangesCommand(program: Command, runner: Runner): void {
  program
    .command('changes')
    .description('print the history as events, one JSON object a line')
    .requiredOption('--after <seq>', 'the number of the last event that you have; 0 for all', numberOf)
    .option('--follow', 'wait for more until you stop it')
    .addHelpText('after', CHANGES_EXAMPLES)
    .action(runner(printChanges));
}

function numberOf(text: string): number {
  const number = sequenceNumber(text);
  if (number === null) throw new InvalidArgumentError('It is the id of an event, a whole number.');
  return number;
}

async function printChanges(invocation: Invocation, { after, follow = false }: ChangesOptions): Promise<number> {
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  const { clock, stdout } = invocation.session;
  const signal = follow ? invocation.session.stopSignal() : AbortSignal.abort();
  let seq = await printAfter(invocation, config.replica.path, after);
  for (;;) {
    if (signal.aborted || stdout.isClosed) return EXIT.done; // ends: the user stops it, or its reader goes away
    await clock.sleep(POLL_MS, signal);
    if (!signal.aborted) seq = await printAfter(invocation, config.replica.path, seq);
  }
}

/** Prints the events behind a number; returns the last one. Opens the file each time, since another may replace it. */
async function printAfter({ session: { stdout } }: Invocation, path: string, after: number): Promise<number> {
  const source = pathToFileURL(resolve(path)).href;
  using reader = openReader(path);
  let seq = after;
  for (;;) {
    const events = readEvents(reader, seq, source);
    await stdout.write(events.map(({ json }) => `${printableJson(json)}\n`).join(''));
    seq = events.at(-1)?.seq ?? seq;
    if (events.length === 0 || stdout.isClosed) return seq; // ends: every block lies behind the last one
  }
}
