/**
 * Errors of the library as its callers need them. The daemon keeps the origin's words out of messages, because they go to its log, and its hints
 * name options of its configuration. A caller of the library gets the words, and hints about its own program.
 */
import { RowsyncError, type ErrorCode } from '../../base/errors.ts';

const LATER = 'Try again later; a read changes nothing, and this change did not happen.';
const ADDRESS = 'Check url and database: they must name the host and the database of a Records API.';
const CREDENTIALS = 'Check the credentials: a token works for one database only, and has the rights of its user.';
const BETWEEN = `Something between here and the origin may have answered in its place (a proxy, a firewall). ${ADDRESS}`;

const HINTS: Readonly<Partial<Record<ErrorCode, string>>> = {
  'config.invalid': 'Correct the settings that the origin is opened with.',
  'config.secret': 'Correct the credentials that the origin is opened with.',
  'origin.proxy': 'Check the address and the login of the proxy.',
  'origin.timeout': LATER,
  'origin.busy': 'Try again later, or ask more slowly: see concurrency and requestsPerSecond.',
  'origin.unauthorized': `${CREDENTIALS} A proxy may also have removed the Authorization header.`,
  'origin.forbidden': CREDENTIALS,
  'origin.redirect': `Redirects are never followed, so that credentials stay with one host. ${ADDRESS}`,
  'origin.notApi': BETWEEN,
  'origin.truncated': LATER,
  'origin.unexpected': BETWEEN,
  'origin.tooLarge': 'Ask for fewer rows or columns at a time.',
  'origin.stopped': 'The signal was aborted, or the origin was closed.',
  'origin.refused': 'The request is wrong for this database: look at refusal.',
};

/** The same error for a caller of the library. Anything that is no `RowsyncError` stays as it is. */
export function errorForCaller(thrown: unknown): unknown {
  if (!(thrown instanceof RowsyncError)) return thrown;
  const { kind, code, refusal } = thrown;
  const said = thrown.message.replace('The configuration is wrong: ', '');
  const words = refusal?.words ?? '';
  const message = words === '' || said.includes(words) ? said : `${said}: ${words}`;
  const hint = HINTS[code] ?? thrown.hint;
  return new RowsyncError(kind, code, { message, hint, cause: errorForCaller(thrown.cause), refusal });
}

/** The same functions, whose errors are those for callers. */
export function forCallers<T extends object>(methods: T): T {
  const wrapped = Object.entries(methods).map(([name, method]: [string, unknown]): [string, unknown] => {
    if (typeof method !== 'function') return [name, method];
    return [name, (...args: unknown[]): unknown => callFor(() => Reflect.apply(method, undefined, args) as unknown)];
  });
  return { ...methods, ...Object.fromEntries(wrapped) };
}

function callFor(call: () => unknown): unknown {
  try {
    const returned = call();
    return returned instanceof Promise ? returned.catch(rethrow) : returned;
  } catch (thrown) {
    return rethrow(thrown);
  }
}

function rethrow(thrown: unknown): never {
  throw errorForCaller(thrown);
}
