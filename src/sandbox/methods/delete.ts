/**
 * Delete (specification 4.7): records by key or by id, one status for each in its order. A record that does not exist,
 * was named twice, or may not be deleted fails in the same way, so that the caller cannot learn which.
 */
import type { ErrorDescriptor } from '../../wire/json.ts';
import type { StatusDescriptor } from '../../wire/writes.ts';
import type { MethodAnswer, MethodCall } from './call.ts';
import { readRecords, readSwitch, readWorkflow } from './parameters.ts';
import { CODES, MethodRefusal } from './refusal.ts';
import { mayEdit, ownerColumn } from './row-rights.ts';
import type { Table } from '../store/catalog.ts';
import type { RowWriter } from '../store/writer.ts';

const UNAVAILABLE: ErrorDescriptor = {
  error: 403,
  code: CODES.noRecord,
  message: 'Record is not found or not accessible',
  source: null,
};

/** Delete. */
export function deleteRecords(call: MethodCall, table: Table): MethodAnswer | MethodRefusal {
  const { pairs, store, user, format } = call;
  const records = readRecords(pairs);
  if (records instanceof MethodRefusal) return records;
  // The sandbox has no rules that run on a delete, but who may not suppress them is refused anyway.
  const runsRules = readWorkflow(call);
  if (runsRules instanceof MethodRefusal) return runsRules;
  const purge = readSwitch(pairs, 'purge', false);
  if (purge instanceof MethodRefusal) return purge;
  const statuses = store.writeAs(user, (writer) => {
    const named =
      records.by === 'id'
        ? records.ids.map((id) => ({ id, key: null, rowId: id }))
        : records.keys.map((key) => ({ id: null, key, rowId: null }));
    return named.map(({ id, key, rowId }): StatusDescriptor => {
      const found = rowId ?? writer.idWithKey(table, key ?? '');
      const isDone = found !== undefined && mayDelete(call, table, writer, found) && writer.delete(table, found, purge);
      return { status: isDone ? 200 : 403, id, key, errors: isDone ? [] : [UNAVAILABLE] };
    });
  });
  return { kind: 'result', text: format.writeDeleteStatuses(statuses) };
}

function mayDelete(call: MethodCall, table: Table, writer: RowWriter, id: number): boolean {
  const owner = ownerColumn(table);
  if (owner === undefined) return mayEdit(call, undefined);
  const [ownerValue] = writer.read(table, [owner], id) ?? [];
  return mayEdit(call, ownerValue);
}
