/**
 * Requests of commands to the server of a running daemon: for its state, to carry out a decision, or to do work.
 */
import { RowsyncError } from '../../base/errors.ts';
import { durationText, printable } from '../../base/text.ts';
import type { DaemonClient } from '../../extra.ts';
import { askDaemonTo, hearDaemon, type DaemonAnswer } from '../shared/daemon-client.ts';
import { handOver } from './hand-over.ts';
import { httpOf, type HttpSettings } from '../shared/http-settings.ts';

export const DAEMON_CLIENT: DaemonClient = {
  hear: async (config, { extras, nowMs }) => {
    const { answer: daemon, facts } = await hearDaemon(config, extras);
    const page = daemon === null ? null : pageAddress(httpOf(config));
    const lines = daemon === null ? [] : daemonLines(daemon, nowMs);
    return {
      ...facts,
      lines: page === null ? lines : [...lines, `page      ${printable(page)}`],
      json: { daemon, page },
    };
  },
  decide: async (config, decision, cause) => {
    if (httpOf(config).listen === null)
      throw withHint(cause, 'Set http.listen, so that the daemon can be asked, or stop it meanwhile.');
    const answer = await askDaemonTo(config, decision);
    if (answer === null)
      throw withHint(
        cause,
        'A command ends by itself: try again then. A daemon answers those who may read the key of its page, beside the replica.',
      );
    return answer;
  },
  handOver,
};

/** The address of its page, where a browser can reach it: null for a socket. */
export function pageAddress({ listen }: Pick<HttpSettings, 'listen'>): string | null {
  if (listen === null || listen.kind === 'socket') return null;
  return `http://${listen.host.includes(':') ? `[${listen.host}]` : listen.host}:${listen.port}/`;
}

/** Its state, and what it does next. */
export function daemonLines(
  { status, working, failure, jobs, notes = [] }: DaemonAnswer,
  nowMs: number,
): readonly string[] {
  const [next] = jobs.toSorted((a, b) => Date.parse(a.nextAt) - Date.parse(b.nextAt));
  const inMs = next === undefined ? 0 : Math.max(0, Date.parse(next.nextAt) - nowMs);
  const planned = next === undefined ? 'nothing is scheduled' : `next ${next.job} in ${durationText(inMs)}`;
  // A failure delays work that is due earlier.
  const retryInMs = failure?.retryInMs ?? 0;
  const then = retryInMs > 0 ? `tries again in ${durationText(retryInMs)}` : planned;
  const now = working === null ? then : `${working} under way`;
  const hints = failure === null ? [] : [`          what to do: ${failure.hint}`];
  return [`daemon    ${status}; ${now}`, ...hints, ...notes].map(printable);
}

function withHint({ kind, code, message, cause }: RowsyncError, hint: string): RowsyncError {
  return new RowsyncError(kind, code, { message, hint, cause });
}
