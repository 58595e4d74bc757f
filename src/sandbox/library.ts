/**
 * The sandbox as a library: what `import … from 'rowsync/sandbox'` gives to the tests of other programs. All names here
 * are public: changing one is a change for users.
 */
import { systemClock } from '../base/clock.ts';
import { RowsyncError } from '../base/errors.ts';
import { columnType } from '../wire/schema.ts';
import type { FaultPlan } from './server/faults.ts';
import type { AnsweredRequest } from './server/requests.ts';
import type { Cells, ColumnSpec, SandboxUser, TableSpec } from './store/spec.ts';
import { checkedFaults, startSandbox as start } from './main.ts';

/** What to serve, and how; everything has a default. */
export interface TestSandboxOptions {
  /** Tables with their rows; sample data unless given. A JSON file of them does as well: parse it. */
  readonly tables?: readonly TableSpec[] | undefined;
  /** Instead of `tables`, a SQLite file to serve; it is read once, never written. */
  readonly data?: string | undefined;
  /** On 127.0.0.1; any free port unless given. */
  readonly port?: number | undefined;
  /** "21995" unless given. */
  readonly database?: string | undefined;
  /** 32 hexadecimal digits; made up unless given. */
  readonly token?: string | undefined;
  /** Milliseconds added to every request. */
  readonly latencyMs?: number | undefined;
  /** Requests that are to be answered badly; docs/sandbox.md lists the faults. */
  readonly faults?: FaultPlan | undefined;
  /** False leaves out what no specification has: Updated, Deleted and Select on a view. */
  readonly extensions?: boolean | undefined;
  /** Takes dates as Unix seconds and with slashes, too. */
  readonly lenientDates?: boolean | undefined;
}

/** A running sandbox. Stop it at the end, or declare it with `await using`. */
export interface TestSandbox extends AsyncDisposable {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  readonly database: string;
  /** Of the first user, who may do everything. */
  readonly token: string;
  /** Everybody who may sign in, by token or with e-mail and password; roles have different rights. */
  readonly users: readonly SandboxUser[];
  /** The requests answered so far, the last 10,000 of them, oldest first. */
  readonly requests: readonly AnsweredRequest[];
  /** The rows of a table now, by its singular name. @throws RowsyncError `sandbox.data` for another name. */
  rows(table: string): readonly { readonly id: number; readonly values: Cells }[];
  /** Puts other faults in force; an empty list ends them. @throws RowsyncError `sandbox.option` for an unknown one. */
  setFaults(plan: FaultPlan): void;
  /** Ends the server and removes what it kept. May be called twice. */
  stop(): Promise<void>;
}

/**
 * Starts a sandbox in this process.
 * @throws RowsyncError `sandbox.option`, `sandbox.data` or `sandbox.listen`.
 */
export async function startSandbox({ data, ...options }: TestSandboxOptions = {}): Promise<TestSandbox> {
  for (const table of options.tables ?? []) requireKnownWords(table);
  const sandbox = await start({ ...options, dataPath: data, clock: systemClock });
  const { url, database, token, users, requests, store, faults } = sandbox;
  const stop = (): Promise<void> => sandbox.stop();
  return {
    url,
    database,
    token,
    users,
    get requests() {
      return requests.all;
    },
    rows: (table) => {
      const names = store.catalog.tables.map(({ name }) => name);
      if (names.includes(table)) return store.rows(table);
      throw new RowsyncError('usage', 'sandbox.data', {
        message: `The sandbox has no table "${table}"`,
        hint: `It has: ${names.join(', ')}.`,
      });
    },
    setFaults: (plan) => faults.replace(checkedFaults(plan)),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

const TABLE_WORDS = {
  name: true,
  plural: true,
  color: true,
  showTab: true,
  allowAdd: true,
  key: true,
  columns: true,
  systemColumns: true,
  views: true,
  rules: true,
  described: true,
  rows: true,
  createdFromMs: true,
} as const satisfies Record<keyof TableSpec, true>;

const COLUMN_WORDS = {
  name: true,
  type: true,
  kind: true,
  options: true,
  displayOptions: true,
  width: true,
  readOnly: true,
  defaultValue: true,
  format: true,
  computed: true,
  described: true,
} as const satisfies Record<keyof ColumnSpec, true>;

const OPTIONS = [
  'Required',
  'Unique',
  'AllowFind',
  'AllowAddSimilar',
  'AllowSeeRevisionHistory',
  'PublicAttachment',
  'RowColor',
];

/** A misspelt word would go unnoticed, and a test would pass on other tables. @throws RowsyncError `sandbox.data`. */
function requireKnownWords(table: Partial<TableSpec>): void {
  const { name, columns } = table;
  const unknownIn = (words: object, known: object): readonly string[] =>
    Object.keys(words).filter((word) => !Object.hasOwn(known, word));
  const [problem] = [
    ...unknownIn(table, TABLE_WORDS).map((word) => `a table has no "${word}"`),
    ...(name === undefined || columns === undefined ? ['a table needs a name and columns'] : []),
    ...(columns ?? []).flatMap((column: Partial<ColumnSpec>) => [
      ...unknownIn(column, COLUMN_WORDS).map((word) => `a column has no "${word}"`),
      ...(columnType(column.type ?? '') === 'Unknown' ? [`no type is called "${column.type ?? ''}"`] : []),
      ...(column.options ?? []).filter((one) => !OPTIONS.includes(one)).map((one) => `no option is called "${one}"`),
    ]),
  ];
  if (problem === undefined) return;
  throw new RowsyncError('usage', 'sandbox.data', {
    message: `${name ?? 'A table'} cannot be served: ${problem}`,
    hint: 'Correct the table; the types of rowsync/sandbox list the words.',
  });
}

export type { AnsweredRequest, Cells, FaultPlan, SandboxUser, TableSpec };
