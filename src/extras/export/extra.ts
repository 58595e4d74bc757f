/**
 * Tables as CSV and Parquet files.
 */
import type { Extra } from '../../extra.ts';

export const EXPORT: Extra = {
  name: 'export',
  commands: [{ group: 'Look', names: ['export'], load: async () => (await import('./command.ts')).addExportCommand }],
};
