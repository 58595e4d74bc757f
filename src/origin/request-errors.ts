/**
 * Turns failed requests into errors. Each transport fault, status and unreadable body becomes one `RowsyncError` with a
 * stable code. It says what was attempted, what came back, what to do next, and whether a retry may help.
 *
 * Messages name hosts, tables, statuses and the origin's own words, cut and scrubbed; never a URL, a header or a row
 * (I16). Pure. Sources: specification 7; origin facts 4.1 and 4.2; undici's and OpenSSL's error codes.
 */
import { HINT_DESCRIPTORS, RowsyncError, type ErrorCode, type ErrorKind, type Refusal } from '../base/errors.ts';
import { mediaType } from '../wire/headers.ts';
import { HINT_TOO_LARGE, type ErrorDescriptor } from '../wire/json.ts';
import { ProxyFault } from './proxy.ts';
import type { TransportFault } from './transport.ts';

/** A failure, and whether another attempt makes sense. */
export interface Failure {
  readonly kind: 'failed';
  readonly error: RowsyncError;
  /** Whether the same request may succeed a little later. */
  readonly isTransient: boolean;
}

export interface Attempted {
  /** Method and table, for example `select of "Customer"`. */
  readonly what: string;
  /** Host and port of the origin. */
  readonly host: string;
  /** Whether it changes rows: the origin's words then name values, and stay out of messages. */
  readonly isChange: boolean;
  /** Removes secrets from text that came from outside. */
  readonly scrub: (text: string) => string;
  /** The origin's refusal; goes into the error of every failure of this request. */
  readonly refusal?: Refusal;
}

/** An answer with a status other than the method's own. */
export interface OddAnswer {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly location: string | undefined;
  readonly retryAfterMs: number | null;
  readonly descriptor: ErrorDescriptor | undefined;
  /** The text of a web page that came instead of an answer; null without one. */
  readonly pageText: string | null;
  /** Whether this answers a HEAD, and so cannot have a body. */
  readonly isHead: boolean;
}

/** Statuses that pass by themselves (RFC 6585, RFC 9110); a 4xx other than 429 gives the same answer again. */
const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);

/** Characters of the origin's own message that are shown; its longest known sentence has about 100. */
const WORDS_CHARS_MAX = 300;

const HINT_URL = 'Check origin.url and origin.database: they must name the host and the database of a Records API.';
const HINT_PROXY =
  'Something between rowsync and the origin answered in its place (a proxy, a login page, a firewall).';
const HINT_LATER = 'The origin or the network is in trouble; the next run continues where this one stopped.';
const HINT_TOKEN =
  'Check the token (origin.tokenFile), or origin.user and its password: a token works for one database only.';

/** For a request without a complete answer. */
export function faultFailure(attempted: Attempted, fault: TransportFault): Failure {
  switch (fault.reason) {
    case 'stopped':
      return stoppedFailure(attempted);
    case 'deadline':
      return failure(attempted, 'originDown', 'origin.timeout', true, {
        came: `no complete answer from ${attempted.host} within the time allowed (${fault.receivedBytes} bytes had come)`,
        hint: HINT_LATER,
      });
    case 'tooLarge':
      return tooLargeFailure(attempted);
    case 'leftAlone':
      return failure(attempted, 'originDown', 'origin.busy', false, {
        came: `not sent, because ${attempted.host} asked to be left alone for longer than a request waits`,
        hint: 'It said so in an earlier answer (Retry-After); the next run after that time continues where this one stopped.',
      });
    case 'receiver':
      return failure(attempted, 'originDown', 'origin.stopped', false, {
        came: 'abandoned because the receiver of the content failed',
        hint: 'The cause says why; the origin did nothing wrong.',
        cause: fault.cause,
      });
    case 'cutShort':
      return failure(attempted, 'originDown', 'origin.cutShort', false, {
        came: 'not sent to its end, because what was to be sent could not be read as it was announced',
        hint: 'The cause says why; the origin never had the whole of it, and did nothing.',
        cause: fault.cause,
      });
    case 'failed':
      return causeFailure(attempted, fault);
    default:
      return fault.reason satisfies never;
  }
}

/** For an abandoned request. */
export function stoppedFailure(attempted: Attempted): Failure {
  return failure(attempted, 'originDown', 'origin.stopped', false, {
    came: 'abandoned because rowsync was asked to stop',
    hint: 'Run the command again; it continues where this one stopped.',
  });
}

/** For a body above the size limit, compressed or not. */
export function tooLargeFailure(attempted: Attempted): Failure {
  return failure(attempted, 'wireFormat', 'origin.tooLarge', false, {
    came: `the answer of ${attempted.host} is larger than the bound`,
    hint: HINT_TOO_LARGE,
  });
}

/** For an answer that does not come from a Records API. */
export function notApiFailure(attempted: Attempted, came: string): Failure {
  return failure(attempted, 'wireFormat', 'origin.notApi', false, {
    came: `${attempted.host} answered ${came}`,
    hint: `${HINT_PROXY} ${HINT_URL}`,
  });
}

/** For a request that was answered with a web page instead of a document. */
export function withPage(attempted: Attempted, status: number, pageText: string | null): Attempted {
  return {
    ...attempted,
    refusal: { status, code: null, words: outsideWords(attempted.scrub, pageText ?? ''), source: null },
  };
}

/** For a body that was damaged in transit. */
export function damagedFailure(attempted: Attempted, came: string): Failure {
  return failure(attempted, 'wireFormat', 'origin.truncated', true, { came, hint: HINT_LATER });
}

/** For a wrong answer to a request for a revision of a file; it proves nothing about that revision. */
export function brokenRevision({ revision }: { readonly revision: number }, came: string): RowsyncError {
  return new RowsyncError('wireFormat', 'origin.truncated', {
    message: `attachment: revision ${revision}: ${came}`,
    hint: 'Something on the way changes the answers of the origin; rowsync tries again.',
  });
}

/** For JSON that is not what the method returns, quoting the origin's own message if it has one. */
export function unexpectedFailure(attempted: Attempted, came: string): Failure {
  return failure(attempted, 'wireFormat', 'origin.unexpected', false, { came: attempted.scrub(came), hint: HINT_URL });
}

/** For a change with an unknown outcome; `failed` is what came instead of an answer. */
export function unknownOutcomeFailure(attempted: Attempted, failed: Failure): Failure {
  const came = failed.error.message.replace(`${attempted.what}: `, '');
  return failure(attempted, 'originDown', 'origin.unknownOutcome', false, {
    came: `the change may or may not have happened: ${came}`,
    hint: 'It was not sent again. Read the rows that it concerns before you send it once more.',
    cause: failed.error,
  });
}

/** For a request larger than the origin accepts; it is never sent. */
export function tooMuchFailure(attempted: Attempted, refusal: Refusal): Failure {
  return failure({ ...attempted, refusal }, 'originRefused', 'origin.refused', false, {
    came: `not sent, because the origin would answer ${refusal.status}: ${refusal.words}`,
    hint: 'Ask for less at a time.',
  });
}

/** For a status other than 200, or a 304 to a request without an ETag. */
export function statusFailure(attempted: Attempted, answer: OddAnswer): Failure {
  const { status, descriptor, pageText } = answer;
  if (descriptor === undefined) return statusMeaning(withPage(attempted, status, pageText), answer);
  const { code, message, source } = descriptor;
  const { scrub } = attempted;
  const refusal = { status, code, words: scrub(message), source: source === null ? null : scrub(source) };
  return statusMeaning({ ...attempted, refusal }, answer);
}

function statusMeaning(attempted: Attempted, answer: OddAnswer): Failure {
  const { status } = answer;
  const came = cameText(attempted, answer);
  if (status < 300 || status === 304) return unexpectedFailure(attempted, `${came}, where 200 was expected`);
  if (status < 400) return redirectFailure(attempted, answer);
  if (status === 401) {
    return failure(attempted, 'auth', 'origin.unauthorized', false, {
      came,
      hint: `The origin saw no credentials. ${HINT_TOKEN} A proxy may also have removed the Authorization header.`,
    });
  }
  if (status === 429 || status >= 500) {
    const waitText = answer.retryAfterMs === null ? '' : `; it asks to wait ${Math.ceil(answer.retryAfterMs / 1000)} s`;
    return failure(attempted, 'originDown', 'origin.busy', TRANSIENT_STATUSES.has(status), {
      came: came + waitText,
      hint: status === 429 ? 'Lower limits.concurrency or set limits.requestsPerSecond.' : HINT_LATER,
    });
  }
  // Every 4xx of the API but 401 and 413 has a descriptor (origin facts 4.1): a page without one is another server's.
  if (answer.descriptor === undefined && /html|text\/plain/.test(mediaType(answer.contentType))) {
    return notApiFailure(attempted, `${status} with ${outsideWords(attempted.scrub, mediaType(answer.contentType))}`);
  }
  return status === 403 ? forbiddenFailure(attempted, answer, came) : refusedFailure(attempted, answer, came);
}

/** 403 means wrong credentials, or a table, column or view that this user may not see (origin facts 4.1 and 4.2). */
function forbiddenFailure(attempted: Attempted, { descriptor, isHead }: OddAnswer, came: string): Failure {
  const code = descriptor?.code ?? 0;
  const isAboutCredentials =
    (code >= 1_000 && code <= 1_999) || (code === 0 && (descriptor?.source ?? null) === null && !isHead);
  return failure(attempted, isAboutCredentials ? 'auth' : 'originRefused', 'origin.forbidden', false, {
    came,
    hint: isAboutCredentials ? HINT_TOKEN : 'Give the user of the token the right to it, or leave it out under tables.',
  });
}

function refusedFailure(attempted: Attempted, { status }: OddAnswer, came: string): Failure {
  const hint =
    status === 404 || status === 405
      ? HINT_URL
      : status === 414
        ? 'The table has too many or too long column names for one query string: hide columns from the role of the calling user, or say false for the table under tables.'
        : 'The table may have changed at the origin; the next run reads its description again.';
  return failure(attempted, 'originRefused', 'origin.refused', false, { came, hint });
}

function redirectFailure(attempted: Attempted, { status, location }: OddAnswer): Failure {
  // Only the host of the target: the rest of it may repeat a token.
  const target = URL.parse(location ?? '', `http://${attempted.host}`)?.host;
  const isElsewhere = target !== undefined && target !== attempted.host;
  return failure(attempted, 'originRefused', 'origin.redirect', false, {
    came: `the origin answered ${status}, a redirect to ${isElsewhere ? outsideWords(attempted.scrub, target) : 'another of its own addresses'}`,
    hint: `Redirects are never followed, so that credentials stay with one host. ${HINT_URL}`,
  });
}

/** The status and the origin's message, or the media type that came instead. */
function cameText({ scrub, isChange }: Attempted, { status, descriptor, contentType }: OddAnswer): string {
  if (descriptor === undefined) {
    const type = mediaType(contentType);
    return `the origin answered ${status} ${type === '' ? 'without a body' : `with ${outsideWords(scrub, type)}`}`;
  }
  return `the origin answered ${status}${descriptorText({ scrub, isChange }, descriptor)}`;
}

/** Code, source and message of an error descriptor, as the end of a sentence. */
export function descriptorText(
  { scrub, isChange }: Pick<Attempted, 'scrub' | 'isChange'>,
  descriptor: ErrorDescriptor,
): string {
  const code = descriptor.code === null || descriptor.code === 0 ? '' : ` (code ${descriptor.code})`;
  const source = descriptor.source === null ? '' : `, at "${outsideWords(scrub, descriptor.source)}"`;
  return isChange ? code + source : `${code}${source}: ${outsideWords(scrub, descriptor.message)}`;
}

export function outsideWords(scrub: (text: string) => string, text: string): string {
  // Scrubbed first: a secret cut in two would not be recognized.
  const line = scrub(text)
    .replaceAll(/[\s\p{Cc}\p{Cf}\p{Cs}]+/gu, ' ')
    .trim();
  return line.length > WORDS_CHARS_MAX ? `${line.slice(0, WORDS_CHARS_MAX)}…` : line;
}

/** Codes that OpenSSL and Node give for a certificate or a handshake. */
const TLS_CODE =
  /^(?:ERR_TLS_|ERR_SSL_|ERR_OSSL_|EPROTO$|CERT_|CRL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_|INVALID_|ERROR_IN_|PATH_LENGTH_)/;

function causeFailure(attempted: Attempted, { cause, isAnswered, receivedBytes }: TransportFault): Failure {
  const { host } = attempted;
  const code = causeCode(cause);

  if (cause instanceof ProxyFault) return proxyFailure(attempted, cause);
  if (TLS_CODE.test(code)) {
    const came = `the TLS handshake with ${host} failed (${code})`;
    return failure(attempted, 'originRefused', 'origin.tls', false, { came, hint: tlsHint(code, host), cause });
  }
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') {
    const came = `${host} did not ${isAnswered ? 'finish its answer' : 'answer'} in time`;
    return failure(attempted, 'originDown', 'origin.timeout', true, { came, hint: HINT_LATER, cause });
  }
  if (code === 'UND_ERR_DESTROYED' || code === 'UND_ERR_CLOSED') return stoppedFailure(attempted);
  // Neither error keeps its cause: the parser's error contains the bytes that it could not parse (I16).
  if (isAnswered || code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') {
    return damagedFailure(attempted, `the answer broke off after ${receivedBytes} bytes (${code})`);
  }
  if (code === PARSER_ERROR || code === 'UND_ERR_HEADERS_OVERFLOW') {
    return notApiFailure(attempted, `with something that is not HTTP (${code})`);
  }
  if (code === 'ENOTFOUND') {
    const came = `no address is known for the host ${host}`;
    const hint = `Check the spelling of origin.url and this machine's DNS (try: getent hosts ${host.replace(/:\d+$/, '')}).`;
    return failure(attempted, 'originDown', 'origin.unreachable', false, { came, hint, cause });
  }
  const came = `no connection to ${host} (${connectionText(code)})`;
  const isOurs = code === 'EMFILE' || code === 'ENFILE';
  const hint = isOurs ? HINT_DESCRIPTORS : `Check that ${host} is right and can be reached from here.`;
  return failure(attempted, 'originDown', 'origin.unreachable', true, { came, hint, cause });
}

/** For a proxy that made no connection. Nothing reached the origin, so no change can have happened. */
function proxyFailure(attempted: Attempted, { proxy, status, cause }: ProxyFault): Failure {
  const { host } = attempted;
  if (status !== null) {
    const isItsOwn = TRANSIENT_STATUSES.has(status);
    const came = `the proxy ${proxy} answered ${status}, and made no connection to ${host}`;
    if (status === 407) {
      const hint = 'It wants a login: check user and passwordFile under origin.proxy.';
      return failure(attempted, 'auth', 'origin.proxy', false, { came, hint });
    }
    const hint = isItsOwn
      ? `It cannot reach ${host} now; check origin.url if that stays so.`
      : `It does not let this through: ask its administrator to allow CONNECT to ${host}.`;
    return failure(attempted, 'originDown', 'origin.proxy', isItsOwn, { came, hint });
  }
  const code = causeCode(cause);
  if (TLS_CODE.test(code)) {
    return failure(attempted, 'originRefused', 'origin.tls', false, {
      came: `the TLS handshake with the proxy ${proxy} failed (${code})`,
      hint: tlsHint(code, proxy).replace('origin.url', 'origin.proxy'),
    });
  }
  return failure(attempted, 'originDown', 'origin.proxy', true, {
    came: `no connection to the proxy ${proxy} (${connectionText(code)})`,
    hint: 'Check the address under origin.proxy, and that it can be reached from here.',
  });
}

const NO_REPLY = 'no reply in time';
const CLOSED = 'closed by the other side';

const CONNECTION_WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused: nothing listens there',
  ECONNRESET: CLOSED,
  EPIPE: CLOSED,
  UND_ERR_SOCKET: CLOSED,
  UND_ERR_CONNECT_TIMEOUT: NO_REPLY,
  UND_ERR_HEADERS_TIMEOUT: NO_REPLY,
  ETIMEDOUT: NO_REPLY,
  EAI_AGAIN: 'its name cannot be looked up now',
};

function connectionText(code: string): string {
  return CONNECTION_WORDS[code] ?? code;
}

const hintOfClock = (host: string): string =>
  `Check the clock of this machine; if it is right, the operator of ${host} must renew the certificate.`;
const hintOfPort = (host: string): string =>
  `What answers at ${host} does not speak TLS; check the port (a sandbox is reached by http://).`;

const TLS_HINTS: Readonly<Record<string, (host: string) => string>> = {
  CERT_HAS_EXPIRED: hintOfClock,
  CERT_NOT_YET_VALID: hintOfClock,
  ERR_TLS_CERT_ALTNAME_INVALID: (host) => `The certificate is for another name than ${host}; check origin.url.`,
  ERR_SSL_WRONG_VERSION_NUMBER: hintOfPort,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: hintOfPort,
  EPROTO: hintOfPort,
};

function tlsHint(code: string, host: string): string {
  const hint = TLS_HINTS[code];
  if (hint !== undefined) return hint(host);
  return (
    `The certificate of ${host} is not signed by an authority that rowsync trusts. If the authority is your own, or that of ` +
    'a proxy that reads what passes, name its certificate in origin.caFile.'
  );
}

/** The name of undici's error for bytes that are not HTTP; it has no code. */
const PARSER_ERROR = 'HTTPParserError';

/** The first code of an error or its causes; if several addresses were tried, Node wraps one error for each. */
function causeCode(cause: unknown): string {
  let at = cause;
  // Node and undici nest errors at most two levels deep.
  for (let depth = 0; depth < 3 && at instanceof Error; depth += 1) {
    if (at.name === PARSER_ERROR) return PARSER_ERROR;
    if ('code' in at && typeof at.code === 'string') return at.code;
    at = at instanceof AggregateError ? (at.errors as unknown[])[0] : at.cause;
  }
  return 'no code';
}

function failure(
  { what, refusal }: Attempted,
  kind: ErrorKind,
  code: ErrorCode,
  isTransient: boolean,
  { came, hint, cause }: { readonly came: string; readonly hint: string; readonly cause?: Error | null },
): Failure {
  const error = new RowsyncError(kind, code, { message: `${what}: ${came}`, hint, cause: cause ?? undefined, refusal });
  return { kind: 'failed', error, isTransient };
}
