/**
 * The origin of a soak, as a process: a sandbox with a recorded history, colleagues who work all the time, and an
 * administrator who obeys orders. Started by origin.ts; ends with its parent.
 */
import { createHash } from 'node:crypto';
import { systemClock } from '../../src/base/clock.ts';
import type { FaultPlan } from '../../src/sandbox/server/faults.ts';
import { startSandbox } from '../../src/sandbox/main.ts';
import { Random } from '../../src/sandbox/data/random.ts';
import type { UserSpec } from '../../src/sandbox/store/spec.ts';
import { readOrigin, type Tables } from '../support/compare.ts';
import { COLLEAGUE, recordHistory, token } from '../support/ledger.ts';
import { fastClock, type Pace } from './fast-clock.ts';
import { EDITED, FOLLOWED, MIRROR, soakTables } from './world.ts';

/** What the parent may ask for. */
export type Order =
  | { readonly kind: 'faults'; readonly plan: FaultPlan }
  | { readonly kind: 'access'; readonly isGranted: boolean }
  | { readonly kind: 'schema' }
  | { readonly kind: 'colleagues'; readonly areAtWork: boolean }
  | { readonly kind: 'rows' };

/** What it is answered. */
export interface Answer {
  /** Every row, where rows were asked for. */
  readonly rows: Tables | null;
  /** What the administrator did, in words. */
  readonly done: string;
  /** SHA-256 of the content of every attached file that a row names now, by the value of its cell. */
  readonly files: Readonly<Record<string, string>>;
  readonly requestCount: number;
  readonly edits: number;
}

/** What the sandbox is reached with. */
export interface Address {
  readonly url: string;
  readonly database: string;
  readonly token: string;
  readonly storePath: string;
}

const [storePath = '', seedText = '1', mirrorRows = '0', pace = ''] = process.argv.slice(2);
const random = new Random(Number(seedText));
const sandbox = await startSandbox({
  clock: fastClock(JSON.parse(pace) as Pace),
  storePath,
  seed: Number(seedText),
  latencyMs: 2,
  tables: soakTables(Number(mirrorRows)),
});
recordHistory(storePath, FOLLOWED);
const { store } = sandbox;
const colleague: UserSpec = { ...store.user, email: `${COLLEAGUE}example.com` };
const EDIT_MS_MIN = 50;
const EDIT_MS_MAX = 500;
/** Colleagues leave so many rows of a table. */
const ROWS_KEPT = 40;
const EXTRA = /^Extra \d+$/;
let serial = 0;
let isAtWork = true;
let edits = 0;

function next(kind: 'w' | 'c'): string {
  serial += 1;
  return token(kind, serial);
}

/** One thing that a colleague does. */
function work(): void {
  edits += 1;
  if (random.chance(0.1)) {
    const id = random.pick(store.ids(MIRROR));
    store.update(MIRROR, id, { 'Text 3': `edited ${next('w')}` }, colleague);
    return;
  }
  const { name, texts, match, file } = random.pick(EDITED);
  const ids = store.ids(name);
  const draw = random.next();
  if (draw < 0.1) {
    const code = match === undefined ? {} : { [match]: `theirs ${next('w')}` };
    store.insert(name, { Tag: next('c'), [texts[0] ?? '']: next('w'), ...code }, colleague);
  } else if (draw < 0.17 && ids.length > ROWS_KEPT) {
    store.delete(name, random.pick(ids), { as: colleague });
  } else if (draw < 0.3 && file !== undefined) {
    const content = next('w');
    const bytes = Buffer.from(`${content}\n`.repeat(random.integer(1, 20_000)));
    store.update(
      name,
      random.pick(ids),
      { [file]: { name: `${content}.txt`, mediaType: 'text/plain', bytes } },
      colleague,
    );
  } else {
    store.update(name, random.pick(ids), { [random.pick(texts)]: next('w') }, colleague);
  }
}

/**
 * One change of the schema: columns that nobody may write come, are renamed and go. One that people write would wait
 * for a person when it goes.
 */
function changeSchema(): string {
  const { name } = random.pick(EDITED);
  const extra = store.table(name).columns.find((column) => EXTRA.test(column.name))?.name;
  serial += 1;
  if (extra === undefined) {
    store.addColumn(name, { name: `Extra ${serial}`, type: 'Text', defaultValue: 'new', readOnly: true });
    return `${name}: a column was added`;
  }
  if (random.chance(0.5)) {
    store.renameColumn(name, extra, `Extra ${serial}`);
    return `${name}: a column was renamed`;
  }
  store.dropColumn(name, extra);
  return `${name}: a column was dropped`;
}

const ANSWERS: { readonly [K in Order['kind']]: (order: Extract<Order, { kind: K }>) => Partial<Answer> } = {
  faults: ({ plan }) => {
    sandbox.faults.replace(plan);
    return {};
  },
  access: ({ isGranted }) => {
    if (isGranted) store.addToken(sandbox.token);
    else store.revokeToken(sandbox.token);
    return { done: isGranted ? 'the token was given back' : 'the token was revoked' };
  },
  schema: () => ({ done: changeSchema() }),
  colleagues: ({ areAtWork }) => {
    isAtWork = areAtWork;
    return {};
  },
  rows: () => ({ rows: readOrigin(sandbox), files: readFiles() }),
};

function answerTo<K extends Order['kind']>(order: Extract<Order, { kind: K }> & { readonly kind: K }): Partial<Answer> {
  return ANSWERS[order.kind](order);
}

function readFiles(): Answer['files'] {
  const cells = EDITED.flatMap(({ name, file }) =>
    file === undefined ? [] : store.rows(name).flatMap(({ values }) => values[file] ?? []),
  );
  return Object.fromEntries(
    cells.map((cell) => {
      const bytes = store.fileBytes(String(cell).split(';').at(-1) ?? '');
      return [String(cell), createHash('sha256').update(bytes).digest('hex')];
    }),
  );
}

process.on('message', (order: Order) => {
  const requestCount = sandbox.requests.all.length;
  process.send?.({ done: '', rows: null, files: {}, requestCount, edits, ...answerTo(order) } satisfies Answer);
});
const leaving = new AbortController();
process.on('disconnect', () => leaving.abort());
const { url, database, token: ownToken } = sandbox;
process.send?.({ url, database, token: ownToken, storePath } satisfies Address);
while (!leaving.signal.aborted) {
  if (isAtWork) work();
  await systemClock.sleep(random.integer(EDIT_MS_MIN, EDIT_MS_MAX), leaving.signal);
}
await sandbox.stop();
