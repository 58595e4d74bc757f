/**
 * Copies of the replica: backups by command and on schedule, restore, and rebuilding a damaged one.
 */
import { gauge, type Metric } from '../shared/linked-extra.ts';
import type { LinkedExtra } from '../shared/linked-extra.ts';

declare module '../../reconcile/account/facts.ts' {
  interface ExtraProblems {
    readonly 'backup.lacksFiles': true;
  }
}

export const BACKUP: LinkedExtra = {
  name: 'backup',
  problems: [
    {
      code: 'backup.lacksFiles',
      severity: 'notice',
      why: 'The last scheduled backup was made before all attached files were fetched. Files that were lost, or asked for in vain, make the backup fail (`work.failed`).',
      before: 'log.failed',
    },
  ],
  commands: [
    {
      group: 'Operate',
      names: ['rebuild'],
      load: async () => (await import('./rebuild-command.ts')).addRebuildCommand,
    },
    {
      group: 'Operate',
      names: ['backup', 'restore'],
      load: async () => (await import('./command.ts')).addBackupCommands,
    },
  ],
  loadOptions: async () => (await import('./options.ts')).BACKUP_OPTIONS,
  localJobs: {
    backup: async (context) => (await import('./backup.ts')).backUpOnSchedule(context),
    drill: async (context) => (await import('./drill.ts')).drillOnSchedule(context),
  },
  check: async (config) => (await import('./backup.ts')).checkBackupFolder(config),
  status: async (config) => {
    const { drillText, lastDrill } = await import('./drill-result.ts');
    const drill = lastDrill(config);
    return { lines: drill === null ? [] : [`drill     ${drillText(drill)}`], json: { lastDrill: drill } };
  },
  join: async (view) => {
    const [{ lastBackupMs, watchBackups }, { drillComplaints, drillMetrics }, { lastDrill }] = await Promise.all([
      import('./backup.ts'),
      import('./drill.ts'),
      import('./drill-result.ts'),
    ]);
    const { takeEvent, complaints } = watchBackups();
    return {
      takeEvent,
      word: () => ({ complaints: [...drillComplaints(view.resources().config), ...complaints()] }),
      metrics: ({ nowMs }) => {
        const { config } = view.resources();
        const lastMs = lastBackupMs(config, nowMs);
        const drill = lastDrill(config);
        // Without a sample it would say 0, which rings an alarm.
        return [...(lastMs === null ? [] : [backupMetric(lastMs)]), ...(drill === null ? [] : drillMetrics(drill))];
      },
    };
  },
  forget: async (config, row, nowMs) => (await import('./row-copies.ts')).copiesOf(config, row, nowMs),
};

/** When the last backup was begun. */
export function backupMetric(lastMs: number): Metric {
  const help = 'When the last backup in backup.folder was begun; 0 for never.';
  return gauge('last_backup_timestamp_seconds', help, lastMs / 1000);
}
