/**
 * Watches the names in an open replica: keeps old ones, and stores what a change of the schema breaks. That happens in
 * the transaction of the change, so a broken query is named before anyone meets it. After each pull it runs the checks,
 * and ends old names whose time is over.
 */
import { join } from 'node:path';
import { stampFromMs, type Clock } from '../../base/clock.ts';
import { plural, shellWord } from '../../base/text.ts';
import type { Connection, Tx } from '../../replica/connection.ts';
import type { Replica } from '../../replica/database.ts';
import { errorFromReading } from '../../replica/sqlite-errors.ts';
import { watchSchema, type SchemaWatch } from '../../replica/schema-objects.ts';
import { readContractComplaints, storeChecked, storeContractComplaints, type ContractComplaint } from './complaints.ts';
import { changesSince, lookBefore } from './compare-queries.ts';
import { runChecks, type CheckRows } from './check-process.ts';
import {
  announceEnds,
  complainOfUnwanted,
  judge,
  readContracts,
  type Contract,
  type JudgedContract,
} from './judge-queries.ts';
import {
  dropOldNames,
  followTables,
  freeOldNames,
  keepOldNames,
  readNames,
  readOldNames,
  type OldName,
} from './old-names.ts';
import type { ContractSettings } from './options.ts';
import { SchemaModel } from './schema-model.ts';

const DAY_MS = 86_400_000;

/** Begins to watch; without settings it ends what an earlier configuration began. Returns the end of it. */
export async function watchContracts(
  replica: Replica,
  settings: ContractSettings | undefined,
  clock: Clock,
): Promise<() => void> {
  if (settings !== undefined) {
    watchSchema(replica, watchFor(replica, settings, clock));
    return () => watchSchema(replica, null);
  }
  const end = (): Promise<void> =>
    orComplain(replica, clock, async () => {
      if (readContractComplaints(replica).length === 0 && readOldNames(replica).length === 0) return;
      await replica.write('Ending old names', (tx) => {
        endOldNames(tx, readOldNames(tx));
        storeContractComplaints(tx, readOldNames(tx).map(complainOfUnwanted));
      });
    });
  await end();
  if (readOldNames(replica).length === 0) return () => undefined;
  watchSchema(replica, {
    free: freeOldNames,
    change: (tx) => {
      const [kept, before] = [readOldNames(tx), readNames(tx)];
      return () => followTables(tx, kept, before, readNames(tx));
    },
    pulled: end,
  });
  return () => watchSchema(replica, null);
}

/** Does work whose failure is a problem of the contracts only, and holds up nothing else. */
async function orComplain(replica: Replica, clock: Clock, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (thrown) {
    const { message, hint } = errorFromReading(thrown, replica.path);
    const problem = { name: 'contracts', code: 'contract.breaks', message: `Contracts: ${message}`, hint };
    await replica.write('Naming a problem of contracts', (tx) => {
      const all = readContractComplaints(tx);
      const since = all.find(({ name }) => name === problem.name)?.since ?? stampFromMs(clock.nowMs());
      storeContractComplaints(tx, [...all.filter(({ name }) => name !== problem.name), { ...problem, since }]);
    });
  }
}

/** The registered queries and their judgement, or why the folder cannot be read. */
export function judgeAll(
  from: Connection,
  settings: ContractSettings,
  nowMs: number,
): { readonly contracts: readonly JudgedContract[]; readonly others: readonly ContractComplaint[] } {
  using model = new SchemaModel(from);
  return judgeWith(model, from, settings, nowMs);
}

function judgeWith(model: SchemaModel, from: Connection, settings: ContractSettings, nowMs: number) {
  const { contracts, problem } = readAll(from, settings, nowMs);
  return { contracts: judge(from, model, { contracts, nowMs }), others: [...problem, ...announceEnds(from, nowMs)] };
}

function readAll(
  from: Connection,
  settings: ContractSettings,
  nowMs: number,
): { readonly contracts: readonly Contract[]; readonly problem: readonly ContractComplaint[] } {
  try {
    return { contracts: readContracts(from, settings), problem: [] };
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    const message = `The folder of registered queries cannot be read: ${reason}`;
    const hint = 'Create it, or correct contracts.folder in the configuration.';
    const problem = { name: settings.folder ?? '', code: 'contract.breaks', message, hint, since: stampFromMs(nowMs) };
    return { contracts: readContracts(from, { ...settings, folder: null }), problem: [problem] };
  }
}

function watchFor(replica: Replica, settings: ContractSettings, clock: Clock): SchemaWatch {
  return {
    free: freeOldNames,
    change: (tx) => {
      const { contracts } = readAll(tx, settings, clock.nowMs());
      const before = lookBefore(tx, contracts);
      const kept = readOldNames(tx);
      return () => {
        const nowMs = clock.nowMs();
        const after = readNames(tx);
        followTables(tx, kept, before.names, after);
        const until = stampFromMs(nowMs + settings.keepDays * DAY_MS).slice(0, 10);
        if (settings.keepDays > 0) keepOldNames(tx, before.names, after, until);
        using model = new SchemaModel(tx);
        store(tx, model, settings, {
          nowMs,
          fresh: changesSince(before, { contracts, model, after }, stampFromMs(nowMs)),
        });
      };
    },
    pulled: (tables) =>
      orComplain(replica, clock, async () => {
        const { contracts } = readAll(replica, settings, 0);
        const due = dueChecks(replica, contracts, tables);
        const results = await runChecks(replica.path, due);
        await replica.write('Judging registered queries', (tx) => {
          const nowMs = clock.nowMs();
          const today = stampFromMs(nowMs).slice(0, 10);
          const ended = readOldNames(tx).filter(({ until }) => until <= today);
          endOldNames(tx, ended);
          const fresh = [...results].flatMap((result) =>
            failureOf(result, { from: tx, nowMs, folder: settings.folder ?? '' }),
          );
          using model = new SchemaModel(tx);
          store(tx, model, settings, { nowMs, fresh, answered: new Set(results.keys()) });
          storeChecked(
            tx,
            due.filter(({ name }) => results.has(name)),
            contracts,
          );
        });
      }),
  };
}

/** Stores the judgement, with what was just seen in place of what was seen before. */
function store(
  tx: Tx,
  model: SchemaModel,
  settings: ContractSettings,
  seen: {
    readonly nowMs: number;
    readonly fresh: readonly ContractComplaint[];
    /** Checks that were run. */
    readonly answered?: ReadonlySet<string>;
  },
): void {
  const { contracts, others } = judgeWith(model, tx, settings, seen.nowMs);
  const keyOf = ({ name, code }: ContractComplaint): string => `${code} ${name}`;
  const replaced = new Set(seen.fresh.map(keyOf));
  const isPast = (one: ContractComplaint): boolean =>
    replaced.has(keyOf(one)) || (one.code === 'contract.fails' && seen.answered?.has(one.name) === true);
  const judged = contracts.flatMap(({ complaints }) => complaints).filter((one) => !isPast(one));
  const all = [...judged, ...seen.fresh, ...others];
  if (JSON.stringify(all.toSorted(byKey)) !== JSON.stringify(readContractComplaints(tx).toSorted(byKey)))
    storeContractComplaints(tx, all);
}

function byKey(one: ContractComplaint, other: ContractComplaint): number {
  return `${one.name} ${one.code}` < `${other.name} ${other.code}` ? -1 : 1;
}

/** The checks that compile, and whose tables were all read to their end just now. */
function dueChecks(from: Connection, contracts: readonly Contract[], read: ReadonlySet<string>): readonly Contract[] {
  const checks = contracts.filter(({ kind }) => kind === 'check');
  if (checks.length === 0 || read.size === 0) return [];
  using model = new SchemaModel(from);
  const unread = [...readNames(from).tables.values()].filter(({ localName }) => !read.has(localName));
  return checks.filter(
    ({ text }) =>
      model.compile(text).problem === null && !unread.some(({ localName }) => model.names(text, localName, null)),
  );
}

function failureOf(
  [name, result]: [string, CheckRows],
  { from, nowMs, folder }: { readonly from: Connection; readonly nowMs: number; readonly folder: string },
): readonly ContractComplaint[] {
  const known = readContractComplaints(from).find((one) => one.name === name && one.code === 'contract.fails');
  const since = known?.since ?? stampFromMs(nowMs);
  const hint = `rowsync sql "$(cat ${shellWord(join(folder, name))})" shows the rows.`;
  const fail = (message: string): readonly ContractComplaint[] => [
    { name, code: 'contract.fails', message, hint, since },
  ];
  if (result.problem !== null) return fail(`The check ${name} could not be run: ${result.problem}`);
  const { count, isMore, ids } = result;
  if (count === 0) return [];
  const named = ids.length === 0 ? '' : `; the first have _id ${ids.join(', ')}`;
  return fail(`The check ${name} returned ${isMore ? 'more than ' : ''}${plural(count, 'row')}${named}`);
}

/** Ends old names that no view of the user's reads: SQLite changes no table while a view does not compile. */
function endOldNames(tx: Tx, due: readonly OldName[]): void {
  if (due.length === 0) return;
  using model = new SchemaModel(tx);
  const views = readContracts(tx, { folder: null, keepDays: 0 });
  const isRead = (table: string, column: string | null): boolean =>
    views.some(({ text }) => model.names(text, table, column));
  dropOldNames(
    tx,
    due.filter(({ table, name }) => !isRead(table ?? name, table && name)),
  );
}
