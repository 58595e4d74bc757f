/**
 * The styles, the one script and the icon of the page, served by the daemon. So the browser need not run anything
 * inside the page, and nothing comes from elsewhere. Constants only.
 */

export const PAGE_CSS = `:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #fff; --text: #1b2330; --soft: #586173; --line: #dfe3ea; --field: #fff;
  --accent: #1f5fd0; --accent-text: #fff; --quiet: #eef1f6;
  --ok: #10703f; --ok-soft: #e3f4ea; --busy: #1f5fa8; --busy-soft: #e4effb;
  --warn: #8a5200; --warn-soft: #fdf0d8; --bad: #b3261e; --bad-soft: #fce8e6;
  --bar-read: #1f5fd0; --bar-skipped: #b4c8ec; --bar-late: #d9902f;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12161c; --card: #1a2029; --text: #e6eaf0; --soft: #a3adbd; --line: #2d3542; --field: #11161d;
    --accent: #8ab4ff; --accent-text: #0c1a33; --quiet: #232b36;
    --ok: #7dd8a3; --ok-soft: #15301f; --busy: #93c2f7; --busy-soft: #14293f;
    --warn: #f2c069; --warn-soft: #34270d; --bad: #ff9c94; --bad-soft: #3d1a18;
    --bar-read: #6d9df2; --bar-skipped: #34496e; --bar-late: #c98a3a;
  }
}
*, *::before, *::after { box-sizing: border-box; }
body {
  margin: 0; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  overflow-wrap: anywhere;
}
html { scrollbar-gutter: stable; }
.top, main { max-width: 110rem; margin: 0 auto; padding: 0 1.25rem; }
/* Its left edge is that of the bar on every page. */
main:not(.whole) { max-width: 62rem; margin-left: max(0px, (100% - 110rem) / 2); }
.top { display: flex; align-items: baseline; gap: .25rem 1rem; flex-wrap: wrap; padding-top: 1.25rem; padding-bottom: 1rem; }
.top p { margin: 0; }
.top form { margin-left: auto; }
.brand { font-weight: 700; letter-spacing: -.01em; font-size: 1.05rem; }
.where { color: var(--soft); }
h1 { font-size: clamp(1.4rem, 1.1rem + 1.6vw, 1.9rem); line-height: 1.2; letter-spacing: -.015em; margin: 0 0 .35rem; font-weight: 650; }
h2 { font-size: 1.05rem; margin: 0 0 .6rem; font-weight: 650; }
h3 { font-size: 1rem; margin: 0; font-weight: 600; }
section { margin: 0 0 2.25rem; }
p { margin: 0 0 .6rem; }
.about, .more, .meta, .none, .hint, .reason, .where, small { color: var(--soft); }
.none { font-style: italic; }
a { color: var(--accent); text-underline-offset: .15em; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
code { font: .9em/1.4 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.said { background: var(--busy-soft); color: var(--busy); padding: .65rem 1rem; border-radius: 10px; margin-bottom: 1rem; font-weight: 500; }

.verdict { background: var(--card); border: 1px solid var(--line); border-radius: 12px; box-shadow: inset 6px 0 0 var(--tone); padding: 1.25rem 1.5rem 1.25rem 1.75rem; }
.verdict h1 { color: var(--tone); }
.verdict > p { color: var(--soft); margin-bottom: 0; }
.verdict form { margin-top: 1rem; }
.ok { --tone: var(--ok); --tone-soft: var(--ok-soft); }
.busy { --tone: var(--busy); --tone-soft: var(--busy-soft); }
.warn { --tone: var(--warn); --tone-soft: var(--warn-soft); }
.bad { --tone: var(--bad); --tone-soft: var(--bad-soft); }
.todos { list-style: none; margin: 1rem 0 0; padding: 0; border-top: 1px solid var(--line); }
.todos li { padding: .55rem 0; border-bottom: 1px solid var(--line); }
.todos li:last-child { border-bottom: 0; padding-bottom: 0; }
.hint { display: block; }
.todos form { margin: .5rem 0 .2rem; }

table { border-collapse: collapse; width: 100%; background: var(--card); border: 1px solid var(--line); border-radius: 12px; border-spacing: 0; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .5rem .75rem; border-top: 1px solid var(--line); vertical-align: baseline; }
thead th { border-top: 0; color: var(--soft); font-weight: 500; font-size: .85rem; white-space: nowrap; }
tbody th { font-weight: 550; }
.number { text-align: right; white-space: nowrap; }
.zero { color: var(--soft); }
.some { font-weight: 650; }
.mode { font-weight: 400; margin-left: .35rem; white-space: nowrap; }
.state { display: inline-block; color: var(--tone); background: var(--tone-soft); padding: .05rem .55rem; border-radius: 99px; font-size: .85rem; font-weight: 550; white-space: nowrap; }
.reason { display: block; font-size: .9rem; }
.tables, .scroll { border-radius: 12px; }
.tables { border-collapse: separate; }
.scroll { overflow-x: auto; border: 1px solid var(--line); background: var(--card); }
.scroll table { border: 0; }
.scroll th, .scroll td { overflow-wrap: break-word; }

.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1rem 1.2rem; margin: 0 0 .9rem; }
.card .meta { margin: .1rem 0 .75rem; }
.problem { color: var(--warn); background: var(--warn-soft); border-radius: 8px; padding: .45rem .75rem; }
.versions { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(13rem, 100%), 1fr)); gap: .75rem; margin: 0 0 1rem; }
.versions > div { background: var(--quiet); border-radius: 8px; padding: .55rem .75rem; min-width: 0; }
dt { font-weight: 600; font-size: .85rem; }
dt small { font-weight: 400; font-size: 1em; margin-left: .25rem; }
dd { margin: .15rem 0 0; }
.value { white-space: pre-wrap; }
.cells { margin: 0; display: grid; gap: .3rem; }
.cells > div { display: grid; grid-template-columns: minmax(5rem, 9rem) minmax(0, 1fr); gap: .5rem; align-items: baseline; }
.cells dt { color: var(--soft); font-weight: 500; }
.cells dd { margin: 0; }
.cells + .none { margin: .3rem 0 0; }
mark { background: var(--warn-soft); color: var(--warn); border-radius: 4px; padding: 0 .1rem; }
kbd { font: inherit; border: 1px solid var(--line); border-radius: 4px; padding: 0 .35rem; background: var(--card); }
.versions .cells > div { grid-template-columns: minmax(0, 1fr); gap: 0; }
.label { color: var(--soft); font-size: .85rem; margin: .75rem 0 .25rem; }
.card > .cells, .card > .none { margin-bottom: .9rem; }
blockquote { margin: 0 0 .9rem; padding: .1rem 0 .1rem .9rem; border-left: 3px solid var(--line); }
blockquote p { margin: 0; }
blockquote footer { color: var(--soft); font-size: .85rem; }

button, input, textarea { font: inherit; color: inherit; }
button { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .4rem .95rem; cursor: pointer; font-weight: 500; min-height: 2.4rem; }
button:hover { border-color: var(--accent); }
button.main { background: var(--accent); border-color: var(--accent); color: var(--accent-text); }
button.main:hover { filter: brightness(1.08); }
button.plain { border: 0; background: none; color: var(--accent); padding: 0; min-height: 0; text-decoration: underline; text-underline-offset: .15em; }
.buttons { display: flex; flex-wrap: wrap; gap: .5rem; }
input[type="password"], textarea { background: var(--field); border: 1px solid var(--soft); border-radius: 8px; padding: .45rem .7rem; width: 100%; min-width: 0; }
.sign-in { display: grid; grid-template-columns: auto minmax(0, 24rem) auto; gap: .6rem; align-items: center; justify-content: start; }
.sign-in + p { margin: .75rem 0 0; }
.other { display: grid; gap: .5rem; padding-top: .6rem; max-width: 34rem; }
details { margin-top: .75rem; }
summary { cursor: pointer; color: var(--accent); width: fit-content; }

rect.read { fill: var(--bar-read); } rect.failed { fill: var(--bad); }
.key::before { content: ""; display: inline-block; width: .7rem; height: .7rem; border-radius: 3px; margin-right: .4rem; background: var(--key); }
.key.failed { --key: var(--bad); }

.bottom { color: var(--soft); font-size: .85rem; padding-top: 1rem; padding-bottom: 2.5rem; }
.bottom p { margin: 0 0 .2rem; }
main .bottom { padding-left: 0; padding-right: 0; }

/* The bar at the top, and the way to the content. */
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: .5rem; background: var(--card); padding: .4rem .8rem; border-radius: 8px; z-index: 2; }
.top nav { display: flex; gap: .15rem; flex-wrap: wrap; }
.top nav a { padding: .25rem .7rem; border-radius: 8px; text-decoration: none; color: var(--text); font-weight: 500; }
.top nav a:hover { background: var(--quiet); }
.top nav a[aria-current="page"] { background: var(--accent); color: var(--accent-text); }
.crumbs { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin-bottom: .4rem; font-size: .9rem; }
.button, .confirm summary { display: inline-block; color: var(--accent); background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .4rem .95rem; font-weight: 500; text-decoration: none; }
.button:hover, .confirm summary:hover { border-color: var(--accent); }
.confirm details { margin: 0; }
.confirm:has([open]) { flex: 1 1 100%; }
.confirm details[open] { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1rem 1.2rem; }
.confirm details[open] summary { margin-bottom: .75rem; }
.todos .confirm { margin: .5rem 0 .2rem; }
.nothing { padding: 1rem 0; color: var(--soft); }

/* Rows. */
.tools { display: flex; flex-wrap: wrap; gap: .5rem 1.25rem; align-items: center; margin: 0 0 .75rem; }
.tools form[role="search"] { display: flex; gap: .5rem; flex: 0 1 26rem; min-width: 0; }
.tools input[type="search"] { flex: 1; min-width: 0; }
.tools details { margin: 0; }
.tools details[open] { flex-basis: 100%; order: 9; }
.exports { display: flex; gap: 1rem; margin: 0; }
.checks { columns: 14rem; margin: 0 0 .75rem; }
.checks label { display: block; padding: .15rem 0; break-inside: avoid; }
.sql { background: var(--quiet); border-radius: 8px; padding: .75rem 1rem; white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0; max-height: 24rem; overflow: auto; }
.help > div { display: grid; grid-template-columns: 12rem minmax(0, 1fr); gap: .5rem; padding: .1rem 0; }
.help dt, .help dd { margin: 0; font-weight: 400; }
.chips { display: flex; flex-wrap: wrap; gap: .4rem; list-style: none; padding: 0; margin: 0 0 .75rem; }
.chips li { background: var(--busy-soft); color: var(--busy); border-radius: 99px; padding: .15rem .3rem .15rem .8rem; font-size: .9rem; max-width: 100%; }
.chips a { color: inherit; text-decoration: none; padding: .1rem .45rem; border-radius: 99px; }
.chips .plain { background: none; padding-left: .3rem; }
.chips .plain a { color: var(--accent); text-decoration: underline; }
.chips a:hover { background: var(--card); }
td.bar { width: 100%; min-width: 8rem; }
.bar svg { display: block; width: 100%; height: 1.1rem; }
.facets { display: flex; flex-wrap: wrap; align-items: start; gap: .75rem; margin-bottom: .9rem; }
.facets .card { flex: 0 1 17rem; margin: 0; }
.rows + section { margin-top: 1.75rem; }
.verdict > .problem { color: var(--warn); margin-bottom: .6rem; }
.facet { list-style: none; padding: 0; margin: 0; }
.tools .facet { columns: 14rem; }
.facet li { break-inside: avoid; margin-bottom: .35rem; }
.facets .facet li { margin: 0; }
.tools .facet small { display: block; }
.scroll { position: relative; }
main > h1 { margin-bottom: .8rem; }
main > h1 + .about { margin-top: -.5rem; }
section.card { margin-bottom: 1.75rem; }
.grid td a { white-space: nowrap; }
.rows { max-height: 75vh; overflow: auto; }
.grid { width: auto; min-width: 100%; border-collapse: separate; }
.grid th, .grid td { padding: .35rem .65rem; vertical-align: top; border-top: 0; border-bottom: 1px solid var(--line); overflow-wrap: normal; }
.grid tbody tr:last-child > * { border-bottom: 0; }
.grid thead th { position: sticky; top: 0; background: var(--card); z-index: 1; }
.pinned thead th:first-child, .pinned tbody th { position: sticky; left: 0; background: var(--card); z-index: 1; }
.pinned thead th:first-child { z-index: 2; }
.grid thead a { color: var(--text); text-decoration: none; font-weight: 600; }
.grid thead a:hover { color: var(--accent); text-decoration: underline; }
.grid tbody th { font-weight: 400; font-variant-numeric: tabular-nums; white-space: nowrap; }
.grid tbody tr:hover > * { background: var(--quiet); }
.grid .filters td { padding: .15rem .3rem .45rem; }
.grid .filters input { width: 100%; min-width: 4.5rem; padding: .2rem .45rem; font-size: .85rem; border-color: var(--line); }
.grid .number { white-space: nowrap; }
.cut { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 3; overflow: hidden; min-width: 4rem; max-width: 24rem; width: max-content; overflow-wrap: anywhere; }
td.null.number { text-align: right; }
.number .cut { margin-left: auto; min-width: 0; }
.null::before { content: "–"; color: var(--soft); }
.turn { display: flex; gap: .5rem; margin: .9rem 0 0; }
.turn a { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .35rem .9rem; text-decoration: none; font-weight: 500; }
.turn a:hover { border-color: var(--accent); }

/* One row, its files, and the form. */
.pending { border-color: var(--busy); }
.files { list-style: none; padding: 0; display: grid; grid-template-columns: repeat(auto-fill, minmax(min(15rem, 100%), 1fr)); gap: .9rem; margin: 0; }
.files li { margin: 0; }
.files img { display: block; width: 100%; height: 10rem; object-fit: contain; background: var(--quiet); border-radius: 8px; margin-bottom: .6rem; }
.files p { margin: 0 0 .3rem; }
.files small { display: block; }
.files p a { margin-right: .8rem; }
.field { display: grid; grid-template-columns: minmax(7rem, 13rem) minmax(0, 1fr); gap: .25rem 1rem; align-items: baseline; margin: 0 0 .7rem; }
.field label { font-weight: 500; }
.field .problem { grid-column: -2 / -1; color: var(--bad); background: var(--bad-soft); }
[aria-invalid="true"] { outline: 2px solid var(--bad); }
.field label small { display: block; font-weight: 400; }
.problem[role="alert"] { font-weight: 500; }

/* SQL. */
.asking { display: grid; grid-template-columns: minmax(0, 1fr) 16rem; gap: 1.5rem; align-items: start; }
.ask { margin-bottom: 1.25rem; }
.card + section { margin-top: 1.75rem; }
.ask input { margin-bottom: .9rem; }
.ask label { display: block; font-weight: 500; margin-bottom: .3rem; }
.ask textarea { font: .92rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; margin-bottom: .6rem; }
aside h2 { margin-bottom: .3rem; }
aside details { margin: 0 0 .15rem; }
.names { list-style: none; padding: 0 0 .3rem 1rem; margin: 0; font-size: .9rem; color: var(--soft); }
.examples { padding-left: 1.1rem; }
input[type="search"], input[type="text"], input[type="date"], input[type="datetime-local"], input:not([type]), select { background: var(--field); border: 1px solid var(--soft); border-radius: 8px; padding: .4rem .65rem; min-width: 0; color: inherit; font: inherit; }
.field input, .field select { width: 100%; }

/* Days, strips and work. */
.spark { display: block; width: 12rem; max-width: 100%; height: 1.6rem; }
.strip { display: block; width: 12rem; max-width: 100%; height: .9rem; border-radius: 4px; }
rect.nil { fill: var(--line); }
.strip rect.fresh { fill: var(--ok); } .strip rect.followed { fill: var(--bar-skipped); } .strip rect.late { fill: var(--bar-late); }
.strip rect.failed { fill: var(--bad); } .strip rect.calm { fill: var(--quiet); } .strip rect.unknown { fill: var(--line); }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; font-size: .85rem; color: var(--soft); margin: .6rem 0 0; }
.key.fresh { --key: var(--ok); } .key.followed { --key: var(--bar-skipped); } .key.late { --key: var(--bar-late); }
.key.calm { --key: var(--quiet); } .key.unknown { --key: var(--line); }
.key.calm::before, .key.unknown::before { outline: 1px solid var(--line); }
.person { display: inline-block; margin-right: .8rem; }
.gone { color: var(--bad); }
progress { width: 100%; max-width: 32rem; height: .8rem; accent-color: var(--accent); margin-bottom: .9rem; }
.notes { list-style: none; padding: 0; margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
.buttons + .notes { margin-top: .9rem; }
.notes > li { padding: .55rem 1rem; border-top: 1px solid var(--line); }
.notes > li:first-child { border-top: 0; }
.notes p, .notes details { margin: 0; }
.notes ul { margin: .2rem 0 0; padding-left: 1.2rem; }
.notes .cells { padding: .15rem 0 .15rem 1.2rem; }
del { color: var(--soft); text-decoration-color: var(--bad); }
.cells ins { text-decoration: none; color: var(--ok); }
.quiet { color: var(--soft); }
.changes .cells { gap: .1rem; }
aside details p { margin: .1rem 0 .2rem 1rem; font-size: .9rem; }
.former { margin: 0; padding-left: 1.1rem; }

/* Keys are of use only with a keyboard. */
@media (pointer: coarse), (max-width: 40rem) { #keys { display: none; } }
@media (max-width: 40rem) {
  .top, main { padding-left: .9rem; padding-right: .9rem; }
  .card { padding: 1rem; }
  .verdict { padding: 1rem 1rem 1rem 1.4rem; }
  .tables, .tables tbody { display: block; }
  .tables thead { display: none; }
  .tables tr { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: .1rem .75rem; padding: .7rem .9rem; border-top: 1px solid var(--line); }
  .tables tr:first-child { border-top: 0; }
  .tables th, .tables td { border: 0; padding: .1rem 0; text-align: left; }
  .tables .zero { display: none; }
  .tables th { grid-column: 1 / 3; }
  .tables td:nth-child(2) { text-align: right; }
  .tables td[data-label]:not(:nth-child(2))::before { content: attr(data-label); display: block; color: var(--soft); font-size: .8rem; font-weight: 400; }
  .sign-in { grid-template-columns: minmax(0, 1fr); }
  .asking, .field { grid-template-columns: minmax(0, 1fr); }
  .top { column-gap: .5rem; }
  .top nav a { padding-left: .45rem; padding-right: .45rem; }
  .list tr { grid-template-columns: repeat(3, minmax(0, 1fr)); }
  .day th, .day td, .fresh td:nth-child(5) { grid-column: 1 / -1; }
  .list th { grid-column: 1 / -1; }
  .list td:nth-child(2)[data-label]::before, .day td[data-label]::before { content: attr(data-label); display: block; color: var(--soft); font-size: .8rem; }
  .list td:nth-child(2), .day td:nth-child(2) { text-align: left; }
  .spark, .strip { width: 100%; }
  .help > div { grid-template-columns: 8rem minmax(0, 1fr); }
  .cells > div { grid-template-columns: 6.5rem minmax(0, 1fr); }
  .notes .cells { padding-left: 0; }
  .cut { max-width: 16rem; }
}
`;

/**
 * Renews the parts of a page that changed, but none that a person uses: when work ends, and now and then. Shows the
 * progress of the current work and times of this place, takes keys for conflicts, and offers to stop a query.
 * Everything works without it.
 */
export const PAGE_JS = `'use strict';
const QUIET_MS = 4000;
let touchedAtMs = 0;
for (const name of ['pointermove', 'pointerdown', 'keydown', 'scroll']) {
  addEventListener(name, () => { touchedAtMs = performance.now(); }, { passive: true, capture: true });
}
const here = new URL(location.href);
const said = here.pathname === '/' ? 'said' : '_said';
if (here.searchParams.has(said)) {
  here.searchParams.delete(said);
  history.replaceState(null, '', here);
}
const two = (number) => String(number).padStart(2, '0');
const localText = (moment) => {
  const shift = -moment.getTimezoneOffset();
  const size = Math.abs(shift);
  const offset = (shift < 0 ? '-' : '+') + two(Math.floor(size / 60)) + ':' + two(size % 60);
  return moment.toLocaleString('sv-SE') + ' ' + offset;
};
const dress = (root) => {
  for (const keys of root.querySelectorAll('#keys')) keys.hidden = false;
  for (const time of root.querySelectorAll('time')) {
    const moment = new Date(time.dateTime);
    if (Number.isNaN(moment.getTime())) continue;
    const local = localText(moment);
    if (time.className === 'at') { time.title = time.textContent; time.textContent = local; }
    else time.title = local + ' here, ' + time.title;
  }
};
dress(document);
const isInUse = (part) =>
  part.contains(document.activeElement) ||
  part.querySelector('details[open]') !== null ||
  [...part.querySelectorAll('input, textarea')].some((field) => field.value !== field.defaultValue) ||
  (getSelection()?.isCollapsed === false && getSelection().containsNode(part, true));
const textOf = (part) => part.outerHTML.replace(/value="[\\w-]{43}\\.[\\w-]+"/g, '');
const nameOf = ({ tagName, id, className }) => [tagName, id, className].join();
const replace = (part, fresh) => {
  if (isInUse(part) || textOf(part) === textOf(fresh)) return;
  const scrolled = (root) => [root, ...root.querySelectorAll('.scroll')];
  const spots = scrolled(part).map(({ scrollTop, scrollLeft }) => ({ scrollTop, scrollLeft }));
  part.replaceWith(fresh);
  scrolled(fresh).forEach((each, index) => Object.assign(each, spots[index]));
};
const main = document.querySelector('main');
const liveMs = 1000 * Number(main?.dataset.live ?? 0);
let renewedAtMs = performance.now();
const renew = () => {
  renewedAtMs = performance.now();
  const request = new XMLHttpRequest();
  request.open('GET', location.href);
  request.responseType = 'document';
  request.addEventListener('load', () => {
    const page = request.response;
    if (new URL(request.responseURL).pathname !== location.pathname) {
      if (![...main.children].some(isInUse)) location.replace(request.responseURL);
      return;
    }
    const fresh = page?.querySelector('main[data-live]');
    const parts = [...main.children];
    if (fresh == null) { if (!parts.some(isInUse)) location.reload(); return; }
    const others = [...document.importNode(fresh, true).children];
    others.forEach(dress);
    document.title = page.title;
    if (parts.map(nameOf).join() === others.map(nameOf).join()) parts.forEach((part, index) => replace(part, others[index]));
    else if (!parts.some(isInUse)) main.replaceChildren(...others);
  });
  request.send();
};
if (liveMs > 0) {
  setInterval(() => {
    const nowMs = performance.now();
    if (document.visibilityState === 'visible' && nowMs - touchedAtMs > QUIET_MS && nowMs - renewedAtMs > liveMs) renew();
  }, 1000);
}
const stop = document.querySelector('#stop');
stop?.form?.addEventListener('submit', () => { stop.hidden = false; });
stop?.addEventListener('click', () => { window.stop(); stop.hidden = true; });
addEventListener('pageshow', () => { if (stop !== null) stop.hidden = true; });
document.querySelector('form.ask textarea')?.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) event.target.form.requestSubmit();
});
document.querySelector('#filters')?.addEventListener('submit', (event) => {
  for (const field of event.target.elements) if (field.value === '' && field.name !== '') field.disabled = true;
});
addEventListener('keydown', ({ key, target, ctrlKey, metaKey, altKey }) => {
  if (ctrlKey || metaKey || altKey || target.matches('input, textarea, select')) return;
  const cards = [...document.querySelectorAll('.conflict')];
  const at = cards.indexOf(target.closest('.conflict'));
  if (key === 'n') cards[(at + 1) % cards.length]?.focus();
  const take = { h: 'local', t: 'remote' }[key];
  if (take !== undefined) cards[at]?.querySelector('button[value="' + take + '"]').click();
});
let isUnderWay = false;
const show = (progress) => {
  if (isUnderWay && progress === null) renewedAtMs = -Infinity;
  isUnderWay = progress !== null;
  const place = document.querySelector('#progress');
  if (place === null) return;
  const words = document.createElement('p');
  place.replaceChildren(words);
  if (!isUnderWay) { words.textContent = 'Nothing at the moment.'; return; }
  const { work, table, tablesDoneCount, tableCount, rowCount, expectedRowCount } = progress;
  words.textContent = work + (tableCount === null ? '' : ', ' + tablesDoneCount + ' of ' + tableCount + ' tables') +
    ', ' + rowCount.toLocaleString('en-US') + ' rows' + (table === null ? '' : ': ' + table);
  const bar = document.createElement('progress');
  bar.setAttribute('aria-label', 'Rows');
  if (expectedRowCount > 0) {
    bar.max = expectedRowCount;
    bar.value = Math.min(rowCount, bar.max);
  }
  place.append(bar);
};
// A browser has few connections to one server, so only a page that is seen keeps one.
let events = null;
const watch = () => {
  const isSeen = liveMs > 0 && document.visibilityState === 'visible';
  if (isSeen === (events !== null)) return;
  events?.close();
  events = isSeen ? new EventSource('/events') : null;
  events?.addEventListener('message', ({ data }) => show(JSON.parse(data)));
};
watch();
document.addEventListener('visibilitychange', () => { watch(); renewedAtMs = -Infinity; });
addEventListener('pageshow', watch);
addEventListener('pagehide', () => { events?.close(); events = null; });
`;

/** Two rows that agree. */
export const PAGE_ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#1f5fd0"/><rect x="6" y="9" width="20" height="5" rx="2" fill="#fff"/><rect x="6" y="18" width="20" height="5" rx="2" fill="#b4c8ec"/></svg>
`;
