/**
 * A block of the feed `/changes`, in the page process: the events after a number, as server-sent events. feed.ts asks for one block after the other.
 * Input: the number. Output: one chunk for each event, or one sentence about an error.
 */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { asRowsyncError } from '../../base/errors.ts';
import { readEvents } from '../../history/events.ts';
import type { Desk } from './desk.ts';
import type { PageReply } from './request.ts';

/** The events after `?after=`. */
export function answerChanges({ reader, query, request }: Desk): PageReply {
  try {
    const source = pathToFileURL(resolve(request.replicaPath)).href;
    const events = readEvents(reader, Number(query.get('after')), source);
    const chunks = events.map(({ seq, json }) => `id: ${seq}\ndata: ${json}\n\n`);
    return { status: 200, type: 'text/event-stream; charset=utf-8', chunks };
  } catch (thrown) {
    const { message, hint, kind } = asRowsyncError(thrown);
    const body = `${message}. ${hint ?? ''}\n`;
    return { status: kind === 'usage' ? 409 : 503, type: 'text/plain; charset=utf-8', chunks: [body] };
  }
}
