/**
 * Attachments and Attachment (specification 4.8 and 4.9): the revisions of a file in a cell, and one of them with its
 * bytes. Reads the store, writes nothing.
 *
 * What the specification leaves open: a revision that the cell no longer shows is given out only where the column has
 * AllowSeeRevisionHistory, however it is asked for. A cell that was set to null has no file, but keeps its history. A
 * record that is missing is 403 with code 4000, a file that is missing is 404. The option PublicAttachment makes key
 * and id optional where a guid is given; credentials are needed anyway.
 */
import { hasOption } from '../../wire/schema.ts';
import type { MethodAnswer, MethodCall } from './call.ts';
import { findColumn, readInteger, readRecords, valuesOf } from './parameters.ts';
import { badParameter, CODES, noColumn, MethodRefusal } from './refusal.ts';
import type { StoreColumn, Table } from '../store/catalog.ts';
import { guidFromCell } from '../store/cells.ts';

/** A cell that holds a file, or did. */
interface FileCell {
  readonly column: StoreColumn;
  readonly rowId: number;
  /** Of the revision that the cell shows; null for an empty cell. */
  readonly currentGuid: string | null;
}

/** Attachments. */
export function attachments(call: MethodCall, table: Table): MethodAnswer | MethodRefusal {
  const column = attachmentColumn(call, table);
  if (column instanceof MethodRefusal) return column;
  const count = readInteger(call.pairs, 'revisions', { min: 1, max: Number.MAX_SAFE_INTEGER, missing: 1 });
  if (count instanceof MethodRefusal) return count;
  if (count > 1 && !showsHistory(column)) return noHistory('revisions');
  const place = placeOf(call, table, column);
  if (place instanceof MethodRefusal) return place;
  const revisions = call.store.fileRevisions(column, place.rowId);
  const shown = count === 1 ? revisions.filter(({ guid }) => guid === place.currentGuid) : revisions.slice(0, count);
  const text = (): string => call.format.writeAttachments(shown, call.user.timezone);
  return { kind: 'page', text, tableIds: [table.id] };
}

/** Attachment. */
export function attachment(call: MethodCall, table: Table): MethodAnswer | MethodRefusal {
  const column = attachmentColumn(call, table);
  if (column instanceof MethodRefusal) return column;
  const guid = readGuid(call);
  if (guid instanceof MethodRefusal) return guid;
  const revision = readInteger(call.pairs, 'revision', { min: 1, max: Number.MAX_SAFE_INTEGER, missing: 0 });
  if (revision instanceof MethodRefusal) return revision;
  if (revision > 0 && guid !== null) return badParameter('revision', 'A revision and a guid cannot be combined');
  if (revision > 0 && !showsHistory(column)) return noHistory('revision');
  const place = guid === null ? placeOf(call, table, column) : placeOfGuid(call, table, column, guid);
  if (place instanceof MethodRefusal) return place;
  const revisions = call.store.fileRevisions(column, place.rowId);
  const wanted = guid ?? place.currentGuid;
  const file = revisions.find((known) => (revision > 0 ? known.revision === revision : known.guid === wanted));
  if (file === undefined)
    return noFile(guid === null && revision === 0 ? column.name : revision > 0 ? 'revision' : 'guid');
  if (file.guid !== place.currentGuid && !showsHistory(column)) return noHistory('guid');
  return { kind: 'file', file };
}

function attachmentColumn({ role, route }: MethodCall, table: Table): StoreColumn | MethodRefusal {
  const names = route.innerNames ?? [];
  let refusal = noColumn(names[0] ?? '');
  for (const name of names) {
    const column = findColumn(table, role, name);
    if (!(column instanceof MethodRefusal)) return column.valueType === 'Attachment' ? column : noAttachment(name);
    refusal = column;
  }
  return refusal;
}

/** The guid in the path or in the query; null where there is none. */
function readGuid({ route, pairs }: MethodCall): string | null | MethodRefusal {
  const given = [...(route.guid === null ? [] : [route.guid]), ...valuesOf(pairs, 'guid')];
  const guids = new Set(given.map((guid) => guid.toLowerCase()));
  if (guids.size > 1) return badParameter('guid', 'One guid can be requested at once');
  return [...guids][0] ?? null;
}

/** The cell of the one record that the parameters name. */
function placeOf(call: MethodCall, table: Table, column: StoreColumn): FileCell | MethodRefusal {
  const records = readRecords(call.pairs, 1);
  if (records instanceof MethodRefusal) return records;
  const ids = records.by === 'id' ? records.ids : call.store.idsFromKeys(table, records.keys);
  return placeOfRow(call, table, column, ids[0]) ?? noRecord(records.by);
}

/** The cell that a guid was stored in; where a record is named too, it must be that one's. */
function placeOfGuid(call: MethodCall, table: Table, column: StoreColumn, guid: string): FileCell | MethodRefusal {
  const isNamed = ['key', 'id'].some((parameter) => valuesOf(call.pairs, parameter).length > 0);
  if (isNamed || !hasOption(column.options, 'PublicAttachment')) return placeOf(call, table, column);
  return placeOfRow(call, table, column, call.store.rowOfFile(column, guid)) ?? noFile('guid');
}

function placeOfRow(
  { store }: MethodCall,
  table: Table,
  column: StoreColumn,
  rowId: number | undefined,
): FileCell | undefined {
  const row = rowId === undefined ? undefined : store.readRows(table, [column], [rowId], null)[0];
  return row && { column, rowId: row.id, currentGuid: guidFromCell(row.values[0] ?? null) };
}

function showsHistory(column: StoreColumn): boolean {
  return hasOption(column.options, 'AllowSeeRevisionHistory');
}

function noAttachment(source: string): MethodRefusal {
  return new MethodRefusal(400, { code: CODES.noAttachment, message: 'The column holds no attachments', source });
}

function noHistory(source: string): MethodRefusal {
  const message = 'Earlier revisions take the column option Allow See Revision History';
  return new MethodRefusal(403, { code: CODES.noHistory, message, source });
}

function noRecord(source: string): MethodRefusal {
  return new MethodRefusal(403, { code: CODES.noRecord, message: 'Record is not found or not accessible', source });
}

function noFile(source: string): MethodRefusal {
  return new MethodRefusal(404, { code: CODES.noFile, message: 'File does not exist', source });
}
