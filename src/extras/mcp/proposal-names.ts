/**
 * Lists proposals with their states by the names of their files, without reading the files.
 */
import { namesIn } from '../shared/file-names.ts';

export type ProposalState = 'waiting' | 'interrupted' | 'applied';

export const ENDINGS = { waiting: '.json', interrupted: '.applying.json', applied: '.applied.json' } as const;

const FILE = /^([a-z0-9][a-z0-9-]{0,59})(\.applying|\.applied)?\.json$/;

export function proposalsFolder(replicaPath: string): string {
  return `${replicaPath}.proposals`;
}

export function proposalNames(folder: string): readonly { readonly name: string; readonly state: ProposalState }[] {
  return namesIn(folder)
    .flatMap((file) => {
      const [, name, ending] = FILE.exec(file) ?? [];
      if (name === undefined) return [];
      const state = ending === undefined ? 'waiting' : ending === '.applied' ? 'applied' : 'interrupted';
      return [{ name, state } as const];
    })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

export function countWaitingProposals(folder: string): number {
  return proposalNames(folder).filter(({ state }) => state !== 'applied').length;
}
