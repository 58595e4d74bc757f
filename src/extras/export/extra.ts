/**
 * Tables as CSV and Parquet files, and attached files under their names.
 */
import type { Extra } from '../../extra.ts';

export const EXPORT: Extra = {
  name: 'export',
  commands: [
    { group: 'Look', names: ['export'], load: async () => (await import('./command.ts')).addExportCommand },
    { names: ['files'], load: async () => (await import('./files-command.ts')).addFilesExportCommand },
  ],
};
