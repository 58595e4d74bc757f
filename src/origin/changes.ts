/**
 * The methods that change rows: Create, Update, Upsert and Delete (specification 4.6 and 4.7). Returns one status a
 * row, in the order of the rows.
 *
 * A change is never repeated on a guess: see `change` in requests.ts. HTTP 200 says nothing about a row; only its
 * status does. Values are sent in the input forms of specification 2.4. Bodies are in the origin's format, or in JSON
 * if XML cannot express a value: an empty text would arrive as null. The answer is then still XML.
 */
import { WIRE_FORMATS, type WireFormat } from '../wire/format.ts';
import { unexpected } from '../wire/json.ts';
import { KEYS_MAX, queryFromPairs, recordPairs, type QueryPair, type Records } from '../wire/request-paths.ts';
import { writeWriteBody, type OutgoingFile } from '../wire/write-body.ts';
import type { OutgoingRow, StatusDescriptor } from '../wire/writes.ts';
import { methodPath, type Address } from './address.ts';
import type { ReadOptions, Requests } from './requests.ts';

/** How a caller may ask for a change. */
export type ChangeOptions = Pick<ReadOptions, 'signal'>;

/** Options of every change. */
interface ChangeRequest {
  readonly table: Address;
  /** `suppress` needs the administrative permission ManageData. Default run. */
  readonly workflow?: 'run' | 'suppress' | undefined;
}

/** What `create` takes. */
export interface CreateRequest extends ChangeRequest {
  readonly rows: readonly OutgoingRow[];
  /** The calling user's time zone (`user`), in which timestamps are written. */
  readonly zone: string;
  /** Files that cells refer to as `cid:<content id>`; from memory, or read while they are sent. */
  readonly files?: readonly OutgoingFile[] | undefined;
}

/** What `update` and `upsert` take. */
export interface MatchRequest extends CreateRequest {
  /** A unique column to find rows by in place of the key; a row's internal id comes before both. */
  readonly match?: string | undefined;
}

/** What `delete` takes: rows by id or by key, at most 500. */
export type DeleteRequest = ChangeRequest &
  Records & {
    /** Deletes at once, without the recycle bin. */
    readonly purge?: boolean | undefined;
  };

/**
 * The methods that change rows. Each returns one status for each row, in the order they were sent: check every one.
 * Each throws `origin.unknownOutcome` if the change may or may not have happened, with the reason as its cause; after
 * any other error nothing has changed. `refusal` of an error is the origin's answer to the whole request.
 */
export interface ChangeMethods {
  /** Creates rows; columns without a value get their default. */
  create(request: CreateRequest, options?: ChangeOptions): Promise<readonly StatusDescriptor[]>;
  /** Updates rows that exist. */
  update(request: MatchRequest, options?: ChangeOptions): Promise<readonly StatusDescriptor[]>;
  /** Updates rows that exist and creates the others. */
  upsert(request: MatchRequest, options?: ChangeOptions): Promise<readonly StatusDescriptor[]>;
  /** Deletes rows. */
  delete(request: DeleteRequest, options?: ChangeOptions): Promise<readonly StatusDescriptor[]>;
}

/** Makes the methods; `random` draws the boundaries of multipart bodies. */
export function changeMethods(requests: Requests, format: WireFormat, random: () => number): ChangeMethods {
  const write = async (
    method: 'create' | 'update' | 'upsert',
    { table, rows, zone, files = [], match, workflow }: MatchRequest,
    { signal }: ChangeOptions,
  ): Promise<readonly StatusDescriptor[]> => {
    if (rows.length === 0) return [];
    const read = (text: string, what: string): readonly StatusDescriptor[] => {
      const statuses = format.readStatuses(text, rows.length, what);
      checkEchoes(statuses, { ids: rows.map(({ id }) => id), method }, what);
      return statuses;
    };
    const query = queryFromPairs([['match', match], workflowPair(workflow)]);
    const path = methodPath(format.extension, table, method, query);
    const bodyFormat = format.carriesInput(rows) ? format : WIRE_FORMATS.json;
    const body = writeWriteBody(bodyFormat, { rows, zone, files }, random);
    return requests.change({ method, table: table.name, path, body, read }, { signal });
  };
  return {
    create: (request, options = {}) => write('create', { ...request, match: undefined }, options),
    update: (request, options = {}) => write('update', request, options),
    upsert: (request, options = {}) => write('upsert', request, options),
    delete: async (request, { signal } = {}) => {
      const { table } = request;
      const count = 'ids' in request ? request.ids.length : request.keys.length;
      if (count === 0) return [];
      const read = (text: string, what: string): readonly StatusDescriptor[] => {
        const statuses = format.readStatuses(text, count, what);
        checkEchoes(statuses, { ...request, method: 'delete' }, what);
        return statuses;
      };
      const purging: QueryPair = ['purge', request.purge === true ? 1 : undefined];
      const query = queryFromPairs([...recordPairs(request), workflowPair(request.workflow), purging]);
      const path = methodPath(format.extension, table, 'delete', query);
      const isTooMany = count > KEYS_MAX;
      return requests.change({ method: 'delete', table: table.name, path, body: null, read, isTooMany }, { signal });
    },
  };
}

function workflowPair(workflow: ChangeRequest['workflow']): QueryPair {
  return ['workflow', workflow === 'suppress' ? 0 : undefined];
}

/** The status of a row that a write created (specification 4.6). */
const CREATED = 201;

/** How a request identifies its rows. */
interface SentRecords {
  readonly method: string;
  readonly ids?: readonly (number | null)[];
  readonly keys?: readonly string[];
}

/** Refuses a status of another row: a refused row could pass as accepted. Upserts may make deleted rows anew. */
function checkEchoes(
  statuses: readonly StatusDescriptor[],
  { method, ids = [], keys = [] }: SentRecords,
  what: string,
): void {
  const sentIds = new Set(ids);
  statuses.forEach(({ status, id, key }, index) => {
    const sentId = ids[index] ?? null;
    const mayDiffer = sentId === null || (method === 'upsert' && status === CREATED);
    const isOtherRow = id !== null && id !== sentId && (!mayDiffer || sentIds.has(id));
    const isOtherKey = key !== null && key !== (keys[index] ?? key);
    if (status < 400 && (isOtherRow || isOtherKey)) {
      throw unexpected(what, `status ${index + 1} is not of the row that was sent in its place`);
    }
  });
}
