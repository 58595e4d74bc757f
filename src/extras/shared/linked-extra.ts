/**
 * What an extra can bring for other extras, without knowing which others there are. The core calls none of it.
 */
import type { Config } from '../../config/load.ts';
import type { DaemonPart, DaemonView } from '../../daemon/context.ts';
import type { Extra, Invocation } from '../../extra.ts';
import type { Stored } from '../../replica/connection.ts';
import type { ReplicaReader } from '../../replica/reader.ts';
import type { RowsyncError } from '../../base/errors.ts';
import { someOf } from '../../base/text.ts';

export interface LinkedExtra extends Extra {
  readonly join?: (view: DaemonView) => Promise<LinkedPart>;
  /** Whether the system keeps a daemon of this configuration running; null if it is not set up to. */
  readonly findService?: (config: Config) => Promise<{
    readonly isWanted: boolean;
    readonly isUp: boolean;
    readonly findings: readonly CheckResult[];
  } | null>;
  /** What `rowsync check` finds out about its options on this machine. */
  readonly check?: (config: Config) => Promise<readonly CheckResult[]>;
  /** Plans how deleted rows come back at the origin, and creates them there if confirmed. @throws RowsyncError. */
  readonly putBack?: (
    invocation: Invocation,
    rows: readonly LostRow[],
    options: { readonly isConfirmed: boolean; readonly edits: RowEdits },
  ) => Promise<PutBackAnswer>;
  /** Cells that may refer to rows by numbered keys, named as in `PutBackAnswer`, each with the name of its row. */
  readonly referringCells?: (
    main: ReplicaReader,
    config: Config,
    rows: readonly LostRow[],
  ) => Promise<ReadonlyMap<string, RowName>>;
  /** Removes what it keeps of a forgotten row outside of the replica, and finds who else has it. */
  readonly forget?: (config: Config, row: ForgottenRow, nowMs: number) => Promise<ForgottenCopies>;
}

/** What it brings to the server of a running daemon. */
export interface LinkedPart extends DaemonPart {
  /** Answers a program that knows a path of the extra, on the server at an address; null for every other path. */
  answer?(request: PathRequest): PlainAnswer | null;
  metrics?(source: { readonly reader: ReplicaReader; readonly nowMs: number }): readonly Metric[];
}

/** A metric; its name has no prefix. Labels never are values or keys of rows. */
export interface Metric {
  readonly name: string;
  readonly kind: 'gauge' | 'counter';
  readonly help: string;
  readonly samples: readonly { readonly labels?: Readonly<Record<string, string>>; readonly value: number }[];
}

/** A number, or a sample for each set of labels. */
export function gauge(name: string, help: string, samples: number | Metric['samples']): Metric {
  return { name, kind: 'gauge', help, samples: typeof samples === 'number' ? [{ value: samples }] : samples };
}

export function counter(name: string, help: string, samples: number | Metric['samples']): Metric {
  return { ...gauge(name, help, samples), kind: 'counter' };
}

/** A row, or one cell of it, whose values are forgotten; `ids` are all that it had. */
export interface ForgottenRow {
  readonly table: string;
  readonly tableId: number;
  readonly ids: readonly number[];
  readonly column: string | null;
}

/** Copies of a forgotten row: counts of those removed, lines about the rest for a person, and both as JSON. */
export interface ForgottenCopies {
  readonly removed: readonly string[];
  readonly left: readonly string[];
  readonly json: Readonly<Record<string, unknown>>;
}

/** A row that was lost, with the values that are to come back by the origin's ids of their columns. */
export interface LostRow {
  readonly tableId: number;
  readonly oldId: number;
  readonly values: ReadonlyMap<number, Stored>;
  readonly deletedAt: string | null;
}

/** The id of a table, a space, the `_id` of a row. */
export type RowName = string;

/** Edits made at once: the texts of cells by the origin's ids of columns; null for a row that is deleted. */
export type RowEdits = ReadonlyMap<RowName, ReadonlyMap<number, string> | null>;

/** How deleted rows come back at the origin, or did. */
export interface PutBackAnswer {
  readonly text: string;
  readonly json: object;
  /** Whether a row waits for a person, if only for their consent. */
  readonly needsPerson: boolean;
  /** Cells with a key that is gone, as `TABLE ID, COLUMN ID, KEY`, and the new key of that row; null if unknown. */
  readonly goneKeys: ReadonlyMap<string, string | null>;
  /** Rows that the origin has in the place of deleted ones. */
  readonly hereAgain: ReadonlySet<RowName>;
}

export type ListenAddress =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'socket'; readonly path: string };

/** A request to a server; its body and its headers do not count. */
export interface PathRequest {
  readonly address: ListenAddress;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
}

export interface PlainAnswer {
  readonly status: number;
  readonly body: string;
}

/** The outcome of one check in one form: what was found in one line, and what to do where something is to be done. */
export interface CheckResult {
  readonly name: string;
  /** note: nothing is wrong, and it is worth knowing. */
  readonly outcome: 'ok' | 'note' | 'warn' | 'fail';
  readonly message: string;
  /** What to do; empty where all is well. */
  readonly hint: string;
}

export function ok(name: string, message: string): CheckResult {
  return { name, outcome: 'ok', message, hint: '' };
}

/** It works, but someone should look at it. */
export function warn(name: string, message: string, hint: string): CheckResult {
  return { name, outcome: 'warn', message, hint };
}

export function fail(name: string, message: string, hint: string): CheckResult {
  return { name, outcome: 'fail', message, hint };
}

/** What is to be said of some of many; nothing without any. */
export function ofSome<T>(names: readonly string[], say: (names: string) => T): readonly T[] {
  return names.length === 0 ? [] : [say(someOf(names))];
}

/** It does not work, as an error says. */
export function failed(name: string, { message, hint }: RowsyncError): CheckResult {
  return fail(name, message, hint);
}
