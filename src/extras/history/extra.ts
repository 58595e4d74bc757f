/**
 * What happened to rows: the history, the log, differences, undo, the feed of changes, and queries about the past.
 */
import type { Extra } from '../../extra.ts';

export const HISTORY: Extra = {
  name: 'history',
  commands: [
    { group: 'Look back', names: ['history'], load: async () => (await import('./command.ts')).addHistoryCommand },
    { group: 'Look back', names: ['log'], load: async () => (await import('./log-command.ts')).addLogCommand },
    { group: 'Look back', names: ['diff'], load: async () => (await import('./diff-command.ts')).addDiffCommand },
    { group: 'Look back', names: ['undo'], load: async () => (await import('./undo-command.ts')).addUndoCommand },
    {
      group: 'Connect',
      names: ['changes'],
      load: async () => (await import('./log-command.ts')).addChangesCommand,
    },
    { names: ['sql'], load: async () => (await import('./sql-at.ts')).addAtOption },
  ],
  queryAt: async (...question) => (await import('./sql-at.ts')).queryAt(...question),
};
