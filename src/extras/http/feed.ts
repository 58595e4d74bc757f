/**
 * The change feed `/changes` as server-sent events, for readers that have signed in or send the key. Each event comes
 * in order and at least once. A slow reader holds up no other: its next block is made once it took the last one.
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { sequenceNumber } from '../history/events.ts';
import { ChildFailure } from '../shared/child-pool.ts';
import { isSignedIn, plain, showsKey, type Actions, type Reply } from './actions.ts';

const READERS_MAX = 8;
const BLOCK_MS_MAX = 15_000;
/** After this time without an event, a comment keeps the connection alive. */
const HEARTBEAT_MS = 15_000;

export interface FeedView extends Pick<Actions, 'auth' | 'document'> {
  /** The number of the last entry of the history. */
  lastChange(): number;
  /** Calls when work begins, advances and ends; returns a function that stops the calls. */
  onWork(listener: () => void): () => void;
}

export class Feeds {
  readonly #view: FeedView;
  readonly #heartbeatMs: number;
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<void>>();
  #readerCount = 0;

  constructor(view: FeedView, { heartbeatMs = HEARTBEAT_MS } = {}) {
    this.#view = view;
    this.#heartbeatMs = heartbeatMs;
  }

  /** Answers a request; null once the feed has begun. */
  async answer(request: IncomingMessage, response: ServerResponse, query: string): Promise<Reply | null> {
    const auth = this.#view.auth();
    const mayRead = (): boolean => this.#view.auth() === auth && (isSignedIn(request, auth) || showsKey(request, auth));
    if (!mayRead()) {
      const refusal = plain(401, 'Sign in, or send the header Authorization: Bearer KEY\n');
      return { ...refusal, headers: { 'WWW-Authenticate': 'Bearer' } };
    }
    // A reader that reconnects sends its last number in a header; its address still has the first one.
    const given = request.headers['last-event-id'] ?? new URLSearchParams(query).get('after') ?? '';
    const after = sequenceNumber(String(given));
    if (after === null) return plain(400, 'Missing ?after=NUMBER; use 0 to get everything\n');
    if (this.#readerCount >= READERS_MAX) return plain(503, `${READERS_MAX} readers are connected already\n`);
    const gone = new AbortController();
    this.#readerCount += 1;
    response.once('close', () => {
      this.#readerCount -= 1;
      gone.abort();
    });
    const block = await this.#block(after, gone.signal);
    if (typeof block !== 'string') return block;
    if (request.method === 'HEAD') return { status: 200, type: EVENTS, body: '' };
    response.writeHead(200, { 'Content-Type': EVENTS });
    response.flushHeaders();
    const signal = AbortSignal.any([gone.signal, this.#closing.signal]);
    // Any failure ends the answer; the reader reconnects with its last number.
    const running = this.#run(response, { after, block, mayRead, signal })
      .catch(() => undefined)
      .then(() => void response.end());
    this.#running.add(running);
    void running.then(() => this.#running.delete(running));
    return null;
  }

  /** Ends all feeds; resolves when everything is sent. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#running);
  }

  /** Ends by throwing, or when the reader may read no more: it signed out, or the daemon has another replica. */
  async #run(
    response: ServerResponse,
    feed: {
      readonly after: number;
      readonly block: string;
      readonly mayRead: () => boolean;
      readonly signal: AbortSignal;
    },
  ): Promise<void> {
    const { mayRead, signal } = feed;
    let { after, block } = feed;
    for (;;) {
      await send(response, block, signal);
      after = lastNumber(block) ?? after;
      while (this.#view.lastChange() <= after) {
        if (!(await this.#hasNews(signal))) await send(response, HEARTBEAT, signal);
      }
      const next = mayRead() ? await this.#block(after, signal) : null;
      if (typeof next !== 'string') return;
      block = next;
    }
  }

  /** Waits until work begins, advances or ends; false after a time-out. Throws once the feed has to end. */
  async #hasNews(signal: AbortSignal): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const end = AbortSignal.any([signal, AbortSignal.timeout(this.#heartbeatMs)]);
    end.addEventListener('abort', () => resolve(false), { once: true });
    const forget = this.#view.onWork(() => resolve(true));
    const hasNews = end.aborted ? false : await promise;
    forget();
    signal.throwIfAborted();
    return hasNews;
  }

  /** The events after a number as they are sent, or an error. */
  async #block(after: number, signal: AbortSignal): Promise<string | Reply> {
    try {
      const request = { path: '/changes', query: `after=${after}`, msMax: BLOCK_MS_MAX, signal };
      const { status, body } = await this.#view.document(request);
      const block = typeof body === 'string' ? body : await text(body);
      return status === 200 ? block : plain(status, block);
    } catch (thrown) {
      if (!(thrown instanceof ChildFailure)) throw thrown;
      return plain(503, 'the page process has no answer\n');
    }
  }
}

const EVENTS = 'text/event-stream; charset=utf-8';

/** A comment, which readers skip. */
const HEARTBEAT = ':\n\n';

async function send(response: ServerResponse, block: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (block !== '' && !response.write(block)) await once(response, 'drain', { signal });
}

/** The number of the last event of a block; null where it has none. */
function lastNumber(block: string): number | null {
  const number = /^id: (\d+)$/m.exec(block.slice(block.lastIndexOf('\nid: ') + 1))?.[1];
  return number === undefined ? null : Number(number);
}
