/**
 * What `rowsync putback` prints: the plan as a tree, and how far it is.
 */
import { bytesText, linesText, plural } from '../../base/text.ts';
import { BATCH_LIMITS } from '../../reconcile/push-plan.ts';
import { rowName, type PlannedPutback } from './lost-row-outcome.ts';
import type { PutbackPlace } from './putback-file.ts';
import type { PutbackPlan } from './make-plan.ts';
import type { PutbackRun } from './put-rows-back.ts';
import { isUnfinished, needsPerson, type PutbackRecord } from './putback-records.ts';

/** Lines of a tree or list; the rest is counted. */
const TREE_LINES_MAX = 60;

/** The plan for a person; without a place it was made from what is here alone. */
export function putbackPlanText(plan: PutbackPlan, place: PutbackPlace | null): string {
  const { rows, orphans, guessed, unwritable, missing, nameOf } = plan;
  const created = rows.filter(({ fate }) => fate === 'create');
  const lines =
    created.length === 0
      ? ['Nothing to put back']
      : ['would be created, parents first:', ...treeLines(created, nameOf)];
  const listed = (title: string, some: readonly PlannedPutback[]): void => {
    if (some.length > 0) lines.push(title, ...cut(some.map((row) => `  ${labelOf(row, nameOf)}: ${row.reason ?? ''}`)));
  };
  const byFate = Map.groupBy(rows, ({ fate }) => fate);
  listed('left alone:', byFate.get('there') ?? []);
  listed('cannot be put back:', byFate.get('cannot') ?? []);
  const dangling = orphans.filter(({ reason }) => reason === null);
  if (dangling.length > 0)
    lines.push(`would be linked again to a new key: ${plural(dangling.length, 'row')} that stayed at the origin`);
  listed(
    'stayed at the origin with an emptied reference, and would be linked again:',
    orphans.filter(({ reason, fate }) => reason !== null && fate === 'create'),
  );
  listed(
    'stayed at the origin, and cannot be linked again:',
    orphans.filter(({ fate }) => fate === 'cannot'),
  );
  for (const { tableId, column, toId } of guessed) {
    lines.push(
      `guessed: ${nameOf(tableId)}."${column.localName}" refers to ${nameOf(toId)} (set tables.${nameOf(tableId)}.references to say so)`,
    );
  }
  if (missing.length > 0) lines.push('missing there, and not created:', ...missing.map((what) => `  ${what}`));
  for (const [table, names] of unwritable) lines.push(`left to the origin in ${table}: ${names.join(', ')}`);
  if (created.length > 0) {
    const rules = place === null ? '' : `workflow rules ${place.workflow === 'run' ? 'run' : 'are suppressed'}`;
    const counts = `${plural(created.length, 'row')}, about ${plural(requestCount(created), 'request')}`;
    lines.push([counts, filesText(created), rules].filter((part) => part !== '').join('; '));
  }
  if (created.length > 0 && place !== null) {
    const { maxPushRows } = place.push.settings;
    if (created.length > maxPushRows)
      lines.push(`more than safety.maxPushRows (${maxPushRows}): --confirm lets them through`);
    lines.push('Nothing was sent: --confirm puts them back');
  }
  return linesText(lines);
}

function labelOf({ tableId, oldId, oldKey }: PlannedPutback, nameOf: (tableId: number) => string): string {
  return `${nameOf(tableId)} ${oldId}${oldKey === null || oldKey === String(oldId) ? '' : ` (${oldKey})`}`;
}

function cut(lines: readonly string[]): readonly string[] {
  const rest = lines.length - TREE_LINES_MAX;
  return rest > 0 ? [...lines.slice(0, TREE_LINES_MAX), `  ... and ${rest} more`] : lines;
}

/** Rows below the first row that they refer to. */
function treeLines(rows: readonly PlannedPutback[], nameOf: (tableId: number) => string): readonly string[] {
  const names = new Set(rows.map(({ tableId, oldId }) => rowName(tableId, oldId)));
  const parentOf = ({ tableId, oldId, links }: PlannedPutback): string => {
    const own = rowName(tableId, oldId);
    return links.map((link) => rowName(link.toId, link.oldId)).find((name) => name !== own && names.has(name)) ?? '';
  };
  const children = Map.groupBy(rows, parentOf);
  const lines: string[] = [];
  const shown = new Set<string>();
  const add = (row: PlannedPutback, depth: number): void => {
    const name = rowName(row.tableId, row.oldId);
    if (shown.has(name)) return;
    shown.add(name);
    const parts = [labelOf(row, nameOf), row.files.length > 0 ? `with ${filesText([row])}` : '', row.reason ?? ''];
    lines.push(`${'  '.repeat(depth)}${parts.filter((part) => part !== '').join(' ')}`);
    for (const child of children.get(name) ?? []) add(child, Math.min(depth + 1, 20));
  };
  for (const row of children.get('') ?? []) add(row, 1);
  for (const row of rows) add(row, 1); // rows that refer to each other in a circle
  return cut(lines);
}

function filesOf(rows: readonly PlannedPutback[]): { readonly count: number; readonly bytes: number } {
  const files = rows.flatMap((row) => row.files);
  return { count: files.length, bytes: files.reduce((sum, file) => sum + file.bytes, 0) };
}

function filesText(rows: readonly PlannedPutback[]): string {
  const { count, bytes } = filesOf(rows);
  return count === 0 ? '' : `${plural(count, 'file')} of ${bytesText(bytes)}`;
}

/** For each table and request: a look, the create, and reading it back. */
function requestCount(rows: readonly PlannedPutback[]): number {
  const tables = Map.groupBy(rows, ({ tableId }) => tableId).values();
  return tables.reduce((sum, own) => sum + 3 * Math.ceil(own.length / BATCH_LIMITS.rowsMax), 0);
}

export function putbackPlanJson({ rows, orphans, guessed, unwritable, missing, nameOf }: PutbackPlan): object {
  const link = (tableId: number, oldId: number): object => ({ table: nameOf(tableId), oldId });
  const rowJson = (row: PlannedPutback): object => ({
    ...link(row.tableId, row.oldId),
    oldKey: row.oldKey,
    fate: row.fate,
    reason: row.reason,
    refersTo: row.links.map(({ toId, oldId: to }) => link(toId, to)),
    files: filesOf([row]),
  });
  return {
    rows: rows.map(rowJson),
    relinked: orphans.map(rowJson),
    guessed: guessed.map(({ tableId, column, toId }) => ({
      table: nameOf(tableId),
      column: column.localName,
      refersTo: nameOf(toId),
    })),
    leftToOrigin: Object.fromEntries(unwritable),
    missing,
  };
}

/** What a run did. If there was nothing to create, the plan says why. */
export function putbackRunText(
  { news }: PutbackRun,
  {
    plan,
    place,
    verified,
  }: { readonly plan: PutbackPlan; readonly place: PutbackPlace; readonly verified: Verified | null },
): string {
  const isIdle = [...plan.rows, ...plan.orphans].every(({ fate }) => fate !== 'create');
  const done =
    news.length === 0 && verified === null ? '' : putbackStatusText(news, { path: place.push.replica.path, verified });
  if (isIdle) return putbackPlanText(plan, place) + done;
  const lacking = plan.rows.filter(({ fate, reason }) => fate === 'create' && reason !== null);
  const lines = lacking.map((row) => `  ${labelOf(row, plan.nameOf)} ${row.reason ?? ''}`);
  return (lines.length === 0 ? '' : linesText(['not complete:', ...cut(lines)])) + done;
}

/** What a comparison with another database found. */
export interface Verified {
  readonly comparedCount: number;
  readonly differences: readonly string[];
}

/** What the reason of a row in doubt says of edits; the commands for them do not know the file of what is put back. */
const OF_EDITS = /; look there, then retry or discard it$/;

const DOUBT_LINES = [
  'In doubt: look at the origin. If the row is not there, rowsync putback --resume --again sends it, and what waits for it.',
  'If it is there without its children or references, delete it there before: it would be there twice.',
];

/** A reference is filled in only once both rows are there. */
function shownState(record: PutbackRecord): PutbackRecord['state'] {
  return record.kind === 'link' && record.state === 'done' && isUnfinished(record) ? 'waiting' : record.state;
}

export function putbackStatusText(
  records: readonly PutbackRecord[],
  given: { readonly path: string; readonly verified: Verified | null },
): string {
  const { path, verified } = given;
  if (records.length === 0 && verified === null) return 'Nothing was put back yet\n';
  const lines = [
    ...Map.groupBy(
      records,
      (record) => `${record.table}: ${record.kind === 'link' ? 'references ' : ''}${shownState(record)}`,
    ),
  ].map(([title, some]) => `${title} ${some.length}`);
  const waiting = records.filter((record) => needsPerson(record));
  const left = records.filter(({ state }) => state === 'cannot' || state === 'there');
  const named = [...waiting, ...left].map(
    ({ table, oldId, state, reason }) => `  ${table} ${oldId} ${state}: ${(reason ?? '').replace(OF_EDITS, '')}`,
  );
  const isDoubtful = records.some(({ state }) => state === 'inDoubt');
  // What waits may wait for the row in doubt.
  const isToContinue = records.some(
    (record) => record.state === 'refused' || (!isDoubtful && ['waiting', 'sent'].includes(shownState(record))),
  );
  const ends = [
    ...(verified === null ? [] : verifiedLines(verified)),
    ...(isDoubtful ? DOUBT_LINES : []),
    ...(isToContinue ? ['rowsync putback --resume continues'] : []),
    ...(isDoubtful || isToContinue || verified !== null ? [] : ['The next pull brings them here']),
    `Each row with its new id and key: table sync_putback in ${path}`,
  ];
  return linesText([...lines, ...cut(named), ...ends]);
}

function verifiedLines({ comparedCount, differences }: Verified): readonly string[] {
  return [
    `verified: ${plural(comparedCount, 'row')} compared, ${differences.length} differ`,
    ...cut(differences.map((difference) => `  differs: ${difference}`)),
  ];
}

export function statusJson(records: readonly PutbackRecord[]): object {
  return {
    rows: records.map((record) => {
      const { kind, table, oldId, oldKey, newId, newKey, reason } = record;
      return { kind, table, oldId, oldKey, newId, newKey, state: shownState(record), reason };
    }),
  };
}
