/**
 * The page of all edits of one table that wait, row by row. Each can be discarded, or all of them; where a guard holds
 * the push, they are let through here.
 */
import { integerFromText, plural } from '../../base/text.ts';
import { rowNamer } from '../../replica/bookkeeping/row-names.ts';
import { countEdits, countWaiting, editVersion } from '../../replica/bookkeeping/row-states.ts';
import type { BrowsedTable } from '../shared/rows-page.ts';
import { readWaitingCells, readWaitingIds, type WaitingCell, readHeldPush } from '../shared/browse-row.ts';
import type { AnswerChunks } from '../shared/child-process.ts';
import { pathPart } from './address.ts';
import { crumbsHtml, framed, type PageInput } from './context.ts';
import { kindText } from '../history/history-text.ts';
import { waitingCellsHtml } from './history.ts';
import { html, type Html } from './html.ts';
import { confirmForm, decideForm } from './layout.ts';

const ROWS_MAX = 50;
/** Cells of one row; its own page has all. */
const CELLS_MAX = 12;

export function answerEdits(page: PageInput, table: BrowsedTable): AnswerChunks {
  const { reader, query } = page;
  const after = integerFromText(query.get('after') ?? '') ?? Number.MIN_SAFE_INTEGER;
  const { ids: found, count } = readWaitingIds(reader, table, { after, limit: ROWS_MAX + 1 });
  const ids = found.slice(0, ROWS_MAX);
  const { waitingCount, parkedCount, openConflictCount } = countWaiting(reader, table.id);
  const counted = [
    waitingCount === 0 && count > 0 ? [] : plural(waitingCount, 'edited row'),
    openConflictCount === 0 ? [] : `${plural(openConflictCount, 'row')} in conflict`,
    parkedCount === 0 ? [] : `${plural(parkedCount, 'row')} refused or in doubt`,
  ].flat();
  const cells = Map.groupBy(readWaitingCells(reader, table, ids), ({ rowId }) => rowId);
  const nameOf = rowNamer(reader);
  const last = ids.at(-1);
  const body = html`${crumbsHtml(table)}
    <h1>${counted.join(', ')} in <bdi>${table.name}</bdi></h1>
    ${count === 0 ? html`<p class="about">The origin has all that was edited here.</p>` : allHtml(page, table, count)}
    <ol class="notes changes">
      ${[...cells].map(([id, lines]) => rowHtml(page, table, { id, name: nameOf(table.name, id), lines }))}
    </ol>
    ${
      last !== undefined &&
      found.length > ROWS_MAX &&
      html`<nav class="turn" aria-label="Pages of rows">
        <a href="/edits/${pathPart(table.name)}?after=${last}">Next ›</a>
      </nav>`
    }`;
  return framed(
    page,
    { title: `Edits of ${table.name} · rowsync`, place: 'Browse', liveSeconds: 60, refreshSeconds: 60 },
    body,
  );
}

/** Why they wait, and the buttons for all of them. */
function allHtml({ reader, request: { formToken } }: PageInput, table: BrowsedTable, count: number): Html {
  const held = readHeldPush(reader, table.id);
  const { waitingCount, parkedInDoubtCount } = countWaiting(reader, table.id);
  const discardable = waitingCount + parkedInDoubtCount;
  const all = { table: table.name, rowId: null };
  const seen = { ...all, version: editVersion(reader, all) };
  return html`<p class="about">
      ${held === null ? 'The next push sends what is not refused or in conflict.' : `At the time it was held: ${held}.`}
      What you discard is kept in
      <code>sync_conflicts</code>.
    </p>
    <div class="buttons">
      ${
        held !== null &&
        confirmForm(
          'Let them through…',
          `This sends ${sentText(reader, table)} of ${table.name} to the origin. It does not take a delete back: rowsync putback makes a row anew there.`,
          [
            formToken,
            { kind: 'confirm', table: table.name, shown: held, seen },
            [`Send ${sentText(reader, table)}`, 'main'],
          ],
        )
      }
      ${
        discardable !== 0 &&
        confirmForm(
          `Discard ${count === 1 ? 'it' : `${discardable === count ? 'all ' : ''}${plural(discardable, 'edit')}`}…`,
          'The rows here get the values of the origin. Your values are kept in sync_conflicts, from which each can be taken again on its own.',
          [formToken, { kind: 'discard', ...all, seen }, [`Discard ${plural(discardable, 'edit')}`, 'main']],
        )
      }
    </div>`;
}

/** What the next push sends once it is let through. */
function sentText(reader: PageInput['reader'], { id, name }: BrowsedTable): string {
  const { delete: deletes, update, insert } = countEdits(reader, { id, localName: name });
  const parts = [
    [deletes, 'delete'],
    [update, 'change'],
    [insert, 'new row'],
  ] as const;
  return parts.flatMap(([count, what]) => (count === 0 ? [] : [plural(count, what)])).join(', ');
}

const STATES: Readonly<Record<string, string>> = {
  sending: 'being sent',
  conflicted: 'in conflict',
  inDoubt: 'in doubt',
};

function rowHtml(
  { reader, request }: PageInput,
  table: BrowsedTable,
  { id, name, lines }: { readonly id: number; readonly name: string; readonly lines: readonly WaitingCell[] },
): Html {
  const [{ kind, state } = { kind: 'update', state: 'edited' }] = lines;
  const path = pathPart(table.name);
  const row = { table: table.name, rowId: id };
  const decision = { kind: 'discard', ...row, seen: { ...row, version: editVersion(reader, row) } } as const;
  return html`<li>
    <p>
      <a href="/browse/${path}/${id}">Row ${id}</a> <bdi>${name}</bdi>
      <b>${kindText(kind)}</b>${state === 'edited' ? '' : `, ${STATES[state] ?? state}`}
    </p>
    ${waitingCellsHtml(lines, { cellsMax: CELLS_MAX, columns: table.columns })}
    ${decideForm(request.formToken, decision, [`Discard row ${id}`, 'plain'], `/edits/${path}`)}
  </li>`;
}
