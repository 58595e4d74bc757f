/**
 * What people do with attached files: list them, fetch what is missing, remove what nothing refers to.
 */
import type { Extra } from '../../extra.ts';

export const FILES: Extra = {
  name: 'files',
  commands: [{ group: 'Look', names: ['files'], load: async () => (await import('./command.ts')).addFilesCommands }],
};
