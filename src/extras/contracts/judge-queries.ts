/**
 * Says what is wrong with each registered query: whether it compiles, and whether its tables and columns still mean the
 * same. Queries are only compiled, never run, so this takes milliseconds and fits in the transaction that changes
 * names.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stampFromMs } from '../../base/clock.ts';
import { ident } from '../../base/sql.ts';
import { someOf } from '../../base/text.ts';
import { schemaChangeText } from '../../pull/schema-changes.ts';
import { newNames } from '../../reconcile/naming.ts';
import { shownSince } from '../../replica/bookkeeping/conflicts.ts';
import { readNameStyle } from '../../replica/bookkeeping/identity.ts';
import { readSchemaChanges } from '../../replica/bookkeeping/schema-changes.ts';
import type { Connection } from '../../replica/connection.ts';
import { readSaved } from '../shared/rows-page.ts';
import { readContractComplaints, type ContractComplaint } from './complaints.ts';
import { correct, type FormerName } from './query-correction.ts';
import { readNames, readOldNames, type SchemaNames, type OldName } from './old-names.ts';
import type { ContractSettings } from './options.ts';
import type { SchemaModel } from './schema-model.ts';

/** A registered query; a check must return no row. */
export interface Contract {
  readonly name: string;
  readonly kind: 'query' | 'check' | 'view';
  readonly text: string;
}

/** A registered query with what is wrong, and its text as it would compile; null where it does, or nothing is known. */
export interface JudgedContract extends Contract {
  readonly complaints: readonly ContractComplaint[];
  readonly corrected: string | null;
}

/** Longer texts are only in the output of `rowsync contracts`. */
const HINT_CHARS_MAX = 400;
/** The end of an old name is announced so long before. */
const ANNOUNCED_MS = 7 * 86_400_000;

/** All registered queries: files by name, but no hidden ones, then views. @throws what the file system says of them. */
export function readContracts(from: Connection, { folder }: ContractSettings): readonly Contract[] {
  const files =
    folder === null ? [] : readdirSync(folder).filter((name) => name.endsWith('.sql') && !name.startsWith('.'));
  return [
    ...files.toSorted().map((name): Contract => ({
      name,
      kind: name.endsWith('.check.sql') ? 'check' : 'query',
      text: readFileSync(join(folder ?? '', name), 'utf8'),
    })),
    ...readSaved(from).map(({ name }): Contract => ({
      name: `the view ${name}`,
      kind: 'view',
      text: `SELECT * FROM ${ident(name)}`,
    })),
  ];
}

/** Judges all. Complaints of what was seen before (`contract.changed`, `contract.fails`) are passed on as stored. */
export function judge(
  from: Connection,
  model: SchemaModel,
  { contracts, nowMs }: { readonly contracts: readonly Contract[]; readonly nowMs: number },
): readonly JudgedContract[] {
  const stored = readContractComplaints(from);
  const facts = { names: readNames(from), oldNames: readOldNames(from), formerNames: readFormerNames(from) };
  const isKept = ({ code, since }: ContractComplaint): boolean =>
    code === 'contract.fails' || (code === 'contract.changed' && since >= shownSince(nowMs));
  return contracts.map((contract) => {
    const { found, corrected } = judgeOne(model, contract, facts);
    const kept = stored.filter((one) => one.name === contract.name && isKept(one));
    const sinceOf = (code: string): string | undefined =>
      stored.find((one) => one.name === contract.name && one.code === code)?.since;
    const complaints = found.map((one) => ({ ...one, since: sinceOf(one.code) ?? stampFromMs(nowMs) }));
    return { ...contract, corrected, complaints: [...complaints, ...kept] };
  });
}

type UndatedComplaint = Omit<ContractComplaint, 'since'>;

function judgeOne(
  model: SchemaModel,
  { name, kind, text }: Contract,
  facts: {
    readonly names: SchemaNames;
    readonly oldNames: readonly OldName[];
    readonly formerNames: readonly FormerName[];
  },
): { readonly found: readonly UndatedComplaint[]; readonly corrected: string | null } {
  const complain = (code: string, message: string, hint: string): UndatedComplaint => ({
    name,
    code,
    message: `${name} ${message}`,
    hint,
  });
  const hintFor = (corrected: string | null): string => {
    const line = corrected?.trim().replaceAll(/\s+/g, ' ');
    if (line === undefined || kind === 'view')
      return 'Correct the query: rowsync contracts, and sync_columns for the names of today.';
    return line.length > HINT_CHARS_MAX || /--/.test(line)
      ? 'rowsync contracts prints the text with the names of today.'
      : `With the names of today: ${line}`;
  };
  const { problem } = model.compile(text);
  if (problem !== null) {
    const { causes, corrected } = correct(text, (one) => model.compile(one).problem, facts.formerNames);
    const message = `does not compile: ${[problem, ...causes].join('; ')}`;
    return { found: [complain('contract.breaks', message, hintFor(corrected))], corrected };
  }
  const dead = readDead(facts.names).filter(({ table, column }) => model.names(text, table, column));
  const old = facts.oldNames.filter(({ table, name: one }) => model.names(text, table ?? one, table && one));
  const formerNames = old.map(({ table, name: former, now }): FormerName => ({
    isTable: table === null,
    former,
    now,
    words: '',
  }));
  const withoutOld = (one: string): string | null =>
    old
      .map((it) => model.compileWithout(one, it.table ?? it.name, it.table && it.name).problem)
      .find((it) => it !== null) ?? null;
  const corrected = old.length === 0 ? null : correct(text, withoutOld, formerNames).corrected;
  return {
    corrected,
    found: [
      ...(dead.length === 0
        ? []
        : [complain('contract.breaks', `reads ${someOf(dead.map(({ words }) => words))}`, DEAD_HINT)]),
      ...(old.length === 0
        ? []
        : [complain('contract.oldName', `reads ${someOf(old.map(oldNameText))}`, hintFor(corrected))]),
    ],
  };
}

const DEAD_HINT =
  'Its values stay as they were. Take it out of the query, or give the calling user the right to it again, if that was lost.';

function oldNameText({ table, name, now, until }: OldName): string {
  return `the old name ${table === null ? name : `${table}.${name}`} of ${now}, which ends on ${until}`;
}

/** What the origin no longer shows, and is still here. */
function readDead({ tables, columns }: SchemaNames) {
  const gone = [...tables.values()].filter(({ state }) => state === 'gone');
  const removed = [...columns.values()].filter(({ state }) => state !== 'live');
  return [
    ...gone.map(({ localName: table }) => ({
      table,
      column: null,
      words: `${table}, which is no longer at the origin`,
    })),
    ...removed.map(({ tableId, localName: column, state }) => {
      const table = tables.get(tableId)?.localName ?? '';
      const why = state === 'aside' ? 'was set aside when its type changed' : 'the origin no longer shows';
      return { table, column, words: `${table}.${column}, which ${why}` };
    }),
  ];
}

/** Former names as they were here, the newest first. */
function readFormerNames(from: Connection): readonly FormerName[] {
  const style = readNameStyle(from);
  const changes = readSchemaChanges(from);
  return changes.toReversed().flatMap((change): readonly FormerName[] => {
    const { kind, table, column, former, now, at } = change;
    const words = `${schemaChangeText(change)} (${at.slice(0, 10)})`;
    const isTable = kind.startsWith('table');
    const scope = isTable ? 'table' : 'column';
    const here = (name: string): string => newNames({ scope, style }, [], [{ id: 0, name }])[0] ?? name;
    if (kind === 'tableRenamed' || kind === 'columnRenamed')
      return [{ isTable, former: here(former ?? ''), now: here(now ?? ''), words }];
    if (kind === 'tableGone' || kind === 'columnGone')
      return [{ isTable, former: here(column ?? table), now: null, words }];
    return [];
  });
}

/** Old names that end soon, whoever reads them. */
export function announceEnds(from: Connection, nowMs: number): readonly ContractComplaint[] {
  const soon = stampFromMs(nowMs + ANNOUNCED_MS).slice(0, 10);
  const today = stampFromMs(nowMs).slice(0, 10);
  return readOldNames(from)
    .filter(({ until }) => until <= soon)
    .map((one) =>
      complainOf(
        one,
        one.until > today
          ? `${oldNameText(one)[0]?.toUpperCase() ?? ''}${oldNameText(one).slice(1)}`
          : `The old name ${one.name} of ${one.now} should have ended on ${one.until}; ${STAYS}`,
      ),
    );
}

/** An old name that is left where the configuration no longer has contracts. */
export function complainOfUnwanted(one: OldName): ContractComplaint {
  const ends = `Without contracts in the configuration, the old name ${one.name} of ${one.now} ends`;
  return complainOf(one, `${ends}; ${STAYS}`);
}

const STAYS = 'it stays while a view of yours reads it';

function complainOf({ table, name, until }: OldName, message: string): ContractComplaint {
  return {
    name: `old name ${table ?? ''}.${name}`,
    code: 'contract.oldName',
    message,
    hint: 'Programs that read it have to use the name of today.',
    since: `${until}T00:00:00Z`,
  };
}
