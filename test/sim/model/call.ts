/**
 * What a method of the model is given and what it gives back. Refusals are values: an HTTP status with the descriptor
 * of specification 2.7, or without one. Secondary codes that the public facts do not name are those that the sandbox
 * chose. Types, constants and the few questions that every method asks.
 */
import type { Pairs, ModelRoute } from './address.ts';
import type { ModelDraw, ModelKnobs } from './knobs.ts';
import type { ModelColumn, ModelFile, ModelRole, ModelState, ModelTable, ModelUser } from './state.ts';
import { findNamed } from './state.ts';
import type { Ledger } from './writer.ts';

/** An error descriptor. */
export interface ModelError {
  readonly error: number;
  readonly code: number;
  readonly message: string;
  readonly source: string | null;
}

/** A request that is refused as a whole; `code` null means that the answer has no body. */
export class Refusal {
  readonly status: number;
  readonly code: number | null;
  readonly message: string;
  readonly source: string | null;

  constructor(status: number, code: number | null, message: string, source: string | null = null) {
    this.status = status;
    this.code = code;
    this.message = message;
    this.source = source;
  }
}

/** A request whose caller and method are known. */
export interface Call {
  /** What reads see; of a lagging origin not what writes go to. */
  readonly state: ModelState;
  readonly ledger: Ledger;
  readonly knobs: ModelKnobs;
  readonly draw: ModelDraw;
  readonly database: string;
  readonly user: ModelUser;
  readonly role: ModelRole;
  readonly route: ModelRoute;
  readonly pairs: Pairs;
  readonly nowMs: number;
  readonly requestNumber: number;
  readonly contentType: string;
  readonly body: Uint8Array | null;
}

/** What a method gives back: a text that may be asked for again by its ETag, a result that may not, or a file. */
export type Made =
  | { readonly kind: 'page'; readonly text: string; readonly tables: readonly number[] }
  | { readonly kind: 'result'; readonly text: string }
  | { readonly kind: 'file'; readonly file: ModelFile }
  | Refusal;

/** 400 for a parameter. */
export function badParameter(name: string, message: string): Refusal {
  return new Refusal(400, 2100, message, name);
}

/** All values of a parameter. */
export function valuesOf(pairs: Pairs, name: string): readonly string[] {
  return pairs.filter((pair) => pair[0] === name).map((pair) => pair[1]);
}

/** The columns that a role sees. */
export function visibleColumns(table: ModelTable, role: ModelRole): readonly ModelColumn[] {
  return role.hiddenColumns.size === 0 ? table.columns : table.columns.filter(({ id }) => !role.hiddenColumns.has(id));
}

/** A column by name or alias, or why the role cannot have it. */
export function findColumn(table: ModelTable, role: ModelRole, name: string): ModelColumn | Refusal {
  const column = findNamed(table.columns, name);
  if (column === undefined) return new Refusal(400, 3100, 'Column does not exist', name);
  return role.hiddenColumns.has(column.id) ? new Refusal(403, 3101, 'Column is not accessible', name) : column;
}

/** The kinds of column that `*` stands for, and that a write may name. */
export function isUpdatable({ kind }: ModelColumn): boolean {
  return kind === 'Updatable' || kind === 'Key' || kind === 'RecordOwner';
}

/** A whole number from `min` to `max`; of several the last. */
export function readNumber(
  pairs: Pairs,
  name: string,
  { min, max, missing }: { readonly min: number; readonly max: number; readonly missing: number },
): number | Refusal {
  const text = valuesOf(pairs, name).at(-1);
  if (text === undefined) return missing;
  const number = /^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  return number >= min && number <= max ? number : badParameter(name, 'The parameter is out of range');
}

/** `0`, `1`, `false` or `true`. */
export function readFlag(pairs: Pairs, name: string, missing: boolean): boolean | Refusal {
  const text = valuesOf(pairs, name).at(-1)?.toLowerCase();
  if (text === undefined) return missing;
  if (text === '1' || text === 'true') return true;
  return text === '0' || text === 'false' ? false : badParameter(name, 'The parameter is neither 0 nor 1');
}

/** Whether rules run; who lacks ManageData may not say that they do not. */
export function readWorkflow({ pairs, user }: Call): boolean | Refusal {
  const runs = readFlag(pairs, 'workflow', true);
  if (runs !== false || user.admin.includes('ManageData')) return runs;
  return new Refusal(403, 2400, 'Suppressing workflow rules takes ManageData', 'workflow');
}

/** Rows that a request names. */
export type Named = { readonly ids: readonly number[] } | { readonly keys: readonly string[] };

/** The parameters `id` and `key`: one of the two, up to `max` times. */
export function readNamed(pairs: Pairs, max: number): Named | Refusal {
  const ids = valuesOf(pairs, 'id');
  const keys = valuesOf(pairs, 'key');
  if (ids.length > 0 && keys.length > 0) return badParameter('id', 'Keys and ids cannot be mixed');
  if (ids.length + keys.length === 0) return badParameter('key', 'A key or an id is required');
  if (ids.length + keys.length > max) return badParameter(ids.length > 0 ? 'id' : 'key', 'Too many records');
  if (keys.length > 0) return { keys };
  return ids.every((id) => /^\d{1,15}$/.test(id)) ? { ids: ids.map(Number) } : badParameter('id', 'An id is a number');
}
