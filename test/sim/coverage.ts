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
  'fate dieAfter',
  'fate dieBefore',
  'fate dieInside',
  'fate full',
  'fate pause',
  'power cut',
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
