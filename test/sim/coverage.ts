/**
 * What ought to happen sometimes. A simulation in which something of this never happens proves less than it seems to. Pure.
 */
import { FAULTS } from './faults.ts';
import { USER_ACTIONS } from './user.ts';

const EVENTS = [
  'admin addColumn',
  'admin backup',
  'admin changeColumn',
  'admin dropColumn',
  'admin renameColumn',
  'admin renameTable',
  'admin rights',
  'admin role',
  'admin swapColumns',
  'admin token',
  'clock jump',
  'colleague delete',
  'colleague insert',
  'colleague update',
  'death',
  'error guard.deletes',
  'error guard.pushDeletes',
  'error origin.busy',
  'error origin.moving',
  'error replica.full',
  'event guard.held',
  'event origin.retry',
  'event push.lookUp',
  'event push.unfinished',
  'event sweep.torn',
  'event table.failed',
  'event file.failed',
  'event files.stopped',
  'fate dieAfter',
  'fate dieBefore',
  'fate dieInside',
  'fate full',
  'fate pause',
  'files colleague clears a file',
  'files colleague inserts with a file',
  'files colleague uploads',
  'files user attaches',
  'files user attaches to a new row',
  'files user attaches to all rows',
  'files user changes what is attached',
  'files user clears a file',
  'files user copies the value of a file',
  'files user names no file',
  'files user removes what is attached',
  'point file create',
  'point file makeFolder',
  'point file open',
  'point file remove',
  'point file rename',
  'point file sync',
  'point file write',
  'power cut',
  'request attachment',
  'request attachments',
  'request create',
  'request delete',
  'request retrieve',
  'request update',
  'request upsert',
  'restore',
];

/** What of it never did. */
export function neverHappened(coverage: ReadonlyMap<string, number>): readonly string[] {
  const happened = [...coverage.keys()];
  const faults = FAULTS.map(({ name }) => `fault ${name}`);
  const actions = USER_ACTIONS.map(([, name]) => `user ${name}`);
  return [
    ...EVENTS.filter((event) => !coverage.has(event)),
    ...[...faults, ...actions].filter((what) => !happened.some((key) => key === what || key.startsWith(`${what} `))),
  ];
}
