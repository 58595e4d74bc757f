/**
 * What no documentation of the Records API says, as questions that reading answers. An answer is a few words of ours:
 * never a value, and never a name that people gave. `npm run contract` puts the same questions to the sandbox, which
 * must answer as rowsync assumes.
 */
import { RowsyncError } from '../../base/errors.ts';
import { columnReference, textLiteral, timestampLiteral } from '../../wire/formula.ts';
import { pathSegment, queryFromPairs } from '../../wire/request-paths.ts';
import { columnType } from '../../wire/schema.ts';
import type { ColumnFields, RowFields, Server, TableFields } from './server.ts';

/** One question, to a server that only reads unless it says more. */
export interface OriginQuestion<Asked extends Server = Server> {
  readonly question: string;
  /** Null if the table has nothing to ask it of. @throws RowsyncError of the origin, Unasked, or any other error. */
  readonly ask: (origin: Asked) => string | null | Promise<string | null>;
  /** What rowsync assumes, and the sandbox answers; an answer may have details behind a colon. */
  readonly assumed: string;
}

/** Why a question cannot be put to a table, without a name. */
export class Unasked extends Error {}

export function question<Asked extends Server = Server>(
  text: string,
  assumed: string,
  ask: OriginQuestion<Asked>['ask'],
): OriginQuestion<Asked> {
  return { question: text, assumed, ask };
}

/** Tables whose column types are looked at. */
const TABLES_DESCRIBED_MAX = 10;

/** Requests at most: 53 of all questions, 5 that choose a table, and 4 for the user and the descriptions. */
export const REQUESTS_MAX = 62;

const DAY_MS = 86_400_000;

/** What a connection that is cut is called, before an answer and within it. */
const CUT_CODES: ReadonlySet<string> = new Set(['origin.unreachable', 'origin.truncated']);

export const QUESTIONS: readonly OriginQuestion[] = [
  question(
    'Does `key//COUNT` with top=1 say how many rows there are, and where is the row of everything?',
    'number, Grand last',
    async (origin) => {
      const name = `${origin.table.key}//COUNT`;
      const rows = await rowsOf(origin, ['column', name], ['top', 1]);
      const grandAt = rows.findIndex((row) => row['@row.type'] === 'Grand');
      const row = rows.find((other) => other['@row.type'] === undefined) ?? rows[0];
      return `${typeof row?.[name]}, ${grandAt < 0 ? 'no Grand' : grandAt === rows.length - 1 ? 'Grand last' : 'Grand first'}`;
    },
  ),
  question('Under which name does a grouped column come?', 'its own', async (origin) => {
    const { key } = origin.table;
    const rows = await rowsOf(origin, ['column', `${key}//EQ`], ['column', `${key}//COUNT`], ['top', 1]);
    const row = rows.find((other) => other['@row.type'] === undefined);
    if (row === undefined) return null;
    return Object.hasOwn(row, key) ? 'its own' : Object.hasOwn(row, `${key}//EQ`) ? 'with the suffix' : 'neither';
  }),
  question('Under which name does a column come that was asked for by its alias?', 'its own', async (origin) => {
    const alias = keyColumn(origin)?.alias ?? '';
    const [row] = await rowsOf(origin, ['column', alias], ['top', 1]);
    if (row === undefined || alias === '') return null;
    return Object.hasOwn(row, origin.table.key) ? 'its own' : Object.hasOwn(row, alias) ? 'the alias' : 'neither';
  }),
  question('How are the actions of a row separated?', 'comma and blank', async (origin) => {
    const allow = (await rowsOf(origin, ['top', 1]))[0]?.['@row.allow'];
    if (typeof allow !== 'string' || !allow.includes(',')) return null;
    return allow.includes(', ') ? 'comma and blank' : 'comma';
  }),
  question('To which names does the automatic view answer?', 'Default View, List All', async (origin) => {
    const known: string[] = [];
    for (const name of ['Default View', 'List All']) {
      const { status } = await origin.call(`${tablePath(origin)}/${pathSegment(name)}/select.json?top=1`);
      if (status === 200) known.push(name);
    }
    return listText(known);
  }),
  question('Which row properties come besides id and allow (row color)?', 'none', async (origin) => {
    const [row] = await rowsOf(origin, ['top', 1]);
    if (row === undefined) return null;
    const others = Object.keys(row).filter((name) => name !== '@row.id' && name !== '@row.allow');
    return listText(others.filter((name) => /^@row\.[a-z]{1,20}$/i.test(name)));
  }),
  question(
    'Which column types are there beyond the known ones (Location, multi-reference)?',
    'none',
    async (origin) => {
      const { tables } = await jsonOf<{ tables: readonly { readonly alias: string }[] }>(origin, 'describe.json');
      const types = new Set<string>();
      for (const { alias } of tables.slice(0, TABLES_DESCRIBED_MAX)) {
        const { columns } = await jsonOf<TableFields>(origin, `${pathSegment(alias)}/describe.json`);
        for (const { type } of columns) if (columnType(type) === 'Unknown') types.add(type);
      }
      return listText([...types].filter((type) => /^[a-z][a-z -]{0,30}$/i.test(type)));
    },
  ),
  question('How does a value of such a type look (a for letters, 9 for digits)?', 'string', async (origin) => {
    const column = origin.table.columns.find(({ type }) => columnType(type) === 'Unknown');
    const value = column === undefined ? null : await firstValue(origin, column);
    return value === null ? null : `${typeof value}: ${shapeOf(value)}`;
  }),
  question('Do columns say their kind and whether they are read-only?', 'kind, readOnly', ({ table: { columns } }) => {
    const kind = columns[0]?.kind === undefined ? 'no kind' : 'kind';
    return `${kind}, ${columns[0]?.readOnly === undefined ? 'no readOnly' : 'readOnly'}`;
  }),
  question('Which columns have a width?', 'all', ({ table: { columns } }) => {
    const wide = columns.filter(({ width }) => width !== undefined);
    return wide.length === columns.length ? 'all' : wide.every(({ type }) => type === 'Text') ? 'texts' : 'some';
  }),
  question('In which order come rows without a sort?', 'by internal id', async (origin) => {
    const rows = await rowsOf(origin, ['column', origin.table.key], ['top', 200]);
    if (rows.length < 2) return null;
    const ids = rows.map((row) => row['@row.id']);
    const isAscending = ids.every((id, index) => index === 0 || id > (ids[index - 1] ?? 0));
    return isAscending ? 'by internal id' : 'another order';
  }),
  question(
    'What does a skip behind the last row give?',
    '0 rows',
    async (origin) => `${(await rowsOf(origin, ['skip', 100_000_000], ['top', 1])).length} rows`,
  ),
  question('Does `column=*` take further columns beside it?', 'yes', async (origin) => {
    const stamp = columnOf(origin, 'DateModified');
    if (stamp === undefined) return null;
    const [row] = await rowsOf(origin, ['column', '*'], ['column', stamp.name], ['top', 1]);
    if (row === undefined) return null;
    return Object.hasOwn(row, stamp.name) ? 'yes' : 'no';
  }),
  question('Does Retrieve leave out ids that do not exist?', 'yes', async (origin) => {
    const { status, text } = await origin.call(`${tablePath(origin)}/retrieve.json?id=2147483600`);
    return status === 200 && text.trim() === '[]' ? 'yes' : `no (${status})`;
  }),
  question('May top be more than 500?', 'refused (400)', (origin) =>
    isTaken(origin, ['column', origin.table.key], ['top', 501]),
  ),
  question('May a filter name a column by its alias?', 'yes', (origin) =>
    isTaken(origin, ['filter', `not IsNull([${keyColumn(origin)?.alias}])`], ['top', 1]),
  ),
  question('Which comments may a filter have?', 'none', async (origin) => {
    const taken: string[] = [];
    for (const comment of ['/* note */', '// note', '-- note']) {
      const filter = `not IsNull(${columnReference(origin.table.key)}) ${comment}`;
      if ((await isTaken(origin, ['filter', filter], ['top', 1])) === 'yes') taken.push(comment);
    }
    return listText(taken);
  }),
  question('Does `not ([X] = "…")` match rows whose X is null?', 'yes', async (origin) => {
    const { columns, key } = origin.table;
    const column = columnOf(origin, 'Phone') ?? columns.find(({ name, type }) => type === 'Text' && name !== key);
    if (column === undefined) return null;
    const name = columnReference(column.name);
    const [withNull] = await rowsOf(origin, ['filter', `IsNull(${name})`], ['top', 1]);
    if (withNull === undefined) return null;
    const filter = `IsNull(${name}) and not (${name} = "no such value")`;
    return (await rowsOf(origin, ['filter', filter], ['top', 1])).length > 0 ? 'yes' : 'no';
  }),
  question('Does a filter find a user by e-mail?', 'refused (400)', async (origin) => {
    const column = columnOf(origin, 'RecordOwner') ?? columnOf(origin, 'User');
    const value = column === undefined ? null : await firstValue(origin, column);
    const email = /<([^<>]+)>$/.exec(String(value))?.[1];
    if (column === undefined || email === undefined) return null;
    const filter = `${columnReference(column.name)} = ${textLiteral(email)}`;
    return (await rowsOf(origin, ['filter', filter], ['top', 1])).length > 0 ? 'yes' : 'no row';
  }),
  question('Are timestamps in a filter in UTC?', 'yes', async (origin) => {
    const column = stampColumn(origin);
    const value = column === undefined ? null : await firstValue(origin, column);
    // In a zone without an offset both ways to read a literal are the same.
    if (column === undefined || typeof value !== 'string' || /[+-]00:00$/.test(value)) return null;
    const [from, to] = [-1000, 1000].map((ms) => timestampLiteral(new Date(Date.parse(value) + ms).toISOString()));
    const name = columnReference(column.name);
    const rows = await rowsOf(origin, ['filter', `${name} >= ${from} and ${name} <= ${to}`], ['column', column.name]);
    return rows.some((row) => row[column.name] === value) ? 'yes' : 'no';
  }),
  question('May a timestamp in a filter have a fraction of a second?', 'refused (400)', (origin) =>
    comparesStamps(origin, '#2020-01-01 00:00:00.5#'),
  ),
  question('May a date in a filter have slashes?', 'refused (400)', (origin) =>
    comparesStamps(origin, '#2020/01/01 00:00:00#'),
  ),
  question('Do timestamps come with fractions of a second?', 'no', async (origin) => {
    const column = stampColumn(origin);
    const values = column === undefined ? [] : await valuesOf(origin, column);
    return values.length === 0 ? null : values.some((value) => /:\d\d\.\d/.test(String(value))) ? 'yes' : 'no';
  }),
  question('How many decimals do numbers have at most?', 'six or fewer', async (origin) => {
    const column = columnOf(origin, 'Numeric');
    const values = column === undefined ? [] : await valuesOf(origin, column);
    const counts = values.map((value) => /\.(\d+)$/.exec(String(value))?.[1]?.length ?? 0);
    const most = Math.max(0, ...counts);
    return most === 0 ? null : most > 6 ? 'more than six' : 'six or fewer';
  }),
  question('Are names of tables and columns matched whatever their case?', 'yes', async (origin) => {
    const { recordName, key } = origin.table;
    const column = queryFromPairs([['column', key.toUpperCase()]]);
    return yesNo(await origin.call(`${pathSegment(recordName.toUpperCase())}/select.json?top=1&${column}`));
  }),
  question('With which status and code is an unknown table refused?', '403, code 3000', (origin) =>
    refusalOf(origin, 'No%20such%20table%20here/select.json'),
  ),
  question('With which status and code is an unknown view refused?', '403, code 3200', (origin) =>
    refusalOf(origin, `${tablePath(origin)}/No%20such%20view%20here/select.json`),
  ),
  question('With which status and code is an unknown column refused?', '400, code 3100', (origin) =>
    refusalOf(origin, `${tablePath(origin)}/select.json?column=No%20such%20column%20here`),
  ),
  question('With which status is a query string of more than 16 KB refused?', '414', async (origin) => {
    try {
      const { status } = await origin.call(`${tablePath(origin)}/select.json?top=1&x=${'y'.repeat(17_000)}`);
      return String(status);
    } catch (thrown) {
      // Some servers and proxies cut the connection instead.
      if (thrown instanceof RowsyncError && CUT_CODES.has(thrown.code)) return 'no answer';
      throw thrown;
    }
  }),
  question('Is the list of updated rows there?', 'yes', async (origin) =>
    yesNo(await origin.call(listPath(origin, 'updated', 0, DAY_MS))),
  ),
  question('Does it have rows that were created and never changed?', 'yes', async (origin) => {
    const row = await newestUnchanged(origin);
    return row === null ? null : row.listed === undefined ? 'no' : 'yes';
  }),
  question('Do its stamps have fractions of a second?', 'yes', async (origin) => {
    const listed = (await newestUnchanged(origin))?.listed;
    return listed === undefined ? null : /:\d\d\.\d/.test(String(listed['modified'])) ? 'yes' : 'no';
  }),
  question('Is the list of deleted rows there?', 'yes', async (origin) =>
    yesNo(await origin.call(listPath(origin, 'deleted', 0, DAY_MS))),
  ),
  question('Does the value of an attachment read name;revision;guid?', 'yes', async (origin) => {
    const column = columnOf(origin, 'Attachment');
    const value = column === undefined ? null : await firstValue(origin, column);
    if (typeof value !== 'string') return null;
    return /^.*;\d+;[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/is.test(value) ? 'yes' : 'no';
  }),
  question('Are ETags strong or weak?', 'strong', async (origin) => {
    const etag = (await origin.call(selectPath(origin, ['top', 1]))).headers.get('etag');
    return etag === null ? 'none' : etag.startsWith('W/') ? 'weak' : 'strong';
  }),
  question('How is a page answered that did not change?', '304 without a body', async (origin) => {
    const path = selectPath(origin, ['sort', origin.table.key], ['top', 2]);
    const etag = (await origin.call(path)).headers.get('etag');
    if (etag === null) return null;
    const { status, text } = await origin.call(path, { headers: { 'if-none-match': etag } });
    return `${status} ${text === '' ? 'without' : 'with'} a body`;
  }),
];

type QueryPairs = readonly (readonly [string, string | number])[];

export function tablePath({ table }: Pick<Server, 'table'>): string {
  return pathSegment(table.alias);
}

function selectPath(origin: Server, ...pairs: QueryPairs): string {
  const texts = pairs.map(([name, value]): [string, string] => [name, String(value)]);
  return `${tablePath(origin)}/select.json?${queryFromPairs(texts)}`;
}

function listPath(origin: Server, method: 'updated' | 'deleted', fromMs: number, toMs: number): string {
  const [from = '', to = ''] = [fromMs, toMs].map((ms) => new Date(ms).toISOString());
  return `${tablePath(origin)}/${method}.json?${queryFromPairs([
    ['from', from],
    ['to', to],
  ])}`;
}

/** @throws RowsyncError `origin.refused`, which answers a question; any other error for an answer of another form. */
export async function jsonOf<T>(origin: Pick<Server, 'call'>, path: string): Promise<T> {
  const { status, text: body } = await origin.call(path);
  if (status !== 200) {
    const text = { message: `refused (${status})`, hint: 'The origin does not accept this request.' };
    throw new RowsyncError('originRefused', 'origin.refused', text);
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what follows looks at it as a stranger's
  return JSON.parse(body) as T;
}

async function rowsOf(origin: Server, ...pairs: QueryPairs): Promise<readonly RowFields[]> {
  return await jsonOf(origin, selectPath(origin, ...pairs));
}

/** Up to 100 values of a column that are not null. */
async function valuesOf(origin: Server, { name }: ColumnFields, top = 100): Promise<readonly unknown[]> {
  const filter = `not IsNull(${columnReference(name)})`;
  return (await rowsOf(origin, ['column', name], ['filter', filter], ['top', top])).map((row) => row[name] ?? null);
}

async function firstValue(origin: Server, column: ColumnFields): Promise<unknown> {
  return (await valuesOf(origin, column, 1))[0] ?? null;
}

async function isTaken(origin: Server, ...pairs: QueryPairs): Promise<string> {
  return yesNo(await origin.call(selectPath(origin, ...pairs)));
}

async function comparesStamps(origin: Server, literal: string): Promise<string | null> {
  const column = stampColumn(origin);
  if (column === undefined) return null;
  return await isTaken(origin, ['filter', `${columnReference(column.name)} > ${literal}`], ['top', 1]);
}

async function refusalOf(origin: Server, path: string): Promise<string> {
  const { status, text } = await origin.call(path);
  return `${status}, code ${/"code":\s*(\d+)/.exec(text)?.[1] ?? 'none'}`;
}

/** The newest row that was never changed, as the list of updated rows has it; null if there is no such row. */
async function newestUnchanged(origin: Server): Promise<{ readonly listed: RowFields | undefined } | null> {
  const [created, modified] = [columnOf(origin, 'DateCreated'), columnOf(origin, 'DateModified')];
  if (created === undefined || modified === undefined) return null;
  const filter = `${columnReference(created.name)} = ${columnReference(modified.name)}`;
  const sort = `${created.name}//DESC`;
  const [row] = await rowsOf(origin, ['column', created.name], ['filter', filter], ['sort', sort], ['top', 1]);
  if (row === undefined) return null;
  const ms = Date.parse(String(row[created.name]));
  const rows = await jsonOf<readonly RowFields[]>(origin, listPath(origin, 'updated', ms - 2000, ms + 2000));
  return { listed: rows.find((other) => other['@row.id'] === row['@row.id']) };
}

function columnOf({ table }: Server, what: string): ColumnFields | undefined {
  return table.columns.find(({ type, kind }) => type === what || kind === what);
}

function stampColumn(origin: Server): ColumnFields | undefined {
  return columnOf(origin, 'DateModified') ?? columnOf(origin, 'Timestamp');
}

function keyColumn({ table }: Server): ColumnFields | undefined {
  return table.columns.find(({ name }) => name === table.key);
}

function shapeOf(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const masked = text.replaceAll(/\p{L}+/gu, 'a').replaceAll(/\p{N}+/gu, '9');
  return masked.replaceAll(/[^a9,;:.<>(){}[\]"-]+/g, '_').slice(0, 40);
}

function yesNo({ status }: { readonly status: number }): string {
  return status === 200 ? 'yes' : `refused (${status})`;
}

/** Names of ours in one line. */
export function listText(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.join(', ');
}

/** The answer to a question; a refusal is one, too. @throws as `ask` does. */
export async function answerOf<Asked extends Server>(
  { ask }: OriginQuestion<Asked>,
  origin: Asked,
): Promise<string | null> {
  try {
    return await ask(origin);
  } catch (thrown) {
    if (thrown instanceof RowsyncError && thrown.code === 'origin.refused') return thrown.message;
    throw thrown;
  }
}
