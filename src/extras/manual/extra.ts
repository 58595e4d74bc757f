/**
 * The manual page, and completion in shells.
 */
import type { Extra } from '../../extra.ts';

export const MANUAL: Extra = {
  name: 'manual',
  commands: [
    {
      group: 'Develop',
      names: ['completion'],
      load: async () => (await import('./completion-command.ts')).addCompletionCommand,
      seesAll: true,
    },
    {
      group: 'Develop',
      names: ['man'],
      load: async () => (await import('./man-command.ts')).addManCommand,
      seesAll: true,
    },
  ],
};
