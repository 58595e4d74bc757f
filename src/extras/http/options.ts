/**
 * The options `http`: where the daemon listens, the doorbell, and links to the origin.
 */
import * as z from 'zod';
import { mapping, section, text } from '../../config/option-kinds.ts';
import type { OptionSection } from '../../config/options.ts';
import type { ListenAddress } from '../shared/linked-extra.ts';
import type { HttpSettings } from '../shared/http-settings.ts';

const LISTEN_MUST_BE =
  'must be a loopback address with a port, such as 127.0.0.1:8787, the absolute path of a unix socket, or false';

const DOORBELL_MUST_BE =
  'must be true for http.listen, false, or { listen: ADDRESS } with an address and a port, such as 10.0.0.5:8788, or the absolute path of a unix socket';

const isPort = (address: string): boolean => address.startsWith('/') || Number(/\d+$/.exec(address)?.[0]) <= 65_535;

const RECORD_URL_MUST_BE =
  'must be an address with {id} in it, such as https://www.teamdesk.net/secure/db/21995/preview.aspx?t={tableId}&id={id}';

const httpOptions = section(
  {
    listen: z
      .union(
        [
          z
            .string()
            .regex(/^(?:(?:localhost|127(?:\.\d{1,3}){3}|\[::1\]):\d{1,5}|\/[^\p{Cc}]+)$/u, { error: LISTEN_MUST_BE }),
          z.literal(false),
        ],
        { error: LISTEN_MUST_BE },
      )
      .refine((address) => address === false || isPort(address), { error: LISTEN_MUST_BE })
      .default(false)
      .meta({
        description:
          'Where the daemon serves its page (/) and answers /livez, /readyz, /status and /metrics: a loopback address with a port, or the path of a ' +
          'unix socket. The socket is safer: its mode says who may connect. With false, it listens nowhere.',
      }),
    doorbell: z
      .union(
        [
          z.boolean(),
          mapping(DOORBELL_MUST_BE, {
            listen: text({
              pattern: /^(?:[\w.-]+:\d{1,5}|\[[0-9a-f:.]+\]:\d{1,5}|\/[^\p{Cc}]+)$/u,
              mustBe: DOORBELL_MUST_BE,
              doc: 'An address with a port, or the path of a unix socket.',
            }).refine(isPort, { error: DOORBELL_MUST_BE }),
          }),
        ],
        { error: DOORBELL_MUST_BE },
      )
      .default(false)
      .meta({
        description:
          'Where the origin may say that a table changed, which the daemon then follows at once (`rowsync doorbell` prints what to enter there). With true, ' +
          'it is on http.listen; { listen: ADDRESS } is an address of its own, which answers nothing else, and need not be a loopback address.',
      }),
    recordUrl: text({
      pattern: /^https?:\/\/[^\s\p{Cc}]*\{id\}[^\s\p{Cc}]*$/u,
      mustBe: RECORD_URL_MUST_BE,
      doc:
        'The address under which people open a record of the hosted database in their browser. The page of a row then links to it. {id} becomes the ' +
        'number of the record, {tableId} and {table} the number and the name of its table.',
    })
      .refine((address) => URL.canParse(address.replaceAll(/[{}]/g, '')), { error: RECORD_URL_MUST_BE })
      .optional(),
  },
  'The HTTP server of `rowsync daemon`.',
)
  .refine(({ listen, doorbell }) => doorbell !== true || listen !== false, {
    path: ['doorbell'],
    error: 'true needs http.listen; { listen: ADDRESS } gives the doorbell an address of its own',
  })
  .prefault({});

export const HTTP_OPTIONS: OptionSection = {
  key: 'http',
  schema: httpOptions,
  read: (options) => {
    const settings = httpSettings(z.parse(httpOptions, options));
    return { settings, isRung: settings.doorbell !== null };
  },
};

function httpSettings({ listen, doorbell, recordUrl }: z.output<typeof httpOptions>): HttpSettings {
  const own = typeof doorbell === 'object' ? doorbell.listen : doorbell && listen;
  return { listen: listenAddress(listen), doorbell: listenAddress(own), recordUrl: recordUrl ?? null };
}

function listenAddress(listen: string | false): ListenAddress | null {
  if (listen === false) return null;
  if (listen.startsWith('/')) return { kind: 'socket', path: listen };
  const colon = listen.lastIndexOf(':');
  return { kind: 'tcp', host: listen.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(listen.slice(colon + 1)) };
}
