/**
 * The option `notify`: the command and the webhook that tell a person, and how often the same is repeated.
 */
import type * as z from 'zod';
import { integerOption, section, text, textList } from '../../config/option-kinds.ts';
import type { OptionSection } from '../../config/options.ts';

declare module '../../config/options.ts' {
  interface ExtraSettings {
    readonly notify?: NotifySettings;
  }
}

/** The command and the address that tell a person; undefined for none. */
export type NotifySettings = z.output<typeof notifyOptions>;

const COMMAND_MUST_BE = 'must be a list of texts: a program and its arguments';

const WEBHOOK_MUST_BE = 'must be the http or https address that notices are posted to';

const notifyOptions = section(
  {
    command: textList(COMMAND_MUST_BE)
      .max(50, { error: COMMAND_MUST_BE })
      .optional()
      .meta({
        description:
          'A program and its arguments, run by the daemon when something needs a person, keeps failing, or works again. It ' +
          'gets a JSON object with kind, subject, code, message and hint on its standard input. No shell is involved.',
      }),
    webhook: text({
      pattern: /^https?:\/\/[^\s\p{Cc}]+$/u,
      mustBe: WEBHOOK_MUST_BE,
      doc:
        'An address that the daemon posts the same JSON object to, with a text beside it that chat services show. Write ${NAME}, ' +
        'an environment variable, where the address itself is a secret.',
    })
      .refine((address) => URL.canParse(address), { error: WEBHOOK_MUST_BE })
      .optional(),
    repeatMinutes: integerOption({
      from: 1,
      to: 10_080,
      default: 360,
      unit: 'minutes',
      doc: 'How soon the same message may be sent again. At most 12 messages are sent in an hour.',
    }),
  },
  'Whom the daemon notifies.',
).prefault({});

export const NOTIFY_OPTIONS: OptionSection = {
  key: 'notify',
  schema: notifyOptions,
  read: (options) => ({ settings: options }),
};
