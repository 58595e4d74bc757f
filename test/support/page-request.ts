/**
 * Questions for a page process, as a daemon that waits would ask them.
 *
 *    const { status, body } = await host.ask(requestOf(path, '/browse'), { msMax: 20_000, signal });
 *    const { status, body } = pageOf(requestOf(path, '/browse'));     // in this process, as one text
 */
import { join } from 'node:path';
import { NOTHING_KEPT } from './kept.ts';
import type { PageRequest } from '../../src/extras/page/request.ts';
import { answerPage } from '../../src/extras/page/routes.ts';
import { RESTING_STATE } from './daemon-state.ts';

/** One question; `query` is the part after the `?`. */
export function requestOf(replicaPath: string, path: string, query = ''): PageRequest {
  return {
    path,
    query,
    form: null,
    formToken: 'token',
    said: null,
    nowMs: Date.UTC(2026, 5, 1),
    replicaPath,
    filesFolder: join(replicaPath, '..', 'files'),
    recordUrl: null,
    references: {},
    state: RESTING_STATE,
    work: { progress: null, notes: [] },
    around: {
      keeper: 'daemon',
      complaints: [],
      ...NOTHING_KEPT,
      nowMs: Date.UTC(2026, 5, 1),
    },
  };
}

/** A page, its text with one space for each run of white space. */
export interface MadePage {
  readonly status: number;
  readonly type: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Makes a page in this process. */
export function pageOf(request: PageRequest): MadePage {
  const { status, type, headers = {}, chunks } = answerPage(request);
  const body = Buffer.concat([...chunks].map((chunk) => Buffer.from(chunk))).toString();
  return { status, type, headers, body: type.startsWith('text/html') ? body.replaceAll(/\s+/g, ' ') : body };
}

/** The forms of a page: where each is sent, and its fields as a browser would send them. */
export function formsOf(body: string): readonly (Readonly<Record<string, string>> & { readonly action: string })[] {
  return [...body.matchAll(/<form method="post" action="([^"]*)"(.*?)<\/form>/gs)].map(
    ([, action = '', content = '']) => {
      const fields = [...content.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)];
      return Object.assign(Object.fromEntries(fields.map(([, name = '', value = '']) => [name, plain(value)])), {
        action,
      });
    },
  );
}

/** What a person reads of a page, without its tags. */
export function readText(body: string): string {
  return plain(body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' '));
}

function plain(text: string): string {
  const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", '#96': '`' };
  return text.replaceAll(/&(amp|lt|gt|quot|#39|#96);/g, (_, name: string) => entities[name] ?? '');
}
