/**
 * Answers one question of an agent at a time, over a replica that is opened read-only for it. Its parent ends it if an
 * answer takes too long (extras/shared/child-pool.ts). A wrong question gets status 400.
 */
import { asRowsyncError, usageError } from '../../base/errors.ts';
import { jsonAnswer, serveQuestions, type AnswerChunks } from '../shared/child-process.ts';
import { boundMemory, findBrowsedTable, readBrowsedTables, type BrowsedTable } from '../shared/rows-page.ts';
import { guessText } from '../../reconcile/option-bindings.ts';
import { openReader, type ReplicaReader, type TableStatus } from '../../replica/reader.ts';
import type { ToolRequest, ToolQuestion } from './request.ts';
import { stampFromMs } from '../../base/clock.ts';
import type { Problem } from '../../reconcile/account/account.ts';
import { agesText } from '../shared/freshness.ts';
import { ageBound, requireFresh, staleTables } from '../shared/fresh-tables.ts';
import { lookAtEdits, reasonNotWritten } from './check-edits.ts';

/** Memory of SQLite for one answer. */
const SQLITE_BYTES_MAX = 96 * 1024 * 1024;

export function serveTools(): void {
  serveQuestions(answerRequest);
}

/** Answers a question, in at most `ANSWER_CHARS_MAX` characters. */
export function answerRequest({ replicaPath, question, ...present }: ToolRequest): AnswerChunks {
  try {
    using reader = openReader(replicaPath);
    boundMemory(reader, SQLITE_BYTES_MAX);
    const answer = completeAnswer(reader, question, present);
    // What a person is to review is bounded by how many edits a proposal may have.
    return jsonAnswer(200, question.tool === 'look_at_edits' ? answer : bounded(answer));
  } catch (thrown) {
    const { message, hint, code } = asRowsyncError(thrown);
    return jsonAnswer(400, { error: message, hint, code });
  }
}

/** Tables, and columns of a table, that are listed. */
const LISTED_MAX = 500;
/** Characters of one value, and of a whole answer as JSON; agents do not read more. */
const VALUE_CHARS_MAX = 2_000;
const ANSWER_CHARS_MAX = 100_000;
/** Characters of a name, and of the origin's words. */
const NAME_CHARS_MAX = 300;

const CUT_LISTS = ['how_old', 'rows', 'tables', 'columns'] as const;

/** Shortens lists of an answer until it fits, and says so. Columns of rows stay, since the rows are in their order. */
function bounded(answer: Readonly<Record<string, unknown>>): unknown {
  let shown = answer;
  for (const list of CUT_LISTS) {
    const items = shown[list];
    if (!Array.isArray(items) || (list === 'columns' && 'rows' in shown)) continue;
    let count = items.length;
    for (let length = lengthOf(shown); length > ANSWER_CHARS_MAX && count > 0; length = lengthOf(shown)) {
      count = Math.min(count - 1, Math.floor((count * ANSWER_CHARS_MAX) / length));
      shown = {
        ...shown,
        [list]: items.slice(0, count),
        ...(list === 'rows' ? { row_count: count } : {}),
        is_cut: true,
      };
    }
  }
  const isEmptied = shown['row_count'] === 0 && answer['row_count'] !== 0;
  if (lengthOf(shown) <= ANSWER_CHARS_MAX && !isEmptied) return shown;
  throw usageError(
    `The answer has more than ${ANSWER_CHARS_MAX} characters`,
    'Ask for fewer columns, or for parts of long values.',
  );
}

function lengthOf(answer: unknown): number {
  return JSON.stringify(answer).length;
}

type AnswerFacts = Pick<ToolRequest, 'nowMs' | 'problems'>;

function completeAnswer(
  reader: ReplicaReader,
  question: ToolQuestion,
  present: AnswerFacts,
): Readonly<Record<string, unknown>> {
  switch (question.tool) {
    case 'list_tables':
      return listTables(reader.status(), readBrowsedTables(reader), present);
    case 'describe_table':
      return describeTable(reader, question.table, present);
    case 'query':
      return query(reader, question, present);
    case 'stale':
      return staleFor(reader, question, present);
    case 'look_at_edits':
      return { ...lookAtEdits(reader, question.edits) };
    default:
      return question satisfies never;
  }
}

/** The tables, how old they are here, and every problem: beside its table, or on top where that is not listed. */
export function listTables(
  tables: readonly TableStatus[],
  described: readonly BrowsedTable[],
  present: AnswerFacts,
): Readonly<Record<string, unknown>> {
  const byName = new Map(described.map((table) => [table.name, table]));
  const listed = tables.slice(0, LISTED_MAX);
  const names = new Set<string | null>(listed.map(({ table }) => table));
  return {
    now: stampFromMs(present.nowMs),
    problems: present.problems.filter(({ table }) => !names.has(table)).map(problemOf),
    tables: listed.map((status) => ({
      ...freshnessOf(status, present),
      rows: status.rowCount,
      columns: byName.get(status.table)?.columns.length ?? 0,
      may_propose_edits: byName.get(status.table)?.isTwoWay === true,
    })),
    ...(tables.length > LISTED_MAX ? { not_listed: tables.length - LISTED_MAX } : {}),
  };
}

function freshnessOf(table: TableStatus, { nowMs, problems }: AnswerFacts): object {
  const { freshSince, followedAt } = table;
  const own = problems.filter((problem) => problem.table === table.table);
  const last = [freshSince, followedAt]
    .filter((stamp) => stamp !== null)
    .toSorted()
    .at(-1);
  return {
    table: cut(table.table, NAME_CHARS_MAX),
    state: table.state,
    fresh_since: freshSince,
    followed_at: followedAt,
    age_seconds: last === undefined ? null : Math.max(0, Math.round((nowMs - Date.parse(last)) / 1000)),
    edits_not_at_origin: table.pendingCount + table.parkedCount,
    conflicts: table.conflictCount,
    // An agent that counts rows has to know that the others never come here.
    ...(table.isFiltered ? { has_only_some_rows: true } : {}),
    ...(own.length === 0 ? {} : { problems: own.map(problemOf) }),
  };
}

function problemOf({ code, severity, table, count, since, sentence, hint }: Problem): object {
  return {
    code,
    severity,
    table,
    count,
    since,
    problem: cut(sentence, NAME_CHARS_MAX),
    hint: cut(hint, NAME_CHARS_MAX),
  };
}

function describeTable(reader: ReplicaReader, name: string, present: AnswerFacts): Readonly<Record<string, unknown>> {
  const table = findBrowsedTable(reader, name);
  const tables = reader.status();
  if (table === null) {
    const names = tables.map((each) => each.table);
    if (names.includes(name))
      throw usageError(`${name} was not read from the origin yet`, 'list_tables says what is wrong with it.');
    const guess = guessText(name, names);
    throw usageError(`There is no table ${cut(name, NAME_CHARS_MAX)}${guess}`, 'list_tables lists them.');
  }
  const status = tables.filter((each) => each.table === name);
  return {
    now: stampFromMs(present.nowMs),
    ...status.map((each) => freshnessOf(each, present))[0],
    rows: table.rowCount,
    key_column: table.keyColumn,
    may_propose_edits: table.isTwoWay,
    may_add_rows: table.isTwoWay && table.allowsAdd,
    columns: [{ name: '_id', type: 'row number at the origin', writable: false }, ...columnsOf(table)],
  };
}

function columnsOf(table: BrowsedTable): readonly object[] {
  return table.columns.slice(0, LISTED_MAX).map((column) => ({
    name: cut(column.name, NAME_CHARS_MAX),
    type: column.type,
    stored_as: column.storedAs,
    ...(column.kind === null ? {} : { kind: column.kind }),
    ...(column.mask === null ? {} : { masked_by: column.mask }),
    writable: table.isTwoWay && reasonNotWritten(column) === null,
    required: column.isRequired,
  }));
}

/** The words that begin a query; blanks and comments may precede them. */
const ASKS = /^(?:\s|--[^\n]*(?:\n|$)|\/\*(?:[^*]|\*(?!\/))*\*\/)*(?:SELECT|WITH|VALUES)\b/i;

function requireSelect(sql: string): void {
  if (!ASKS.test(sql)) throw usageError('Only one SELECT is answered', 'Edits are proposed with propose_edits.');
}

function query(
  reader: ReplicaReader,
  { sql, rowsMax, within }: Extract<ToolQuestion, { tool: 'query' }>,
  present: AnswerFacts,
): Readonly<Record<string, unknown>> {
  requireSelect(sql);
  if (within !== null)
    requireFresh(reader, { names: () => reader.tablesOf(sql), bound: ageBound(within, present.nowMs) });
  const { columns, rows } = reader.query(sql);
  const shown: (readonly unknown[])[] = [];
  let chars = 0;
  let isCut = false;
  for (const row of rows) {
    if (shown.length === rowsMax || chars > ANSWER_CHARS_MAX) {
      isCut = true;
      break;
    }
    const charsMax = Math.min(VALUE_CHARS_MAX, Math.ceil(ANSWER_CHARS_MAX / (2 * row.length)));
    const values = row.map((value) => shownValue(value, charsMax));
    chars += values.reduce<number>((sum, value) => sum + String(value).length, 0);
    shown.push(values);
  }
  const read = new Set(reader.tablesOf(sql));
  return {
    now: stampFromMs(present.nowMs),
    columns: columns.map((column) => cut(column, NAME_CHARS_MAX)),
    rows: shown,
    row_count: shown.length,
    is_cut: isCut,
    how_old: reader
      .status()
      .filter(({ table }) => read.has(table))
      .map((table) => freshnessOf(table, present)),
  };
}

function staleFor(
  reader: ReplicaReader,
  { sql, within }: Extract<ToolQuestion, { tool: 'stale' }>,
  { nowMs }: AnswerFacts,
): Readonly<Record<string, unknown>> {
  requireSelect(sql);
  const stale = staleTables(reader, reader.tablesOf(sql), ageBound(within, nowMs));
  return { stale: stale.map(({ name }) => name), ages: agesText(stale, nowMs) };
}

function shownValue(value: unknown, charsMax: number): unknown {
  if (typeof value === 'string') return cut(value, charsMax);
  if (typeof value === 'bigint') return value.toString();
  return value instanceof Uint8Array ? `(${value.length} bytes)` : value;
}

function cut(text: string, charsMax: number): string {
  return text.length <= charsMax
    ? text.toWellFormed()
    : `${text.slice(0, charsMax).toWellFormed()}… (${text.length} characters)`;
}
