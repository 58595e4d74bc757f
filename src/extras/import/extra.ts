/**
 * Files of rows read into a two-way table, as edits.
 */
import type { Extra } from '../../extra.ts';

export const IMPORT: Extra = {
  name: 'import',
  commands: [{ group: 'Edit', names: ['import'], load: async () => (await import('./command.ts')).addImportCommand }],
};
