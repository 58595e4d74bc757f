/**
 * Updated and Deleted: rows that changed or were deleted in a span of time, the latest first, without a limit (origin
 * facts 1.3 and 1.4). The specification does not have them, so a switch turns them off. Reads the store, writes
 * nothing. Stamps carry milliseconds, as no Select does.
 */
import type { Value } from '../../wire/schema.ts';
import { utcFromInputText } from '../../wire/time-zones.ts';
import { millisecondTextFromUtc } from '../wire/json-answers.ts';
import type { MethodAnswer, MethodCall } from './call.ts';
import { valuesOf, visibleColumns } from './parameters.ts';
import { badParameter, MethodRefusal } from './refusal.ts';
import { tablesBehind, type StoreColumn, type Table } from '../store/catalog.ts';
import type { TimeSpan } from '../store/bin.ts';
import { viewColumns } from './view.ts';

/** Updated: rows by the time of their last change, new ones included. */
export function updated(call: MethodCall, table: Table): MethodAnswer | MethodRefusal {
  const span = readSpan(call);
  if (span instanceof MethodRefusal) return span;
  const zone = call.user.timezone;
  const showsKey = visibleColumns(table, call.role).includes(table.key);
  const rows = call.store.updatedRows(table, span).map(({ id, key, createdMs, modifiedMs }) => ({
    id,
    allow: null,
    values: [showsKey ? key : null, stampText(createdMs, zone), stampText(modifiedMs, zone)],
  }));
  const write = call.format.rowsWriter(['key', 'created', 'modified'].map(textShape), zone);
  return { kind: 'page', text: () => write(rows), tableIds: [table.id] };
}

/** Deleted: rows in the recycle bin, with the columns of the Record Picker; without ManageData only one's own. */
export function deleted(call: MethodCall, table: Table): MethodAnswer | MethodRefusal {
  const span = readSpan(call);
  if (span instanceof MethodRefusal) return span;
  const { store, user, format } = call;
  const columns = pickerColumns(call, table);
  const email = user.admin.includes('ManageData') ? null : user.email;
  const rows = store.deletedRows(table, columns, { ...span, email }).map((row) => {
    const values: Value[] = [...row.values, row.deletedBy, stampText(row.deletedMs, user.timezone)];
    return { id: row.id, allow: null, values };
  });
  const shapes = columns.map(({ name, valueType }) => ({ name, type: valueType }));
  const write = format.rowsWriter([...shapes, ...['deletedby', 'deleted'].map(textShape)], user.timezone);
  return { kind: 'page', text: () => write(rows), tableIds: tablesBehind(table) };
}

/** The Record Picker's columns, or else the key; those that would be confused with the two that are added stay out. */
function pickerColumns({ role }: MethodCall, table: Table): readonly StoreColumn[] {
  const picker = table.views.find(({ type }) => type === 'RecordPicker');
  const columns =
    picker === undefined
      ? visibleColumns(table, role).filter((column) => column === table.key)
      : viewColumns(table, role, picker);
  return columns.filter(({ name }) => !['deleted', 'deletedby'].includes(name.toLowerCase()));
}

function textShape(name: string): { readonly name: string; readonly type: 'Text' } {
  return { name, type: 'Text' };
}

function stampText(ms: number, zone: string): string {
  return millisecondTextFromUtc(new Date(ms).toISOString(), zone);
}

/** The parameters `from` and `to`, both inclusive. */
function readSpan(call: MethodCall): TimeSpan | MethodRefusal {
  const fromMs = readInstant(call, 'from');
  if (fromMs instanceof MethodRefusal) return fromMs;
  const toMs = readInstant(call, 'to');
  if (toMs instanceof MethodRefusal) return toMs;
  return { fromMs, toMs };
}

/** An instant in epoch milliseconds, by the zone that it names or the caller's. Null where the parameter is absent. */
function readInstant({ pairs, user }: MethodCall, parameter: string): number | null | MethodRefusal {
  const text = valuesOf(pairs, parameter).at(-1);
  if (text === undefined) return null;
  // An unencoded plus sign arrives as a space.
  const sent = text.replace(/^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*) (\d\d:?\d\d)$/i, '$1+$2');
  // A date begins at midnight, by the zone behind it or else the caller's.
  const dated = sent.replace(/^(\d{4}-\d\d-\d\d)(Z|[+-]\d\d:?\d\d)?$/i, '$1T00:00:00$2');
  const utc = utcFromInputText(dated, user.timezone);
  if (utc !== undefined) return Date.parse(utc);
  return badParameter(parameter, 'The value must be a time, as in 2026-01-31T12:00:00+01:00');
}
