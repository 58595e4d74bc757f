/**
 * Random requests for a pair of origins, as the engine and hostile clients send them, with acts (acts.ts) between.
 * Takes a pair and a seeded sequence; produces one step, with its differences and the words to tell it. Values are
 * drawn from small sets, so that keys collide, rows are found again and texts differ in case alone.
 */
import type { Random } from '../../../src/sandbox/data/random.ts';
import { act, giveRightsBack, TEXTS, type Step } from './acts.ts';
import type { Pair, PairRequest } from './pair.ts';
import { valueTypeOf, type ModelColumn, type ModelTable } from './state.ts';

const LINES = ['one', 'one\ntwo', 'one\r\ntwo\r\n', 'a\rb', ''];
const NUMBERS = ['0', '-0', '1', '1.0', '-2.50', '1e3', '9007199254740993', '0.1', '123456789012345678901234567890.5'];
const DAYS = ['2026-03-29', '2024-02-29', '0001-01-01', '2026-02-30', '2026-03-29T12:00:00', '2026-3-9'];
const CLOCKS = ['08:30:00', '23:59:59', '08:30', '24:00:00', '2026-03-29T07:08:09+02:00'];
const MOMENTS = [
  '2026-03-29T02:30:00', // a gap in Paris
  '2026-10-25T02:30:00', // twice in Paris
  '2026-01-31T12:00:00',
  '2026-01-31 12:00:00',
  '2026-01-31T12:00:00+05:30',
  '2026-01-31T12:00:00Z',
  '2026-01-31T12:00:00.250Z',
  '2026-01-31',
  '1890-05-05T12:00:00',
  '9999-12-31T23:59:59Z',
];
const PEOPLE = [
  'Alice Martin <alice.martin@example.com>',
  'jonas.weber@example.com',
  'X <new@example.com>',
  'nobody',
  '<@>',
];
/** One random step. */
export async function step(pair: Pair, random: Random): Promise<Step> {
  giveRightsBack(pair, random);
  if (random.chance(0.3)) pair.clock.advance(random.pick([1, 250, 1000, 61_000]));
  if (random.chance(0.25)) return act(pair, random);
  const request = anyRequest(pair, random);
  const { differences, status, text } = await pair.ask(request);
  const body = request.body === undefined ? '' : ` ${Buffer.from(request.body).toString()}`;
  const words = `${request.verb} ${request.path}${body}`;
  return { words, differences, outcomes: outcomesOf(request, status, text) };
}

/** `select 304`; of a write also each row: `create row 400 4100`. */
function outcomesOf({ path }: PairRequest, status: number, text: string): readonly string[] {
  const method = /\/?(\w+)(?:\.json)?(?:\/[0-9a-f-]{36})?(?:\?|$)/.exec(path)?.[1] ?? 'other';
  const rows = /^(?:create|update|upsert|delete)$/.test(method) && status === 200 ? rowOutcomes(text) : [];
  const whole = /^(?:create|update|upsert)$/.test(method) ? 'write' : method;
  return [`${whole} ${status}`, ...rows.map((row) => `${method} row ${row}`)];
}

function rowOutcomes(text: string): readonly string[] {
  type Status = {
    readonly status: number;
    readonly errors?: readonly { code: number }[];
    readonly error?: { code: number };
  };
  const statuses = JSON.parse(text) as readonly Status[];
  return statuses.map(({ status, errors, error }) =>
    [status, ...((errors?.[0] ?? error) ? [(errors?.[0] ?? error)?.code] : [])].join(' '),
  );
}

function anyRequest(pair: Pair, random: Random): PairRequest {
  const table = random.pick(pair.model.tables());
  const recent = pair.recentPaths(8);
  if (recent.length > 0 && random.chance(0.2)) return { verb: 'GET', path: random.pick(recent), conditional: true };
  const draw = random.next();
  if (draw < 0.3) return selectRequest(pair, table, random);
  if (draw < 0.4) return retrieveRequest(table, random);
  if (draw < 0.72) return writeRequest(table, random);
  if (draw < 0.8) return { verb: 'GET', path: `${segment(table, random)}/delete.json?${records(table, random)}` };
  if (draw < 0.9) return fileRequest(pair, table, random);
  if (draw < 0.97) return describeRequest(table, random);
  return oddRequest(table, random);
}

function segment(named: { readonly name: string; readonly alias: string }, random: Random): string {
  const name = random.pick([named.name, named.alias, named.name, named.name.toUpperCase()]);
  return random.chance(0.5)
    ? encodeURIComponent(name)
    : encodeURIComponent(name.replaceAll('%', '%25').replaceAll('/', '%2F'));
}

function nameOf(column: ModelColumn, random: Random): string {
  return random.pick([column.name, column.name, column.alias, column.name.toLowerCase()]);
}

function someColumns(table: ModelTable, random: Random): readonly string[] {
  if (random.chance(0.4)) return [];
  const names = table.columns.filter(() => random.chance(0.5)).map((column) => nameOf(column, random));
  return [...names, ...(random.chance(0.3) ? ['*'] : []), ...(random.chance(0.04) ? ['No Such'] : [])];
}

function query(pairs: readonly (readonly [string, string])[]): string {
  return pairs.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
}

function selectRequest(pair: Pair, table: ModelTable, random: Random): PairRequest {
  // A file's cell ends with its guid, which each side makes up: an order by it may differ.
  const sortable = table.columns.filter((column) => valueTypeOf(column) !== 'Attachment');
  const sorted = random.chance(0.6) ? [random.pick(sortable), random.pick(sortable)] : [];
  const pairs = [
    ...someColumns(table, random).map((name) => ['column', name] as const),
    ...sorted.map((column) => ['sort', nameOf(column, random) + random.pick(['', '', '//DESC', '//asc'])] as const),
    ...(random.chance(0.5) ? [['top', random.pick(['1', '2', '3', '500', '0', '501', 'x'])] as const] : []),
    ...(random.chance(0.4) ? [['skip', random.pick(['0', '1', '2', '40', '-1'])] as const] : []),
    ...(random.chance(0.3) ? [['filter', filterText(pair, table, random)] as const] : []),
  ];
  const path = `${segment(table, random)}/select.json?${query(pairs)}`;
  return { verb: 'GET', path, conditional: random.chance(0.7) };
}

function filterText(pair: Pair, table: ModelTable, random: Random): string {
  const clauses = Array.from({ length: random.integer(1, 3) }, () => {
    const parts = Array.from({ length: random.integer(1, 2) }, () => clause(pair, random.pick(table.columns), random));
    return parts.length === 1 ? (parts[0] ?? '') : `(${parts.join(' and ')})`;
  });
  return clauses.join(' or ');
}

function clause(pair: Pair, column: ModelColumn, random: Random): string {
  const name = `[${nameOf(column, random).replaceAll('\\', '\\\\').replaceAll(']', '\\]')}]`;
  return `${random.chance(0.02) ? '[No Such]' : name} = ${literal(column, random, pair.clock.nowMs())}`;
}

function literal(column: ModelColumn, random: Random, nowMs: number): string {
  const text = random.pick(TEXTS).replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
  if (random.chance(0.03)) return random.pick(['"a"', '1', '#2026-01-31#', '"']);
  switch (valueTypeOf(column)) {
    case 'Numeric':
      return random.pick(['0', '1', '(-2.5)', '0.1', '9007199254740993', '1000']);
    case 'Duration':
      return random.pick(['0s', '60s', '1.5s']);
    case 'Date':
      return random.pick(['#2026-03-29#', '#2024-02-29#', '#2026-02-30#']);
    case 'Time':
      return random.pick(['#08:30:00#', '#23:59:59#']);
    case 'Timestamp':
      return random.pick([
        `#${new Date(nowMs).toISOString().slice(0, 19).replace('T', ' ')}#`,
        '#2026-01-31 12:00:00#',
      ]);
    default:
      return `"${text}"`;
  }
}

function retrieveRequest(table: ModelTable, random: Random): PairRequest {
  const columns = query(someColumns(table, random).map((name) => ['column', name] as const));
  const path = `${segment(table, random)}/retrieve.json?${columns}&${records(table, random)}`;
  return { verb: 'GET', path, conditional: random.chance(0.5) };
}

/** Rows by id or key, some of them twice, missing or malformed. */
function records(table: ModelTable, random: Random): string {
  const rows = [...table.rows.values()];
  const known = (): string => String(rows.length === 0 ? 1 : random.pick(rows).id);
  const keys = (): string => String(rows.length === 0 ? '1' : (random.pick(rows).cells.get(table.keyId) ?? ''));
  const one = (): readonly [string, string] =>
    random.chance(0.5)
      ? ['id', random.pick([known(), known(), '999', '0'])]
      : ['key', random.pick([keys(), keys(), 'none'])];
  const first = one();
  const count = random.integer(0, 3);
  const same = Array.from({ length: count }, one).filter(([name]) => name === first[0] || random.chance(0.03));
  const odd = random.chance(0.03) ? [['id', random.pick(['x', '1.5', '-1'])] as const] : [];
  const flags = random.chance(0.1)
    ? [[random.pick(['workflow', 'purge']), random.pick(['0', '1', 'maybe'])] as const]
    : [];
  return random.chance(0.02) ? '' : query([first, ...same, ...odd, ...flags]);
}

function writeRequest(table: ModelTable, random: Random): PairRequest {
  const method = random.pick(['create', 'update', 'upsert', 'upsert']);
  const unique = table.columns.filter(({ options }) => options.includes('Unique'));
  const matched = random.chance(0.4)
    ? random.pick(unique.length > 0 && random.chance(0.9) ? unique : table.columns)
    : null;
  const pairs = [
    ...(matched === null ? [] : [['match', nameOf(matched, random)] as const]),
    ...(random.chance(0.2) ? [['workflow', random.pick(['0', '1', 'no'])] as const] : []),
  ];
  const path = `${segment(table, random)}/${method}.json?${query(pairs)}`;
  const files = new Map<string, string>();
  const rows = Array.from({ length: random.integer(1, 3) }, () => rowText(table, random, files));
  const text = rows.length === 1 && random.chance(0.2) ? (rows[0] ?? '') : `[${rows.join(',')}]`;
  const json = random.chance(0.02) ? random.pick(['', '[', 'null', '[1]', '{"@row.id":"x"}', '[]']) : text;
  const contentType = random.chance(0.03)
    ? random.pick(['text/plain', '', 'application/json;charset=latin1'])
    : 'application/json';
  if (files.size === 0) return { verb: 'POST', path, contentType, body: Buffer.from(json) };
  return { verb: 'POST', path, contentType: 'multipart/related;boundary=part-7f', body: multipart(json, files) };
}

function rowText(table: ModelTable, random: Random, files: Map<string, string>): string {
  const rows = [...table.rows.keys()];
  const fields: string[] = [];
  if (random.chance(0.4)) {
    const id = rows.length > 0 && random.chance(0.85) ? random.pick(rows) : 999;
    fields.push(`"@row.id":${random.pick([String(id), String(id), `"${id}"`, 'null'])}`);
  }
  const share = random.pick([0.15, 0.4, 0.8]);
  for (const column of table.columns) {
    if (!random.chance(column.computed === null && column.kind !== 'CreatedBy' ? share : 0.01)) continue;
    if (/^(?:Date|Created|Last)/.test(column.kind) && !random.chance(0.03)) continue;
    fields.push(`${JSON.stringify(nameOf(column, random))}:${rawValue(column, random, files)}`);
    if (random.chance(0.01)) fields.push(`"${column.alias.toUpperCase()}":${rawValue(column, random, files)}`);
  }
  if (random.chance(0.02)) fields.push('"No Such":1');
  if (random.chance(0.05)) fields.push('"@row.allow":"Edit"');
  return `{${fields.join(',')}}`;
}

function rawValue(column: ModelColumn, random: Random, files: Map<string, string>): string {
  if (random.chance(0.08)) return 'null';
  if (random.chance(0.03)) return random.pick(['1', 'true', '"text"', '[]', '{"a":1}', '"\\ud800"']);
  const text = JSON.stringify(random.pick(TEXTS));
  switch (valueTypeOf(column)) {
    case 'Checkbox':
      return random.pick(['true', 'false']);
    case 'Numeric':
      return random.pick([...NUMBERS, '"7"', '"seven"']);
    case 'Duration':
      return random.pick(['0', '60', '1.5', '-5']);
    case 'Date':
      return JSON.stringify(random.pick(DAYS));
    case 'Time':
      return JSON.stringify(random.pick(CLOCKS));
    case 'Timestamp':
      return JSON.stringify(random.pick(MOMENTS));
    case 'Multiline':
      return JSON.stringify(random.pick(LINES));
    case 'User':
      return JSON.stringify(random.pick(PEOPLE));
    case 'Autonumber':
      return random.pick(['"3"', '"0007"', '12', '"x9"']);
    case 'Attachment': {
      const id = `file-${files.size + 1}`;
      if (random.chance(0.85)) files.set(id, random.pick(['', 'bytes', 'other\r\nbytes', '--part-7']));
      return `"cid:${id}"`;
    }
    default:
      return text;
  }
}

const FILE_NAMES = ['filename="plain.txt"', "filename*=UTF-8''d%C3%A9j%C3%A0%3B.png", 'filename="a;1;b.txt"'];

function multipart(json: string, files: ReadonlyMap<string, string>): Uint8Array {
  const parts = [...files].map(([id, content], index) => {
    const name = FILE_NAMES[(index + content.length) % FILE_NAMES.length] ?? '';
    const type = index % 2 === 0 ? 'Content-Type: text/plain\r\n' : '';
    return `${type}Content-Disposition: attachment; ${name}\r\nContent-ID: ${index % 2 === 0 ? id : `<${id}>`}\r\n\r\n${content}`;
  });
  const rows = `Content-Type: application/json\r\n\r\n${json}`;
  return Buffer.from(`${[rows, ...parts].map((part) => `--part-7f\r\n${part}\r\n`).join('')}--part-7f--\r\n`);
}

function fileRequest(pair: Pair, table: ModelTable, random: Random): PairRequest {
  const columns = table.columns.filter((column) => valueTypeOf(column) === 'Attachment');
  const column = columns.length > 0 && random.chance(0.95) ? random.pick(columns) : random.pick(table.columns);
  const place = `${segment(table, random)}/${segment(column, random)}`;
  if (random.chance(0.5)) {
    const revisions = random.chance(0.6) ? `&revisions=${random.pick(['1', '2', '10', '0'])}` : '';
    return {
      verb: 'GET',
      path: `${place}/attachments.json?${records(table, random)}${revisions}`,
      conditional: random.chance(0.5),
    };
  }
  const shown = table.files.filter((file) => file.column === column.id && pair.hasShown(file.guid));
  const guids = shown.map(({ guid }) => guid);
  if (guids.length > 0 && random.chance(0.4)) {
    const guid = random.chance(0.9) ? random.pick(guids) : '00000000-0000-0000-0000-000000000000';
    const named = random.chance(0.7) ? `${records(table, random)}&` : '';
    const path = random.chance(0.5)
      ? `${place}/attachment/${guid}?${named}`
      : `${place}/attachment?${named}guid=${guid}`;
    return { verb: random.pick(['GET', 'HEAD']), path, conditional: random.chance(0.5) };
  }
  const revision = random.chance(0.4) ? `&revision=${random.pick(['1', '2', '9'])}` : '';
  const verb = random.chance(0.3) ? 'HEAD' : 'GET';
  return { verb, path: `${place}/attachment?${records(table, random)}${revision}`, conditional: random.chance(0.5) };
}

function describeRequest(table: ModelTable, random: Random): PairRequest {
  const path = random.pick(['describe.json', 'user.json', `${segment(table, random)}/describe.json`]);
  return { verb: 'GET', path, conditional: random.chance(0.7) };
}

function oddRequest(table: ModelTable, random: Random): PairRequest {
  const path = `${segment(table, random)}/select.json`;
  return random.pick<PairRequest>([
    { verb: 'GET', path, authorization: null },
    { verb: 'GET', path, authorization: `Bearer ${'f'.repeat(32)}` },
    { verb: 'GET', path, authorization: 'Digest x' },
    { verb: 'GET', path, database: '1' },
    { verb: 'GET', path, database: `21995/${'f'.repeat(32)}`, authorization: null },
    { verb: 'GET', path: 'No%20Such/select.json' },
    { verb: 'GET', path: '%ff/select.json' },
    { verb: 'GET', path: 'select.json' },
    { verb: 'GET', path: `${path}/more` },
    { verb: 'GET', path: `${segment(table, random)}/upsert.json` },
    { verb: 'POST', path, contentType: 'application/json', body: Buffer.from('[]') },
    { verb: 'GET', path: `${path}?filter=%ff` },
    { verb: 'GET', path: `${path}?x=${'y'.repeat(17_000)}` },
    { verb: 'GET', path: `${segment(table, random)}/updated.json` },
  ]);
}
