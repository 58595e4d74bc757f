/**
 * Getting started: a demo and a sandbox to try things in, and the first configuration.
 */
import type { Extra } from '../../extra.ts';

export const SETUP: Extra = {
  name: 'setup',
  commands: [
    { group: 'Begin', names: ['demo'], load: async () => (await import('./demo-command.ts')).addDemoCommand },
    { group: 'Begin', names: ['init'], load: async () => (await import('./init-command.ts')).addInitCommand },
    {
      group: 'Develop',
      names: ['sandbox'],
      load: async () => (await import('./sandbox-command.ts')).addSandboxCommand,
    },
  ],
};
