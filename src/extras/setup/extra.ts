/**
 * Getting started: the first configuration, and a sandbox to try things in.
 */
import type { Extra } from '../../extra.ts';

export const SETUP: Extra = {
  name: 'setup',
  commands: [
    { group: 'Begin', names: ['init'], load: async () => (await import('./init-command.ts')).addInitCommand },
    {
      group: 'Develop',
      names: ['sandbox'],
      load: async () => (await import('./sandbox-command.ts')).addSandboxCommand,
    },
  ],
};
