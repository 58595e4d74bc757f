/**
 * Remembers what every ETag that the origin gave out vouches for, and looks at each commit whether the rows in the base
 * are those (I6). A page whose ETag is kept is not read again while the origin answers 304, so every row that it names
 * must be here as it was answered. Of several pages that show a row, the one that was applied last counts. Suspects are
 * asked for by their ids, so they may differ meanwhile.
 *
 * For worlds in which the columns keep their names. One that the caller is not shown is judged again once the replica
 * knows it to be there. What pages say of it is not taken before that, and no ETag outlasts it. Takes answers, and the
 * replica within a transaction; returns complaints.
 */
import type { Replica } from '../../../src/replica/database.ts';
import { sql } from '../../../src/base/sql.ts';
import { readBase } from './base.ts';
import type { LocalRow } from '../world/books.ts';
import { COLUMNS, type Column, type Names } from '../world/names.ts';

/** What the ETags of one world vouch for. */
export class Vouching {
  readonly #names: Names;
  /** Rows as they were answered, by address and ETag of their page. */
  readonly #rowsByTag = new Map<string, ReadonlyMap<number, LocalRow>>();

  constructor(names: Names) {
    this.#names = names;
  }

  /** Takes note of a page as the origin answered it; `path` with the query. */
  note(path: string, etag: string, body: Uint8Array): void {
    const rows = JSON.parse(Buffer.from(body).toString('utf8')) as readonly Readonly<Record<string, unknown>>[];
    const answered = rows.map((row): LocalRow => {
      const { Tag = null, ...cells } = this.#names.fromOrigin(row);
      return { id: Number(row['@row.id']), tag: String(Tag), cells };
    });
    this.#rowsByTag.set(keyOf(path, etag), new Map(answered.map((row) => [row.id, row])));
  }

  /**
   * What stands in the base although the ETag that is kept says otherwise; `gone` are the columns that the replica
   * takes for gone.
   */
  complaints(replica: Replica, gone: ReadonlySet<Column>): readonly string[] {
    const pages = readPages(replica, this.#names.tableId);
    if (pages.every(({ etag }) => etag === null)) return [];
    const base = readBase((statement) => replica.prepare(statement).raw().all() as unknown[][], this.#names);
    if (base === null) return [];
    const suspects = readSuspects(replica, this.#names.tableId);
    const lastById = new Map(pages.flatMap((page) => page.ids.map((id) => [id, page] as const)));
    return [...lastById].flatMap(([id, { url, etag }]) => {
      if (etag === null || suspects.has(id)) return [];
      const vouched = this.#rowsByTag.get(keyOf(pathOf(url), etag))?.get(id);
      if (vouched === undefined) return [];
      // An answer vouches for the columns that it has.
      const columns = COLUMNS.filter((column) => column in vouched.cells && !gone.has(column));
      const row = base.get(id);
      const [here, there] = [row === undefined ? 'nothing' : textOf(row, columns), textOf(vouched, columns)];
      return here === there ? [] : [`row ${id} stands here as ${here}, and an ETag is kept that vouches for ${there}`];
    });
  }
}

interface KeptPage {
  readonly url: string;
  readonly etag: string | null;
  readonly ids: readonly number[];
}

/** The pages of the table, the one that was applied last at the end. */
function readPages(replica: Replica, tableId: number): readonly KeptPage[] {
  const rows = replica
    .prepare(
      sql`SELECT url, etag, row_ids FROM _rowsync_pages JOIN _rowsync_page_rows USING (table_id, "window", page)
          WHERE table_id = ${tableId} ORDER BY applied`,
    )
    .raw()
    .all() as (readonly [string, string | null, string])[];
  return rows.map(([url, etag, ids]) => ({ url, etag, ids: JSON.parse(ids) as number[] }));
}

/** Rows that are asked for by their ids. */
function readSuspects(replica: Replica, tableId: number): ReadonlySet<number> {
  const ids = replica
    .prepare(sql`SELECT row_id FROM _rowsync_suspects WHERE table_id = ${tableId}`)
    .pluck()
    .all();
  return new Set(ids.map(Number));
}

function textOf({ tag, cells }: LocalRow, columns: readonly Column[]): string {
  return `${tag} ${JSON.stringify(Object.fromEntries(columns.map((column) => [column, cells[column]])))}`;
}

/** The address without the host. */
function pathOf(url: string): string {
  const { pathname, search } = new URL(url);
  return pathname + search;
}

function keyOf(path: string, etag: string): string {
  return `${etag} ${path}`;
}
