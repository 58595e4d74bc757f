/**
 * What the specification leaves open, and what a bad day brings: ways in which the model may differ from an origin that
 * is steady and honest. All are off unless set. Whatever is random asks `draw`, where 0 always means the harmless
 * choice. Types and the defaults only.
 */
import type { Value } from '../../../src/wire/schema.ts';

/**
 * How ETags come about. `page` changes exactly with the bytes; `weak` is the same with a `W/`. `table` changes with any
 * change of a table or of the schema. `flaky` also changes without a change. `absent` is none at all. `reused` is a
 * lie: a changed page may keep its tag, so that its change is answered with 304.
 */
export type EtagMode = 'page' | 'weak' | 'table' | 'flaky' | 'absent' | 'reused';

/** What a rule does with a column of the row that the API wrote; see `ModelRule`. */
export type RuleEffect =
  | 'trim'
  | 'upper'
  | 'lower'
  /** To two decimals. */
  | 'round'
  /** Sets the column to what it was before the API wrote it; nothing in a new row. */
  | 'putBack'
  /** Sets the column of another row of the table to a text that is new. */
  | 'touchOther'
  /** Creates a row whose column has a text that is new, and the defaults otherwise. */
  | 'createRow';

/**
 * A workflow rule: after the API wrote a row, in the name of the caller; rules run in their order, and run no rules.
 */
export interface ModelRule {
  readonly table: string;
  readonly column: string;
  readonly when: 'create' | 'update' | 'write';
  readonly does: RuleEffect;
}

/** What the origin adds up: rows by day, or counts alone, or nothing. */
export type AddUpMode = 'days' | 'counts' | 'none';

/** What a draw decides, so that each kind may have a sequence, and a rate, of its own. */
export type DrawReason = 'order' | 'etag' | 'lag' | 'rule' | 'late';

/** A uniform number in [0, 1), where 0 is the harmless choice. */
export type ModelDraw = (reason: DrawReason) => number;

/** The knobs; they may be turned at any time. */
export interface ModelKnobs {
  /** Rows with equal sort keys: by id, or in another order for each request; then Retrieve has no order either. */
  pageOrder: 'stable' | 'unstable';
  etag: EtagMode;
  rules: readonly ModelRule[];
  /** Rows that the calling user cannot see, and so neither change nor delete. */
  hidesRow: ((row: { table: string; id: number; values: Readonly<Record<string, Value>> }) => boolean) | null;
  /** Values that the API may not write: the row fails, as where a workflow rule fails it. */
  refusesCell: ((cell: { readonly table: string; readonly column: string; readonly value: Value }) => boolean) | null;
  /** Whether descriptions have only the fields of the specification, so that they do not say what may be written. */
  isBare: boolean;
  /** Whether the calling user is given the list of deleted rows. */
  listsDeleted: boolean;
  addsUp: AddUpMode;
  /** How far behind the stamps of what colleagues do may lie, in milliseconds. */
  lateMsMax: number;
  /** Reads may show the state of up to so many milliseconds ago. */
  readLagMsMax: number;
}

/** An origin that is steady and honest. */
export function steadyKnobs(): ModelKnobs {
  return {
    pageOrder: 'stable',
    etag: 'page',
    rules: [],
    hidesRow: null,
    refusesCell: null,
    isBare: false,
    listsDeleted: true,
    addsUp: 'days',
    lateMsMax: 0,
    readLagMsMax: 0,
  };
}
