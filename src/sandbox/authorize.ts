/**
 * Who calls: from the path's and the header's credentials to a user (specification, section 5). None at all is 401, so
 * that a browser may ask; wrong ones are 403 with a descriptor (origin facts 4.1). Input: the request and the store.
 */
import type { User } from './store/catalog.ts';
import { CODES, forbidden, unauthorized, type Refusal } from './refusal.ts';
import type { ApiPath } from './route.ts';
import type { Store } from './store/store.ts';

/** The calling user, or the refusal to answer with. */
export function authorize(path: ApiPath, header: string | undefined, store: Store): User | Refusal {
  if (path.credentials.kind === 'token') return userOfToken(path.credentials.token, path.database, store);
  if (header === undefined || header.trim() === '') return withoutHeader(path);
  const [, scheme = '', value = ''] = /^\s*(\S+)\s*(.*?)\s*$/.exec(header) ?? [];
  switch (scheme.toLowerCase()) {
    case 'bearer':
      return userOfToken(value, path.database, store);
    case 'basic':
      return userOfPassword(value, path.database, store);
    default:
      return forbidden(CODES.badCredentials, 'The authorization scheme is not supported');
  }
}

/** A session cookie only works inside of the platform's own pages, so a bare minus brings no credentials. */
function withoutHeader(path: ApiPath): Refusal {
  // Some clients put `user:password` where a token may stand; that is undocumented and refused.
  const hasPassword = path.segments.length > 1 && path.segments[0]?.includes(':') === true;
  return hasPassword ? forbidden(CODES.badCredentials, 'Credentials in the path are not supported') : unauthorized;
}

function userOfToken(token: string, database: string, store: Store): User | Refusal {
  const user = store.userOfToken(token);
  if (user === undefined) return forbidden(CODES.badToken, 'The API token is not valid');
  return store.catalog.database.id === database ? user : otherDatabase();
}

function userOfPassword(encoded: string, database: string, store: Store): User | Refusal {
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const at = text.indexOf(':');
  const email = text.slice(0, Math.max(at, 0)).toLowerCase();
  const password = text.slice(at + 1);
  const user = store.catalog.users.find(
    (candidate) => candidate.email.toLowerCase() === email && candidate.password === password,
  );
  if (at < 0 || user === undefined) return forbidden(CODES.badCredentials, 'The user name or password is not valid');
  return store.catalog.database.id === database ? user : otherDatabase();
}

function otherDatabase(): Refusal {
  return forbidden(CODES.otherDatabase, 'The credentials are not valid for this database');
}
