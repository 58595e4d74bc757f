/**
 * Notices: tells a person by a command or a webhook what the daemon finds wrong.
 */
import type { LinkedExtra } from '../shared/linked-extra.ts';

declare module '../../reconcile/account/facts.ts' {
  interface ExtraProblems {
    readonly 'notices.failed': true;
  }
}

export const NOTICES: LinkedExtra = {
  name: 'notices',
  problems: [
    {
      code: 'notices.failed',
      severity: 'person',
      untold: 'The notice would have to use the channel that fails.',
      why: 'Notices do not get through: the command or the webhook under `notify` fails. The daemon keeps trying.',
      before: 'log.failed',
    },
  ],
  loadOptions: async () => (await import('./options.ts')).NOTIFY_OPTIONS,
  secrets: ({ extras: { notify } }) => (notify?.webhook === undefined ? [] : [notify.webhook]),
  check: async ({ extras: { notify } }) =>
    notify === undefined ? [] : (await import('./channels.ts')).checkNotices(notify),
  join: async (view) => {
    const { NoticeSender } = await import('./channels.ts');
    return new NoticeSender({
      clock: view.clock,
      log: () => view.resources().log,
      settings: () => view.resources().config.extras.notify,
    });
  },
};
