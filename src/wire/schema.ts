/**
 * Databases, tables, columns, views, users and attachments as the origin describes them (specification, sections 2.2,
 * 2.3, 2.8 and 2.9; extra fields from the vendor's own clients). json.ts reads them.
 *
 * The origin may add fields at any time: unknown fields are kept in `other`, and the sandbox writes them back.
 */

/** Any JSON value; numbers that a double cannot hold exactly arrive as `ExactNumber` (json.ts). */
export type JsonObject = { readonly [field: string]: unknown };

/** One table in the database descriptor (2.2). */
export interface TableSummary {
  readonly id: number;
  /** Singular name; addresses the table. */
  readonly recordName: string;
  readonly recordsName: string;
  readonly alias: string;
  readonly showTab: boolean;
  /** `#RRGGBB`. */
  readonly color: string;
  readonly other: JsonObject;
}

/** The database descriptor (2.2). */
export interface DatabaseDescriptor {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly culture: string;
  /** IANA name. */
  readonly timeZone: string;
  readonly tables: readonly TableSummary[];
  readonly other: JsonObject;
}

/** A column as described (2.3). */
export interface ColumnDescriptor {
  readonly id: number;
  readonly name: string;
  readonly alias: string;
  /** As sent; `columnType` maps it to the types we know. */
  readonly type: string;
  /** For example Required, Unique, AllowFind. */
  readonly dataOptions: readonly string[];
  /** For example ShowInViews. */
  readonly displayOptions: readonly string[];
  /** Longest text in characters; null where the origin sends none, or 0. */
  readonly width: number | null;
  /** Updatable, Key, RecordOwner, Lookup, Summary, …; null where the origin sends none. */
  readonly kind: string | null;
  /** True when the caller's role may not write it; null where the origin sends none. */
  readonly readOnly: boolean | null;
  readonly other: JsonObject;
  /** Of a column that is masked here (reconcile/column-selection.ts): its type is that of the masked values. */
  readonly mask?: Mask | undefined;
}

/** A view as described (2.3). */
export interface ViewDescriptor {
  readonly id: number;
  readonly type: string;
  readonly name: string;
  readonly alias: string;
  readonly showInMenu: boolean;
  /** For example Add, Edit, View, Delete. */
  readonly actions: readonly string[];
  readonly other: JsonObject;
}

/** The table descriptor (2.3). */
export interface TableDescriptor extends TableSummary {
  readonly allowAdd: boolean;
  /** Name of the key column. */
  readonly key: string;
  readonly columns: readonly ColumnDescriptor[];
  readonly views: readonly ViewDescriptor[];
  /** Every column is requested by name, since `*` may mean others (reconcile/column-selection.ts, write-rights.ts). */
  readonly asksByName?: boolean | undefined;
}

/** The calling user (2.9). */
export interface UserDescriptor {
  readonly id: number;
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly role: string;
  readonly culture: string;
  /** IANA name; timestamps are sent in this zone. */
  readonly timezone: string;
  /** Administrative permissions, for example CustomizeApplication, ManageUsers, ManageData. */
  readonly admin: readonly string[];
  readonly other: JsonObject;
}

/** One revision of one attachment (2.8). File names are what the origin sent: text, never a path. */
export interface AttachmentInfo {
  readonly name: string;
  readonly revision: number;
  /** Media type. */
  readonly type: string;
  /** Bytes. */
  readonly size: number;
  readonly guid: string;
  /** `Name <email>`. */
  readonly author: string;
  /** UTC, `YYYY-MM-DDThh:mm:ss[.fff]Z`. */
  readonly createdAt: string;
}

/** The column types whose values have a form of their own; everything else travels as text. */
export const COLUMN_TYPES = [
  'Text',
  'Phone',
  'EMail',
  'URL',
  'User',
  'Autonumber',
  'Multiline',
  'Checkbox',
  'Numeric',
  'Date',
  'Time',
  'Timestamp',
  'Duration',
  'Attachment',
  'Unknown',
] as const;

/** How a column's values are read and written. */
export type ColumnType = (typeof COLUMN_TYPES)[number];

const TYPE_BY_LOWER_NAME: ReadonlyMap<string, ColumnType> = new Map(
  COLUMN_TYPES.map((type) => [type.toLowerCase(), type]),
);

/** The type that a descriptor's `type` names, ignoring case; `Unknown` (text as sent) for unknown names. */
export function columnType(type: string): ColumnType {
  return TYPE_BY_LOWER_NAME.get(type.toLowerCase()) ?? 'Unknown';
}

/** Kinds that `column=*` covers and that a caller may write. */
const WRITABLE_KINDS: ReadonlySet<string> = new Set(['Updatable', 'Key', 'RecordOwner']);

/** Whether the caller may write the column. Without `kind` and `readOnly`, write-rights.ts completes it first. */
export function isWritable({ kind, readOnly }: Pick<ColumnDescriptor, 'kind' | 'readOnly'>): boolean {
  return kind === null ? readOnly === false : WRITABLE_KINDS.has(kind) && readOnly !== true;
}

/** Whether an edit may change the column. An autonumber never changes; a new row may bring its own. */
export function isEditable(column: Pick<ColumnDescriptor, 'kind' | 'readOnly' | 'type'>): boolean {
  return isWritable(column) && columnType(column.type) !== 'Autonumber';
}

/** Whether a descriptor has the option, ignoring case. */
export function hasOption(options: readonly string[], option: string): boolean {
  return options.some((name) => name.toLowerCase() === option.toLowerCase());
}

/** The kinds of masks (mask.ts). */
export const MASK_KINDS = ['hash', 'last4', 'year', 'domain', 'null', 'constant'] as const;

export type MaskKind = (typeof MASK_KINDS)[number];

/** How the values of a column are masked. */
export interface Mask {
  readonly kind: MaskKind;
  /** The type of the column at the origin. */
  readonly from: ColumnType;
  /** The name or pattern in the configuration that asks for the mask. */
  readonly pattern: string;
  /** Of a constant. */
  readonly constant?: string | undefined;
  /** For a hash: identifies its key (`maskKeyDigest`). */
  readonly key?: string | undefined;
}

/** What reading and writing a value needs to know of its column. */
export interface ColumnShape {
  readonly name: string;
  /** Of a masked column, that of the masked values. */
  readonly type: ColumnType;
  readonly mask?: Mask | null | undefined;
}

/**
 * One value, from or for the wire. By column type: text-like, Attachment, Unknown: string · Multiline: string with `\n`
 * · Checkbox: boolean · Numeric, Duration (seconds): number where a double is exact, bigint for longer integers, else
 * the plain decimal as a string · Date `YYYY-MM-DD` · Time `hh:mm:ss` · Timestamp UTC `YYYY-MM-DDThh:mm:ss[.fff]Z`.
 */
export type Value = null | string | boolean | number | bigint;

/** One row of Select or Retrieve; `values` are in the order of the columns it was read with. */
export interface Row {
  /** `@row.id`. */
  readonly id: number;
  /** `@row.allow`, for example `Edit,Delete`; null where the origin sends none. */
  readonly allow: string | null;
  /** The color from the origin's formula, if it has one. A new color alone is no change of the row. */
  readonly color?: string | undefined;
  readonly values: readonly Value[];
}

/** A column of rows that sum up others. */
export interface RollupShape extends ColumnShape {
  /** A group's alternative name, since sources differ on whether its suffix is kept. The grand total has no group. */
  readonly otherName?: string | undefined;
}

/** A row that sums up others (origin facts 1.2): a group of them, or all (`Grand`). */
export interface Rollup {
  /** `@row.type`; null for a group. */
  readonly type: string | null;
  readonly values: readonly Value[];
}

/** A row whose id is known but one of whose values has no meaning for its column's type; never contains the value. */
export interface UnreadableRow {
  readonly id: number;
  /** The first such column, by its name at the origin. */
  readonly column: string;
  readonly reason: string;
  /** The row with null in that column; absent if more than one value could not be read. */
  readonly rest?: Row | undefined;
}

/** The rows of one answer of Select or Retrieve, in the origin's order. */
export interface RowPage {
  readonly rows: readonly Row[];
  readonly unreadable: readonly UnreadableRow[];
  /** Ids of all rows, readable or not, in the origin's order. */
  readonly ids: readonly number[];
}
