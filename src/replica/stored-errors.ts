/**
 * The errors that the replica remembers and that are still true: of tables, of the last runs as a whole, of extras.
 */
import { sql } from '../base/sql.ts';
import { plural } from '../base/text.ts';
import type { Complaint, FoundComplaint } from '../reconcile/account/facts.ts';
import type { AddedProblem } from '../reconcile/account/problems.ts';
import type { Connection } from './connection.ts';
import { queryAll } from './query.ts';
import { hasTable } from './schema-objects.ts';

/** All of them; those of one table may be several: its read, its deletes and its push. */
export function readComplaints(from: Connection, added: readonly AddedProblem[]): readonly FoundComplaint[] {
  return [...ofRuns(from), ...ofTables(from), ...readDropped(from), ...ofHistory(from), ...ofExtras(from, added)];
}

/** The first row of each table that cannot be read, in words. */
export function readFirstUnreadable(
  from: Connection,
): ReadonlyMap<string, { readonly words: string; readonly since: string }> {
  const text = sql`SELECT t.local_name AS "table", min(u.since) AS since,
        '_id ' || u.row_id || ', "' || u.column_name || '": ' || u.reason AS words
      FROM _rowsync_unreadable u JOIN _rowsync_tables t ON t.id = u.table_id GROUP BY t.id`;
  const rows = queryAll(from, text) as { table: string; words: string; since: string }[];
  return new Map(rows.map(({ table, ...first }) => [table, first]));
}

function ofTables(from: Connection): readonly FoundComplaint[] {
  const text = sql`SELECT local_name AS subject, problem_code AS code, problem_message AS message, problem_hint AS hint, NULL AS since
          FROM _rowsync_tables WHERE problem_code IS NOT NULL
          UNION ALL SELECT local_name, held_code, held_message, held_hint, held_at FROM _rowsync_tables WHERE held_code IS NOT NULL
          UNION ALL SELECT local_name, push_code, push_message, push_hint, NULL FROM _rowsync_tables WHERE push_code IS NOT NULL
          ORDER BY subject COLLATE NOCASE`;
  const rows = queryAll(from, text) as (Complaint & { subject: string; since: string | null })[];
  return rows.map((row) => ({ ...row, about: 'table' }));
}

/** Tables that another program dropped or renamed, and columns of two-way tables; the next pull makes them again. */
export function readDropped(from: Connection): readonly FoundComplaint[] {
  const text = sql`SELECT t.local_name AS subject, NULL AS "column", (SELECT count(*) FROM _rowsync_rows r WHERE r.table_id = t.id) AS editCount
          FROM _rowsync_tables t WHERE t.state <> 'gone' AND t.id IN (SELECT table_id FROM _rowsync_columns)
            AND lower(t.local_name) NOT IN (SELECT lower(name) FROM sqlite_schema WHERE type = 'table')
          UNION ALL SELECT subject, "column", 0 FROM (
            SELECT t.local_name AS subject, c.local_name COLLATE NOCASE AS "column"
            FROM _rowsync_tables t JOIN _rowsync_columns c ON c.table_id = t.id
            WHERE t.push = 'on' AND t.state <> 'gone' AND c.state = 'live'
            EXCEPT SELECT t.local_name, p.name FROM _rowsync_tables t JOIN pragma_table_info(t.local_name) p WHERE t.push = 'on')
          WHERE EXISTS (SELECT 1 FROM pragma_table_info(subject))`;
  const rows = queryAll(from, text) as { subject: string; column: string | null; editCount: number }[];
  return rows.map(({ subject, column, editCount }) => ({
    about: 'table',
    subject,
    code: 'replica.schema',
    message: `${waitText(editCount)}${column === null ? 'the table' : `the column "${column}"`} was dropped or renamed in this file`,
    hint: 'If it was renamed, give it its name back now. rowsync pull makes it again as the origin last confirmed it, without edits of it.',
    since: null,
  }));
}

function waitText(editCount: number): string {
  return editCount === 0 ? '' : `${plural(editCount, 'edit')} not pushed yet, and `;
}

/** What the last pull, push or file work failed of as a whole. A wrong command line says nothing of the next run. */
function ofRuns(from: Connection): readonly FoundComplaint[] {
  const text = sql`SELECT kind, finished_at AS since, error_code AS code, result ->> 'problem' AS message, coalesce(result ->> 'hint', '') AS hint,
            id, EXISTS (SELECT 1 FROM _rowsync_runs later
                        WHERE later.id > r.id AND later.requests > 0 AND later.outcome IN ('done', 'held')) AS isAnsweredSince
          FROM (SELECT id, kind, finished_at, error_code,
                  (SELECT value FROM json_each(per_table) WHERE value ->> 'table' IS NULL) AS result FROM _rowsync_runs) r
          WHERE id IN (SELECT max(id) FROM _rowsync_runs WHERE finished_at IS NOT NULL AND outcome NOT IN ('stopped', 'interrupted')
                       GROUP BY replace(kind, 'follow', 'pull'))
            AND message IS NOT NULL AND code <> 'usage.invalid'
            AND NOT (code = 'push.identity' AND EXISTS (SELECT 1 FROM _rowsync_runs later
                     WHERE later.id > r.id AND later.kind = 'pull' AND later.outcome IN ('done', 'held'))) ORDER BY id DESC`;
  const rows = queryAll(from, text) as (Complaint & {
    kind: string;
    since: string;
    id: number;
    isAnsweredSince: 0 | 1;
  })[];
  return rows.map(({ kind, id, isAnsweredSince, ...row }) => ({
    ...row,
    run: { id, isAnsweredSince: isAnsweredSince === 1 },
    about: kind === 'push' || kind === 'files' ? kind : 'pull',
    subject: null,
  }));
}

/** What extras keep of their own problems; there is nothing to read where they have made no table. */
function ofExtras(from: Connection, added: readonly AddedProblem[]): readonly FoundComplaint[] {
  return added.flatMap(({ code: about, stored }) => {
    if (stored === undefined || !hasTable(from, stored.table)) return [];
    const rows = queryAll(from, stored.select) as (Complaint & { since: string | null; subject?: string })[]; // as AddedProblem asks for
    return rows.map((row) => ({ subject: null, ...row, about }));
  });
}

function ofHistory(from: Connection): readonly FoundComplaint[] {
  const text = sql`SELECT t.local_name AS subject, h.pruning_held AS why FROM _rowsync_history_tables h JOIN _rowsync_tables t ON t.id = h.table_id
          WHERE h.pruning_held IS NOT NULL ORDER BY t.local_name COLLATE NOCASE`;
  const rows = queryAll(from, text) as { subject: string; why: string }[];
  const hint = 'Set the clock of this machine (timedatectl). The next pull looks again.';
  return rows.map(({ subject, why }) => {
    const message = `entries older than history.keep are not removed: ${why}`;
    return { about: 'history.held', subject, code: 'history.held', message, hint, since: null };
  });
}
