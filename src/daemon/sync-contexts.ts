/**
 * What pulls, pushes and files of one configuration work with, in a daemon and in a command.
 */
import type { Config } from '../config/load.ts';
import { filesSettings, pullSettings, pushSettings } from '../config/settings.ts';
import type { FilesContext } from '../files/context.ts';
import { removeUnnamed } from '../files/open-store.ts';
import { uploadKeeper } from '../files/uploaded-files.ts';
import type { PullContext } from '../pull/context.ts';
import type { PushContext } from '../push/context.ts';

/** They share origin and replica, and never run at the same time. */
export interface SyncContexts {
  readonly pull: PullContext;
  readonly push: PushContext;
  readonly files: FilesContext;
}

/** `config` finds tables by the names to which their options are bound. */
export function syncContexts(
  config: Config,
  shared: Pick<PullContext, 'origin' | 'replica' | 'clock' | 'log' | 'signal'>,
): SyncContexts {
  const files = { ...shared, settings: filesSettings(config) };
  return {
    pull: {
      ...shared,
      settings: pullSettings(config),
      removeContents: (hashes) => removeUnnamed(shared.replica, config.replica.files, hashes),
    },
    push: { ...shared, settings: pushSettings(config), files: { keep: uploadKeeper(files) } },
    files,
  };
}
