/**
 * The tools of the server for agents: the arguments of each, as zod checks them and as agents read them, and the
 * question that they become.
 */
import * as z from 'zod';
import type { ToolQuestion } from './request.ts';
import { EDITS_MAX, proposalName, proposalNote, proposedEdits } from './proposal.ts';

/** Rows of an answer: by default, and at most. */
const ROWS_DEFAULT = 100;
const ROWS_MAX = 1_000;
/** Characters of a query. */
const SQL_CHARS_MAX = 20_000;

/** What a call of a tool asks for. */
export type ToolCall =
  | { readonly kind: 'question'; readonly question: ToolQuestion }
  | { readonly kind: 'propose'; readonly wish: z.output<typeof PROPOSE> }
  | { readonly kind: 'proposals' };

interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly takes: z.ZodType;
  /** Only propose_edits keeps something. */
  readonly isReadOnly: boolean;
  readonly ask: (given: unknown) => ToolCall;
}

const NOTHING = z.strictObject({});
const DESCRIBE = z.strictObject({
  table: z.string().min(1).max(300).describe('Name of the table, as list_tables has it.'),
});
const QUERY = z.strictObject({
  sql: z
    .string()
    .min(1)
    .max(SQL_CHARS_MAX)
    .describe(
      'One SELECT in SQLite. Put names with spaces in double quotes. Rows have the number of the origin in _id.',
    ),
  max_rows: z.int().min(1).max(ROWS_MAX).default(ROWS_DEFAULT).describe('Rows that are answered at most.'),
});
const PROPOSE = z.strictObject({
  name: proposalName.describe('A short name by which a person finds the proposal: small letters, digits and hyphens.'),
  note: proposalNote.default('').describe('Why, for the person who decides.'),
  edits: proposedEdits.describe(`At most ${EDITS_MAX} edits; one for a row.`),
});

/** A tool whose arguments `takes` checks before `ask` sees them. */
function tool<Takes extends z.ZodType>(
  given: Omit<Tool, 'ask' | 'takes' | 'isReadOnly'> & {
    readonly takes: Takes;
    readonly isReadOnly?: boolean;
    readonly ask: (given: z.output<Takes>) => ToolCall;
  },
): Tool {
  return { isReadOnly: true, ...given, ask: (raw) => given.ask(given.takes.parse(raw)) };
}

const question = (of: ToolQuestion): ToolCall => ({ kind: 'question', question: of });

/** Every tool. */
export const TOOLS: readonly Tool[] = [
  tool({
    name: 'list_tables',
    title: 'List tables',
    description: 'Lists the tables with their rows and columns, how old each is, and whether edits may be proposed.',
    takes: NOTHING,
    ask: () => question({ tool: 'list_tables' }),
  }),
  tool({
    name: 'describe_table',
    title: 'Describe a table',
    description: 'Says which columns a table has, with their types, and which may be written.',
    takes: DESCRIBE,
    ask: ({ table }) => question({ tool: 'describe_table', table }),
  }),
  tool({
    name: 'query',
    title: 'Query',
    description:
      'Answers one SELECT over the copy. Says how old the tables are that it read, and whether rows were cut. Only reads, for ten seconds at most.',
    takes: QUERY,
    ask: ({ sql, max_rows: rowsMax }) => question({ tool: 'query', sql, rowsMax }),
  }),
  tool({
    name: 'freshness',
    title: 'How old the copy is',
    description:
      'For each table: every row was equal to the origin at fresh_since or later (null while a row cannot be read); changed rows were last asked for at followed_at.',
    takes: NOTHING,
    ask: () => question({ tool: 'freshness' }),
  }),
  tool({
    name: 'propose_edits',
    title: 'Propose edits',
    description:
      'Keeps edits as a named plan. Nothing is changed: a person looks at the plan with "rowsync proposals show NAME", and applies or drops it.',
    takes: PROPOSE,
    isReadOnly: false,
    ask: (wish) => ({ kind: 'propose', wish }),
  }),
  tool({
    name: 'list_proposals',
    title: 'List proposals',
    description: 'Lists proposals that wait for a person, and those that were applied. Dropped ones are gone.',
    takes: NOTHING,
    ask: () => ({ kind: 'proposals' }),
  }),
];

/** A tool as agents read it. */
export function toolJson({ name, title, description, takes, isReadOnly }: Tool) {
  const { $schema: _schema, ...inputSchema } = z.toJSONSchema(takes, { io: 'input', target: 'draft-2020-12' });
  return {
    name,
    title,
    description,
    inputSchema: { ...inputSchema, type: 'object' as const },
    annotations: { readOnlyHint: isReadOnly, destructiveHint: false, idempotentHint: isReadOnly, openWorldHint: false },
  };
}

/** What is wrong with arguments, in one sentence for each. */
export function argumentProblems(error: unknown): readonly string[] {
  if (!(error instanceof z.ZodError)) throw error;
  return error.issues.map(({ path, message }) => `${path.join('.') || 'arguments'}: ${message}`);
}
