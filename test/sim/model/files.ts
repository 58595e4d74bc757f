/**
 * Attachments and Attachment (specification 4.8 and 4.9): the revisions of the file in a cell, and one of them. Reads
 * the state, writes nothing. Earlier revisions take the column's AllowSeeRevisionHistory; PublicAttachment makes key
 * and id optional where a guid is given.
 */
import { badParameter, findColumn, readNamed, readNumber, Refusal, valuesOf, type Call, type Made } from './call.ts';
import { rowById, rowByKey } from './cells.ts';
import { hasOption, valueTypeOf, type ModelColumn, type ModelFile, type ModelRow, type ModelTable } from './state.ts';
import { shownMoment } from './time.ts';

/** Attachments. */
export function attachments(call: Call, table: ModelTable): Made {
  const column = fileColumn(call, table);
  if (column instanceof Refusal) return column;
  const count = readNumber(call.pairs, 'revisions', { min: 1, max: Number.MAX_SAFE_INTEGER, missing: 1 });
  if (count instanceof Refusal) return count;
  if (count > 1 && !hasHistory(column)) return noHistory('revisions');
  const row = namedRow(call, table);
  if (row instanceof Refusal) return row;
  const all = revisionsOf(table, column, row);
  const shown = count === 1 ? all.filter(({ guid }) => guid === shownGuid(column, row)) : all.slice(0, count);
  const fields = shown.map(({ name, revision, type, bytes, guid, author, createdMs }) => {
    const created = shownMoment(createdMs, call.user.timezone);
    return { name, revision, type, size: bytes.length, guid, author, created };
  });
  return { kind: 'page', text: JSON.stringify(fields), tables: [table.id] };
}

/** Attachment. */
export function attachment(call: Call, table: ModelTable): Made {
  const column = fileColumn(call, table);
  if (column instanceof Refusal) return column;
  const { route, pairs } = call;
  const guids = new Set([...(route.guid === null ? [] : [route.guid]), ...valuesOf(pairs, 'guid')].map(lower));
  if (guids.size > 1) return badParameter('guid', 'One guid at a time');
  const [guid = null] = guids;
  const revision = readNumber(pairs, 'revision', { min: 1, max: Number.MAX_SAFE_INTEGER, missing: 0 });
  if (revision instanceof Refusal) return revision;
  if (revision > 0 && guid !== null) return badParameter('revision', 'A revision or a guid, not both');
  if (revision > 0 && !hasHistory(column)) return noHistory('revision');
  const row = guid !== null && isPublic(call, column) ? publicRow(call, table, column, guid) : namedRow(call, table);
  if (row instanceof Refusal) return row;
  const current = shownGuid(column, row);
  const file = revisionsOf(table, column, row).find((known) =>
    revision > 0 ? known.revision === revision : known.guid === (guid ?? current),
  );
  if (file === undefined) return noFile(revision > 0 ? 'revision' : guid === null ? column.name : 'guid');
  return file.guid === current || hasHistory(column) ? { kind: 'file', file } : noHistory('guid');
}

function lower(text: string): string {
  return text.toLowerCase();
}

function fileColumn({ route, role }: Call, table: ModelTable): ModelColumn | Refusal {
  const [first = '', ...others] = (route.column ?? []).map((name) => ({ name, found: findColumn(table, role, name) }));
  if (first === '') return new Refusal(400, 3100, 'Column does not exist');
  const { name, found } =
    [first, ...others].find((meant) => !(meant.found instanceof Refusal)) ?? others.at(-1) ?? first;
  if (found instanceof Refusal || valueTypeOf(found) === 'Attachment') return found;
  return new Refusal(400, 4200, 'The column holds no attachments', name);
}

function namedRow(call: Call, table: ModelTable): ModelRow | Refusal {
  const named = readNamed(call.pairs, 1);
  if (named instanceof Refusal) return named;
  const row = 'ids' in named ? rowById(call, table, named.ids[0] ?? 0) : rowByKey(call, table, named.keys[0] ?? '');
  const source = 'ids' in named ? 'id' : 'key';
  return row ?? new Refusal(403, 4000, 'Record is not found or not accessible', source);
}

function isPublic({ pairs }: Call, column: ModelColumn): boolean {
  const isNamed = valuesOf(pairs, 'id').length + valuesOf(pairs, 'key').length > 0;
  return !isNamed && hasOption(column.options, 'PublicAttachment');
}

function publicRow(call: Call, table: ModelTable, column: ModelColumn, guid: string): ModelRow | Refusal {
  const file = table.files.find((known) => known.guid === guid && known.column === column.id);
  return (file === undefined ? undefined : rowById(call, table, file.row)) ?? noFile('guid');
}

/** The latest first. */
function revisionsOf(table: ModelTable, column: ModelColumn, row: ModelRow): readonly ModelFile[] {
  const files = table.files.filter((file) => file.column === column.id && file.row === row.id);
  return files.toSorted((one, other) => other.revision - one.revision);
}

/** The guid in the cell; null for an empty one. A file's name may hold anything, also semicolons. */
function shownGuid(column: ModelColumn, row: ModelRow): string | null {
  const [, revision = '', guid = ''] = /^.*;(\d+);([^;]+)$/s.exec(String(row.cells.get(column.id) ?? '')) ?? [];
  return revision === '' ? null : guid;
}

function hasHistory(column: ModelColumn): boolean {
  return hasOption(column.options, 'AllowSeeRevisionHistory');
}

function noHistory(source: string): Refusal {
  return new Refusal(403, 4201, 'Earlier revisions cannot be seen', source);
}

function noFile(source: string): Refusal {
  return new Refusal(404, 4202, 'File does not exist', source);
}
