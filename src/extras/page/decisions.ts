/**
 * The parts of the page where a person decides. They show conflicts with their three versions, and refused or
 * unreadable rows with the origin's words. Every button is a separate form, so the page works without scripts.
 */
import { ageText, countText, plural } from '../../base/text.ts';
import { conflictVersion, readUnseen, shownSince, type ConflictLine } from '../../replica/bookkeeping/conflicts.ts';
import { rowNamer } from '../../replica/bookkeeping/row-names.ts';
import type { Connection } from '../../replica/connection.ts';
import type { FailureLine, ReplicaReader, TableStatus } from '../../replica/reader.ts';
import type { Problem } from '../../reconcile/account/account.ts';
import { editVersion } from '../../replica/bookkeeping/row-states.ts';
import { kindOfHold } from '../../replica/confirmation.ts';
import { readBrowsedTables, type BrowsedColumn } from '../shared/rows-page.ts';
import { readLastChange } from '../shared/browse-row.ts';
import { decideForm, foldedHtml, hiddenHtml, jsonField } from './layout.ts';
import { pathPart } from './address.ts';
import { exact, html, type Html, type HtmlPart } from './html.ts';
import type { PageRequest, RefusedDecision } from './request.ts';
import { markedHtml, momentHtml, rowHtml, shortName, timeHtml, typedHtml, valueHtml } from './values.ts';

/** A failure, and what its row was when the page was made (replica/bookkeeping/row-states.ts). */
export interface ShownFailure extends FailureLine {
  readonly seen: string;
  /** What people call the row; empty if nothing tells. */
  readonly name: string;
  /** Of its table. */
  readonly columns: readonly BrowsedColumn[];
}

export type ShownConflict = ReturnType<typeof showConflicts>[number];

/** Conflicts with the names of their rows, and who changed these at the origin, and when; null if unknown. */
export function showConflicts(from: Connection, lines: readonly ConflictLine[], refused?: RefusedDecision) {
  if (lines.length === 0) return [];
  const nameOf = rowNamer(from);
  const tables = new Map(readBrowsedTables(from).map((table) => [table.name, table]));
  return lines.map((line) => {
    const { table, rowId } = line;
    const change = readLastChange(from, tables.get(table), rowId);
    return {
      ...line,
      name: nameOf(table, rowId),
      changedBy: change.by,
      changedAt: change.at,
      /** Of its table; none if that is not here any more. */
      columns: tables.get(table)?.columns ?? [],
      /** What a person typed for another value, if it was refused. */
      typed: refused?.conflictId === line.id ? refused.value : null,
    };
  });
}

export type OpenDecisions = ReturnType<typeof readDecisions>;

/** Reads conflicts and failures, at most LISTED_MAX of each, and counts all of them. */
export function readDecisions(
  reader: ReplicaReader,
  given: Pick<PageRequest, 'formToken' | 'nowMs' | 'refused'> & { readonly problems: readonly Problem[] },
) {
  const { problems, formToken, nowMs, refused } = given;
  const tables = reader.status();
  const sum = (pick: (table: TableStatus) => number): number => tables.reduce((total, table) => total + pick(table), 0);
  const nameOf = rowNamer(reader);
  const lost = reader.isOlder() ? [] : readUnseen(reader, shownSince(nowMs));
  const failures = reader.failures({ limit: LISTED_MAX });
  const described = new Map(
    (failures.length === 0 ? [] : readBrowsedTables(reader)).map(({ name, columns }) => [name, columns]),
  );
  return {
    conflicts: showConflicts(reader, reader.conflicts({ all: false, limit: LISTED_MAX }), refused),
    /** Edits that lost, the oldest first. */
    lost: showConflicts(reader, lost.slice(0, LISTED_MAX)),
    lostCount: lost.length,
    failures: failures.map((line): ShownFailure => ({
      ...line,
      seen: editVersion(reader, line),
      name: nameOf(line.table, line.rowId),
      columns: described.get(line.table) ?? [],
    })),
    conflictCount: sum(({ conflictCount }) => conflictCount),
    failureCount: sum(({ refusedCount, unreadableCount }) => refusedCount + unreadableCount),
    /** Tables whose push a guard holds. */
    heldPushes: new Set(
      problems.flatMap(({ code, table, sentence }) =>
        code === 'table.held' && table !== null && kindOfHold(reader, { table, problem: sentence }) === 'push'
          ? [table]
          : [],
      ),
    ),
    formToken,
  };
}

/** Conflicts, failures and lost edits on one page, each. */
const LISTED_MAX = 50;

/** All parts; an empty part is left out. */
export function openDecisionsHtml(decisions: OpenDecisions, nowMs: number): Html {
  const { conflicts, failures, conflictCount, failureCount, formToken } = decisions;
  return html`${
    conflicts.length !== 0 &&
    html`<section aria-labelledby="conflicts">
      <h2 id="conflicts">${plural(conflictCount, 'conflict')} to decide</h2>
      <p class="about">
        Both sides changed the same thing since they last agreed. Whatever you take, the other versions are kept in
        <code>sync_conflicts</code>.
        <span id="keys" hidden
          >Keys: <kbd>n</kbd> next, then <kbd>h</kbd> what is here, <kbd>t</kbd> what is there.</span
        >
      </p>
      ${conflicts.map((line) => conflictHtml(line, formToken, nowMs))} ${moreHtml(conflictCount - conflicts.length)}
    </section>`
  }${
    failures.length !== 0 &&
    html`<section aria-labelledby="waiting">
      <h2 id="waiting">${plural(failureCount, 'row')} refused, in doubt or unreadable</h2>
      ${failures.map((line, index) => failureHtml(line, { index, formToken, nowMs }))}
      ${moreHtml(failureCount - failures.length)}
      ${failures.length >= 2 && decideForm(formToken, { kind: 'retry', ids: [] }, ['Send all refused rows again'])}
    </section>`
  }${lostHtml(decisions, nowMs)}`;
}

/** Edits that lost to the origin, until somebody says that they saw them. */
function lostHtml({ lost, lostCount, formToken }: OpenDecisions, nowMs: number): Html | null {
  const last = lost.at(-1);
  if (last === undefined) return null;
  return html`<section aria-labelledby="lost">
    <h2 id="lost">${plural(lostCount, 'edit')} lost to a change at the origin</h2>
    <p class="about">
      The origin's version was taken, by the policy of the table, or because the row was deleted there. What you take
      back goes to the origin with the next push.
    </p>
    ${lost.map((line) => conflictHtml(line, formToken, nowMs))}
    ${lostCount !== lost.length && html`<p class="more">and ${countText(lostCount - lost.length)} more</p>`}
    ${decideForm(formToken, { kind: 'seen', upToId: last.id }, ['I have seen these'])}
  </section>`;
}

function moreHtml(count: number): Html | null {
  return count <= 0 ? null : html`<p class="more">and ${countText(count)} more, listed once these are decided</p>`;
}

/** What the versions of a conflict mean, by its kind. */
const KINDS: Readonly<Record<string, { readonly what: string; readonly local: string; readonly remote: string }>> = {
  cell: { what: 'changed on both sides', local: 'Keep local', remote: 'Take remote' },
  deletedHere: { what: 'deleted here, changed at the origin', local: 'Delete it', remote: 'Restore the row' },
  deletedThere: { what: 'deleted at the origin, changed here', local: 'Create it anew', remote: 'Delete it here' },
};

function rowHeading(line: Pick<ShownFailure, 'table' | 'rowId' | 'column' | 'name'>): Html {
  const { table, rowId, column, name } = line;
  return html`<a href="/browse/${pathPart(table)}/${rowId}"><bdi>${table}</bdi> · row ${rowId}</a
    >${name !== '' && name !== String(rowId) && html` <bdi>${name}</bdi>`}${
      column !== null && html` · <bdi>${column}</bdi>`
    }`;
}

/** One conflict with its versions and buttons; of one that is decided, the version here can be taken again. */
export function conflictHtml(line: ShownConflict, formToken: string, nowMs: number): Html {
  const { id, column: name, kind, base, local, remote, at, problem, changedBy, changedAt, typed } = line;
  const column = line.columns.find((each) => each.name === name);
  const words = KINDS[kind] ?? { what: kind, local: 'Keep local', remote: 'Take remote' };
  const isCell = kind === 'cell';
  const isOpen = line.state === 'open';
  const show = (value: ConflictLine['base'], other: ConflictLine['base']): Html =>
    isCell ? (typedHtml(column, value) ?? markedHtml(value, other)) : rowHtml(value, base, line.columns);
  const who = changedBy === null ? '' : `, by ${shortName(changedBy)}`;
  const there = html`at the origin${who}${changedAt !== null && html`, ${timeHtml(changedAt, nowMs)}`}`;
  const version = (title: string, whose: HtmlPart, content: Html): Html =>
    html`<div>
      <dt>${title} <small>${whose}</small></dt>
      <dd>${content}</dd>
    </div>`;
  const button = (take: string, label: string, look = ''): Html =>
    html`<button name="take" value="${take}" class="${look}">${label}</button>`;
  // What is taken says the button.
  const decision = { kind: 'resolve', id, seen: conflictVersion(line), isAgain: !isOpen };
  const hidden = hiddenHtml(formToken, { decision: jsonField(decision) });
  return html`<article class="card${isOpen ? ' conflict' : ''}" aria-labelledby="conflict-${id}" tabindex="-1">
    <h3 id="conflict-${id}">${rowHeading(line)}</h3>
    <p class="meta">Conflict ${id}, ${ageText(at, nowMs)}: ${words.what}</p>
    ${problem !== null && html`<p class="problem">It could not be decided: ${problem}</p>`}
    <dl class="versions">
      ${version('Base', 'what both had', isCell ? (typedHtml(column, base) ?? valueHtml(base)) : rowHtml(base, local ?? remote, line.columns))}
      ${version('Local', 'edited here', show(local, remote))} ${version('Remote', there, show(remote, local))}
    </dl>
    <form method="post" action="/decide" class="buttons">
      ${hidden}
      ${
        isOpen
          ? [
              button('local', words.local, 'main'),
              button('remote', words.remote, 'main'),
              button('base', 'Back to base'),
            ]
          : button('local', 'Take it back')
      }
    </form>
    ${
      isCell &&
      isOpen &&
      foldedHtml(
        typed !== null,
        'Another value',
        html`<form method="post" action="/decide" class="other">
          ${hidden}
          <label for="value-${id}">Value for <bdi>${name}</bdi></label>
          <textarea id="value-${id}" name="value" rows="2">${typed !== null && exact(`\n${typed}`)}</textarea>
          <div class="buttons">${button('value', 'Take this value', 'main')} ${button('null', 'Take no value')}</div>
        </form>`,
      )
    }
  </article>`;
}

/** What happened to the row, by the kind of its failure. */
const FAILURES: Readonly<Record<string, string>> = {
  read: 'cannot be read',
  insert: 'new row refused',
  update: 'change refused',
  delete: 'delete refused',
  inDoubt: 'may have been created, or not',
};

export function failureHtml(
  line: ShownFailure,
  { index, formToken, nowMs }: { readonly index: number; readonly formToken: string; readonly nowMs: number },
): Html {
  const { id, table, rowId, kind, reason, since, status, code, sent, retryAt, seen, columns } = line;
  const isInDoubt = kind === 'inDoubt';
  const isUnsent = !isInDoubt && kind !== 'read' && status === null;
  const name = `failure-${index}`;
  const seenRow = { table, rowId, version: seen };
  const again = isInDoubt ? 'It is not there: send again' : 'Send again';
  const numbers = [status, code].filter((number) => number !== null).join(', ');
  return html`<article class="card" aria-labelledby="${name}">
    <h3 id="${name}">${rowHeading(line)}</h3>
    <p class="meta">${isUnsent ? 'cannot be sent' : (FAILURES[kind] ?? kind)}, ${ageText(since, nowMs)}</p>
    <blockquote>
      <p><bdi>${reason}</bdi></p>
      ${numbers !== '' && html`<footer>the origin, ${numbers}</footer>`}
    </blockquote>
    ${
      sent !== null &&
      html`<p class="label">What was sent</p>
        ${rowHtml(sent, '{}', columns)}`
    }
    ${id === null && html`<p class="meta">It is tried again with every pull.</p>`}
    ${isInDoubt && html`<p class="problem">Look at the origin first: sending it again makes another row.</p>`}
    ${retryAt !== null && html`<p class="meta">It is tried again by itself at ${momentHtml(retryAt)}.</p>`}
    ${
      id !== null &&
      html`<div class="buttons">
        ${decideForm(formToken, { kind: 'retry', ids: [id], seen: seenRow }, [again, 'main'])}
        ${decideForm(formToken, { kind: 'discard', table, rowId, seen: seenRow }, ['Discard the edit'])}
      </div>`
    }
  </article>`;
}
