/**
 * What nobody has documented (origin facts, sections 1.2, 2.1, 4.1, 5.4, 5.5 and 8). Each question is put to the server under
 * test, and the answers are printed at the end. The sandbox must give the answers that it is known to give, since they are
 * decisions; of a real database any answer is welcome.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';

import { openTarget, query, segment, type ColumnFields, type RowFields, type Target } from './target.ts';

/** One question; `ask` answers in a few words, or null where the database has nothing to ask it of. */
interface Question {
  readonly question: string;
  /** Needs a table that may be written to. */
  readonly writes?: true;
  readonly ask: (target: Target) => Promise<string | null>;
  /** What the sandbox has decided. */
  readonly sandbox: string;
}

const QUESTIONS: readonly Question[] = [
  {
    question: 'Does `key//COUNT` with top=1 say how many rows there are, and where is the row of everything?',
    ask: async (target) => {
      const name = `${target.table.key}//COUNT`;
      const table = segment(target.table.alias);
      const answer = await target.call(`${table}/select.json?${query(['column', name], ['top', 1])}`);
      if (answer.status !== 200) return `no (${answer.status})`;
      const rows = JSON.parse(answer.text) as RowFields[];
      const grandAt = rows.findIndex((row) => row['@row.type'] === 'Grand');
      const [row] = rows.filter((other) => other['@row.type'] === undefined);
      return `${typeof (row ?? rows[0])?.[name]}, ${grandAt < 0 ? 'no Grand' : grandAt === rows.length - 1 ? 'Grand last' : 'Grand first'}`;
    },
    sandbox: 'number, Grand last',
  },
  {
    question: 'Under which name does a grouped column come?',
    ask: async (target) => {
      const key = target.table.key;
      const table = segment(target.table.alias);
      const pairs = query(['column', `${key}//EQ`], ['column', `${key}//COUNT`], ['top', 1]);
      const answer = await target.call(`${table}/select.json?${pairs}`);
      if (answer.status !== 200) return `no (${answer.status})`;
      const [row] = (JSON.parse(answer.text) as RowFields[]).filter((other) => other['@row.type'] === undefined);
      if (row === undefined) return null;
      return Object.hasOwn(row, key) ? 'its own' : Object.hasOwn(row, `${key}//EQ`) ? 'with the suffix' : 'neither';
    },
    sandbox: 'its own',
  },
  {
    question: 'How are the actions of a row separated?',
    ask: async (target) => {
      const [row] = await rowsOf(target, ['top', 1]);
      const allow = row?.['@row.allow'];
      if (typeof allow !== 'string' || !allow.includes(',')) return null;
      return allow.includes(', ') ? 'comma and blank' : 'comma';
    },
    sandbox: 'comma and blank',
  },
  {
    question: 'To which names does the automatic view answer?',
    ask: async (target) => {
      const table = segment(target.table.alias);
      const known: string[] = [];
      for (const name of ['Default View', 'List All']) {
        const answer = await target.call(`${table}/${segment(name)}/select.json?${query(['top', 1])}`);
        if (answer.status === 200) known.push(name);
      }
      return listText(known);
    },
    sandbox: 'Default View, List All',
  },
  {
    question: 'Which row properties come besides id and allow (row color)?',
    ask: async (target) => {
      const [row] = await rowsOf(target, ['top', 1]);
      const names = Object.keys(row ?? {}).filter((name) => name.startsWith('@row.'));
      return listText(names.filter((name) => name !== '@row.id' && name !== '@row.allow'));
    },
    sandbox: 'none',
  },
  {
    question: 'Which column types are there beyond the known ones (Location, multi-reference)?',
    ask: async (target) => {
      const known =
        /^(?:Text|Multiline|Checkbox|Date|Time|Timestamp|Duration|Numeric|EMail|User|URL|Phone|Autonumber|Attachment)$/;
      const tables = (await target.json('describe.json')) as { readonly tables: readonly { readonly alias: string }[] };
      const types = new Set<string>();
      // Twenty tables are enough to see what a database uses, and few enough to ask politely.
      for (const { alias } of tables.tables.slice(0, 20)) {
        const { columns } = (await target.json(`${alias}/describe.json`)) as {
          readonly columns: readonly ColumnFields[];
        };
        for (const { type } of columns) if (!known.test(type)) types.add(type);
      }
      return listText([...types]);
    },
    sandbox: 'none',
  },
  {
    question: 'Do columns say their kind and whether they are read-only?',
    ask: (target) => {
      const [column] = target.table.columns;
      const kind = column?.kind === undefined ? 'no kind' : 'kind';
      return Promise.resolve(`${kind}, ${column?.readOnly === undefined ? 'no readOnly' : 'readOnly'}`);
    },
    sandbox: 'kind, readOnly',
  },
  {
    question: 'In which order come rows without a sort?',
    ask: async (target) => {
      const ids = (await rowsOf(target, ['top', 200])).map((row) => row['@row.id']);
      const isAscending = ids.every((id, index) => index === 0 || id > (ids[index - 1] ?? 0));
      return isAscending ? 'by internal id' : 'another order';
    },
    sandbox: 'by internal id',
  },
  {
    question: 'May a filter name a column by its alias?',
    ask: async (target) => {
      const key = target.table.columns.find(({ name }) => name === target.table.key);
      return yesNo(await statusOf(target, ['filter', `not IsNull([${key?.alias}])`], ['top', 1]));
    },
    sandbox: 'yes',
  },
  {
    question: 'Does `not ([X] = "…")` match rows whose X is null?',
    ask: async (target) => {
      const column = target.table.columns.find(({ type }) => type === 'Phone') ?? textColumn(target);
      if (column === undefined) return null;
      const filter = `IsNull([${column.name}])`;
      const [withNull] = await rowsOf(target, ['filter', filter], ['top', 1]);
      if (withNull === undefined) return null;
      const matching = await rowsOf(
        target,
        ['filter', `${filter} and not ([${column.name}] = "no such value")`],
        ['top', 1],
      );
      return matching.length > 0 ? 'yes' : 'no';
    },
    sandbox: 'yes',
  },
  {
    question: 'Are names of tables and columns matched whatever their case?',
    ask: async (target) => {
      const table = segment(target.table.recordName.toUpperCase());
      const answer = await target.call(
        `${table}/select.json?${query(['top', 1], ['column', target.table.key.toUpperCase()])}`,
      );
      return answer.status === 200 ? 'yes' : `no (${answer.status})`;
    },
    sandbox: 'yes',
  },
  {
    question: 'With which status and code is an unknown table refused?',
    ask: (target) => refusalOf(target, 'No%20such%20table%20here/select.json'),
    sandbox: '403, code 3000',
  },
  {
    question: 'With which status and code is an unknown view refused?',
    ask: (target) => refusalOf(target, `${target.table.alias}/No%20such%20view%20here/select.json`),
    sandbox: '403, code 3200',
  },
  {
    question: 'Is the list of updated rows there?',
    ask: async (target) => {
      const from = encodeURIComponent('2000-01-01T00:00:00Z');
      const to = encodeURIComponent('2000-01-02T00:00:00Z');
      return yesNo((await target.call(`${target.table.alias}/updated.json?from=${from}&to=${to}`)).status);
    },
    sandbox: 'yes',
  },
  {
    question: 'Is the list of deleted rows there?',
    ask: async (target) => {
      const from = encodeURIComponent('2000-01-01T00:00:00Z');
      const to = encodeURIComponent('2000-01-02T00:00:00Z');
      return yesNo((await target.call(`${target.table.alias}/deleted.json?from=${from}&to=${to}`)).status);
    },
    sandbox: 'yes',
  },
  {
    question: 'Does the value of an attachment read name;revision;guid?',
    ask: async (target) => {
      const column = target.table.columns.find(({ type }) => type === 'Attachment');
      if (column === undefined) return null;
      const rows = await rowsOf(
        target,
        ['column', column.name],
        ['filter', `not IsNull([${column.name}])`],
        ['top', 1],
      );
      const value = rows[0]?.[column.name];
      if (typeof value !== 'string') return null;
      return /^.*;\d+;[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/is.test(value) ? 'yes' : 'no';
    },
    sandbox: 'yes',
  },
  {
    question: 'Are ETags strong or weak?',
    ask: async (target) => {
      const answer = await target.call(`${target.table.alias}/select.json?top=1`);
      return (answer.headers.get('etag') ?? '').startsWith('W/') ? 'weak' : 'strong';
    },
    sandbox: 'strong',
  },
  {
    question: 'With which status and code does an update of a missing record fail?',
    writes: true,
    ask: async (target) => {
      const [status] = await post(target, 'update', [{ '@row.id': 2_147_483_600 }]);
      return `${status?.status}, code ${status?.errors?.[0]?.code ?? 'none'}`;
    },
    sandbox: '404, code 4000',
  },
  {
    question: 'Does `updated` list rows that were just created?',
    writes: true,
    ask: (target) =>
      withRow(target, {}, async (id, table) => {
        const from = encodeURIComponent(new Date(Date.now() - 600_000).toISOString());
        const answer = await target.call(`${table}/updated.json?from=${from}`);
        if (answer.status !== 200) return `no such method (${answer.status})`;
        const rows = JSON.parse(answer.text) as readonly RowFields[];
        return rows.some((row) => row['@row.id'] === id) ? 'yes' : 'no';
      }),
    sandbox: 'yes',
  },
  {
    question: 'What becomes of a Unix time in a Date column?',
    writes: true,
    ask: async (target) => {
      const column = target.writable?.columns.find(({ type }) => type === 'Date');
      if (column === undefined) return null;
      return withRow(target, { [column.name]: 1_700_000_000 }, () => Promise.resolve('accepted'));
    },
    sandbox: 'refused (400)',
  },
  {
    question: 'What becomes of null in a Checkbox column?',
    writes: true,
    ask: async (target) => {
      const column = target.writable?.columns.find(({ type }) => type === 'Checkbox');
      if (column === undefined) return null;
      return withRow(target, { [column.name]: null }, async (id, table) => {
        const rows = (await target.json(`${table}/retrieve.json?id=${id}`)) as readonly RowFields[];
        return JSON.stringify(rows[0]?.[column.name]);
      });
    },
    sandbox: 'null',
  },
  {
    question: 'What becomes of empty text?',
    writes: true,
    ask: async (target) => {
      const column = target.writable?.columns.find(({ type }) => type === 'Multiline');
      if (column === undefined) return null;
      return withRow(target, { [column.name]: '' }, async (id, table) => {
        const rows = (await target.json(`${table}/retrieve.json?id=${id}`)) as readonly RowFields[];
        return JSON.stringify(rows[0]?.[column.name]);
      });
    },
    sandbox: '""',
  },
];

let target: Target;
const answers: string[] = [];

beforeAll(async () => {
  target = await openTarget();
});

afterAll(async () => {
  process.stdout.write(`Open questions, as ${target.name} answers them:\n${answers.join('\n')}\n`);
  await target.stop();
});

test.for(QUESTIONS)('$question', async ({ question, writes, ask, sandbox }, context) => {
  context.skip(writes === true && target.writable === null, 'no table may be written to');
  const answer = await ask(target);
  context.skip(answer === null && !target.isSandbox, 'nothing to ask it of');
  answers.push(`  ${question} ${answer}`);
  const decided: unknown = target.isSandbox ? sandbox : answer;

  expect(answer).toBe(decided);
  expect(answer).not.toBe('');
});

async function rowsOf(
  from: Target,
  ...pairs: readonly (readonly [string, string | number])[]
): Promise<readonly RowFields[]> {
  return (await from.json(`${from.table.alias}/select.json?${query(...pairs)}`)) as readonly RowFields[];
}

async function statusOf(from: Target, ...pairs: readonly (readonly [string, string | number])[]): Promise<number> {
  return (await from.call(`${from.table.alias}/select.json?${query(...pairs)}`)).status;
}

async function refusalOf(from: Target, path: string): Promise<string> {
  const answer = await from.call(path);
  const { code } = JSON.parse(answer.text) as { readonly code?: number };
  return `${answer.status}, code ${code ?? 'none'}`;
}

function textColumn({ table }: Target): ColumnFields | undefined {
  return table.columns.find(({ type }) => type === 'Text');
}

function yesNo(status: number): string {
  return status === 200 ? 'yes' : `no (${status})`;
}

function listText(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.join(', ');
}

interface Status {
  readonly status: number;
  readonly id?: number;
  readonly errors?: readonly { readonly code?: number }[];
}

async function post(to: Target, method: string, rows: unknown): Promise<readonly Status[]> {
  const answer = await to.call(`${to.writable?.alias}/${method}.json`, {
    verb: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(rows),
  });
  return JSON.parse(answer.text) as readonly Status[];
}

/** Creates a row, looks at it, and deletes it again. */
async function withRow(
  at: Target,
  cells: Readonly<Record<string, unknown>>,
  look: (id: number, table: string) => Promise<string>,
): Promise<string | null> {
  const table = at.writable?.alias ?? '';
  const text = at.writable?.columns.find(({ type, kind }) => type === 'Text' && (kind ?? 'Updatable') === 'Updatable');
  const [status] = await post(at, 'create', [{ ...(text === undefined ? {} : { [text.name]: 'contract' }), ...cells }]);
  if (status?.status !== 201 || status.id === undefined) return `refused (${status?.status})`;
  try {
    return await look(status.id, table);
  } finally {
    await at.call(`${table}/delete.json?id=${status.id}&purge=1`);
  }
}
