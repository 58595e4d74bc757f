/**
 * Notices: tells a person by a command or a webhook what the daemon finds wrong.
 */
import type { LinkedExtra } from '../shared/linked-extra.ts';

export const NOTICES: LinkedExtra = {
  name: 'notices',
  loadOptions: async () => (await import('./settings.ts')).NOTIFY_OPTIONS,
  secrets: ({ extras: { notify } }) => (notify?.webhook === undefined ? [] : [notify.webhook]),
  check: async ({ extras: { notify } }) =>
    notify === undefined ? [] : (await import('./notify-command.ts')).checkNotices(notify),
  join: async (view) => {
    const { NoticeSender } = await import('./channels.ts');
    return new NoticeSender({
      clock: view.clock,
      log: () => view.resources().log,
      settings: () => view.resources().config.extras.notify,
    });
  },
};
