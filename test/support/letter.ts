/**
 * A sandbox behind a proxy that takes away what the specification does not name: fields of descriptors, views, statuses
 * and errors, the bodies of refusals, the form of attachment values, and every method and parameter beyond it. Written
 * without `src/wire`, so that both cannot be wrong together.
 *
 *    await using fixture = await startFixture({ tables: [NOTE] }, { start: startLetterSandbox });
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { SandboxOptions } from '../../src/sandbox/main.ts';
import { startTestSandbox, type TestSandbox } from './sandbox.ts';

const HEADERS = [
  'content-type',
  'content-length',
  'cache-control',
  'etag',
  'content-disposition',
  'x-revision',
  'last-modified',
  'x-author',
];

const TABLE = ['id', 'recordName', 'recordsName', 'alias', 'showTab', 'color'];
/** Fields by what they belong to, chapters 2.2 to 2.9. */
const FIELDS = {
  database: ['id', 'name', 'description', 'culture', 'timeZone', 'tables'],
  tables: TABLE,
  table: [...TABLE, 'allowAdd', 'key', 'columns', 'views'],
  columns: ['id', 'name', 'alias', 'type', 'dataOptions', 'displayOptions', 'width'],
  views: ['id', 'type', 'name', 'alias', 'showInMenu', 'actions'],
  user: ['id', 'email', 'firstName', 'lastName', 'role', 'culture', 'timezone', 'admin'],
  statuses: ['status', 'id', 'key', 'errors', 'error'],
  errors: ['error', 'message'],
  error: ['error', 'code', 'message'],
  files: ['name', 'revision', 'type', 'size', 'guid', 'author', 'created'],
} as const;
type Fields = keyof typeof FIELDS;

/** Starts a sandbox whose address is that of the proxy; `await using` stops both. */
export async function startLetterSandbox(options: Partial<SandboxOptions> = {}): Promise<TestSandbox> {
  const sandbox = await startTestSandbox(options);
  const target = sandbox.url;
  const server = createServer((request, response) => void pass(target, request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await sandbox.stop();
  };
  const { port } = server.address() as AddressInfo;
  return Object.assign(sandbox, { url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: stop });
}

async function pass(target: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const url = new URL(request.url ?? '/', target);
    const { method = 'GET' } = request;
    const call = callOf(url);
    if (call === null) return void response.writeHead(400, { 'content-type': 'text/html' }).end('<h1>Bad Request</h1>');
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers;
    const sent = {
      method,
      headers: Object.entries({ ...headers, 'accept-encoding': 'identity' }) as [string, string][],
      ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }),
    };
    const answer = await fetch(url, sent);
    const kept = HEADERS.flatMap((name) => {
      const value = answer.headers.get(name);
      return value === null ? [] : [[name, value] as const];
    });
    const whole = Buffer.from(await answer.arrayBuffer());
    const bytes =
      answer.status >= 400
        ? Buffer.alloc(0)
        : call === 'file'
          ? whole
          : Buffer.from(stripped(String(whole), call, url));
    const length = method === 'HEAD' ? answer.headers.get('content-length') : String(bytes.length);
    const fields = Object.fromEntries([...kept, ['content-length', length ?? '0']]);
    if (answer.status === 304) delete fields['content-length'];
    response.writeHead(answer.status, fields).end(bytes);
  } catch {
    response.destroy();
  }
}

/** What an address asks for by the specification; null for anything else. */
function callOf({ pathname, searchParams }: URL): Fields | 'rows' | 'file' | null {
  const [, , , , , ...rest] = pathname.split('/');
  const [method = '', column, table, ...more] = rest.toReversed();
  if (rest.length === 4 && column === 'attachment') return 'file';
  if (more.length > 0) return null;
  const name = method.replace(/\.(?:json|xml)$/, '');
  if (table !== undefined) return name === 'attachments' ? 'files' : name === 'attachment' ? 'file' : null;
  if (column === undefined) return name === 'describe' ? 'database' : name === 'user' ? 'user' : null;
  if (name === 'describe') return 'table';
  if (name === 'select' || name === 'retrieve')
    return searchParams.getAll('column').some((asked) => asked.includes('//')) ? null : 'rows';
  return ['create', 'update', 'upsert', 'delete'].includes(name) ? 'statuses' : null;
}

function stripped(text: string, call: Fields | 'rows', { pathname }: URL): string {
  if (text === '') return text;
  const isXml = pathname.endsWith('.xml');
  // How a row shows a file is not said: here, by its name alone.
  if (call === 'rows') return text.replaceAll(/;\d+;[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=["<])/g, '');
  return isXml ? strippedXml(text, call) : JSON.stringify(strippedJson(JSON.parse(text), call));
}

function strippedJson(json: unknown, of: Fields): unknown {
  if (Array.isArray(json)) return json.map((item) => strippedJson(item, of));
  if (typeof json !== 'object' || json === null) return json;
  const known: readonly string[] = FIELDS[of];
  return Object.fromEntries(
    Object.entries(json).flatMap(([name, value]) => {
      if (!known.includes(name)) return [];
      const isInner = typeof value === 'object' && value !== null && Object.hasOwn(FIELDS, name);
      return [[name, isInner ? strippedJson(value, name as Fields) : value]];
    }),
  );
}

/** Elements that hold nothing but text, and are named in no list that may stand there. */
function strippedXml(text: string, call: Fields): string {
  const inner: Partial<Record<Fields, readonly Fields[]>> = {
    database: ['tables'],
    table: ['columns', 'views'],
    statuses: ['errors', 'error'],
  };
  const known = new Set([call, ...(inner[call] ?? [])].flatMap((of): readonly string[] => FIELDS[of]));
  const isWrite = call === 'statuses' && text.includes('<errors>');
  const kept = (whole: string, name: string): string => (known.has(name) && !(isWrite && name === 'code') ? whole : '');
  return text
    .replaceAll(/<(\w+)(?: [^>]*)?>[^<]*<\/\1>/g, kept)
    .replaceAll(/<(columns|groups)><\/\1>/g, '')
    .replaceAll(/<(\w+)[^>]*\/>/g, kept);
}
