/**
 * An entry of the journal as an event: CloudEvents 1.0 in its JSON format (github.com/cloudevents/spec). `id` is the number of the
 * entry, `source` the file that holds the journal. Pure.
 */
import { entryJson, type Entry } from '../replica/history-entries.ts';

const ROW_TYPES: Readonly<Record<string, string>> = {
  insert: 'rowsync.row.inserted',
  update: 'rowsync.row.updated',
  delete: 'rowsync.row.deleted',
};

/** One line of JSON, without its end. */
export function eventJson(entry: Entry, source: string): string {
  const { id, table, rowId, kind, at } = entry;
  const subject = [table, rowId].filter((part) => part !== null).map((part) => encodeURIComponent(part));
  const envelope = {
    specversion: '1.0',
    id: String(id),
    source,
    type: ROW_TYPES[kind] ?? `rowsync.history.${kind}`,
    // It must not be empty.
    ...(subject.length === 0 ? {} : { subject: subject.join('/') }),
    time: at,
    datacontenttype: 'application/json',
  };
  return `${JSON.stringify(envelope).slice(0, -1)},"data":${entryJson(entry)}}`;
}
