/**
 * The catalogue of problems: which facts make each one, how severe it is, and why it matters.
 * docs/reference/problems.md is made from it, and from what extras add. Pure.
 *
 * To add a problem, add one entry to `CATALOGUE`. Its findings are the complaints about its code, or what `find` makes
 * of a fact in `AccountFacts` (read by `daemon/account-facts.ts`).
 */
import type { Sql } from '../../base/sql.ts';
import { ageText, plural } from '../../base/text.ts';
import type { AccountFacts, ExtraProblems } from './facts.ts';
import {
  counted,
  lateEdits,
  lateTables,
  misnamed,
  ofFiles,
  ofRemade,
  ofTables,
  ofAll,
  type Finding,
  ofOne,
  ofEach,
} from './findings.ts';

/**
 * What a problem asks for: damaged (the replica cannot be used) · person (someone has to act) · late (rowsync keeps
 * trying; the data is behind) · notice (good to know, nothing is wrong).
 */
export type Severity = 'damaged' | 'person' | 'late' | 'notice';

interface Entry<Code extends string = string> {
  readonly code: Code;
  readonly severity: Severity;
  /** Why it is a problem, for docs/reference/problems.md. */
  readonly why: string;
  /** Set if it stops all work. */
  readonly stopsAll?: true;
  /** Why no notice is sent of it. Every other problem causes one; a late one after some minutes. */
  readonly untold?: string;
  /** Omitted if the problem is the complaints about its code, with their own messages. */
  readonly find?: (facts: AccountFacts) => readonly Finding[];
}

/** Every problem of the core, in the order of the account within a severity. */
export const CATALOGUE = [
  {
    code: 'replica.damaged',
    severity: 'damaged',
    stopsAll: true,
    why: 'The file is damaged, newer than this program, or a copy beside the log of another file.',
    find: ofAll('damaged'),
  },
  {
    code: 'credentials.refused',
    severity: 'person',
    stopsAll: true,
    why: 'The origin does not accept the token or the password, or the user may not use the API.',
    find: ofAll('credentials'),
  },
  {
    code: 'config.refused',
    severity: 'person',
    why: 'The daemon could not reload the configuration, which has an error. It still uses the former one, and could not start again.',
  },
  {
    code: 'run.held',
    severity: 'person',
    why: 'A guard stopped a whole run, such as when most tables vanished at once.',
    find: ofAll('held'),
  },
  {
    code: 'run.failed',
    severity: 'person',
    stopsAll: true,
    why: 'The last pull or push failed as a whole, for a reason that does not pass by itself. A later pull does not clear the failure of a push, nor the other way round.',
    find: ofAll('failed'),
  },
  {
    code: 'run.late',
    severity: 'late',
    stopsAll: true,
    why: 'The last pull or push failed as a whole, and trying again can help: the origin is down or cannot be reached. A later push does not clear the failure of a pull. A later pull clears that of a push if no edit waits.',
    find: ofAll('late'),
  },
  {
    code: 'replica.unpulled',
    severity: 'late',
    untold: 'The daemon makes the replica when it starts.',
    why: 'There is no replica yet, or nothing was pulled into it.',
    find: ofOne(({ replica, complaints }) => {
      if (replica !== 'missing' && replica !== 'unpulled') return null;
      const sentence = replica === 'missing' ? 'There is no replica yet' : 'Nothing was pulled yet';
      const hint = complaints.some(({ about }) => about === 'pull' || about === 'daemon')
        ? 'First solve what made the run fail; the next pull then brings the tables.'
        : 'Run rowsync pull, or start the daemon.';
      return { sentence, hint };
    }),
  },
  {
    code: 'replica.older',
    severity: 'notice',
    untold: 'The daemon brings the file up to date when it starts.',
    why: 'An earlier version of rowsync wrote the file; the state of its tables is unknown until the next run.',
    find: ofOne(({ replica }) =>
      replica === 'older'
        ? { sentence: 'An earlier version wrote the replica', hint: 'Nothing: the next pull brings it up to date.' }
        : null,
    ),
  },
  {
    code: 'replica.putBack',
    severity: 'notice',
    why: 'An older copy of the replica was put in its place, or the file was moved without its count (.sent). It is brought up to date; edits in it wait for a person. The notice ends after seven days; after rowsync restore, once every table was read anew.',
    find: ofOne(({ putBack, nowMs }) => {
      if (putBack === null) return null;
      const { since, knownUntil, isUnopened } = putBack;
      const age = isUnopened ? ` ${ageText(since, nowMs)}, and not compared with the origin since` : '';
      const known = knownUntil === null ? '' : `; it knew the origin until ${knownUntil}`;
      return {
        since,
        sentence: `An older copy of the replica was put in its place${age}${known}`,
        hint: `${isUnopened ? 'Run rowsync pull, which reads every row anew.' : 'The rows need nothing: pulls read them anew.'} Look at edits that the copy had before you let them through (rowsync plan).`,
      };
    }),
  },
  {
    code: 'daemon.silent',
    severity: 'late',
    untold: 'It is the daemon that sends notices.',
    why: 'A service is installed, or a daemon with http.listen ran here before, and none answers: it was stopped or ended, and the tables here get older.',
    find: ofOne(({ keeper, lastRunAt, nowMs }) =>
      keeper === 'silent'
        ? {
            sentence: `No daemon answers, although one should run${lastRunAt === null ? '' : `; the last run ended ${ageText(lastRunAt, nowMs)}`}`,
            hint: 'Start it, also if it was stopped on purpose: sudo systemctl start rowsync@NAME, or rowsync daemon. Its log says how it ended. If none is wanted, take http.listen out of the configuration.',
          }
        : null,
    ),
  },
  {
    code: 'table.held',
    severity: 'person',
    why: 'A guard keeps a table, its deletes or its edits until a person has looked and lets them through.',
    find: ofTables('held'),
  },
  {
    code: 'table.maskKey',
    severity: 'person',
    why: 'The key of the hashes is not the former one, or others may know it, since its file belongs to another user or can be written by others. It is not used, and the page cannot let it through.',
    find: ofTables('maskKey'),
  },
  {
    code: 'table.kept',
    severity: 'person',
    why: '--confirm does not help: the table lost columns, or the user may no longer push its edits.',
    find: ofTables('kept'),
  },
  {
    code: 'rows.unaccounted',
    severity: 'person',
    why: 'The rows of a table here are not those that the origin listed, and neither values that cannot be read nor a guard say why.',
    find: ofTables('sum'),
  },
  {
    code: 'table.failed',
    severity: 'person',
    why: 'The last attempt at a table failed, for a reason that does not pass by itself.',
    find: ofTables('failed', 'credentials', 'damaged'),
  },
  {
    code: 'table.late',
    severity: 'late',
    why: 'The last attempt at a table failed, and trying again can help.',
    find: ofTables('late'),
  },
  {
    code: 'table.gone',
    severity: 'person',
    why: 'The origin no longer shows a table. Its rows stay here, and its edits wait.',
    find: ofEach(({ state, oldestPendingAt }) =>
      state === 'gone'
        ? {
            sentence: `is no longer at the origin; its rows are kept here${oldestPendingAt === null ? '' : ', and edits of them are not pushed'}`,
            hint: 'rowsync schema prune lists it, and drops it here with --confirm; or give the user its rights back.',
          }
        : null,
    ),
  },
  {
    code: 'config.excluding',
    severity: 'person',
    why: 'A key under tables that keeps tables, columns or rows out, or masks values, matches no table: what it names may be here.',
    find: misnamed(
      'excluding',
      'Correct the name in the configuration: it is singular, as at the origin, and case counts.',
    ),
  },
  {
    code: 'config.renamed',
    severity: 'notice',
    untold: 'Nothing is wrong, and the log has the change of the schema.',
    why: 'A table, or a column that is left out, was renamed at the origin, and the configuration has its former name. What it says there still applies.',
    find: misnamed('renamed', 'Write the new name as the key under tables, or under columns.exclude.'),
  },
  {
    code: 'config.stray',
    severity: 'notice',
    untold: 'Nothing is wrong; every pull says it.',
    why: 'A key under tables matches no table, or a name under columns.exclude matches no column any more.',
    find: misnamed(
      'stray',
      'Correct or remove the name: it is as at the origin; a table is singular, and case counts.',
    ),
  },
  {
    code: 'rows.conflicts',
    severity: 'person',
    why: 'Both sides changed the same cells or rows, and the policy leaves the decision to a person.',
    find: counted(
      ({ conflictCount }) => conflictCount,
      (count) => `${plural(count, 'conflict')} to decide`,
      'rowsync conflicts, then rowsync resolve',
    ),
  },
  {
    code: 'rows.lost',
    severity: 'notice',
    why: 'Edits of the last seven days lost to a change at the origin, as the policy of their table says. Each is kept, and can be taken back.',
    find: ofEach(
      ({ lost }) =>
        lost && {
          ...lost,
          sentence: `${plural(lost.count, 'edit')} lost to a change at the origin`,
          hint: 'rowsync conflicts lists them, and says how to take each back, or that you have seen them',
        },
    ),
  },
  {
    code: 'table.remade',
    severity: 'notice',
    why: 'In the last seven days another program dropped or renamed a table in the file. It was recreated as the origin last confirmed it; nothing was deleted there.',
    find: ofRemade(
      'tableRemade',
      ({ editCount: count }) =>
        `was dropped or renamed in this file, and was recreated; ${count === 0 ? 'it had no edits' : `${plural(count, 'edit')} not pushed before went with it`}`,
      'Nothing was deleted at the origin. If it had edits, make them again. If the table was renamed, they are in the one under its other name, which is never pushed.',
    ),
  },
  {
    code: 'column.remade',
    severity: 'notice',
    why: 'In the last seven days another program dropped or renamed a column of a two-way table in the file. It was recreated; a column under another name is private, and edits of it are never pushed.',
    find: ofRemade(
      'columnRemade',
      ({ column }) =>
        `"${column}" was dropped or renamed in this file, and was recreated; edits of a column under another name are never pushed`,
      'Make edits in the recreated column. If it was renamed, copy them there from the other one.',
    ),
  },
  {
    code: 'guards.remade',
    severity: 'notice',
    why: 'In the last seven days another program removed the triggers that refuse edits of a mirror. They were recreated, and a pull undoes what was changed meanwhile.',
    find: ofRemade(
      'guardsRemade',
      () => 'its guards were removed in this file; they were recreated, and its rows are read anew',
      'Find that program, and what read its changes meanwhile. Nothing of them was sent.',
    ),
  },
  {
    code: 'rows.refused',
    severity: 'person',
    why: 'The origin refused edited rows.',
    find: counted(
      ({ refusedCount, inDoubtCount, unsendableCount }) => refusedCount - inDoubtCount - unsendableCount,
      (count) => `${plural(count, 'row')} refused by the origin`,
      'rowsync failures says which, and why',
    ),
  },
  {
    code: 'rows.inDoubt',
    severity: 'person',
    why: 'The origin may have taken a change; only a person can tell.',
    find: counted(
      ({ inDoubtCount }) => inDoubtCount,
      (count) => `${plural(count, 'row')} in doubt: the origin may have the change`,
      'look at the origin first; rowsync failures says which, then rowsync retry or rowsync discard',
    ),
  },
  {
    code: 'rows.unsendable',
    severity: 'person',
    why: 'An edited row holds a value that cannot be sent.',
    find: counted(
      ({ unsendableCount }) => unsendableCount,
      (count) => `${plural(count, 'row')} cannot be sent`,
      'rowsync failures says which, and why',
    ),
  },
  {
    code: 'rows.unreadable',
    severity: 'person',
    why: 'The origin sends values that do not fit their column, such as half of an emoji. In a mirror the cell is old or empty here, elsewhere the row is old or missing.',
    find: ofEach(({ unreadableCount: count, firstUnreadable: first }) =>
      count === 0
        ? null
        : {
            count,
            since: first?.since ?? null,
            sentence: `${plural(count, 'row')} cannot be read, so that values are old or missing here${first === null ? '' : `; the first is ${first.words}`}`,
            hint: 'Correct the values at the origin, then run rowsync pull. rowsync failures lists the row, the column and the reason.',
          },
    ),
  },
  {
    code: 'files.failed',
    severity: 'person',
    why: 'Attached files could not be fetched, though rowsync tried several times, or the folder of files cannot be used. rowsync keeps trying.',
    find: ofFiles(
      false,
      ({ failedCount }) => failedCount,
      (count) => `${plural(count, 'file')} could not be fetched`,
    ),
  },
  {
    code: 'files.late',
    severity: 'late',
    untold: 'rowsync tries again, and files.failed follows where that does not help.',
    why: 'Attached files are not here yet: they are being fetched, or fetching them failed once or twice.',
    find: ofFiles(
      true,
      ({ waitingCount }) => waitingCount,
      (count) => `${plural(count, 'file')} not here yet`,
    ),
  },
  {
    code: 'pages.small',
    severity: 'notice',
    untold: 'You need not do anything.',
    why: 'Rows of a table are so large that a page of them was beyond the bound of an answer. The table is read in smaller pages, with more requests.',
    find: ofEach(({ pageRows }) =>
      pageRows === null
        ? null
        : {
            sentence: `is read in pages of ${plural(pageRows, 'row')}, since larger ones do not fit into an answer`,
            hint: 'Nothing. rowsync resync tries the full size again.',
          },
    ),
  },
  {
    code: 'work.failed',
    severity: 'person',
    why: 'A job of the daemon failed the last time, such as a backup.',
  },
  {
    code: 'log.failed',
    severity: 'person',
    why: 'The daemon cannot write its log. It continues to work, and writes the log again once that is possible.',
  },
  {
    code: 'history.held',
    severity: 'person',
    why: 'Old entries of the history are kept because the origin does not confirm the clock of this machine.',
  },
  {
    code: 'tables.loading',
    severity: 'late',
    untold: 'The first read takes a while.',
    why: 'Tables that were never read to their end: rows are missing here.',
    find: ({ tables }) => {
      const loading = tables.filter(({ state }) => state === 'loading');
      if (loading.length === 0) return [];
      const sentence = `${loading.length} of ${plural(tables.length, 'table')} still loading`;
      return [{ count: loading.length, sentence, hint: 'Wait, or run rowsync pull where no daemon does.' }];
    },
  },
  {
    code: 'tables.late',
    severity: 'late',
    why: 'Tables that were last read longer ago than their schedule allows, though a daemon should keep them.',
    find: lateTables,
  },
  {
    code: 'edits.late',
    severity: 'late',
    why: 'Edits have waited longer than the schedule of pushes allows, though a daemon should push them, and nothing else says why.',
    find: lateEdits,
  },
] as const satisfies readonly Entry[];

/** A stable identifier of a problem; scripts may match on it. */
export type ProblemCode = (typeof CATALOGUE)[number]['code'] | keyof ExtraProblems;

/** A problem that an extra adds: the complaints about its code. Plain values, since other processes need them too. */
export interface AddedProblem extends Pick<Entry<keyof ExtraProblems>, 'code' | 'severity' | 'why' | 'untold'> {
  /** The core problem before which it is listed. */
  readonly before: (typeof CATALOGUE)[number]['code'];
  /** Selects `code`, `message`, `hint`, `since`, and perhaps `subject` (a local table), from a table of the extra. */
  readonly stored?: { readonly table: string; readonly select: Sql };
}

/** Every problem, with those of extras in their places. */
export function catalogueWith(added: readonly AddedProblem[]): readonly Entry<ProblemCode>[] {
  return CATALOGUE.flatMap((entry) => [...added.filter(({ before }) => before === entry.code), entry]);
}
