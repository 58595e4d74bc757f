/**
 * How the client authenticates (specification, section 5): by which header or path, and which texts must never be
 * shown. The path with a token is for the wire alone; logs, messages and stored data have none (I16). Pure.
 */
import { RowsyncError } from '../base/errors.ts';
import { basicHeader } from '../wire/headers.ts';

/**
 * The caller's credentials. A token goes into a header; `urlToken` puts it into the path, which proxies see: only if
 * something removes the header. `session` sends the cookies of someone who is logged in.
 */
export type Credentials =
  | { readonly kind: 'bearer'; readonly token: string }
  | { readonly kind: 'urlToken'; readonly token: string }
  | { readonly kind: 'basic'; readonly user: string; readonly password: string }
  /** `cookie` is the value of a Cookie header: `name=value; name=value`. */
  | { readonly kind: 'session'; readonly cookie: string };

/** What credentials add to every request, and which texts must never be shown. */
export interface Authorization {
  /** Names and values in turn. */
  readonly headers: readonly string[];
  /** Appended to the database in the path: nothing, or a slash and a segment. */
  readonly pathSuffix: string;
  /** For the log's scrubber, too. */
  readonly secrets: readonly string[];
}

/** Shorter cookie values are not secrets (`lang=en`), and scrubbing them would damage ordinary text. */
const COOKIE_SECRET_CHARS_MIN = 8;

/** Checks credentials and says how they are sent. @throws RowsyncError `config.secret`, which never repeats them. */
export function authorizationOf(credentials: Credentials): Authorization {
  switch (credentials.kind) {
    case 'bearer': {
      const { token } = credentials;
      checkToken(token, /^[\x21-\x7E]+$/, 'a space, a line break or a character outside ASCII');
      return { headers: ['authorization', `Bearer ${token}`], pathSuffix: '', secrets: [token] };
    }
    case 'urlToken': {
      const { token } = credentials;
      // A plain segment only: `-` means a session here, and dots or escapes would change the path.
      checkToken(token, /^\w[\w-]*$/, 'other characters than letters, digits, _ and -');
      return { headers: [], pathSuffix: `/${token}`, secrets: [token] };
    }
    case 'basic': {
      const { user, password } = credentials;
      // RFC 7617: the first colon ends the name.
      if (user.includes(':')) throw unusable('origin.user contains a colon', 'Write the user name without one.');
      return { headers: ['authorization', basicHeader(user, password)], pathSuffix: '', secrets: [password] };
    }
    case 'session': {
      const { cookie } = credentials;
      if (!/^[\x21-\x7E]+=[\x20-\x7E]*$/.test(cookie)) {
        throw unusable('The cookie is not the value of a Cookie header', 'It looks like name=value; name=value.');
      }
      const values = cookie.split(';').map((pair) => pair.slice(pair.indexOf('=') + 1).trim());
      const secrets = [cookie, ...values.filter((value) => value.length >= COOKIE_SECRET_CHARS_MIN)];
      return { headers: ['cookie', cookie], pathSuffix: '/-', secrets };
    }
    default:
      return credentials satisfies never;
  }
}

function checkToken(token: string, pattern: RegExp, others: string): void {
  if (pattern.test(token)) return;
  throw unusable(
    `The token is empty or contains ${others}`,
    'Copy it again; the token file holds the token and nothing else.',
  );
}

function unusable(message: string, hint: string): RowsyncError {
  return new RowsyncError('config', 'config.secret', { message, hint });
}
