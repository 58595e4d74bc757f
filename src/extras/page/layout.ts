/**
 * The layout of all pages: the document, the bar at the top with links to the other pages, and pages with one
 * sentence.
 */
import type { ReplicaIdentity } from '../../replica/reader.ts';
import type { PersonDecision } from '../../capture/person-decision.ts';
import { html, type Html, type HtmlPart } from './html.ts';

export type PageName = 'Today' | 'Browse' | 'Ask' | 'Work';

export interface PageLayout {
  readonly title: string;
  /** Null for a page that the bar does not lead to. */
  readonly place: PageName | null;
  readonly identity: Pick<ReplicaIdentity, 'database' | 'url'> | null;
  /** Null before signing in. */
  readonly formToken: string | null;
  /** Rows need the whole width of the window. */
  readonly isWide?: boolean;
  /** Seconds after which the script renews what changed, which it also does when work ends; 0 for never. */
  readonly liveSeconds?: number;
  /** Seconds until a browser without scripts reloads the page; null for never. */
  readonly refreshSeconds?: number | null;
}

export function framedHtml(layout: PageLayout, body: Html): string {
  const { title, isWide = false, liveSeconds = 0, refreshSeconds = null } = layout;
  return documentHtml(
    title,
    html`<a class="skip" href="#main">Skip to the content</a> ${topHtml(layout)}
      <main id="main" class="${isWide ? 'whole' : 'narrow'}" data-live="${liveSeconds}">${body}</main>`,
    html`${
        refreshSeconds !== null && html`<noscript><meta http-equiv="refresh" content="${refreshSeconds}" /></noscript>`
      }
      <script src="/page.js" defer></script>`,
  );
}

export function documentHtml(title: string, body: Html, head: Html | null): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <title>${title}</title>
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <link rel="icon" href="/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="/page.css" />
        ${head}
      </head>
      <body>
        ${body}
      </body>
    </html>`.toString();
}

export function topHtml({ identity, formToken, place }: Pick<PageLayout, 'identity' | 'formToken' | 'place'>): Html {
  const current = (name: PageName): string => (name === place ? 'page' : 'false');
  return html`<header class="top">
    <p class="brand">rowsync</p>
    ${
      formToken !== null &&
      html`<nav aria-label="Pages">
        <a href="/" aria-current="${current('Today')}">Today</a>
        <a href="/browse" aria-current="${current('Browse')}">Browse</a>
        <a href="/ask" aria-current="${current('Ask')}">Ask</a>
        <a href="/work" aria-current="${current('Work')}">Work</a>
      </nav>`
    }
    ${
      identity !== null &&
      html`<p class="where">
        Database <bdi>${identity.database}</bdi> at <bdi>${identity.url.replace(/^https?:\/\//, '')}</bdi>
      </p>`
    }
    ${
      formToken !== null &&
      html`<form method="post" action="/sign-out">
        <input type="hidden" name="token" value="${formToken}" /><button class="plain">Sign out</button>
      </form>`
    }
  </header>`;
}

/** What the bar at the top has to say; without a form token it leads nowhere. */
export type Bar = Pick<PageLayout, 'identity' | 'formToken'>;

export function sentenceHtml(bar: Bar, sentence: string, hint: HtmlPart = null): string {
  return framedHtml(
    { title: `${sentence} · rowsync`, place: null, ...bar },
    html`<section class="verdict warn" role="alert">
      <h1>${sentence}</h1>
      ${hint !== null && html`<p>${hint}</p>`} ${bar.formToken === null && html`<p><a href="/">Sign in</a></p>`}
    </section>`,
  );
}

/** Fields of a form that nobody sees; the first one proves that the form is of this daemon. */
export function hiddenHtml(
  formToken: string,
  fields: Readonly<Record<string, string | number | Html>>,
): readonly Html[] {
  return Object.entries({ token: formToken, ...fields }).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
  );
}

/** A value in a field, as JSON of printable ASCII characters, so that it comes back to the letter. */
export function jsonField(value: object): string {
  const escaped = (sign: string): string => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(value).replaceAll(/[^\x20-\x7E]/g, escaped);
}

type Button = readonly [label: string, look?: string];

/** A button that sends a decision, and the page to which it leads afterwards. */
export function decideForm(
  formToken: string,
  decision: PersonDecision,
  [label, look = '']: Button,
  next: string = '/',
): Html {
  return html`<form method="post" action="/decide">
    ${hiddenHtml(formToken, { decision: jsonField(decision), next })}<button class="${look}">${label}</button>
  </form>`;
}

export function cycleForm(formToken: string, work: Readonly<Record<string, string>>, [label, look = '']: Button): Html {
  return html`<form method="post" action="/cycle">
    ${hiddenHtml(formToken, work)}<button class="${look}">${label}</button>
  </form>`;
}

/** A part that is folded until a person opens it, or until what was typed in it was refused. */
export function foldedHtml(isOpen: boolean, title: string, body: Html): Html {
  const content = html`<summary>${title}</summary>
    ${body}`;
  return isOpen ? html`<details open>${content}</details>` : html`<details>${content}</details>`;
}

/** A button that asks once more, without a script: the first click shows what it does, and the button that does it. */
export function confirmForm(title: string, words: string, form: Parameters<typeof decideForm>): Html {
  const content = html`<p>${words}</p>
    ${decideForm(...form)}`;
  return html`<div class="confirm">${foldedHtml(false, title, content)}</div>`;
}

export function sectionHtml(id: string, title: HtmlPart, body: HtmlPart): Html {
  return html`<section aria-labelledby="${id}">
    <h2 id="${id}">${title}</h2>
    ${body}
  </section>`;
}

/** A column of a table; the first one names the row. */
export interface PageColumn<Row> {
  readonly title: string;
  readonly isNumber?: boolean;
  readonly look?: (row: Row) => string;
  readonly cell: (row: Row) => HtmlPart;
}

/** A table; in a narrow window each cell of `tables` has the title of its column. */
export function tableHtml<Row>(
  look: string,
  caption: string,
  { columns, rows }: { readonly columns: readonly PageColumn<Row>[]; readonly rows: readonly Row[] },
): Html {
  const numberOf = ({ isNumber = false }: PageColumn<Row>): string => (isNumber ? 'number' : '');
  const cellHtml = (column: PageColumn<Row>, row: Row, index: number): Html =>
    index === 0
      ? html`<th scope="row">${column.cell(row)}</th>`
      : html`<td class="${numberOf(column)} ${column.look?.(row) ?? ''}" data-label="${column.title}">
          ${column.cell(row)}
        </td>`;
  return html`<table class="${look}">
    <caption class="unseen">
      ${caption}
    </caption>
    <thead>
      <tr>
        ${columns.map((column) => html`<th scope="col" class="${numberOf(column)}">${column.title}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${rows.map(
        (row) =>
          html`<tr>
            ${columns.map((column, index) => cellHtml(column, row, index))}
          </tr>`,
      )}
    </tbody>
  </table>`;
}
