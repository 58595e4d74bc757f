/**
 * The options of the origin: its address, how to log in, and the proxy.
 */
import * as z from 'zod';
import { choice, section, text } from './option-kinds.ts';
import { SECRET_REFERENCE } from './secrets.ts';

/** Scheme and host: no login in it, which would be shown and logged with it. */
const HOST_URL = /^https?:\/\/(?:[\p{L}\p{N}._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?\/?$/u;

function hostUrl(mustBe: string, doc: string) {
  return text({ pattern: HOST_URL, mustBe, doc }).refine((url) => URL.canParse(url), { error: mustBe });
}

const MUST_BE_DATABASE = { error: 'must be the number of the database, such as "21995"' };

/** A user, with a password in a file or an environment variable. */
function login(words: Readonly<Record<'userIs' | 'userDoc' | 'password' | 'variable', string>>) {
  const { userIs, userDoc, password, variable } = words;
  return {
    user: text({ pattern: /^[^\p{Cc}:]+$/u, mustBe: userIs, doc: userDoc }).optional(),
    passwordFile: text({
      mustBe: 'must be the path of a file that holds the password',
      doc: `A file that holds ${password}.`,
    }).optional(),
    password: text({
      pattern: SECRET_REFERENCE,
      mustBe: `must name an environment variable, as ${variable}; a password itself belongs in a file (passwordFile)`,
      doc: `T${password.slice(1)} in an environment variable, written as \${NAME}.`,
    }).optional(),
  };
}

const PROXY_MUST_BE =
  'must be the address of a proxy without a login, such as http://proxy.example:3128, or environment, or a mapping of url, user and passwordFile';

const proxy = section(
  {
    url: hostUrl(
      'must be the address of a proxy without a login, such as http://proxy.example:3128',
      'Scheme, host and port; the scheme is that of the connection to the proxy itself.',
    ),
    ...login({
      userIs: 'must be a user name without a colon',
      userDoc: 'The user name that the proxy wants; needs passwordFile or password.',
      password: 'the password for the proxy',
      variable: '${PROXY_PASSWORD}',
    }),
  },
  'A proxy that wants a login (Basic).',
);

export const origin = section(
  {
    url: hostUrl(
      'must be the scheme and host of the origin, such as https://www.teamdesk.net',
      'Where the database is hosted: scheme and host, with a port if it is not the usual one.',
    ),
    database: z
      .union(
        [
          z.string().regex(/^\d{1,20}(?:-\d{1,20})?$/, MUST_BE_DATABASE),
          z.int(MUST_BE_DATABASE).min(1, MUST_BE_DATABASE),
        ],
        MUST_BE_DATABASE,
      )
      .transform(String)
      .meta({ description: 'The number of the database, which follows /db/ in the address of its pages.' }),
    tokenFile: text({
      mustBe: 'must be the path of a file that holds the token',
      doc: 'A file that holds an API token (recommended). Only the user who runs rowsync should be able to read it.',
    }).optional(),
    token: text({
      pattern: SECRET_REFERENCE,
      mustBe: 'must name an environment variable, as ${ROWSYNC_TOKEN}; a token itself belongs in a file (tokenFile)',
      doc: 'An API token in an environment variable, written as ${NAME}.',
    }).optional(),
    tokenIn: choice(
      ['header', 'path'],
      'Where the token is sent. path is for an origin behind something that removes the header: proxies and servers on the way may ' +
        'log it with the address.',
    ).default('header'),
    ...login({
      userIs: 'must be a user name (an e-mail address) without a colon',
      userDoc: 'The user name to log in with where no token is used; needs passwordFile or password.',
      password: 'the password of the user',
      variable: '${ROWSYNC_PASSWORD}',
    }),
    proxy: z
      .union([hostUrl(PROXY_MUST_BE, 'The address of the proxy.'), z.literal('environment'), proxy], {
        error: PROXY_MUST_BE,
      })
      .optional()
      .meta({
        description:
          'A proxy for every request to the origin, by CONNECT: its address, or a mapping with a login. environment uses HTTPS_PROXY or ' +
          'HTTP_PROXY, except for hosts in NO_PROXY. Otherwise these variables are ignored.',
      }),
    caFile: text({
      mustBe: 'must be the path of a file of certificates in PEM',
      doc: 'A file with certificates, in PEM, of further trusted authorities: your own, or that of a proxy that inspects traffic.',
    }).optional(),
    format: choice(
      ['json', 'xml'],
      'What the origin is asked to answer in. XML says the same with more bytes, and numbers with six decimals only.',
    ).default('json'),
  },
  'The hosted database, and how to log in: tokenFile, or token, or user with passwordFile or password.',
);
