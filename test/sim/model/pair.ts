/**
 * The sandbox and the model side by side: the same tables, the same clock, the same requests and the same acts of
 * colleagues and administrators. Takes what a test drives them with; produces the first difference, in words. The
 * sandbox answers in this process, by its own `respond`; only the sockets are left out.
 *
 * What may differ: the words of an error message, guids (they must appear in the same pattern), and the spelling of
 * ETags (equal ones on one side must be equal on the other).
 */
import type { IncomingMessage } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';

import { PageCache } from '../../../src/sandbox/server/page-cache.ts';
import { respond, type RespondParts } from '../../../src/sandbox/server/respond.ts';
import { readApiPath } from '../../../src/sandbox/methods/route.ts';
import type { TableSpec, UserSpec } from '../../../src/sandbox/store/spec.ts';
import { Store } from '../../../src/sandbox/store/store.ts';
import { testClock, type TestClock } from '../../support/clock.ts';
import { MODEL_TOKEN, OriginModel, type ModelAnswer, type ModelRequest } from './origin.ts';

/** What a test asks; the token and the ETag are added here. A guid in the path is one of the model's. */
export interface PairRequest {
  readonly verb: 'GET' | 'HEAD' | 'POST';
  /** Below the database. */
  readonly path: string;
  readonly contentType?: string | undefined;
  readonly body?: Uint8Array | undefined;
  /** Replaces the bearer token; null sends none. */
  readonly authorization?: string | null | undefined;
  /** Whether to send the ETag that came with the last answer from the same path. */
  readonly conditional?: boolean | undefined;
  /** Another database than the one that there is. */
  readonly database?: string | undefined;
}

/** What both answered, or what the sandbox did where they differ. */
export interface PairAnswer {
  readonly differences: readonly string[];
  readonly status: number;
  readonly text: string;
}

const WORDS = { name: 'Pair', description: 'Two of a kind', culture: 'en-US', timeZone: 'Europe/Paris' } as const;
const DATABASE = '21995';
const GUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const COMPARED = [
  'content-type',
  'cache-control',
  'content-disposition',
  'x-revision',
  'last-modified',
  'x-author',
  'date',
];

/** Both origins. */
export class Pair {
  readonly clock: TestClock;
  readonly store: Store;
  readonly model: OriginModel;
  readonly #folder: string;
  readonly #parts: RespondParts;
  readonly #guids = { sandbox: new Map<string, string>(), model: new Map<string, string>() };
  readonly #tagBySandboxTag = new Map<string, string>();
  readonly #tagByModelTag = new Map<string, string>();
  readonly #lastTags = new Map<string, { readonly sandbox: string | null; readonly model: string | null }>();

  constructor(tables: readonly TableSpec[], users: readonly UserSpec[]) {
    this.clock = testClock({ startMs: Date.UTC(2026, 2, 28, 22, 30, 0, 123) });
    this.#folder = mkdtempSync(join(tmpdir(), 'rowsync-pair-'));
    const spec = { ...WORDS, id: DATABASE, source: 'pair' };
    const { store } = Store.open(join(this.#folder, 'store.sqlite'), spec, { clock: this.clock, durable: false });
    this.store = store;
    store.addUsers(...users.map((user) => ({ ...user, password: 'none' })));
    store.addToken(MODEL_TOKEN);
    for (const table of tables) store.addTable(table);
    this.model = new OriginModel({ tables, users, words: WORDS, nowMs: () => this.clock.nowMs() });
    this.#parts = {
      store,
      clock: this.clock,
      cache: new PageCache((tableIds) => store.version(tableIds)),
      rules: {
        login: 'tokens and users',
        extensions: false,
        escapesColons: false,
        widthsOfTextOnly: false,
        lenientDates: false,
        session: 'none=none',
      },
    };
  }

  /** Closes the store. */
  [Symbol.dispose](): void {
    this.store.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Asks both; the differences of their answers, in words. */
  async ask(request: PairRequest): Promise<PairAnswer> {
    const tags = request.conditional === true ? this.#lastTags.get(request.path) : undefined;
    const model = this.model.answer(wireRequest(request, tags?.model ?? null));
    const known = { ...request, path: request.path.replaceAll(GUID, (guid) => this.#guidAtSandbox(guid)) };
    const sandbox = await this.#askSandbox(wireRequest(known, tags?.sandbox ?? null));
    if (request.verb === 'GET' && (model.status === 200 || sandbox.status === 200)) {
      const tag = { sandbox: sandbox.headers['etag'] ?? null, model: model.headers['etag'] ?? null };
      this.#lastTags.delete(request.path); // to the end of the line
      this.#lastTags.set(request.path, tag);
    }
    const text = Buffer.from(sandbox.body).toString('utf8');
    return { differences: this.#differences(sandbox, model), status: sandbox.status, text };
  }

  /** Does the same to both; the difference of what comes back or is thrown. */
  act(onStore: (store: Store) => unknown, onModel: (model: OriginModel) => unknown): readonly string[] {
    const [sandbox, model] = [outcomeOf(() => onStore(this.store)), outcomeOf(() => onModel(this.model))];
    return sandbox === model ? [] : [`an act ended with ${sandbox} at the sandbox, with ${model} at the model`];
  }

  /** The differences of what stands in the tables. */
  compareRows(): readonly string[] {
    return this.store.catalog.tables.flatMap(({ name }) => {
      const [sandbox, model] = [this.store.rows(name), this.model.rows(name)].map((rows) =>
        JSON.stringify(rows, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
      );
      const one = this.#known('sandbox', sandbox ?? '');
      const other = this.#known('model', model ?? '');
      return one === other ? [] : [`rows of "${name}": ${firstDifference(one, other)}`];
    });
  }

  async #askSandbox({ method, path, headers, body }: ModelRequest): Promise<ModelAnswer> {
    const [pathname = '', ...query] = path.split('?');
    const stream = Readable.from(body === null ? [] : [Buffer.from(body)]);
    const message = Object.assign(stream, { method, headers, complete: true }) as unknown as IncomingMessage;
    const api = { verb: method, query: query.join('?'), apiPath: readApiPath(pathname) };
    const answer = await respond(message, api, this.#parts);
    const named = Object.entries(answer.headers).map(([name, value]) => [name.toLowerCase(), String(value)] as const);
    return { status: answer.status, headers: Object.fromEntries(named), body: Buffer.from(answer.body ?? '') };
  }

  #differences(sandbox: ModelAnswer, model: ModelAnswer): readonly string[] {
    const differences: string[] = [];
    const compare = (what: string, one: unknown, other: unknown): void => {
      if (one !== other)
        differences.push(`${what}: ${JSON.stringify(one)} at the sandbox, ${JSON.stringify(other)} at the model`);
    };
    compare('status', sandbox.status, model.status);
    for (const name of COMPARED) compare(name, sandbox.headers[name], model.headers[name]);
    compare(
      'challenge',
      sandbox.headers['www-authenticate'] !== undefined,
      model.headers['www-authenticate'] !== undefined,
    );
    this.#compareTags(compare, sandbox.headers['etag'], model.headers['etag']);
    const [one, other] = [this.#text('sandbox', sandbox), this.#text('model', model)];
    if (one !== other) differences.push(`body: ${firstDifference(one, other)}`);
    for (const { headers, body } of [sandbox, model]) {
      const length = headers['content-length'];
      if (length !== undefined && body.length > 0) compare('content-length', Number(length), body.length);
    }
    return differences;
  }

  #compareTags(compare: (what: string, one: unknown, other: unknown) => void, sandbox = '', model = ''): void {
    compare('has an ETag', sandbox !== '', model !== '');
    if (sandbox === '' || model === '') return;
    compare('the ETag that goes with this one', this.#tagByModelTag.get(model) ?? sandbox, sandbox);
    compare('the ETag that goes with this one', model, this.#tagBySandboxTag.get(sandbox) ?? model);
    this.#tagByModelTag.set(model, sandbox);
    this.#tagBySandboxTag.set(sandbox, model);
  }

  #text(side: 'sandbox' | 'model', { status, body }: ModelAnswer): string {
    const text = Buffer.from(body).toString('utf8');
    const plain = text.replaceAll(/"message":"(?:[^"\\]|\\.)*"/g, '"message":"…"');
    // What a method that does not exist has for a source is nobody's business.
    return this.#known(side, status === 405 ? plain.replace(/,"source":"[^"]*"/, '') : plain);
  }

  /** Guids by the order in which a side first showed them. */
  #known(side: 'sandbox' | 'model', text: string): string {
    const seen = this.#guids[side];
    return text.replaceAll(GUID, (guid) => {
      let name = seen.get(guid);
      if (name === undefined) seen.set(guid, (name = `guid-${seen.size + 1}`));
      return name;
    });
  }

  /** The paths that answered lately with something to ask for again, the last ones first. */
  recentPaths(count: number): readonly string[] {
    return [...this.#lastTags.keys()].slice(-count).toReversed();
  }

  /** Whether an answer has shown a guid of the model; before that, the sandbox's name of the file is unknown. */
  hasShown(guid: string): boolean {
    return this.#guids.model.has(guid);
  }

  /** What the sandbox calls a file that the model has shown. */
  #guidAtSandbox(guid: string): string {
    const name = this.#guids.model.get(guid);
    return this.#guids.sandbox.entries().find(([, known]) => known === name)?.[0] ?? guid;
  }
}

function wireRequest(request: PairRequest, etag: string | null): ModelRequest {
  const { verb, path, contentType, body, database = DATABASE } = request;
  const authorization = request.authorization === undefined ? `Bearer ${MODEL_TOKEN}` : request.authorization;
  return {
    method: verb,
    path: `/secure/api/v2/${database}/${path}`,
    headers: {
      ...(authorization === null ? {} : { authorization }),
      ...(contentType === undefined ? {} : { 'content-type': contentType }),
      ...(etag === null ? {} : { 'if-none-match': etag }),
    },
    body: body ?? null,
  };
}

function outcomeOf(work: () => unknown): string {
  try {
    return JSON.stringify(work()) ?? 'nothing';
  } catch {
    return 'an error';
  }
}

function firstDifference(one: string, other: string): string {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  const from = Math.max(0, at - 80);
  return `…${one.slice(from, at + 80)}… at the sandbox, …${other.slice(from, at + 80)}… at the model`;
}
