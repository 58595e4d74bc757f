/**
 * Requests of browsers and the command line to the page's server: signing in and out, decisions, and starting work.
 *
 * A form counts only with the cookie of a signed-in browser and the token of the page, and once: a second click gets
 * the answer to the first. A program shows the key itself in a header that no form can send. Bodies are bounded. The
 * daemon makes all changes, not this file.
 */
import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import * as z from 'zod';
import type { PersonDecision } from '../../capture/person-decision.ts';
import type { DecisionAnswer } from '../../extra.ts';
import type { WorkKind } from '../../daemon/jobs.ts';
import { SESSION_MS_MAX, type PageAuth } from './page-key.ts';
import type { Problem } from '../../reconcile/account/account.ts';
import { publicStateOf, type PublicState } from './public-state.ts';
import { durationText } from '../../base/text.ts';
import { ChildFailure } from '../shared/child-pool.ts';
import { documentHtml, sentenceHtml, topHtml, type Bar } from '../page/layout.ts';
import { html } from '../page/html.ts';
import type { PageRequest } from '../page/request.ts';

/** A reply; a streamed body is made as it is read. */
export interface Reply {
  readonly status: number;
  readonly type: string;
  readonly body: string | AsyncGenerator<string | Uint8Array, void>;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface DocumentRequest extends Partial<Pick<PageRequest, 'query' | 'form' | 'said' | 'refused'>> {
  readonly path: string;
  /** Whether the reader sets the pace. */
  readonly isStream?: boolean;
  readonly msMax: number;
  /** Aborted when the reader is gone; none for an edit, and its answer. */
  readonly signal?: AbortSignal;
}

export interface Actions {
  auth(): PageAuth;
  /** The database that the bar of every page names. */
  database(): Bar['identity'];
  /** The account, also while the replica cannot be read. */
  problems(): readonly Problem[];
  nowMs(): number;
  decide(decision: PersonDecision): Promise<DecisionAnswer>;
  /** Whether a kind of work has a schedule, so that the daemon does it. */
  isScheduled(work: string): boolean;
  /** Starts a cycle now, or one kind of work. */
  cycle(work: WorkKind | null): void;
  /** Reads tables now, by their names at the origin; resolves once read, or at once if no read will start soon. */
  refresh(tables: readonly string[]): Promise<unknown>;
  /** @throws ChildFailure */
  document(request: DocumentRequest): Promise<Reply>;
}

export const TYPES = {
  text: 'text/plain; charset=utf-8',
  html: 'text/html; charset=utf-8',
  json: 'application/json; charset=utf-8',
} as const;

const FORM = 'application/x-www-form-urlencoded';
const JSON_TYPE = 'application/json';

/** A form as it was sent. */
interface SentForm {
  readonly request: IncomingMessage;
  readonly text: string;
  readonly fields: URLSearchParams;
}

/**
 * What can be sent to a path, and by which proof. `session`: a form with the cookie of a signed-in browser and the
 * token of the page. `key`: JSON with the key in a header. `own`: a form that proves itself, as signing in does.
 */
type Post = { readonly path: string } & (
  | { readonly proof: 'key'; answer(text: string, actions: Actions): Reply | Promise<Reply> }
  | { readonly proof: 'session' | 'own'; answer(form: SentForm, actions: Actions): Reply | Promise<Reply> }
);

/** All that is taken by POST. */
const POSTS: readonly Post[] = [
  { path: '/sign-in', proof: 'own', answer: signIn },
  { path: '/sign-out', proof: 'session', answer: signOut },
  { path: '/decide', proof: 'session', answer: decideByForm },
  { path: '/decide', proof: 'key', answer: answerProgram },
  { path: '/cycle', proof: 'session', answer: startByForm },
  { path: '/cycle', proof: 'key', answer: startWork },
  { path: '/edit', proof: 'session', answer: edit },
  { path: '/read', proof: 'key', answer: readTables },
];

/** What may be sent to a path; null for nothing. A program is told from a form by its Authorization header. */
export function postOf({ headers }: IncomingMessage, path: string): Post | null {
  const posts = POSTS.filter((post) => post.path === path);
  const isProgram = headers.authorization !== undefined;
  return posts.find(({ proof }) => (proof === 'key') === isProgram) ?? posts[0] ?? null;
}

/** Bytes of a body; its longest part is a typed value. */
const BODY_BYTES_MAX = 256 * 1024;
/** How long an edit may take; it waits for the write lock at most half of that. */
const EDIT_MS_MAX = 10_000;

/** What the page says after a decision; its address has the names. */
export const SAID: ReadonlyMap<string, string> = new Map([
  ['resolve', 'The conflict is decided. What differs from the origin goes there with the next push.'],
  ['discard', 'Discarded; the values are kept in sync_conflicts.'],
  ['seen', 'They are not listed any more; they are kept in sync_conflicts.'],
  ['retry', 'The row is sent again with the next push.'],
  ['confirm', 'What was held is let through; a cycle begins now.'],
  ['cycle', 'A cycle begins now.'],
  ['work', 'This work starts when the current work has ended.'],
  ['numbered', 'The origin took this new row, and gave it its number.'],
  ['update', 'Saved here. It goes to the origin with the next push.'],
  ['insert', 'Added here. It goes to the origin with the next push, which gives it its number.'],
  ['delete', 'Deleted here. It goes to the origin with the next push.'],
  ['same', 'Nothing was changed: it was like that already.'],
]);

/** The name of the cookie. It has the port, since browsers keep cookies by host only. */
function cookieName(request: IncomingMessage): string {
  return `rowsync_page_${/:(\d+)$/.exec(request.headers.host ?? '')?.[1] ?? 'socket'}`;
}

export function isSignedIn(request: IncomingMessage, auth: PageAuth): boolean {
  return sessionsOf(request).some((session) => auth.isSession(session));
}

/** The sessions that a request claims to have; a browser may send several cookies of one name. */
function sessionsOf(request: IncomingMessage): readonly string[] {
  const name = cookieName(request);
  return (request.headers.cookie ?? '').split(';').flatMap((pair) => {
    const [key = '', value = ''] = pair.trim().split('=', 2);
    return key === name ? [value] : [];
  });
}

export function showsKey({ headers }: IncomingMessage, auth: PageAuth): boolean {
  const [scheme, key = ''] = (headers.authorization ?? '').split(' ', 2);
  return scheme === 'Bearer' && auth.isKey(key);
}

export async function answerPost(request: IncomingMessage, post: Post, actions: Actions): Promise<Reply> {
  const site = request.headers['sec-fetch-site'];
  const auth = actions.auth();
  if (site !== undefined && site !== 'same-origin') return sentence(SIGNED_OUT, 403, 'This came from another site');
  const bar = isSignedIn(request, auth) ? barOf(actions) : SIGNED_OUT;
  const type = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
  if (type !== (post.proof === 'key' ? JSON_TYPE : FORM))
    return sentence(bar, 415, 'Invalid form. Reload the page and try again.');
  const text = await readBody(request);
  if (text === null) return { ...sentence(bar, 413, 'This is too long'), headers: { Connection: 'close' } };
  if (post.proof === 'key') return showsKey(request, auth) ? post.answer(text, actions) : plain(403, 'wrong key\n');
  const fields = new URLSearchParams(text);
  if (post.proof === 'session') {
    if (!isSignedIn(request, auth)) return sentence(bar, 403, 'You are not signed in any more; nothing was changed');
    if (!auth.isFormToken(fields.get('token') ?? '')) {
      return sentence(bar, 403, 'The daemon was restarted. Reload the page and try again; nothing was changed.');
    }
  }
  return post.answer({ request, text, fields }, actions);
}

function signOut({ request }: SentForm, actions: Actions): Reply {
  for (const session of sessionsOf(request)) actions.auth().signOut(session);
  return redirect('/', cookie(request, '', 0));
}

function startByForm({ fields }: SentForm, actions: Actions): Reply {
  const work = fields.get('work');
  if (work !== null && !actions.isScheduled(work))
    return sentence(barOf(actions), 409, 'This work has no schedule any more');
  actions.cycle(work);
  return redirect(work === null ? '/?said=cycle' : '/work?_said=work');
}

/** Replies to forms that changed something, or may have, by their text. It has a number of its page. */
const counted = new Map<string, Promise<Reply>>();
/** A second click comes soon after the first. */
const COUNTED_MAX = 1_000;

/** Carries out a form once; the same form sent again gets the first reply. */
async function once(text: string, carryOut: () => Promise<Reply>): Promise<Reply> {
  const key = hash('sha256', text);
  // Ends: an attempt that changed nothing is forgotten by those who waited for it.
  for (let before = counted.get(key); before !== undefined; before = counted.get(key)) {
    const reply = await before.catch(() => null);
    if (reply?.status === DONE) return { ...reply, body: '' };
    if (reply?.status === IN_DOUBT) return reply;
    if (counted.get(key) === before) counted.delete(key);
  }
  const reply = carryOut();
  counted.set(key, reply);
  const [oldest = key] = counted.keys();
  if (counted.size > COUNTED_MAX) counted.delete(oldest);
  return reply;
}

function edit({ text, fields }: SentForm, actions: Actions): Promise<Reply> {
  const hint = 'The page gave no answer in time. Look at what is there, and load the form again to repeat it.';
  return once(text, () =>
    actions.document({ path: '/edit', form: [...fields], msMax: EDIT_MS_MAX }).catch((thrown: unknown) => {
      if (!(thrown instanceof ChildFailure)) throw thrown;
      return sentence(barOf(actions), IN_DOUBT, 'It is not known whether the edit was saved', hint);
    }),
  );
}

function decideByForm({ text, fields }: SentForm, actions: Actions): Promise<Reply> {
  return once(text, () => decideOnce(fields, actions));
}

async function decideOnce(form: URLSearchParams, actions: Actions): Promise<Reply> {
  const decision = decisionFromForm(form);
  if (decision === null) return sentence(barOf(actions), 400, 'Invalid form. Reload the page and try again.');
  const answer = await actions.decide(decision);
  const next = ownPath(form.get('next') ?? '');
  if (answer.kind === 'done') {
    if (decision.kind === 'confirm') actions.cycle(null);
    return redirect(next === '/' ? `/?said=${decision.kind}` : `${next}?_said=${decision.kind}`);
  }
  const status = STATUS[answer.kind];
  if (answer.kind !== 'problem') return sentence(barOf(actions), status, answer.words);
  const words = `Nothing was changed: ${answer.words}`;
  const { id: conflictId, value } = decision.kind === 'resolve' ? decision : { id: null, value: null };
  return actions
    .document({ path: next, refused: { words, conflictId, value }, msMax: EDIT_MS_MAX })
    .then((reply) => ({ ...reply, status }))
    .catch(() => sentence(barOf(actions), status, words));
}

/** After a form that changed something, redirects the browser to another page. */
const DONE = 303;
/** After a form whose process ended before it answered. */
const IN_DOUBT = 504;

const STATUS = { done: 200, problem: 409, busy: 503, failed: 503 } as const;

/** Names of tables, as a program sends them. */
export const TABLE_NAMES = z.array(z.string());
const READ = z.object({ tables: TABLE_NAMES });
const WORK = z.object({ work: z.string() });

const SEEN = z.object({ table: z.string(), rowId: z.int().nullable(), version: z.string() }).exactOptional();

/** A decision as the command line and the page send it. */
const DECISION = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('resolve'),
    id: z.int(),
    take: z.enum(['local', 'remote', 'base', 'value']),
    value: z.string().nullable(),
    isAgain: z.boolean().optional(),
    seen: z.string().optional(),
  }),
  z.object({ kind: z.literal('discard'), table: z.string(), rowId: z.int().nullable(), seen: SEEN }),
  z.object({ kind: z.literal('retry'), ids: z.array(z.int()), seen: SEEN }),
  z.object({ kind: z.literal('seen'), upToId: z.int() }),
]);

/** Only a person at the page, who was shown what a guard holds, can confirm it. */
const FORM_DECISION = z.discriminatedUnion('kind', [
  ...DECISION.options,
  z.object({ kind: z.literal('confirm'), table: z.string().nullable(), shown: z.string(), seen: SEEN }),
]);

/** What was sent as JSON, with what was chosen beside it; null for anything else. */
function parsed<Schema extends z.ZodType>(schema: Schema, text: string, chosen: object = {}): z.output<Schema> | null {
  try {
    return schema.safeParse({ ...JSON.parse(text), ...chosen }).data ?? null;
  } catch {
    return null;
  }
}

/** To a program whose request is carried out. */
const TAKEN: Reply = { status: 200, type: TYPES.json, body: '{}\n' };

async function readTables(text: string, actions: Actions): Promise<Reply> {
  const given = parsed(READ, text);
  if (given === null) return plain(400, 'no names of tables\n');
  await actions.refresh(given.tables);
  return TAKEN;
}

function startWork(text: string, actions: Actions): Reply {
  const given = parsed(WORK, text);
  if (given === null || !actions.isScheduled(given.work)) return plain(400, 'no kind of work\n');
  actions.cycle(given.work);
  return TAKEN;
}

async function answerProgram(text: string, actions: Actions): Promise<Reply> {
  const decision = parsed(DECISION, text);
  if (decision === null) return plain(400, 'not a decision\n');
  const answer = await actions.decide(decision);
  return { status: STATUS[answer.kind], type: TYPES.json, body: `${JSON.stringify(answer)}\n` };
}

const SIGNED_OUT: Bar = { identity: null, formToken: null };

/** The bar of a page that the daemon makes for a signed-in browser. */
export function barOf(actions: Pick<Actions, 'auth' | 'database'>): Bar {
  return { identity: actions.database(), formToken: actions.auth().formToken() };
}

export function plain(status: number, body: string): Reply & { readonly body: string } {
  return { status, type: TYPES.text, body };
}

function sentence(bar: Bar, status: number, words: string, hint: string | null = null): Reply {
  return { status, type: TYPES.html, body: sentenceHtml(bar, words, hint) };
}

function redirect(location: string, setCookie?: string): Reply {
  const headers = { Location: location, ...(setCookie === undefined ? {} : { 'Set-Cookie': setCookie }) };
  return { status: DONE, type: TYPES.text, body: '', headers };
}

function signIn({ request, fields }: SentForm, actions: Actions): Reply {
  const auth = actions.auth();
  const next = ownPath(fields.get('next') ?? '');
  if (!auth.isKey((fields.get('key') ?? '').trim())) return { ...signInReply(next, actions, 'Wrong key'), status: 403 };
  return redirect(next, cookie(request, auth.signIn(), SESSION_MS_MAX / 1000));
}

/** The page after signing in: always one of this server. */
function ownPath(text: string): string {
  return /^\/(?:browse|ask|work|edits?)(?:[/?][\x21-\x7E]*)?$/.test(text) ? text : '/';
}

function cookie(request: IncomingMessage, value: string, maxAgeSeconds: number): string {
  return `${cookieName(request)}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict`;
}

/** The whole body as text; null if it exceeds the bound. */
function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= BODY_BYTES_MAX) chunks.push(chunk);
      else resolve(null); // the rest is read and dropped until the connection is closed, so that the answer arrives
    });
    request.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    request.on('error', reject);
  });
}

/** The decision in a form; of a conflict, the button that was pressed says what is taken. */
function decisionFromForm(form: URLSearchParams): PersonDecision | null {
  const pressed = form.get('take');
  const take = pressed === 'null' ? 'value' : pressed;
  // Browsers send every line break of a field as two characters.
  const value = pressed === 'value' ? (form.get('value') ?? '').replaceAll('\r\n', '\n') : null;
  return parsed(FORM_DECISION, form.get('decision') ?? '', pressed === null ? {} : { take, value });
}

const STATES: Readonly<Record<PublicState['state'], readonly [tone: string, sentence: string]>> = {
  works: ['ok', 'Syncing works'],
  late: ['busy', 'Syncing is late'],
  failed: ['bad', 'Syncing is failing'],
};

/** The sign-in page, which leads back to the same address. It says only the state, and why a key was refused. */
export function signInReply(
  next: string,
  actions: Pick<Actions, 'problems' | 'nowMs'>,
  trouble: string | null = null,
): Reply {
  const { state, since } = publicStateOf(actions.problems());
  const [tone, words] = STATES[state];
  const duration =
    since === null ? '' : `, and has been for ${durationText(Math.max(0, actions.nowMs() - Date.parse(since)))}`;
  const page = html`${topHtml({ ...SIGNED_OUT, place: null })}
    <main>
      <section class="verdict ${tone}">
        <h1>${words}${duration}.</h1>
        ${trouble !== null && html`<p class="problem" role="alert">${trouble}</p>`}
        <form method="post" action="/sign-in" class="sign-in">
          <input type="hidden" name="next" value="${next}" />
          <input name="user" autocomplete="username" value="rowsync" hidden />
          <label for="key">Key</label>
          <input id="key" name="key" type="password" autocomplete="current-password" required />
          <button class="main">Sign in</button>
        </form>
        <p>
          The key is in the file beside the replica that ends in <code>.page-key</code>. Whoever may read the replica
          may read it.
        </p>
      </section>
    </main>`;
  return { status: next === '/' ? 200 : 401, type: TYPES.html, body: documentHtml('Sign in · rowsync', page, null) };
}
