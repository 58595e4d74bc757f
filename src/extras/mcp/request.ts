/**
 * Questions of the server for agents to its tool process. Plain values, since they cross a channel between two
 * processes. The server has checked their shape.
 */
import type { Problem } from '../../reconcile/account/account.ts';
import type { ProposedEdit } from './proposal.ts';

/** The first word of a command line that starts this program as a tool process. */
export const TOOL_PROCESS = 'tool-process';

export type ToolQuestion =
  | { readonly tool: 'list_tables' }
  | { readonly tool: 'describe_table'; readonly table: string }
  | {
      readonly tool: 'query';
      readonly sql: string;
      readonly rowsMax: number;
      /** How old the tables may be that it reads; null for any age. */
      readonly within: string | null;
    }
  /** Which of these tables are older, by their names at the origin. */
  | { readonly tool: 'stale'; readonly sql: string; readonly within: string }
  /** Reads what the edits would change, and says what is wrong with them; nothing is written. */
  | { readonly tool: 'look_at_edits'; readonly edits: readonly ProposedEdit[] };

export interface ToolRequest {
  readonly question: ToolQuestion;
  readonly replicaPath: string;
  readonly nowMs: number;
  readonly problems: readonly Problem[];
}
