/**
 * Entries of the history as events: CloudEvents 1.0 in its JSON format (github.com/cloudevents/spec). `id` is the
 * number of the entry, `source` the file that holds the history.
 */
import { entryJson, iterateEntriesAfter, lastSeq, type HistoryEntry } from './entries.ts';
import { requireHistory, unknown } from './known-since.ts';
import type { ReplicaReader } from '../../replica/reader.ts';

const ROW_TYPES: Readonly<Record<string, string>> = {
  insert: 'rowsync.row.inserted',
  update: 'rowsync.row.updated',
  delete: 'rowsync.row.deleted',
};

/** Of one block; a single event may be longer. */
const EVENTS_MAX = 500;
const CHARS_MAX = 1_000_000;

/** An event, by its number; `json` is one line without its end. */
export interface Event {
  readonly seq: number;
  readonly json: string;
}

/** The number of the last event that a reader of the feed has, from a text; null for anything else. */
export function sequenceNumber(text: string): number | null {
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(number) ? number : null;
}

/** The next events behind a number. @throws RowsyncError `history.unknown` if it is above the last, `replica.older`. */
export function readEvents(reader: ReplicaReader, after: number, source: string): readonly Event[] {
  requireHistory(reader);
  const last = lastSeq(reader);
  if (after > last) {
    const hint =
      'It is the number of another replica. Read what this one has with `--after 0`, and begin again with it.';
    throw unknown(`The history ends at ${last}, before ${after}`, hint);
  }
  const events: Event[] = [];
  let chars = 0;
  for (const entry of iterateEntriesAfter(reader, after, EVENTS_MAX)) {
    const json = eventJson(entry, source);
    events.push({ seq: entry.id, json });
    chars += json.length;
    if (chars > CHARS_MAX) break;
  }
  return events;
}

/** One line of JSON, without its end. */
function eventJson(entry: HistoryEntry, source: string): string {
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
