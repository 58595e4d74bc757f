/**
 * The page about the daemon's work, read from the replica and the daemon's state. Input: a question. Output: the answer.
 */
import { readRunResults } from '../../replica/bookkeeping/runs.ts';
import { RUNS_READ_MAX } from './done.ts';
import { framed, type Desk } from './desk.ts';
import { html } from './html.ts';
import type { PageReply } from './request.ts';
import { workHtml } from './work.ts';

/** Reads and makes it. */
export function answerWork(desk: Desk): PageReply {
  const { reader, request } = desk;
  const { state, work, formToken, nowMs, said } = request;
  const refusedCount = reader.status().reduce((sum, table) => sum + table.refusedCount - table.inDoubtCount, 0);
  const body = html`${said === null ? null : html`<p class="said" role="status">${said}</p>`}
  ${workHtml({ state, work, refusedCount, runs: reader.runs(RUNS_READ_MAX), results: readRunResults(reader, RUNS_READ_MAX), formToken, nowMs })}`;
  const refreshSeconds = state.working === null ? 60 : 5;
  return framed(desk, { title: 'Work · rowsync', place: 'Work', refreshSeconds }, body);
}
