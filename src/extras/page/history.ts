/**
 * Shows entries of the history as people read them: who, when, why, and each cell with its old and its new value.
 */
import { ageText, plural } from '../../base/text.ts';
import { causeWords, IS_COUNTED, type HistoryEntry } from '../history/entries.ts';
import { isTaken, kindText, TAKEN, whenText } from '../history/history-text.ts';
import { pathPart } from './address.ts';
import { html, type Html } from './html.ts';
import type { BrowsedColumn } from '../shared/rows-page.ts';
import { cellsOf, cellValueHtml, shortName, shownValue, type ShownValue } from './values.ts';
import type { WaitingCell } from '../shared/browse-row.ts';
import { sql } from '../../base/sql.ts';
import type { Connection } from '../../replica/connection.ts';
import { queryAll, queryTexts } from '../../replica/query.ts';

/** Cells of one change in a list of many rows, and in the life of one. */
const CELLS_MAX = { many: 4, one: 60 } as const;

export interface ChangesView {
  /** In a list of `many` rows, each change names its row. */
  readonly of: keyof typeof CELLS_MAX;
  /** The columns of a table as they are now. */
  readonly columnsOf: (table: string) => readonly BrowsedColumn[];
  readonly nowMs: number;
}

export function changesHtml(lines: readonly HistoryEntry[], view: ChangesView): Html {
  return html`<ol class="notes changes">
    ${lines.map((line) => lineHtml(line, view))}
  </ol>`;
}

/** When it happened, as the origin says, or else as it was found here. */
export function shownAt({ at, stamped, notAfter }: HistoryEntry): string {
  return stamped === 1 && notAfter !== null ? notAfter : at;
}

function lineHtml(line: HistoryEntry, { of, columnsOf, nowMs }: ChangesView): Html {
  const { rowId, kind, originBy, cause, runId } = line;
  const table = line.table ?? '';
  const when = shownAt(line);
  const run = runId === null ? [] : [`run ${runId}`];
  const why = [...(isTaken(line) ? [] : [causeWords(line)]), ...run, whenText(line)].join(', ');
  const by = originBy === null || cause === 'edit' || isTaken(line) ? null : shortName(originBy);
  return html`<li>
    <p>
      ${of === 'many' && html`<a href="/browse/${pathPart(table)}/${rowId}"><bdi>${table}</bdi> ${rowId}</a> `}<b>${isTaken(line) ? TAKEN : kindText(kind)}</b>${of === 'many' && cause === 'edit' && ' here'}${by !== null && html` by <bdi title="${originBy}">${by}</bdi>`},
      <time datetime="${when}" title="${`${when}; ${why}`}">${ageText(when, nowMs)}</time>
      ${of !== 'many' && html`<small>${why}</small>`}
    </p>
    ${cellsHtml(
      { kind, old: cellsOf(line.before) ?? NO_CELLS, now: cellsOf(line.after) ?? NO_CELLS },
      { cellsMax: CELLS_MAX[of], columns: columnsOf(table) },
    )}
  </li>`;
}

/** What the origin updates with every change of a row. */
const STAMP_KINDS = new Set(['DateModified', 'LastModifiedBy']);

const NO_CELLS: ReadonlyMap<string, ShownValue> = new Map();

/** At most `cellsMax` cells with their old and new values; stamps and rights only where there are no others. */
export function cellsHtml(
  { kind, old, now }: { readonly kind: string } & Readonly<Record<'old' | 'now', ReadonlyMap<string, ShownValue>>>,
  { cellsMax, columns }: { readonly cellsMax: number; readonly columns: readonly BrowsedColumn[] },
): Html | null {
  const all = [...new Set([...old.keys(), ...now.keys()])];
  const stamps = columns.filter((column) => STAMP_KINDS.has(column.kind ?? ''));
  const quiet = new Set(['_allow', ...stamps.map(({ name }) => name)]);
  const telling = all.filter((name) => !quiet.has(name));
  const names = telling.length === 0 ? all : telling;
  if (names.length === 0) return null;
  const shown = names.slice(0, cellsMax);
  const rest = names.length - shown.length;
  return html`<dl class="cells">
      ${shown.map(
        (name) =>
          html`<div>
            <dt><bdi>${name}</bdi></dt>
            <dd>
              ${kind !== 'insert' && html`<del>${cellValueHtml(columns, name, old.get(name) ?? null)}</del>`}
              ${kind === 'update' && html`<span aria-label="to">→</span>`}
              ${kind !== 'delete' && html`<ins>${cellValueHtml(columns, name, now.get(name) ?? null)}</ins>`}
            </dd>
          </div>`,
      )}
    </dl>
    ${rest > 0 && html`<p class="none">${plural(rest, 'more cell')}</p>`}`;
}

/** The cells of an edit that waits, with the origin's values and those that the next push sends. */
export function waitingCellsHtml(
  lines: readonly WaitingCell[],
  shown: { readonly cellsMax: number; readonly columns: readonly BrowsedColumn[] },
): Html | null {
  const valuesOf = (side: 'base' | 'local'): ReadonlyMap<string, ShownValue> =>
    new Map(lines.flatMap((line) => (line.column === null ? [] : [[line.column, shownValue(line[side])]])));
  return cellsHtml({ kind: lines[0]?.kind ?? 'update', old: valuesOf('base'), now: valuesOf('local') }, shown);
}

/** How many changes there were in an hour, by person; `by` is null if the origin names none. */
export interface HourCount {
  /** `YYYY-MM-DDThh`, UTC. */
  readonly hour: string;
  readonly by: string | null;
  readonly count: number;
}

export interface HistoryHour extends HourCount {
  readonly table: string;
  readonly kind: string;
}

/** Tables whose changes are kept, by their names here. */
export function readJournalled(from: Connection): ReadonlySet<string> {
  const text = sql`SELECT t.local_name FROM _rowsync_history_tables j JOIN _rowsync_tables t ON t.id = j.table_id
      WHERE j.begun_seq IS NOT NULL`;
  return new Set(queryTexts(from, text));
}

/** Counts of all changes since a moment; edits that were made here have no author at the origin. */
export function readHistoryHours(from: Connection, since: string): readonly HistoryHour[] {
  const text = sql`SELECT "table", substr(at, 1, 13) AS hour,
        CASE cause WHEN 'edit' THEN 'edited here' WHEN 'decision' THEN 'decided here' ELSE origin_by END AS "by", kind, count(*) AS count
      FROM sync_history WHERE at >= ? AND kind IN ('insert', 'update', 'delete') AND ${IS_COUNTED} GROUP BY 1, 2, 3, 4`;
  return queryAll(from, text, [since]) as HistoryHour[]; // the columns just listed
}
