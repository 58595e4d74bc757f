/**
 * Proposals in a folder beside the replica, one file each, so that an agent's server never writes to the replica.
 *
 * NAME.json waits for a person. Applying begins by renaming it to NAME.applying.json. So two people never apply the
 * same proposal, and one whose process died is not applied again (`interrupted`). NAME.applied.json is kept as a
 * record. A name is taken while any of these files exists.
 */
import { chmodSync, linkSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { usageError } from '../../base/errors.ts';
import { makeFolders, readShortText } from '../../base/file-system.ts';
import { guessText } from '../../reconcile/option-bindings.ts';
import { withReplicaErrors } from '../../replica/sqlite-errors.ts';
import { ENDINGS, proposalNames, type ProposalState } from './proposal-names.ts';
import { storedProposal, type Proposal } from './proposal.ts';

/** A proposal that is there; null where its file is not one. */
export interface FoundProposal {
  readonly name: string;
  readonly state: ProposalState;
  readonly proposal: Proposal | null;
}

/** Proposals in a folder, applied ones included: people do not review more. */
const PROPOSALS_MAX = 200;
const FILE_BYTES_MAX = 8 * 1024 * 1024;

export function listProposals(folder: string): readonly FoundProposal[] {
  return proposalNames(folder).map(({ name, state }) => {
    return { name, state, proposal: readProposal(join(folder, `${name}${ENDINGS[state]}`), name) };
  });
}

/** A proposal by its name. @throws RowsyncError `usage.invalid` where there is none. */
export function findProposal(folder: string, name: string): FoundProposal {
  const all = listProposals(folder);
  const found = all.find((each) => each.name === name);
  if (found !== undefined) return found;
  const guess = guessText(
    name,
    all.map((each) => each.name),
  );
  throw usageError(`There is no proposal ${name}${guess}`, 'rowsync proposals lists them.');
}

/** Keeps a proposal. @throws RowsyncError `usage.invalid` for a taken name or too many; of the file system. */
export function keepProposal(folder: string, proposal: Proposal, { isShared }: { readonly isShared: boolean }): void {
  const found = listProposals(folder);
  if (found.some(({ name }) => name === proposal.name)) {
    throw usageError(`There is a proposal ${proposal.name} already`, 'Choose another name.');
  }
  if (found.length >= PROPOSALS_MAX) {
    throw usageError(
      `There are ${found.length} proposals already`,
      'A person has to drop some: rowsync proposals drop NAME.',
    );
  }
  const path = join(folder, `${proposal.name}${ENDINGS.waiting}`);
  withReplicaErrors(`Keeping the proposal ${proposal.name} in ${folder}`, () => {
    if (makeFolders(folder) !== undefined) chmodSync(folder, isShared ? 0o2770 : 0o700);
    // Whole, and never in the place of another one. The group of a shared replica may decide too.
    writeProposal(path, proposal, { mode: isShared ? 0o660 : 0o600, place: linkSync });
  });
}

/** Writes a file that gets its name once it is whole; its mode is independent of the umask of the process. */
function writeProposal(
  path: string,
  proposal: Proposal,
  { mode, place }: { readonly mode: number; readonly place: (from: string, to: string) => void },
): void {
  const partial = `${path}.${process.pid}.partial`;
  try {
    writeFileSync(partial, `${JSON.stringify(proposal, null, 2)}\n`, { flag: 'wx', mode: 0o600 });
    chmodSync(partial, mode);
    place(partial, path);
  } finally {
    rmSync(partial, { force: true });
  }
}

/** Claims a proposal, gives it back, or marks it as applied. @throws RowsyncError if another process was faster. */
export function moveProposal(folder: string, name: string, [from, to]: readonly [ProposalState, ProposalState]): void {
  withReplicaErrors(`Taking the proposal ${name}`, () =>
    renameSync(join(folder, `${name}${ENDINGS[from]}`), join(folder, `${name}${ENDINGS[to]}`)),
  );
}

export function dropProposal(folder: string, { name, state }: FoundProposal): void {
  withReplicaErrors(`Dropping the proposal ${name}`, () => rmSync(join(folder, `${name}${ENDINGS[state]}`)));
}

/** What proposals had of a row, or of a column of it. */
export interface ForgottenProposals {
  /** Applied ones that lost values. */
  readonly changed: readonly string[];
  /** For a person to look at: they wait with values of the row, inserted rows of its table, or are unreadable. */
  readonly others: readonly string[];
}

/** Removes the values of a row from applied proposals, which are only a record; also notes, which may repeat them. */
export function forgetInProposals(
  folder: string,
  row: { readonly table: string; readonly ids: readonly number[]; readonly column: string | null },
): ForgottenProposals {
  const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();
  const isMeant = (column: string): boolean => row.column === null || isSame(column, row.column);
  const changed: string[] = [];
  const others: string[] = [];
  for (const { name, state, proposal } of listProposals(folder)) {
    if (proposal === null) {
      others.push(name);
      continue;
    }
    const having = proposal.edits.filter(
      (edit) => isSame(edit.table, row.table) && edit.cells.some(({ column }) => isMeant(column)),
    );
    const ofRow = having.filter(({ rowId }) => rowId !== null && row.ids.includes(rowId));
    const isApplied = state === 'applied';
    if (isApplied && ofRow.length > 0) {
      const edits = proposal.edits.map((edit) =>
        ofRow.includes(edit) ? { ...edit, cells: edit.cells.filter(({ column }) => !isMeant(column)) } : edit,
      );
      const path = join(folder, `${name}${ENDINGS[state]}`);
      withReplicaErrors(`Removing values from the proposal ${path}`, () => {
        const mode = statSync(path).mode & 0o660;
        writeProposal(path, { ...proposal, note: '', edits }, { mode, place: renameSync });
      });
      changed.push(name);
    }
    if ((!isApplied && ofRow.length > 0) || having.some(({ kind }) => kind === 'insert')) others.push(name);
  }
  return { changed, others };
}

/** Null for a file that keepProposal did not write: other users may write to the folder of a shared replica. */
function readProposal(path: string, name: string): Proposal | null {
  try {
    const { data } = storedProposal.safeParse(JSON.parse(readShortText(path, FILE_BYTES_MAX)));
    return data?.name === name ? data : null;
  } catch {
    return null;
  }
}
