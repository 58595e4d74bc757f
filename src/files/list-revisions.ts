/**
 * Lists the revisions of attachment cells that changed since they were last listed (bookkeeping/file-cells.ts), as
 * reconcile/files.ts decides.
 *
 * An unchanged table costs no request, unless the origin shows attachments without a revision. Then each cell with a
 * file is asked for by its ETag.
 */
import { runAll } from '../base/concurrency.ts';
import { stampFromMs } from '../base/clock.ts';
import { asRowsyncError, type RowsyncError } from '../base/errors.ts';
import { BACKOFFS, backoffMs } from '../base/retries.ts';
import {
  fileFromCell,
  isListBehind,
  planCell,
  settleCell,
  type CellPlan,
  type FileRule,
  type SettledCell,
} from '../reconcile/files.ts';
import {
  hasLostRows,
  markLostRows,
  readCellFiles,
  readCellsToLookAt,
  storeCell,
  storeCellProblem,
  type CellToLookAt,
  type FileColumn,
} from '../replica/bookkeeping/file-cells.ts';
import { blocksAbove } from '../replica/query.ts';
import type { AttachmentInfo } from '../wire/schema.ts';
import { etagFor, keptEtag } from '../wire/headers.ts';
import type { FilesContext, FilesTally } from './context.ts';
import { OutageWatch } from './outage.ts';

/** Cells looked at in one go: so many rows of bookkeeping are written in one transaction. */
const BLOCK_CELLS = 500;

/** A column with what is wanted of it; the mode is one that it allows. */
export interface WantedColumn {
  readonly column: FileColumn;
  readonly rule: FileRule;
}

interface Look {
  readonly cell: CellToLookAt;
  readonly plan: CellPlan;
  readonly known: ReturnType<typeof readCellFiles>;
}

type Listed =
  | { readonly kind: 'list'; readonly etag: string | null; readonly files: readonly AttachmentInfo[] }
  | { readonly kind: 'notModified' }
  | { readonly kind: 'failed'; readonly error: RowsyncError };

/** Looks at every changed cell of a column. @throws RowsyncError where no other cell could be looked at either. */
export async function listRevisions(
  context: FilesContext,
  { column, rule }: WantedColumn,
  tally: FilesTally,
): Promise<void> {
  const { replica, clock } = context;
  const { mode } = rule;
  if (mode === 'none') return;
  if (hasLostRows(replica, column)) {
    const at = stampFromMs(clock.nowMs());
    tally.vanishedCount += await replica.write('Marking files of deleted rows', (tx) => markLostRows(tx, column, at));
  }
  const watch = new OutageWatch();
  const read = (after: number): readonly CellToLookAt[] =>
    readCellsToLookAt(replica, column, { mode, after, count: BLOCK_CELLS, now: stampFromMs(clock.nowMs()) });
  for (const cells of blocksAbove(read, ({ rowId }) => rowId)) {
    const looks = cells.map((cell): Look => {
      const known = readCellFiles(replica, column, cell.rowId);
      const knownRevision = known.reduce((most, { revision }) => Math.max(most, revision), 0);
      return { cell, known, plan: planCell(cell.value, mode, knownRevision) };
    });
    await storeLooks(context, column, {
      mode,
      tally,
      found: looks.filter(({ plan }) => plan.kind !== 'list').map((look) => ({ look, listed: NOTHING })),
    });
    const toList = looks.filter(({ plan }) => plan.kind === 'list');
    await runAll(toList, context.settings.concurrency, async (look) => {
      const listed = await list(context, column, look);
      // An abandoned request proves nothing about the cell.
      if (listed.kind === 'failed' && listed.error.code === 'origin.stopped') throw listed.error;
      tally.listedCount += 1;
      await storeLooks(context, column, { mode, tally, found: [{ look, listed }] });
      watch.note(listed.kind === 'failed' ? listed.error : null);
    });
  }
}

const NOTHING: Listed = { kind: 'list', etag: null, files: [] };

/** Asks for the revisions of one cell; a refusal is a value. */
async function list({ origin, signal }: FilesContext, column: FileColumn, { cell, plan }: Look): Promise<Listed> {
  const request = {
    ...column.address,
    record: { id: cell.rowId },
    revisions: plan.kind === 'list' ? plan.revisions : undefined,
  };
  const url = origin.attachmentsUrl(request);
  // The ETag of a list is void once its cell has changed.
  const etag = plan.kind === 'list' && plan.file === null ? etagFor(url, cell.etag) : null;
  try {
    const answer = await origin.attachments(request, { etag, signal });
    return answer.kind === 'ok' ? { kind: 'list', etag: keptEtag(url, answer.etag), files: answer.value } : answer;
  } catch (thrown) {
    return { kind: 'failed', error: asRowsyncError(thrown) };
  }
}

async function storeLooks(
  { replica, clock }: FilesContext,
  column: FileColumn,
  work: {
    readonly mode: 'latest' | 'all';
    readonly tally: FilesTally;
    readonly found: readonly { readonly look: Look; readonly listed: Listed }[];
  },
): Promise<void> {
  const news = work.found.filter(({ listed }) => listed.kind !== 'notModified');
  if (news.length === 0) return;
  const nowMs = clock.nowMs();
  const at = stampFromMs(nowMs);
  await replica.write(`Storing the revisions of ${column.tableName}.${column.columnName}`, (tx) => {
    for (const { look, listed } of news) {
      const { cell, plan } = look;
      const settled = settledLook(look, listed);
      const shown = cell.value === null ? null : fileFromCell(cell.value);
      work.tally.vanishedCount += storeCell(
        tx,
        column,
        {
          rowId: cell.rowId,
          value: cell.value,
          mode: work.mode,
          form: shown === null && plan.kind !== 'empty' && cell.value !== null ? 'list' : 'value',
          etag: listed.kind === 'list' && plan.kind === 'list' && plan.file === null ? listed.etag : null,
          guid: shown?.guid ?? (cell.value === null ? null : (settled.present[0]?.guid ?? null)),
          ...settled,
        },
        at,
      );
      const problem = problemOf(plan, listed);
      if (problem === null) continue;
      const failureCount = cell.failureCount + 1;
      const retryAt = stampFromMs(nowMs + backoffMs(BACKOFFS.file, failureCount));
      storeCellProblem(tx, column, cell.rowId, { problem, failureCount, retryAt });
    }
  });
}

/** Why the revisions of a cell must be requested again; null if all are known. */
function problemOf(plan: CellPlan, listed: Listed): string | null {
  if (listed.kind === 'failed') return listed.error.message;
  if (listed.kind === 'notModified' || !isListBehind(plan, listed.files)) return null;
  return 'the list of revisions does not show yet the one that the cell shows';
}

/** Without a list, the value of the cell still names its latest revision. */
function settledLook({ plan, known }: Look, listed: Listed): SettledCell {
  if (listed.kind === 'list') return settleCell(known, plan, listed.files);
  return plan.kind === 'list' && plan.file !== null
    ? settleCell(known, { kind: 'value', file: plan.file }, [])
    : { present: [], vanished: [] };
}
