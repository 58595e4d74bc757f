/**
 * What no documentation of the Records API says, as questions that writing answers. Every row that is made has a marker
 * in a text column, and only those rows are changed. Answers have words and values of ours alone.
 */
import { RowsyncError } from '../../base/errors.ts';
import { readError } from '../../wire/json.ts';
import { queryFromPairs } from '../../wire/request-paths.ts';
import { isRowId, type MadeRows } from './clean-up.ts';
import { jsonOf, listText, type OriginQuestion, question, tablePath, Unasked } from './questions.ts';
import type { ColumnFields, RawReply, RowFields, Server, TableFields } from './server.ts';

type WrittenCells = Readonly<Record<string, unknown>>;

interface RowStatus {
  readonly status: number;
  readonly id?: unknown;
  readonly key?: unknown;
  readonly errors?: readonly { readonly error?: unknown; readonly code?: unknown }[];
  readonly error?: { readonly error?: unknown; readonly code?: unknown };
}

export interface WritingServer extends Server {
  readonly plan: WritingPlan;
  readonly marker: string;
  readonly first: RowStatus;
  /** The row that updates go to; null where none was made, or it has lost the marker. */
  readonly firstId: number | null;
  /** Writes rows, each with the marker, and new ones with all that is required. */
  write(
    method: 'create' | 'update' | 'upsert',
    rows: readonly WrittenCells[],
    match?: ColumnFields,
  ): Promise<readonly RowStatus[]>;
  /** A row that was made and purged, the same for every question. @throws Unasked. */
  purged(): Promise<PurgedRow>;
}

interface PurgedRow {
  readonly id: number;
  /** How the purge was answered. */
  readonly status: number;
}

export interface WritingPlan {
  readonly mark: ColumnFields;
  readonly required: readonly ColumnFields[];
  /** Required columns for which there is no value, so that no row can be made. */
  readonly unfilled: readonly ColumnFields[];
}

/** What a Required column of a type gets; a Unique one takes texts and numbers only. */
const FILLINGS: Readonly<Record<string, (marker: string, serial: number) => unknown>> = {
  Text: (marker, serial) => `${marker} ${serial}`,
  Multiline: (marker, serial) => `${marker} ${serial}`,
  Numeric: (_, serial) => serial,
  Duration: (_, serial) => serial,
  Checkbox: () => true,
  Date: () => '2024-02-29',
  Time: () => '12:00:00',
  Timestamp: () => '2024-02-29T12:00:00Z',
  Phone: () => '+1 555 0100',
  EMail: () => 'contract@example.com',
  URL: () => 'https://example.com/',
};
const UNIQUE_FILLINGS: ReadonlySet<string> = new Set(['Text', 'Multiline', 'Numeric']);

/** Characters of a text that begins with a marker. */
const TEXT_CHARS = 40;

/** Rows that all questions make at most, also at an origin that takes whatever it is given. */
export const ROWS_MAX = 14;

export function newMarker(random: () => number): string {
  const digits = Array.from({ length: 12 }, () => Math.floor(random() * 16).toString(16));
  return `rowsync contract ${digits.join('')}`;
}

export function isFree({ kind, readOnly }: ColumnFields): boolean {
  return (kind === undefined || kind === 'Updatable') && readOnly !== true;
}

function isUnique({ dataOptions }: ColumnFields): boolean {
  return dataOptions.includes('Unique');
}

/** How rows of a table can be made; null without a column for the marker. */
export function planWriting({ columns, key }: TableFields): WritingPlan | null {
  const mark = columns.find(
    (column) => column.name !== key && column.type === 'Text' && isFree(column) && !isUnique(column) && isWide(column),
  );
  if (mark === undefined) return null;
  const required = columns.filter(
    (column) =>
      column !== mark &&
      ((isFree(column) && column.dataOptions.includes('Required')) ||
        (column.name === key && column.type !== 'Autonumber' && column.readOnly !== true)),
  );
  const unfilled = required.filter(
    (column) =>
      FILLINGS[column.type] === undefined ||
      ((isUnique(column) || column.name === key) && !UNIQUE_FILLINGS.has(column.type)) ||
      (/^(?:Text|Multiline)$/.test(column.type) && !isWide(column)),
  );
  return { mark, required, unfilled };
}

function isWide({ width = 0 }: ColumnFields): boolean {
  return width === 0 || width >= TEXT_CHARS;
}

/** What a new row has in the Required columns; `serial` is another one for each row. */
export function fill({ required }: WritingPlan, marker: string, serial: number): WrittenCells {
  return Object.fromEntries(required.map(({ name, type }) => [name, FILLINGS[type]?.(marker, serial)]));
}

/** Makes the first row, and notes what it makes. @throws RowsyncError of the origin. */
export async function openWriting(
  server: Server,
  plan: WritingPlan,
  run: { readonly marker: string; readonly made: MadeRows; readonly nowMs: () => number; readonly signal: AbortSignal },
): Promise<WritingServer> {
  const { marker, made, nowMs, signal } = run;
  let serial = 0;
  const complete = (row: WrittenCells): WrittenCells => {
    serial += 1;
    return { [plan.mark.name]: marker, ...(Object.hasOwn(row, '@row.id') ? {} : fill(plan, marker, serial)), ...row };
  };
  const write: WritingServer['write'] = async (method, rows, match) => {
    const query = match === undefined ? '' : `?${queryFromPairs([['match', match.name]])}`;
    const body = JSON.stringify(rows.map(complete));
    if (signal.aborted) throw stopped();
    made.unansweredMs.push(nowMs());
    const reply = await server.call(`${tablePath(server)}/${method}.json${query}`, { body });
    const statuses = statusesOf(reply);
    if (!isAnswered(reply, rows.length)) return statuses;
    made.unansweredMs.pop();
    const isMade = (row: RowStatus): boolean => row.status === 201 || (method !== 'update' && isDone(row));
    for (const { id } of statuses.filter(isMade)) if (isRowId(Number(id))) made.ids.add(Number(id));
    return statuses;
  };
  const purge = async (): Promise<PurgedRow> => {
    const [row] = await write('create', [{}]);
    const id = Number(row?.id);
    if (row?.status !== 201 || !(await isOurs({ ...server, plan, marker }, id))) throw new Unasked(NOT_FOUND);
    const { status } = await server.call(`${tablePath(server)}/delete.json?id=${id}&purge=1`);
    made.ids.delete(id);
    return { id, status };
  };
  let purged: Promise<PurgedRow> | null = null;
  const [first = { status: 0 }] = plan.unfilled.length > 0 ? [] : await write('create', [{}]);
  const origin = { ...server, plan, marker, first, write, purged: () => (purged ??= purge()) };
  const isFound = first.status === 201 && (await isOurs(origin, first.id));
  return { ...origin, firstId: isFound ? Number(first.id) : null };
}

const NOT_FOUND = 'no row could be made that is found again';

function stopped(): RowsyncError {
  return new RowsyncError('originDown', 'origin.stopped', { message: 'Stopped between two requests', hint: '' });
}

/** Whether a row has our marker; nothing is done to any other, whatever id an answer names. */
async function isOurs(
  origin: Pick<WritingServer, 'call' | 'table' | 'plan' | 'marker'>,
  id: unknown,
): Promise<boolean> {
  if (!Number.isSafeInteger(id)) return false;
  const rows = await jsonOf<readonly RowFields[]>(origin, `${tablePath(origin)}/retrieve.json?id=${Number(id)}`);
  return rows.some((row) => row['@row.id'] === id && row[origin.plan.mark.name] === origin.marker);
}

/** One for each row, or one for all of them. */
function statusesOf({ status, text }: RawReply): readonly RowStatus[] {
  const json = jsonFrom(text);
  if (json === undefined) return [{ status }];
  const answers: unknown[] = status === 200 && Array.isArray(json) ? json : [{ status, error: json }];
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what follows looks at them as a stranger's
  return (answers as (RowStatus | null)[]).filter((row) => typeof row === 'object' && row !== null);
}

function jsonFrom(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether the API itself says what became of each row. After any other answer, as of a gateway, a row may yet come. */
function isAnswered({ status, text }: RawReply, rowCount: number): boolean {
  const json = jsonFrom(text);
  if (status === 200) return Array.isArray(json) && json.length === rowCount && json.every(isRowAnswer);
  return status >= 400 && status < 500 && readError(json) !== undefined;
}

function isRowAnswer(row: unknown): boolean {
  const { status, id }: Partial<RowStatus> = typeof row === 'object' && row !== null ? row : {};
  if (!Number.isInteger(status) || status === undefined) return false;
  return status >= 200 && status < 500 && (status >= 300 || isRowId(id));
}

/** Status and number of an answer, where they are such. */
function statusText(row: RowStatus | undefined, what: 'code' | 'error' = 'code'): string {
  const number = (row?.errors?.[0] ?? row?.error)?.[what];
  const isNumber = Number.isInteger(number) && Number(number) >= 0 && Number(number) < 100_000;
  return isDone(row) ? statusNumber(row) : `${statusNumber(row)}, ${what} ${isNumber ? String(number) : 'none'}`;
}

function statusNumber(row: RowStatus | undefined): string {
  const status = row?.status;
  return Number.isInteger(status) && Number(status) >= 100 && Number(status) < 600 ? String(status) : 'no status';
}

function isDone(row: RowStatus | undefined): boolean {
  return [200, 201, 304].includes(row?.status ?? 0);
}

/** @throws Unasked where there is no row of ours. */
function idOf({ firstId }: WritingServer): number {
  if (firstId !== null) return firstId;
  throw new Unasked(NOT_FOUND);
}

/** A column to write to, rather one that is not Unique. */
function columnFor(
  { table, plan }: WritingServer,
  what: string,
  fits: (column: ColumnFields) => boolean,
): ColumnFields {
  const columns = table.columns.filter((column) => isFree(column) && column !== plan.mark && fits(column));
  const column = columns.find((each) => !isUnique(each)) ?? columns[0];
  if (column !== undefined) return column;
  throw new Unasked(`the table has no ${what} to write to`);
}

function uniqueColumn(origin: WritingServer): ColumnFields {
  return columnFor(
    origin,
    'Unique Text column',
    (column) => column.type === 'Text' && isUnique(column) && isWide(column),
  );
}

/** Writes a value into the first row; what came of it, or how it was refused. */
async function becomes(
  origin: WritingServer,
  { name }: ColumnFields,
  value: unknown,
  classify: (stored: unknown) => string,
): Promise<string> {
  const id = idOf(origin);
  const [row] = await origin.write('update', [{ '@row.id': id, [name]: value }]);
  if (!isDone(row)) return `refused (${statusNumber(row)})`;
  const rows = await jsonOf<readonly RowFields[]>(origin, `${tablePath(origin)}/retrieve.json?id=${id}`);
  return classify(rows.find((stored) => stored['@row.id'] === id)?.[name]);
}

/** What becomes of a value in a column of a type; `known` are further answers that can be repeated, as JSON. */
function given(
  type: string,
  value: unknown,
  assumed: string,
  ...known: readonly string[]
): OriginQuestion<WritingServer> {
  const words = new Set([assumed, JSON.stringify(value), 'null', '""', 'true', 'false', ...known]);
  return question(`What becomes of ${JSON.stringify(value)} in a ${type} column?`, assumed, (origin) =>
    becomes(
      origin,
      columnFor(origin, `${type} column`, (column) => column.type === type),
      value,
      (stored) => {
        const text = JSON.stringify(stored ?? null);
        return words.has(text) ? text : 'another value';
      },
    ),
  );
}

async function hasInList(origin: WritingServer, method: 'updated' | 'deleted', id: number): Promise<string> {
  const path = `${tablePath(origin)}/${method}.json?from=1970-01-01T00%3A00%3A00Z`;
  const rows = await jsonOf<readonly RowFields[]>(origin, path);
  return rows.some((row) => row['@row.id'] === id) ? 'yes' : 'no';
}

/** The id of a row of ours that was purged, so that no other row can have it. @throws Unasked. */
async function missingId(origin: WritingServer): Promise<number> {
  idOf(origin);
  const { id, status } = await origin.purged();
  if (status !== 200) throw new Unasked('no row could be purged');
  return id;
}

export const WRITING_QUESTIONS: readonly OriginQuestion<WritingServer>[] = [
  question('How is a new row answered?', '201, key as text', async (origin) => {
    if (origin.plan.unfilled.length > 0) throw new Unasked('a Required column cannot be filled');
    const [row] = await origin.write('create', [{}]);
    return isDone(row)
      ? `${statusNumber(row)}, key as ${typeof row?.key === 'string' ? 'text' : 'no text'}`
      : statusText(row);
  }),
  question('How is an update that changes nothing answered?', '304', async (origin) =>
    statusText((await origin.write('update', [{ '@row.id': idOf(origin) }]))[0]),
  ),
  question('How is an update of a missing record answered?', '404, code 4000', async (origin) =>
    statusText((await origin.write('update', [{ '@row.id': await missingId(origin) }]))[0]),
  ),
  question('How is a delete of a missing record answered?', '403, code 4000', async (origin) =>
    statusText(
      statusesOf(await origin.call(`${tablePath(origin)}/delete.json?id=${await missingId(origin)}&purge=1`))[0],
    ),
  ),
  question('How is a new row with an unknown column answered?', '400, code 3100', async (origin) =>
    statusText((await origin.write('create', [{ 'No such column here': 1 }]))[0]),
  ),
  question('Is the row beside a refused one written?', 'yes', async (origin) => {
    idOf(origin);
    const [refused, other] = await origin.write('create', [{ 'No such column here': 1 }, {}]);
    return isDone(refused) ? 'none is refused' : other?.status === 201 ? 'yes' : 'no';
  }),
  question('How is a new row with a key that exists answered?', '400, error 409', async (origin) => {
    idOf(origin);
    const { table, first } = origin;
    return statusText((await origin.write('create', [{ [table.key]: first.key }]))[0], 'error');
  }),
  question('How is a second row with a value of a Unique column answered?', '400, error 409', async (origin) => {
    const { name } = uniqueColumn(origin);
    const cells = { [name]: `${origin.marker} Aé` };
    await origin.write('update', [{ '@row.id': idOf(origin), ...cells }]);
    return statusText((await origin.write('create', [cells]))[0], 'error');
  }),
  question('How is a match by a column that is not Unique answered?', '400, code 3106', async (origin) =>
    statusText((await origin.write('upsert', [{}], origin.plan.mark))[0]),
  ),
  question('What does a match overlook in texts (case, accents, width, blanks)?', 'none', async (origin) => {
    const column = uniqueColumn(origin);
    await origin.write('update', [{ '@row.id': idOf(origin), [column.name]: `${origin.marker} Aé` }]);
    const overlooked: string[] = [];
    const likes = { case: 'aé', accents: 'Ae', width: 'Ａé', 'blanks at the end': 'Aé ' };
    for (const [what, text] of Object.entries(likes)) {
      const [row] = await origin.write('upsert', [{ [column.name]: `${origin.marker} ${text}` }], column);
      if (row?.status !== 201) overlooked.push(what);
    }
    return listText(overlooked);
  }),
  question('Does `updated` list rows that were just created?', 'yes', (origin) =>
    hasInList(origin, 'updated', idOf(origin)),
  ),
  question('Does `deleted` list rows that were purged?', 'no', async (origin) => {
    idOf(origin);
    const { id, status } = await origin.purged();
    return status === 200 ? await hasInList(origin, 'deleted', id) : `refused (${status})`;
  }),
  question('What becomes of a text that is longer than its column?', 'refused (400)', async (origin) => {
    const column = columnFor(origin, 'Text column with a width', ({ type, width = 0 }) => type === 'Text' && width > 0);
    const text = 'x'.repeat((column.width ?? 0) + 1);
    return becomes(origin, column, text, (stored) => (stored === text ? 'taken' : 'cut'));
  }),
  question('What becomes of an empty cell in a Required column?', 'refused (400)', (origin) => {
    const column = columnFor(origin, 'second Required column', ({ dataOptions }) => dataOptions.includes('Required'));
    return becomes(origin, column, null, (stored) => (stored === null ? 'taken' : 'another value'));
  }),
  question('What becomes of a fraction of a second in a Timestamp column?', 'cut', (origin) => {
    const column = columnFor(origin, 'Timestamp column', ({ type }) => type === 'Timestamp');
    const words: Readonly<Record<string, string>> = { 0: 'cut', 789: 'kept', 1000: 'rounded' };
    return becomes(origin, column, '2026-07-01T12:34:56.789Z', (stored) => {
      const moreMs = Date.parse(String(stored)) - Date.parse('2026-07-01T12:34:56Z');
      return words[moreMs] ?? 'another value';
    });
  }),
  given('Date', 1_700_000_000, 'refused (400)', '"2023-11-14T00:00:00+00:00"'),
  given('Date', '2026/11/26', 'refused (400)', '"2026-11-26T00:00:00+00:00"'),
  given('Checkbox', null, 'null'),
  given('Checkbox', 'true', 'refused (400)'),
  given('Multiline', '', '""'),
  given('Multiline', 'a\nb', '"a\\r\\nb"'),
  given('Text', 5, 'refused (400)', '"5"'),
  given('Text', ' a ', '" a "', '"a"', '" a"'),
  given('Text', '😀', '"😀"', '"??"', '"?"'),
  given('Numeric', '', 'refused (400)', '0'),
  given('Numeric', '5', '5'),
  given('Numeric', 12.1234567, '12.123457', '12.123456'),
];
