/**
 * What each column of the sync_ views says, for the reference. The generator fails for a column that has no line here,
 * and for a line without a column.
 */

/** A view: what it has one row for, and its columns. */
export interface ViewText {
  readonly rows: string;
  readonly columns: Readonly<Record<string, string>>;
}

const TABLE = 'Name of the table in the replica.';
const ROW_ID = 'The `_id` of the row in its table.';
const COLUMN = 'Name of the column in the replica.';

/** The views, by name. */
export const VIEWS: Readonly<Record<string, ViewText>> = {
  sync_status: {
    rows: 'each table',
    columns: {
      table: TABLE,
      state:
        '`loading`, `steady`, `held` (a guard waits for a person), `failed`, `gone` (the origin no longer shows it), `dropped` (another program dropped it here), or `restored` (from an older copy, and not read since).',
      rows: 'Rows in the replica.',
      pages: 'Pages of the last sweep.',
      windows: 'Windows of the creation time into which the pages are divided.',
      one_window:
        'Why the table has one window: `hidden` (no creation time is shown), `sort` (another order is configured), `filter` or `order` (the origin does not keep to it). NULL where windows are in use.',
      page_rows:
        'Rows of a page, since larger pages are beyond the bound of an answer. NULL where they are as the configuration says.',
      rows_filter: 'The filter of the configuration (`rows`) by which its rows were chosen. NULL for all rows.',
      last_sweep: 'End of the last pull that read the whole table.',
      fresh_since: 'Every row was equal to the origin at this time or later; NULL while a row cannot be read.',
      followed_at:
        'When only changed rows were last asked for: all that the origin stamps as changed before is here. NULL for never.',
      unreadable: 'Rows that could not be read; see `sync_failures`.',
      mode: '`mirror`, `two-way`, or `waiting` (two-way after the next full pull).',
      masked: 'Columns whose values are masked.',
      pending: 'Edited rows that are not at the origin yet.',
      parked: 'Edited rows that wait for a person or a timer.',
      refused:
        'Parked rows that are in no conflict: refused by the origin, in doubt, or not sendable; `sync_failures` says which.',
      conflicts: 'Open questions in `sync_conflicts`.',
      oldest_change: 'When the oldest edit was made that is not at the origin; NULL for none.',
      problem: 'What is wrong; NULL for nothing.',
      hint: 'What to do about it.',
    },
  },
  sync_runs: {
    rows: 'each pull, follow or push, the last 10,000',
    columns: {
      id: 'Number of the run.',
      kind: '`pull`, `follow` (only changes were asked for) or `push`.',
      started_at: 'When it began.',
      finished_at: 'When it ended; NULL while it runs.',
      outcome:
        '`running`, `done`, `held`, `failed`, `stopped` (rowsync was asked to), or `interrupted` (found unfinished by the next run).',
      tables: 'Tables that it worked on.',
      requests: 'Requests that it sent.',
      not_modified: 'Pages that the origin answered with "not modified".',
      received_bytes: 'Bytes that it received.',
      inserted: 'Rows inserted here by a pull, at the origin by a push.',
      updated: 'Rows updated here by a pull, at the origin by a push.',
      deleted:
        'Rows that a pull deleted here, also since they left the filter (`rows`); rows that a push deleted at the origin.',
      error_code: 'Code of the first error; NULL for none.',
      error_message: 'Its message.',
      per_table:
        'What it did to each table, as JSON: `table`, `inserted`, `updated`, `deleted`, `refused`, `problem`, `hint`; of a pull that a guard held as a whole, `agreed` once a person agreed. Kept of the last 1,000 runs; NULL where nothing happened.',
    },
  },
  sync_history: {
    rows: 'each change of a row in a table with `history`, and what is to be said of the journal of a table',
    columns: {
      id: 'Number of the entry, in the order in which things happened here.',
      table: TABLE,
      row_id: `${ROW_ID} NULL where the entry is about a whole table.`,
      kind:
        '`insert`, `update` or `delete`. Of a table: `begin` (changes are kept from here on), `end`, `pruned` (older entries ' +
        'went), `schema`, `restored` (the replica is an older copy from here on). `forgotten`: values were removed on request.',
      at: 'When it happened here.',
      not_before: 'At least one change happened between this time and `not_after`. NULL if that is unknown.',
      not_after: 'Both ends belong to the interval.',
      origin_at: 'When the origin says that the row was changed last, where the table shows it.',
      origin_by:
        'Who made the last change inside the interval, as the origin says. NULL for a change that it did not stamp, such as one of a formula.',
      stamped:
        '1 where the time that the origin says lies inside and narrowed the interval; 0 for a change without a stamp of its own.',
      cause:
        '`pull` (read at the origin, also by a push before it sends), `push` (read back after it sent), `edit` (by SQL, here), `decision` or `discard` (of a person), `filter` (the filter of the table, `rows`), `schema` or `restore`.',
      run_id: 'Number of the run in `sync_runs` that found it; NULL for none.',
      was_row_id: 'The `_id` that a new row had before the origin gave it one.',
      before: 'JSON object of the changed cells as they were; of a deleted row all cells that had a value.',
      after: 'The same cells as they are from then on.',
      note: 'JSON object that says more of an entry about a table.',
    },
  },
  sync_history_cells: {
    rows: 'each cell that changed',
    columns: {
      id: 'Number of the entry in `sync_history`.',
      table: TABLE,
      row_id: ROW_ID,
      kind: '`insert`, `update` or `delete`.',
      at: 'When it happened here.',
      column: `${COLUMN} As it is called now; one that was pruned has (pruned) behind its name.`,
      origin_id: 'Id of the column at the origin; NULL once it was pruned.',
      before: 'The value as it was; NULL for none.',
      after: 'The value from then on.',
    },
  },
  sync_columns: {
    rows: 'each column',
    columns: {
      table: TABLE,
      column: COLUMN,
      origin_table: 'Name of the table at the origin.',
      origin_column: 'Name of the column at the origin.',
      type: 'Type at the origin.',
      stored_as: '`TEXT`, `INTEGER` or `ANY`.',
      kind: 'Kind at the origin, such as `Formula`; `Unknown` while it is not known whether the column may be written.',
      writable: '1 where the calling user may write it at the origin.',
      width: 'Characters that it takes; NULL for no limit.',
      options: 'Options at the origin, such as `Unique`.',
      state: '`live`, `removed` (no longer at the origin), or `aside` (old values, kept when the type changed).',
      since: 'Since when it is in that state.',
      origin_id: 'Number of the column at the origin.',
      mask: 'How its values are masked: `hash`, `last4`, `year`, `domain`, `null` or `constant`. NULL where they are not.',
    },
  },
  sync_freshness: {
    rows: 'each page',
    columns: {
      table: TABLE,
      window:
        'Creation time with which the window of the page begins; empty for the first one, `none` for rows without one.',
      page: 'Number of the page within its window, from 0.',
      rows: 'Rows of the page.',
      verified_at: 'When the origin last confirmed the page.',
      has_etag: '1 where the page has an ETag that is trusted.',
    },
  },
  sync_moments: {
    rows: 'each time at which all tables are proven to have held what was here then',
    columns: {
      id: 'Rises with every moment.',
      at: 'When that was, by the clock of this machine.',
      tables: 'JSON: the names of the tables that it covers.',
      not_covered:
        'JSON: what may have been otherwise: tables without Date Modified by name, and columns whose values move without a stamp as `table.column`.',
      holds: '1 while the tables here are still as they were then; 0 after the next change that came or went.',
    },
  },
  sync_deleted: {
    rows: 'each row that was deleted here, because the origin no longer has it or its filter (`rows`) does not select it',
    columns: {
      id: 'Number of the line.',
      table: TABLE,
      row_id: ROW_ID,
      deleted_at: 'When it was deleted here.',
      reason:
        'What proved that the origin no longer has it; `filtered` where it left the filter, and the origin has it.',
      last_values: 'Its last values, as a JSON object. Names are those that its columns have now.',
    },
  },
  sync_failures: {
    rows: 'each row that could not be read, or that the origin did not take',
    columns: {
      id: 'What `rowsync retry` takes; NULL for a row that could not be read.',
      table: TABLE,
      row_id: ROW_ID,
      kind: '`read`; `insert`, `update` or `delete` (refused); `inDoubt` (it may have happened).',
      column: 'The column at fault; NULL where none is named.',
      reason: "The origin's words, or what came in their place; rowsync's where it sent nothing.",
      since: 'When it failed.',
      status:
        'HTTP status of the row, or of what came in place of an answer; 0 where nothing came, NULL where nothing was sent.',
      code: "The origin's error code.",
      sent: 'The cells as they were sent, as a JSON object; NULL where nothing was sent.',
      retry_at: 'When rowsync tries again; NULL where only an edit, `retry` or `discard` helps.',
    },
  },
  sync_changes: {
    rows: 'each edited cell of two-way tables that is not at the origin',
    columns: {
      table: TABLE,
      row_id: ROW_ID,
      kind: '`insert`, `update` or `delete`.',
      column: 'Name of the column; NULL in the one line of an inserted or deleted row.',
      base: 'What the origin last confirmed.',
      local: 'The value here.',
      state: '`edited`, `sending` (sent, and not settled yet), `refused`, `conflicted` or `inDoubt`.',
      since: 'Since when the row is in that state.',
    },
  },
  sync_conflicts: {
    rows: 'each cell or row that both sides changed',
    columns: {
      id: 'What `rowsync resolve` takes.',
      table: TABLE,
      row_id: ROW_ID,
      kind: '`cell`, `deletedHere` (edited at the origin), `deletedThere` (edited here), or `inserted` (a discarded insert).',
      column: 'Name of the column; NULL for a whole row.',
      base: 'What the origin last confirmed before; of a whole row as a JSON object.',
      local: 'The value here at that time.',
      remote: 'The value at the origin.',
      winner: '`origin`, `local` or `nobody` (until you decide).',
      at: 'When rowsync found it.',
      state:
        '`open`, `decided` (by the policy), `settled` (both sides agree now), `resolved` or `discarded` (by a person).',
      resolution: 'What you decided: `local`, `remote`, `base` or `value`. It can be set by SQL.',
      value: 'The value that you chose. It can be set by SQL.',
      problem: 'Why the decision could not be carried out; NULL where it could.',
    },
  },
  sync_files: {
    rows: 'each revision of an attached file, and each cell whose revisions could not be listed',
    columns: {
      table: TABLE,
      row_id: ROW_ID,
      column: COLUMN,
      revision: 'Number of the revision at the origin.',
      name: 'Name at the origin. It is text and may look like a path.',
      type: 'Media type at the origin.',
      bytes: 'Length of the content.',
      guid: 'Identifier at the origin.',
      author: 'Who attached it.',
      created: 'When it was attached.',
      sha256: 'SHA-256 of the content; NULL while it is not here.',
      path: 'Where the content is in the file store; NULL while it is not here.',
      state: '`here`, `missing` (not fetched yet), `failed`, or `skipped` (a rule leaves it out).',
      reason: 'Why it is not here.',
      vanished: 'Since when the origin no longer has it; its content stays.',
    },
  },
};
