/**
 * Answers of the Records API in JSON, as the sandbox writes them: descriptors, rows, statuses, revisions and errors
 * (specification 2.2 to 2.9). What is written here, the readers of wire/ read.
 */
import type { AttachmentInfo } from '../../wire/schema.ts';
import type { ErrorDescriptor } from '../../wire/json.ts';
import type {
  ColumnShape,
  DatabaseDescriptor,
  JsonObject,
  Rollup,
  Row,
  TableDescriptor,
  TableSummary,
  UserDescriptor,
} from '../../wire/schema.ts';
import type { StatusDescriptor } from '../../wire/writes.ts';
import { offsetTextFromUtc } from '../../wire/time-zones.ts';
import { writeOutput } from './value-forms.ts';

/** Writes rows as Select and Retrieve send them, for a user in `zone`. */
export function rowsWriter(columns: readonly ColumnShape[], zone: string): (rows: readonly Row[]) => string {
  const cells = columns.map(({ name, type }) => ({
    prefix: `,${JSON.stringify(name)}:`,
    write: writeOutput(type, zone),
  }));
  return (rows) => {
    const texts = rows.map((row) => {
      let text = `{"@row.id":${row.id}`;
      if (row.allow !== null) text += `,"@row.allow":${JSON.stringify(row.allow)}`;
      if (row.color !== undefined) text += `,"@row.color":${JSON.stringify(row.color)}`;
      for (const [index, cell] of cells.entries()) text += cell.prefix + cell.write(row.values[index] ?? null);
      return `${text}}`;
    });
    return `[${texts.join(',')}]`;
  };
}

/** Writes rows that sum up others, for a user in `zone`. */
export function rollupsWriter(columns: readonly ColumnShape[], zone: string): (rows: readonly Rollup[]) => string {
  const cells = columns.map(({ name, type }) => ({ name: JSON.stringify(name), write: writeOutput(type, zone) }));
  return (rows) => {
    const texts = rows.map(({ type, values }) => {
      const fields = cells.map(({ name, write }, index) => `${name}:${write(values[index] ?? null)}`);
      return `{${[...(type === null ? [] : [`"@row.type":${JSON.stringify(type)}`]), ...fields].join(',')}}`;
    });
    return `[${texts.join(',')}]`;
  };
}

function tableFields(table: TableSummary): JsonObject {
  const { id, recordName, recordsName, alias, showTab, color } = table;
  return { id, recordName, recordsName, alias, showTab, color };
}

/** Writes Describe (Database). */
export function writeDatabase(database: DatabaseDescriptor): string {
  const { id, name, description, culture, timeZone, tables, other } = database;
  const summaries = tables.map((table) => ({ ...tableFields(table), ...table.other }));
  return JSON.stringify({ id, name, description, culture, timeZone, tables: summaries, ...other });
}

/** Writes Describe (Table); lists of options are comma-separated texts, present even when empty (origin facts 7.5). */
export function writeTable(table: TableDescriptor): string {
  const columns = table.columns.map(({ dataOptions, displayOptions, width, kind, readOnly, other, ...column }) => ({
    ...column,
    dataOptions: dataOptions.join(', '),
    displayOptions: displayOptions.join(', '),
    ...(width === null ? {} : { width }),
    ...(kind === null ? {} : { kind }),
    ...(readOnly === null ? {} : { readOnly }),
    ...other,
  }));
  const views = table.views.map(({ actions, other, ...view }) => ({ ...view, actions: actions.join(', '), ...other }));
  const { allowAdd, key, other } = table;
  return JSON.stringify({ ...tableFields(table), allowAdd, key, columns, views, ...other });
}

/** Writes User. */
export function writeUser({ admin, other, ...user }: UserDescriptor): string {
  return JSON.stringify({ ...user, admin: admin.join(', '), ...other });
}

/** Writes an error descriptor; `error`, `code` and `message` are always there, because clients read them unguarded. */
export function writeError({ error, code, message, source }: ErrorDescriptor): string {
  return JSON.stringify({ error, code: code ?? 0, message, ...(source === null ? {} : { source }) });
}

/** Writes the answer of Create, Update and Upsert. */
export function writeStatuses(statuses: readonly StatusDescriptor[]): string {
  return JSON.stringify(statuses.map(statusFields));
}

/** Writes the answer of Delete: the id or key that was passed in, and a single error. */
export function writeDeleteStatuses(statuses: readonly StatusDescriptor[]): string {
  return JSON.stringify(statuses.map(deleteStatusFields));
}

/** The fields of a status in their order; `errors` is there only where the row failed. */
export function statusFields({ status, id, key, errors }: StatusDescriptor): Readonly<Record<string, unknown>> {
  return {
    status,
    ...(id === null ? {} : { id }),
    ...(key === null ? {} : { key }),
    ...(errors.length === 0 ? {} : { errors: errors.map(errorFields) }),
  };
}

/** The fields of a status of Delete in their order. */
export function deleteStatusFields({ status, id, key, errors }: StatusDescriptor): Readonly<Record<string, unknown>> {
  const [error] = errors;
  return {
    ...(id === null ? {} : { id }),
    ...(key === null ? {} : { key }),
    status,
    ...(error === undefined ? {} : { error: errorFields(error) }),
  };
}

/** `error`, `code` and `message` always: clients read them unguarded (origin facts 7.5). */
function errorFields({ error, code, message, source }: ErrorDescriptor): Readonly<Record<string, unknown>> {
  return { error, code: code ?? 0, message, ...(source === null ? {} : { source }) };
}

/** Writes the answer of the list method for a user in `zone`. */
export function writeAttachments(attachments: readonly AttachmentInfo[], zone: string): string {
  return JSON.stringify(attachments.map((attachment) => attachmentFields(attachment, zone)));
}

/** The fields of one revision in their order. */
export function attachmentFields(attachment: AttachmentInfo, zone: string): Readonly<Record<string, unknown>> {
  const { createdAt, ...fields } = attachment;
  return { ...fields, created: millisecondTextFromUtc(createdAt, zone) };
}

/** A moment in `zone`, always with milliseconds, as of files and changes (specification 2.8, origin facts 1.3). */
export function millisecondTextFromUtc(utc: string, zone: string): string {
  const text = offsetTextFromUtc(utc, zone);
  const fraction = /\.(\d{1,3})/.exec(text)?.[1] ?? '';
  return `${text.slice(0, 19)}.${fraction.padEnd(3, '0')}${text.slice(-6)}`;
}
