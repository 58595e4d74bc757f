/**
 * `rowsync contracts`: lists the registered queries with their state.
 */
import type { Command } from 'commander';
import { EXIT } from '../../base/errors.ts';
import { loadNamedConfig, printResult } from '../../cli/runtime/invocation.ts';
import type { Invocation, Runner } from '../../extra.ts';
import { openReader } from '../../replica/reader.ts';
import { isChecked } from './complaints.ts';
import type { JudgedContract } from './judge-queries.ts';
import { readOldNames, type OldName } from './old-names.ts';
import { judgeAll } from './watch.ts';

const EXAMPLES = `
Compiles every query of contracts.folder and every view of the replica with the names of today; checks show how they ended after the last
pull. The exit code is 3 if a query breaks or a check fails.

Examples:
  rowsync contracts
  rowsync contracts --json |
    jq '.contracts[] | select(.state != "ok") | .name, .corrected'`;

export function addContractsCommand(program: Command, runner: Runner): void {
  program
    .command('contracts')
    .description('list registered queries, and whether a change of the schema breaks them')
    .addHelpText('after', EXAMPLES)
    .action(runner(list));
}

async function list(invocation: Invocation): Promise<number> {
  const { clock } = invocation.session;
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  const settings = config.extras.contracts ?? { folder: null, keepDays: 0 };
  using reader = openReader(config.replica.path);
  const { contracts, others } = judgeAll(reader, settings, clock.nowMs());
  const oldNames = readOldNames(reader);
  const isBad = [...contracts.flatMap(({ complaints }) => complaints), ...others].some(({ code }) => isOfPerson(code));
  const unchecked = new Set(contracts.filter((it) => it.kind === 'check' && !isChecked(reader, it)));
  const json = contracts.map((contract) => ({ ...contract, state: stateOf(contract, unchecked.has(contract)) }));
  const lines = [
    ...contracts.flatMap((contract) => contractLines(contract, unchecked.has(contract))),
    ...others.map(({ message }) => message),
    ...oldNames.map(oldNameText),
  ];
  const nothing = 'No query is registered: contracts.folder in the configuration names a folder of .sql files.';
  await printResult(invocation, { contracts: json, others, oldNames }, lines.length === 0 ? [nothing] : lines);
  return isBad ? EXIT.needsPerson : EXIT.done;
}

function isOfPerson(code: string): boolean {
  return code === 'contract.breaks' || code === 'contract.fails';
}

/** ok, unchecked, or the last part of the code of its worst problem. */
function stateOf({ complaints }: JudgedContract, isUnchecked: boolean): string {
  const [worst] = complaints.toSorted((one, other) => Number(isOfPerson(other.code)) - Number(isOfPerson(one.code)));
  return worst?.code.replace('contract.', '') ?? (isUnchecked ? 'unchecked' : 'ok');
}

function contractLines({ name, complaints, corrected }: JudgedContract, isUnchecked: boolean): readonly string[] {
  if (complaints.length === 0)
    return [isUnchecked ? `-   ${name}: not checked yet, the next pull does` : `ok  ${name}`];
  const lines = complaints.map(({ message }) => `!   ${message}`);
  if (corrected === null) return lines;
  // It mends what is found in the text, not what a check returned.
  const foundCount =
    complaints.findLastIndex(({ code }) => code === 'contract.breaks' || code === 'contract.oldName') + 1;
  const indented = corrected
    .trimEnd()
    .split('\n')
    .map((line) => `      ${line}`);
  return lines.toSpliced(foundCount, 0, '    With the names of today:', ...indented);
}

function oldNameText({ table, name, now, until }: OldName): string {
  return `${table === null ? name : `${table}.${name}`} is kept as the old name of ${now} until ${until}`;
}
