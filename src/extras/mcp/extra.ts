/**
 * Agents: a server that answers their questions, and proposals of edits, which wait for a person.
 */
import { plural } from '../../base/text.ts';
import type { LinkedExtra } from '../shared/linked-extra.ts';
import { countWaitingProposals, proposalsFolder } from './proposal-names.ts';
import { TOOL_PROCESS } from './request.ts';

export const MCP: LinkedExtra = {
  name: 'mcp',
  commands: [
    { group: 'Connect', names: ['mcp'], load: async () => (await import('./command.ts')).addMcpCommand },
    {
      group: 'Connect',
      names: ['proposals'],
      load: async () => (await import('./proposals-command.ts')).addProposalCommands,
    },
  ],
  processes: { [TOOL_PROCESS]: async () => (await import('./tool-process.ts')).serveTools },
  status: async ({ replica }) => {
    const proposalCount = countWaitingProposals(proposalsFolder(replica.path));
    const text = `agents    ${plural(proposalCount, 'proposal')} to decide: rowsync proposals`;
    return { lines: proposalCount === 0 ? [] : [text], json: { proposalCount } };
  },
  forget: async ({ replica }, row) => {
    const { forgetInProposals } = await import('./proposal-files.ts');
    const proposals = forgetInProposals(proposalsFolder(replica.path), row);
    const { changed, others } = proposals;
    return {
      removed: changed.length === 0 ? [] : [plural(changed.length, 'applied proposal')],
      left: others.map((name) => `may have it: the proposal ${name} (rowsync proposals show ${name}, or drop)`),
      json: { proposals },
    };
  },
};
