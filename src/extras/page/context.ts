/**
 * What every page is built from: the request with an open replica, the layout, error pages, and links of columns.
 */
import { readBrowsedTables, type BrowsedTable, type Cell } from '../shared/rows-page.ts';
import { findReference, type Reference } from '../shared/browse-row.ts';
import type { ReplicaReader } from '../../replica/reader.ts';
import { framedHtml, sentenceHtml, type Bar, type PageLayout } from './layout.ts';
import { html, type Html, type HtmlPart } from './html.ts';
import { pathPart } from './address.ts';
import { nearestName } from '../../reconcile/option-bindings.ts';
import type { AnswerChunks } from '../shared/child-process.ts';
import type { PageRequest } from './request.ts';

export interface PageInput {
  readonly request: PageRequest;
  readonly reader: ReplicaReader;
  readonly query: URLSearchParams;
}

/** A page about an error; `reader` is null where the replica cannot be read. */
export function problem(
  { request, reader }: Pick<PageInput, 'request'> & { readonly reader: ReplicaReader | null },
  status: number,
  words: string,
  hint: HtmlPart = null,
): AnswerChunks {
  const options = { identity: reader?.identity() ?? null, formToken: request.formToken };
  return { status, type: 'text/html; charset=utf-8', chunks: [sentenceHtml(options, words, hint)] };
}

/** The page about a name of no table, with the one that may be meant. */
export function unknownTable(page: PageInput, name: string): AnswerChunks {
  const names = readBrowsedTables(page.reader).map((table) => table.name);
  const meant = meantHtml(name, names, (near) => html`<a href="/browse/${pathPart(near)}"><bdi>${near}</bdi></a>`);
  const hint = html`${meant}It may have another name now: <a href="/browse">all tables</a>.`;
  return problem(page, 404, `There is no table “${name}”`, hint);
}

/** The way back to a table, and what else is near. */
export function crumbsHtml({ name }: Pick<BrowsedTable, 'name'>, near: HtmlPart = null): Html {
  return html`<p class="crumbs">
    <a href="/browse">Tables</a> <a href="/browse/${pathPart(name)}"><bdi>${name}</bdi></a> ${near}
  </p>`;
}

/** Asks whether another name is meant; null where none is near. */
export function meantHtml(name: string, names: readonly string[], link: (near: string) => Html): Html | null {
  const near = nearestName(name, names);
  return near === null ? null : html`Did you mean ${link(near)}? `;
}

/** A page with the bar at its top, and the result of the last decision. */
export function framed(
  { request, reader }: PageInput,
  options: Omit<PageLayout, keyof Bar>,
  body: Html,
  status = 200,
): AnswerChunks {
  const { said, refused, formToken } = request;
  // The answer to a form has no address that could be asked for again.
  const still = refused === undefined ? {} : { liveSeconds: 0, refreshSeconds: null };
  const layout = { ...options, ...still, identity: reader.identity(), formToken };
  const page = framedHtml(
    layout,
    html`${said !== null && html`<p class="said" role="status">${said}</p>`}${
      refused !== undefined && html`<p class="problem" role="alert">${refused.words}</p>`
    }${body}`,
  );
  return { status, type: 'text/html; charset=utf-8', chunks: [page] };
}

export function redirect(location: string): AnswerChunks {
  return { status: 303, type: 'text/plain; charset=utf-8', headers: { Location: location }, chunks: [] };
}

/** The tables that values of columns link to, by the names of the columns. */
export function readReferences(
  reader: ReplicaReader,
  table: BrowsedTable,
  columns: readonly string[],
  valuesOf: (index: number) => readonly Cell[],
): ReadonlyMap<string, Reference> {
  const tables = readBrowsedTables(reader);
  return new Map(
    columns.flatMap((column, index) => {
      const reference = findReference(reader, tables, { table, column, values: valuesOf(index) });
      return reference === null ? [] : [[column, reference] as const];
    }),
  );
}

/** Headers that make a browser save an answer as a file, under a name without a path. */
export function saveAs(name: string): Readonly<Record<string, string>> {
  // A character that is cut in half is replaced, too: it is no character any more.
  const safe = name.slice(0, 200).replaceAll(/[\p{C}/\\]/gu, '_') || 'file';
  const encoded = encodeURIComponent(safe).replaceAll(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return {
    'Content-Disposition': `attachment; filename="${safe.replaceAll(/[^\w.-]/g, '_')}"; filename*=UTF-8''${encoded}`,
  };
}
