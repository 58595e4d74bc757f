/**
 * What a database in the sandbox consists of, as code describes it: tables, columns, users, rights. The sample, a
 * `--data` file and tests all end up as these types; `store.ts` turns them into SQLite tables.
 */
import type { ColumnDescriptor, JsonObject, Value } from '../../wire/schema.ts';

/** How a read-only column gets its value. All names are columns that are stored, not computed ones. */
export type Computed =
  /** The value of `column` in the row of `table` whose key is in our column `reference`. */
  | { readonly how: 'lookup'; readonly reference: string; readonly table: string; readonly column: string }
  /** Count of the rows of `table` whose column `reference` holds our key, or the sum or maximum of their `column`. */
  | {
      readonly how: 'count' | 'sum' | 'max';
      readonly table: string;
      readonly reference: string;
      readonly column?: string | undefined;
    }
  /** Our own text columns, joined with a space; empty ones are left out. */
  | { readonly how: 'join'; readonly columns: readonly string[] };

/** How another database describes the same thing: its id and alias, and what describe says of it word for word. */
export interface Described<T> {
  readonly id: number;
  readonly alias: string;
  readonly words: T;
}

/** What describe says of a column beside its names, its type and its options. */
export type ColumnWords = Pick<ColumnDescriptor, 'width' | 'kind' | 'readOnly' | 'other'>;

/** Fields of a table that the specification does not name, in the description of the database and in its own. */
export interface TableWords {
  readonly inDatabase: JsonObject;
  readonly other: JsonObject;
}

/** One column to create. */
export interface ColumnSpec {
  readonly name: string;
  /** A type of the specification, or any other word to imitate a type that rowsync does not know. */
  readonly type: string;
  /** `Updatable` unless given or computed. `column=*` covers Updatable, Key and RecordOwner. */
  readonly kind?: string | undefined;
  /**
   * `dataOptions`: Required, Unique, AllowFind, AllowAddSimilar. Of attachments AllowSeeRevisionHistory, and (our name)
   * PublicAttachment, whose files can be fetched by guid alone. Of texts (our name too) RowColor, which says the color
   * of the row.
   */
  readonly options?: readonly string[] | undefined;
  /** `displayOptions`; `ShowInViews` unless given. */
  readonly displayOptions?: readonly string[] | undefined;
  readonly width?: number | undefined;
  readonly readOnly?: boolean | undefined;
  /** Value of rows that are created without one. Null unless given. */
  readonly defaultValue?: Value | undefined;
  /** Template of an Autonumber: `{0}` or `{0000}` is the number (origin facts 2.1). `{0}` unless given. */
  readonly format?: string | undefined;
  readonly computed?: Computed | undefined;
  readonly described?: Described<ColumnWords> | undefined;
}

/** A file to store with a row; the cell then reads `name;revision;guid`. */
export interface FileSpec {
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** One cell as code gives it: a `Value` (wire/schema.ts), or a file for an Attachment column. */
export type CellInput = Value | FileSpec;

/** Cells by column name; what is left out gets its default (on insert) or stays (on update). */
export type Cells = { readonly [column: string]: CellInput };

/** A row of another database, with what is known of it beside its cells. */
export interface KnownRow {
  /** `@row.id`. */
  readonly id: number;
  readonly cells: { readonly [column: string]: Value };
  /** What the caller may do with it, as `@row.allow` says; null leaves it to the role. */
  readonly allow: string | null;
  readonly color: string | null;
  /** Epoch milliseconds; null means the moment of insertion. */
  readonly createdMs: number | null;
  readonly modifiedMs: number | null;
}

/** A file of another database: which one its cell names, and its content. */
export interface KnownFile {
  readonly columnId: number;
  readonly rowId: number;
  readonly revision: number;
  readonly guid: string;
  readonly name: string;
  readonly mediaType: string;
  readonly author: string;
  readonly createdMs: number;
  readonly bytes: Uint8Array;
}

/** One view to create. Columns go by name or alias. */
export interface ViewSpec {
  readonly name: string;
  /** `Table` unless given, or SearchView, DashboardFilter, RecordPicker; rows of the last name deleted rows. */
  readonly type?: string | undefined;
  /** Those with the display option ShowInViews unless given. */
  readonly columns?: readonly string[] | undefined;
  /** `Column//SUFFIX` (origin facts 1.2); rows of one group come together. */
  readonly groups?: readonly string[] | undefined;
  readonly filter?: string | undefined;
  /** `Column`, `Column//ASC` or `Column//DESC`; behind the groups. */
  readonly sort?: readonly string[] | undefined;
  /** Add, Edit, View and Delete unless given. */
  readonly actions?: readonly string[] | undefined;
  readonly showInMenu?: boolean | undefined;
  /** The roles that see it; all of them unless given. */
  readonly roles?: readonly string[] | undefined;
  readonly described?: Described<JsonObject> | undefined;
}

/**
 * An automatic action of the database when the API writes a row. After the write, where `where` holds (always unless
 * given), the column `set` gets the value of the formula `to`. Rules run in their order and see what the ones before
 * them set. They may write columns that the caller may not, but no value that breaks a constraint.
 */
export interface WorkflowRule {
  /** `write` is both. A write that changes nothing runs no rule. */
  readonly when: 'create' | 'update' | 'write';
  readonly set: string;
  readonly to: string;
  readonly where?: string | undefined;
}

/** One table to create. Unless told otherwise it also gets the system columns. */
export interface TableSpec {
  /** Singular name. */
  readonly name: string;
  /** `<name>s` unless given. */
  readonly plural?: string | undefined;
  readonly color?: string | undefined;
  readonly showTab?: boolean | undefined;
  readonly allowAdd?: boolean | undefined;
  /** Name of the key column. Where it is left out, an Autonumber `Id` is added in front. */
  readonly key?: string | undefined;
  readonly columns: readonly ColumnSpec[];
  /** Whether to add Record Owner, Created By, Date Created, Last Modified By, Date Modified. True unless given. */
  readonly systemColumns?: boolean | undefined;
  /** Behind the view of all rows, which every table has that is not described. */
  readonly views?: readonly ViewSpec[] | undefined;
  readonly rules?: readonly WorkflowRule[] | undefined;
  /** All of its columns and views are described then. */
  readonly described?: Described<TableWords> | undefined;
  readonly rows?: Iterable<Cells> | undefined;
  /**
   * Creation time of the first row in epoch milliseconds; every further one is a second younger. Without it all rows
   * are created now.
   */
  readonly createdFromMs?: number | undefined;
}

/** A user of the database, with the one role that decides what they may see. */
export interface UserSpec {
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly role: string;
  readonly culture: string;
  /** IANA name; timestamps are sent in this zone. */
  readonly timezone: string;
  /** Administrative permissions: CustomizeApplication, ManageUsers, ManageData. */
  readonly admin: readonly string[];
}

/** What a role may do. Tables and columns that it may not see do not exist for it. */
export interface RoleSpec {
  readonly name: string;
  readonly canWrite: boolean;
  /** Whether rows of other owners can be read only; in tables without a Record Owner all rows can be written. */
  readonly editOwnOnly?: boolean | undefined;
  readonly hiddenTables: readonly string[];
  /** `Table.Column` pairs, as two names. */
  readonly hiddenColumns: readonly (readonly [table: string, column: string])[];
}

/** A user with credentials. */
export interface SandboxUser {
  readonly email: string;
  readonly role: string;
  readonly password: string;
  readonly token: string;
}
