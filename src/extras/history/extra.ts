/**
 * What happened to rows: the history, the log, differences, undo, the feed of changes, and queries about the past.
 */
import type { Extra } from '../../extra.ts';

export const HISTORY: Extra = {
  name: 'history',
  commands: [
    { names: ['history'], load: async () => (await import('./command.ts')).addHistoryCommand },
    { names: ['log'], load: async () => (await import('./log-command.ts')).addLogCommand },
    { names: ['diff'], load: async () => (await import('./diff-command.ts')).addDiffCommand },
    { names: ['undo'], load: async () => (await import('./undo-command.ts')).addUndoCommand },
    { names: ['changes'], load: async () => (await import('./changes-command.ts')).addChangesCommand },
    { names: ['sql'], load: async () => (await import('./sql-at.ts')).addAtOption },
  ],
  queryAt: async (...question) => (await import('./sql-at.ts')).queryAt(...question),
};
