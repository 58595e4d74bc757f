/**
 * `rowsync contract`: how an origin answers what no documentation says.
 */
import type { Extra } from '../../extra.ts';

export const QUESTIONS: Extra = {
  name: 'questions',
  commands: [
    { group: 'Develop', names: ['contract'], load: async () => (await import('./command.ts')).addContractCommand },
  ],
};
