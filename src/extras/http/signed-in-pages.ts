/**
 * Serves pages with row values: checks the sign-in, then passes the request to a page process. Progress of the current
 * work is sent from here too.
 */
import type { ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { WorkProgress } from '../shared/work-log.ts';
import { sentenceHtml, type Bar } from '../page/layout.ts';
import { ChildFailure } from '../shared/child-pool.ts';
import { barOf, SAID, TABLE_NAMES, TYPES, type Actions, type Reply } from './actions.ts';

/** First parts of the addresses that are answered here. */
const PLACES: ReadonlySet<string> = new Set(['browse', 'ask', 'work', 'edit', 'edits', 'file', 'export', 'origin']);

/** How long a page may take, and an answer that streams. */
const PAGE_MS_MAX = 15_000;
const STREAM_MS_MAX = 600_000;

/** What a person reads where the page process gave no answer. */
const WORDS: Readonly<Record<ChildFailure['reason'], { readonly sentence: string; readonly hint: string }>> = {
  late: {
    sentence: `It took longer than ${PAGE_MS_MAX / 1000} seconds and was stopped`,
    hint: 'Ask for less, or use rowsync sql, which waits as long as you like.',
  },
  ended: {
    sentence: 'The page could not be made',
    hint: 'It may have needed more memory than a page gets. Ask for less, or use rowsync sql.',
  },
  unwanted: { sentence: 'The browser no longer waits for this page', hint: '' },
  closed: { sentence: 'The daemon is stopping', hint: '' },
};

export function isSignedInPath(path: string): boolean {
  return PLACES.has(path.split('/')[1] ?? '');
}

export async function answerSignedIn(
  response: ServerResponse,
  { path, query }: { readonly path: string; readonly query: string },
  actions: Actions,
): Promise<Reply> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const said = SAID.get(new URLSearchParams(query).get(path === '/' ? 'said' : '_said') ?? '') ?? null;
  const isStream = /^\/(?:export|file)\//.test(path);
  const msMax = isStream ? STREAM_MS_MAX : PAGE_MS_MAX;
  const shared = { query, said, msMax, signal: gone.signal };
  try {
    await readStale({ path, query }, (place) => actions.document({ ...shared, path: place }), actions);
    return await actions.document({ ...shared, path, isStream });
  } catch (thrown) {
    const failed = failureReply(thrown, barOf(actions));
    if (path !== '/ask' || gone.signal.aborted || !(thrown instanceof ChildFailure)) return failed;
    const { sentence, hint } = WORDS[thrown.reason];
    const refused = { words: `${sentence}. ${hint}`, conflictId: null, value: null };
    return actions
      .document({ ...shared, path, refused })
      .then((reply) => ({ ...reply, status: failed.status }))
      .catch(() => failed);
  }
}

/** First refreshes tables that are older than an SQL query allows; the page itself refuses tables that still are. */
async function readStale(
  { path, query }: { readonly path: string; readonly query: string },
  ask: (path: string) => Promise<Reply>,
  actions: Actions,
): Promise<void> {
  const isQuestion = path === '/ask' || path.startsWith('/export/');
  if (!isQuestion || !['sql', 'fresh'].every((name) => new URLSearchParams(query).get(name))) return;
  const { status, body } = await ask('/stale');
  const names = typeof body === 'string' ? body : await text(body);
  if (status === 200) await actions.refresh(TABLE_NAMES.parse(JSON.parse(names)));
}

/** The answer when the page process fails. @throws every other error. */
export function failureReply(thrown: unknown, bar: Bar): Reply {
  if (!(thrown instanceof ChildFailure)) throw thrown;
  const { sentence, hint } = WORDS[thrown.reason];
  return { status: 503, type: TYPES.html, body: sentenceHtml(bar, sentence, hint) };
}

/** Browsers that watch at once; a new one replaces the oldest. */
const WATCHERS_MAX = 8;
const watchers: ServerResponse[] = [];

/** Sends the progress of the current work to a browser: server-sent events, each with the whole state. */
export function streamWork(
  response: ServerResponse,
  view: { progress(): WorkProgress | null; onWork(listener: () => void): () => void },
): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' });
  response.setTimeout(0); // nothing is sent while nothing happens
  const tell = (): void => {
    // A browser that does not read gets the next state instead.
    if (!response.writableNeedDrain) response.write(`data: ${JSON.stringify(view.progress())}\n\n`);
  };
  const forget = view.onWork(tell);
  watchers.push(response);
  response.once('close', () => {
    forget();
    watchers.splice(watchers.indexOf(response), 1);
  });
  if (watchers.length > WATCHERS_MAX) watchers[0]?.end();
  tell();
}
