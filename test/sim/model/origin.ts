/**
 * The executable model of the origin: what the specification says of the requests that the engine sends, in memory,
 * without a server, one synchronous call for a request. Takes requests; and what colleagues and administrators do, by
 * the names of the sandbox's store (test/support/sandbox.ts); produces answers, and a log of every write that happened.
 *
 * Invariants: equal calls and draws give equal answers. With steady knobs it answers as the sandbox does (model.test.ts
 * drives both). Nothing here is shared with the sandbox but the types of its specs.
 */
import type { Cells, ColumnSpec, RoleSpec, TableSpec, UserSpec } from '../../../src/sandbox/store/spec.ts';
import type { Value } from '../../../src/wire/schema.ts';
import { readPairs, readPath, readRoute } from './address.ts';
import { answerFile, answerPage, answerRefusal, answerResult, type ModelAnswer, type ModelRequest } from './answers.ts';
import { badParameter, Refusal, type Call, type Made } from './call.ts';
import { valuesByName } from './cells.ts';
import { describeDatabase, describeTable, describeUser, type DatabaseWords } from './describe.ts';
import { Etags } from './etags.ts';
import { attachment, attachments } from './files.ts';
import { steadyKnobs, type ModelDraw, type ModelKnobs } from './knobs.ts';
import { Past } from './past.ts';
import { deleted, retrieve, select } from './select.ts';
import {
  columnNamed,
  copyState,
  findNamed,
  tableNamed,
  userText,
  type ModelRole,
  type ModelState,
  type ModelTable,
  type ModelUser,
} from './state.ts';
import * as structure from './structure.ts';
import { storedValue } from './values.ts';
import {
  deleteRow,
  insertRow,
  isFile,
  updateRow,
  type Author,
  type CellMap,
  type Ledger,
  type ModelCell,
  type ModelOperation,
} from './writer.ts';
import { deleteRows, write } from './writes.ts';

export type { ModelAnswer, ModelRequest } from './answers.ts';

/** What a model is made with. */
export interface ModelOptions {
  readonly tables: readonly TableSpec[];
  readonly nowMs: () => number;
  /** "21995" unless given. */
  readonly database?: string | undefined;
  /** 32 hexadecimal digits. */
  readonly token?: string | undefined;
  /** The user of the token, and then their colleagues. */
  readonly users?: readonly UserSpec[] | undefined;
  readonly words?: DatabaseWords | undefined;
  readonly knobs?: Partial<ModelKnobs> | undefined;
  /** For whatever is random; always 0 unless given. */
  readonly draw?: ModelDraw | undefined;
}

/** A backup of an origin: everything but the token and the log. */
export interface ModelSnapshot {
  readonly state: ModelState;
}

/** One row as code reads it: cells by column name, computed ones included. */
export interface ModelStoredRow {
  readonly id: number;
  readonly values: Readonly<Record<string, Value>>;
}

/** The token that a model takes unless told otherwise. */
export const MODEL_TOKEN = '0123456789abcdef0123456789abcdef';

const OWNER: UserSpec = {
  email: 'alice.martin@example.com',
  firstName: 'Alice',
  lastName: 'Martin',
  role: 'Administrator',
  culture: 'en-US',
  timezone: 'Europe/Paris',
  admin: ['CustomizeApplication', 'ManageUsers', 'ManageData'],
};

const WORDS: DatabaseWords = { name: 'Model', description: '', culture: 'en-US', timeZone: 'Europe/Paris' };

const TABLE_METHODS: Readonly<Record<string, (call: Call, table: ModelTable) => Made>> = {
  describe: describeTable,
  select,
  retrieve,
  deleted,
  create: write,
  update: write,
  upsert: write,
  delete: deleteRows,
  attachments,
  attachment,
};

const WRITES = new Set(['create', 'update', 'upsert', 'delete']);
const QUERY_MAX = 16_384;

/** One origin. */
export class OriginModel {
  /** To be turned at any time. */
  readonly knobs: ModelKnobs;
  readonly #options: ModelOptions;
  readonly #database: string;
  readonly #token: string;
  readonly #draw: ModelDraw;
  readonly #etags = new Etags();
  readonly #past = new Past();
  readonly #log: ModelOperation[] = [];
  #ledger: Ledger;
  #isRevoked = false;
  #requestCount = 0;
  #schemaVersion = 0;

  constructor(options: ModelOptions) {
    this.#options = options;
    this.#database = options.database ?? '21995';
    this.#token = (options.token ?? MODEL_TOKEN).toLowerCase();
    this.#draw = options.draw ?? (() => 0);
    this.knobs = { ...steadyKnobs(), ...options.knobs };
    const users = (options.users ?? [OWNER]).map((user, index) => ({ ...user, id: index + 1 }));
    const state: ModelState = { ...structure.emptyState(), users };
    this.#ledger = { state, log: this.#log, fileCount: 0, changesByTable: new Map() };
    for (const table of options.tables) this.addTable(table);
  }

  /** Every write that happened, in order; the rows of the specs count as what a colleague created. */
  get log(): readonly ModelOperation[] {
    return this.#log;
  }

  /** Requests answered so far; the number of the next one is one more. */
  get requestCount(): number {
    return this.#requestCount;
  }

  /** The user that the token stands for. */
  get user(): ModelUser {
    const [user] = this.#ledger.state.users;
    if (user === undefined) throw new Error('The model has no user');
    return user;
  }

  /** Answers a request. */
  answer(request: ModelRequest): ModelAnswer {
    this.#requestCount += 1;
    const nowMs = this.#options.nowMs();
    const queryAt = request.path.indexOf('?');
    const path = queryAt < 0 ? request.path : request.path.slice(0, queryAt);
    const query = queryAt < 0 ? '' : request.path.slice(queryAt + 1);
    const made = this.#answered(request, { path, query, nowMs });
    if (made instanceof Refusal) return answerRefusal(made, nowMs);
    if (made.kind === 'result') return answerResult(made.text, nowMs);
    const ifNoneMatch = request.headers['if-none-match'];
    if (made.kind === 'file') return answerFile(made.file, { ...request, ifNoneMatch }, this.knobs, nowMs);
    const changes = made.tables.map((id) => this.#ledger.changesByTable.get(id) ?? 0);
    // Named after the columns too: a replica that was pulled beforehand knows tags of another model.
    const names = this.knobs.etag === 'table' ? structure.namesOf(this.#ledger.state) : '';
    const version = [this.#schemaVersion, names, ...changes].join('.');
    const tagged = { key: `${this.user.id} ${request.path}`, text: made.text, version, ifNoneMatch };
    return answerPage(made.text, this.#etags.tag(tagged, this.knobs, this.#draw), nowMs);
  }

  #answered(
    { method: verb, headers, body }: ModelRequest,
    { path: fullPath, query, nowMs }: { readonly path: string; readonly query: string; readonly nowMs: number },
  ): Made {
    if (query.length > QUERY_MAX) return new Refusal(414, null, 'The query string is too long');
    const path = readPath(fullPath);
    if (path === null) return new Refusal(405, 2000, 'The path is not part of the API');
    const denied = this.#denied(
      path.database,
      path.token ?? headers['authorization']?.trim() ?? '',
      path.token !== null,
    );
    if (denied !== null) return denied;
    const route = readRoute(verb, path.segments);
    if (route === 'method') return new Refusal(405, 2000, 'There is no such method');
    if (route === 'table' || route === 'path') return badParameter(route, 'The path is not percent-encoded UTF-8');
    const pairs = readPairs(query);
    if (pairs === null) return badParameter('query', 'The query string is not percent-encoded UTF-8');
    const isWrite = WRITES.has(route.method);
    const now = this.#ledger.state;
    const state = isWrite ? now : this.#past.asRead(now, nowMs, this.knobs.readLagMsMax, this.#draw);
    const { user } = this;
    const call: Call = {
      state,
      ledger: this.#ledger,
      knobs: this.knobs,
      draw: this.#draw,
      database: this.#database,
      user,
      role: roleOf(state, user),
      route,
      pairs,
      nowMs,
      requestNumber: this.#requestCount,
      contentType: headers['content-type'] ?? '',
      body,
    };
    if (route.table === null)
      return route.method === 'user' ? describeUser(call) : describeDatabase(call, this.#options.words ?? WORDS);
    const table = visibleTable(call, route.table);
    if (table === undefined) return new Refusal(403, 3000, 'Table does not exist', route.table[0]);
    if (isWrite) this.#keepPast();
    return TABLE_METHODS[route.method]?.(call, table) ?? new Refusal(405, 2000, 'There is no such method');
  }

  /** Whether the credentials are missing (401) or wrong (403). */
  #denied(database: string, given: string, isToken: boolean): Refusal | null {
    if (given === '') return new Refusal(401, null, 'Credentials are missing');
    const [scheme = '', bearer = ''] = isToken ? ['bearer', given] : given.split(/\s+/);
    if (scheme.toLowerCase() !== 'bearer') return new Refusal(403, 1000, 'The scheme is not supported');
    if (this.#isRevoked || bearer.toLowerCase() !== this.#token)
      return new Refusal(403, 1001, 'The token is not valid');
    return database === this.#database ? null : new Refusal(403, 1002, 'The token is for another database');
  }

  // Rows, as colleagues change them. Tables and columns go by their exact names.

  /** Inserts a row and returns its `@row.id`. */
  insert(table: string, cells: Cells, as?: UserSpec): number {
    return this.#insert(table, cells, this.#author(as));
  }

  /** Changes cells of a row; false when nothing changed. */
  update(table: string, id: number, cells: Cells, as?: UserSpec): boolean {
    this.#keepPast();
    const found = tableNamed(this.#ledger.state, table);
    const byColumn = cellsByColumn(found, cells);
    refuseTakenKey(found, byColumn, id);
    return updateRow(this.#ledger, found, id, byColumn, this.#author(as));
  }

  /** Changes cells of a row as a formula over other rows does: nothing says when; false when nothing changed. */
  recompute(table: string, id: number, cells: Cells): boolean {
    this.#keepPast();
    const found = tableNamed(this.#ledger.state, table);
    const author = { ...this.#author(undefined), leavesStamps: true };
    return updateRow(this.#ledger, found, id, cellsByColumn(found, cells), author);
  }

  /** Deletes a row; false when there is none. */
  delete(table: string, id: number, options: { readonly as?: UserSpec } = {}): boolean {
    this.#keepPast();
    return deleteRow(this.#ledger, tableNamed(this.#ledger.state, table), id, this.#author(options.as));
  }

  /** All rows of a table by id, every column. */
  rows(table: string): readonly ModelStoredRow[] {
    const { state } = this.#ledger;
    const found = tableNamed(state, table);
    return [...found.rows.values()].map((row) => ({ id: row.id, values: valuesByName(state, found, row) }));
  }

  /** Ids of all rows of a table, ascending. */
  ids(table: string): readonly number[] {
    return [...tableNamed(this.#ledger.state, table).rows.keys()];
  }

  /** The table with this exact name, with its columns. */
  table(name: string): ModelTable {
    return tableNamed(this.#ledger.state, name);
  }

  /** All tables. */
  tables(): readonly ModelTable[] {
    return this.#ledger.state.tables;
  }

  /** The bytes of a file that exists, by the guid in its cell. */
  fileBytes(guid: string): Uint8Array | undefined {
    return this.#ledger.state.tables.flatMap(({ files }) => files).find((file) => file.guid === guid)?.bytes;
  }

  // Structure, as administrators change it.

  /** Creates a table with its rows. */
  addTable(spec: TableSpec): void {
    this.#changeStructure((state) => structure.addTable(state, spec));
    let count = 0;
    for (const cells of spec.rows ?? []) {
      const author = this.#author(undefined);
      const { createdFromMs } = spec;
      const nowMs = createdFromMs === undefined ? author.nowMs : createdFromMs + count * 1000;
      this.#insert(spec.name, cells, { ...author, nowMs });
      count += 1;
    }
  }

  /** Drops a table with its rows. */
  dropTable(name: string): void {
    this.#changeStructure((state) => structure.dropTable(state, name));
  }

  /** Renames a table; id and alias stay. */
  renameTable(name: string, now: string): void {
    this.#changeStructure((state) => structure.renameTable(state, name, now));
  }

  /** Adds a column at the end; rows get its default. */
  addColumn(table: string, spec: ColumnSpec): void {
    this.#changeStructure((state) => structure.addColumn(state, table, spec));
  }

  /** Drops a column with its values. */
  dropColumn(table: string, name: string): void {
    this.#changeStructure((state) => structure.dropColumn(state, table, name));
  }

  /** Renames a column; id and alias stay. */
  renameColumn(table: string, name: string, now: string): void {
    this.#changeStructure((state) => structure.renameColumn(state, table, name, now));
  }

  /** Changes a column's type, kind, options, width; values that mean nothing in a new type become null. */
  changeColumn(table: string, name: string, change: structure.ColumnChange): void {
    this.#changeStructure((state) => structure.changeColumn(state, table, name, change));
  }

  // Users and rights.

  /** Turns the user of the token into another one: role, zone, e-mail, even the id. */
  changeUser(change: Partial<ModelUser>): void {
    const changed = { ...this.user, ...change };
    this.#changeStructure((state) => {
      state.users = [changed, ...state.users.slice(1)];
    });
  }

  /** Creates a role or changes its rights. */
  setRole(spec: RoleSpec): void {
    this.#changeStructure((state) => {
      const role: ModelRole = {
        name: spec.name,
        canWrite: spec.canWrite,
        editOwnOnly: spec.editOwnOnly ?? false,
        hiddenTables: new Set(spec.hiddenTables.map((name) => tableNamed(state, name).id)),
        hiddenColumns: new Set(
          spec.hiddenColumns.map(([table, name]) => columnNamed(tableNamed(state, table), name).id),
        ),
      };
      state.roles = [...state.roles.filter(({ name }) => name !== spec.name), role];
    });
  }

  /** Makes the token worthless. */
  revokeToken(): void {
    this.#isRevoked = true;
  }

  /** Makes the token good again. */
  restoreToken(): void {
    this.#isRevoked = false;
  }

  // Backups.

  /** A backup of everything but the token and the log. */
  snapshot(): ModelSnapshot {
    return { state: copyState(this.#ledger.state) };
  }

  /** Brings a backup back: rows, structure and rights, and with them the ids and times that come next. */
  restore(snapshot: ModelSnapshot): void {
    this.#keepPast();
    this.#ledger = { ...this.#ledger, state: copyState(snapshot.state) };
    this.#schemaVersion += 1;
  }

  #insert(table: string, cells: Cells, author: Author): number {
    this.#keepPast();
    const found = tableNamed(this.#ledger.state, table);
    const byColumn = cellsByColumn(found, cells);
    refuseTakenKey(found, byColumn, null);
    return insertRow(this.#ledger, found, byColumn, author);
  }

  #changeStructure(change: (state: ModelState) => void): void {
    this.#keepPast();
    change(this.#ledger.state);
    this.#schemaVersion += 1;
  }

  #author(as: UserSpec | undefined): Author {
    const { lateMsMax } = this.knobs;
    const lateMs = lateMsMax === 0 ? 0 : Math.floor(this.#draw('late') * lateMsMax);
    const nowMs = this.#options.nowMs() - lateMs;
    return { user: userText(as ?? this.user), nowMs, by: 'colleague', requestNumber: null };
  }

  /** Before a change: what reads that lag will still see. */
  #keepPast(): void {
    if (this.knobs.readLagMsMax > 0)
      this.#past.keep(this.#ledger.state, this.#options.nowMs(), this.knobs.readLagMsMax);
  }
}

function roleOf({ roles }: ModelState, { role: name }: UserSpec): ModelRole {
  const free = {
    canWrite: true,
    editOwnOnly: false,
    hiddenTables: new Set<number>(),
    hiddenColumns: new Set<number>(),
  };
  return roles.find((role) => role.name === name) ?? { name, ...free };
}

function visibleTable({ state, role }: Call, names: readonly string[]): ModelTable | undefined {
  const visible = state.tables.filter(({ id }) => !role.hiddenTables.has(id));
  for (const name of names) {
    const table = findNamed(visible, name);
    if (table !== undefined) return table;
  }
  return undefined;
}

function cellsByColumn(table: ModelTable, cells: Cells): CellMap {
  const byColumn = new Map<ReturnType<typeof columnNamed>, ModelCell>();
  for (const [name, cell] of Object.entries(cells)) {
    const column = columnNamed(table, name);
    if (column.computed !== null)
      throw new Error(`The column "${name}" of the model's table "${table.name}" is computed`);
    byColumn.set(column, isFile(cell) ? cell : storedValue(column, cell));
  }
  return byColumn;
}

/** Keys are unique whoever writes. */
function refuseTakenKey(table: ModelTable, cells: CellMap, ownId: number | null): void {
  for (const [column, cell] of cells) {
    if (column.id !== table.keyId || cell === null) continue;
    const isTaken = table.rows.values().some((row) => row.id !== ownId && row.cells.get(column.id) === cell);
    if (isTaken) throw new Error(`The key is taken in the model's table "${table.name}"`);
  }
}
