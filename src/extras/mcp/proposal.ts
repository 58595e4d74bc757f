/**
 * What an agent may propose, and how it is kept: edits of rows in plain values, never SQL.
 *
 * A stored edit has the former value of every cell (`was`), so that later changes are never overwritten. Values are
 * kept as JSON texts with every digit (replica/history-cells.ts).
 */
import * as z from 'zod';

/** Edits of one proposal: as many as a person reads. */
export const EDITS_MAX = 200;
const VALUE_CHARS_MAX = 20_000;
const NAME_CHARS_MAX = 300;
const NOTE_CHARS_MAX = 2_000;

const name = z.string().min(1).max(NAME_CHARS_MAX);

/** The name of a proposal: one word, which is also the name of a file. */
export const proposalName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,59}$/, { error: 'small letters, digits and hyphens, at most 60' });

const value = z.union([z.string().max(VALUE_CHARS_MAX), z.number(), z.boolean(), z.null()]);

const proposedEdit = z.strictObject({
  table: name.describe('Name of a two-way table, as list_tables has it.'),
  action: z.enum(['update', 'insert', 'delete']),
  row_id: z.int().optional().describe('The _id of the row; not for an insert.'),
  values: z
    .record(name, value)
    .optional()
    .describe('New values by column; not for a delete. Dates as 2026-01-31, timestamps as 2026-01-31T12:00:00Z.'),
});

export type ProposedEdit = z.output<typeof proposedEdit>;

export const proposedEdits = z.array(proposedEdit).min(1).max(EDITS_MAX);

export const proposalNote = z.string().max(NOTE_CHARS_MAX);

const storedEdit = z.strictObject({
  table: name,
  kind: z.enum(['update', 'insert', 'delete']),
  /** Null for an insert. */
  rowId: z.int().nullable(),
  /** `was` is null for an insert, `value` for a delete; else both are JSON texts. */
  cells: z.array(z.strictObject({ column: name, was: z.string().nullable(), value: z.string().nullable() })),
});

export type StoredEdit = z.output<typeof storedEdit>;

export const storedProposal = z.strictObject({
  name: proposalName,
  note: proposalNote,
  proposedAt: z.string().max(40),
  edits: z.array(storedEdit).min(1).max(EDITS_MAX),
});

export type Proposal = z.output<typeof storedProposal>;
