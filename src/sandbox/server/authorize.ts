/**
 * Who calls: from the path's and the headers' credentials to a user (specification, section 5). None at all is 401, so
 * that a browser may ask; wrong ones are 403 with a descriptor (origin facts 4.1). A session cookie counts behind a
 * minus sign alone; a header is stronger than a cookie, and a token in the path than both. No credential is ever
 * repeated in a refusal.
 */
import { timingSafeEqual } from 'node:crypto';

import { findByName, type User } from '../store/catalog.ts';
import { CODES, forbidden, unauthorized, type MethodRefusal } from '../methods/refusal.ts';
import type { ApiPath } from '../methods/route.ts';
import type { ServerRules } from '../methods/rules.ts';
import type { Store } from '../store/store.ts';
import { namesFromSegment } from '../wire/query.ts';

/** What credentials are looked up in. */
interface Access {
  readonly store: Store;
  readonly rules: ServerRules;
}

/** The headers that may say who calls. */
export interface CredentialHeaders {
  readonly authorization?: string | undefined;
  readonly cookie?: string | undefined;
}

/** The calling user, or the refusal to answer with. */
export function authorize(path: ApiPath, headers: CredentialHeaders, access: Access): User | MethodRefusal {
  const { authorization: header } = headers;
  if (access.rules.login === 'disabled') {
    return forbidden(CODES.apiDisabled, 'The REST API is disabled for this database');
  }
  if (hasPassword(path, access.store)) {
    return forbidden(CODES.badCredentials, 'Credentials in the path are not supported');
  }
  if (path.credentials.kind === 'token') return userOfToken(path.credentials.token, path, access);
  if (header === undefined || header.trim() === '') {
    return path.credentials.kind === 'session' ? userOfSession(headers.cookie, path, access) : unauthorized;
  }
  const [, scheme = '', value = ''] = /^\s*(\S+)\s*(.*?)\s*$/.exec(header) ?? [];
  switch (scheme.toLowerCase()) {
    case 'bearer':
      return userOfToken(value, path, access);
    case 'basic':
      return userOfPassword(value, path, access);
    default:
      return forbidden(CODES.badCredentials, 'The authorization scheme is not supported');
  }
}

/**
 * Whether the path begins with `user:password`, which some clients put where a token may be; that is undocumented and
 * refused. What names a table is none.
 */
export function hasPassword({ segments: [first = ''] }: ApiPath, { catalog }: Store): boolean {
  const names = namesFromSegment(first) ?? [first];
  return names.some((name) => name.includes(':')) && !names.some((name) => findByName(catalog.tables, name));
}

function userOfSession(cookie: string | undefined, path: ApiPath, { rules, store }: Access): User | MethodRefusal {
  const name = rules.session.slice(0, rules.session.indexOf('=') + 1);
  const sent = (cookie ?? '').split(';').map((pair) => pair.trim());
  const ours = sent.find((pair) => pair.startsWith(name));
  if (ours === undefined) return unauthorized;
  if (!isEqual(ours, rules.session)) return forbidden(CODES.badSession, 'The session is not valid');
  return inDatabase(store.user, path, store);
}

function userOfToken(token: string, path: ApiPath, { store }: Access): User | MethodRefusal {
  const user = store.userOfToken(token);
  if (user === undefined) return forbidden(CODES.badToken, 'The API token is not valid');
  return inDatabase(user, path, store);
}

function userOfPassword(encoded: string, path: ApiPath, { store, rules }: Access): User | MethodRefusal {
  if (rules.login === 'tokens') {
    return forbidden(CODES.tokensOnly, 'Users may not sign in to the REST API of this database, only tokens may');
  }
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const at = text.indexOf(':');
  const email = text.slice(0, Math.max(at, 0)).toLowerCase();
  const password = text.slice(at + 1);
  const user = store.catalog.users.find(
    (candidate) => candidate.email.toLowerCase() === email && isEqual(candidate.password, password),
  );
  if (at < 0 || user === undefined) return forbidden(CODES.badCredentials, 'The user name or password is not valid');
  return inDatabase(user, path, store);
}

/** Credentials are good for one database. */
function inDatabase(user: User, { database }: ApiPath, store: Store): User | MethodRefusal {
  if (store.catalog.database.id === database) return user;
  return forbidden(CODES.otherDatabase, 'The credentials are not valid for this database');
}

function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
