/**
 * The option `backup`, and `schedule.backup` and `schedule.drill`.
 */
import { resolve } from 'node:path';
import * as z from 'zod';
import { section, text, integerOption } from '../../config/option-kinds.ts';
import type { OptionSection } from '../../config/options.ts';

declare module '../../config/options.ts' {
  interface ExtraSettings {
    /** Where backups go; null for none. */
    readonly backup?: { readonly folder: string | null; readonly keep: number };
  }
}

const backup = section(
  {
    folder: text({
      mustBe: 'must be the path of a folder',
      doc: 'Where the daemon puts its backups; the folder must exist. Best on another disk.',
    }).optional(),
    keep: integerOption({
      from: 1,
      to: 1000,
      default: 7,
      unit: 'backups',
      doc: 'How many backups of the daemon are kept in the folder; older ones are deleted. Files of other names, and backups of other replicas, never are.',
    }),
  },
  'Backups on schedule.',
);

export const BACKUP_OPTIONS: OptionSection = {
  key: 'backup',
  schema: backup.prefault({}),
  jobs: {
    backup: { doc: 'When the daemon makes a backup in backup.folder.' },
    drill: {
      doc: 'When the daemon proves that its newest backup can be used; where backup is scheduled, by default each Sunday at 04:30.',
      usual: { text: '30 4 * * 0', beside: 'backup' },
    },
  },
  read: (options, context) => {
    const { folder, keep } = z.parse(backup.prefault({}), options);
    const settings = { folder: folder === undefined ? null : resolve(context.folder, folder), keep };
    const isMissing = folder === undefined && context.schedule['backup'] !== false;
    const complaint = 'must be set where schedule.backup is';
    return { settings, problems: isMissing ? [{ path: ['backup', 'folder'], complaint, showValue: false }] : [] };
  },
};
