/**
 * The calling user: requested at the start of a push, and again whenever the origin does not return a known row. A user that lost rights in between
 * sees fewer rows, and a hidden row is not gone (I5).
 */
import { RowsyncError } from '../base/errors.ts';
import { shellWord } from '../base/text.ts';
import { isOtherCaller } from '../replica/bookkeeping/identity.ts';
import type { UserDescriptor } from '../wire/schema.ts';
import type { PushContext, TablePush } from './context.ts';
import { readSweep } from '../replica/bookkeeping/sweeps.ts';
import { identityOf } from '../reconcile/guards.ts';

/** Asks for the calling user; another one may see other rows than were read. @throws RowsyncError `push.identity`, `replica.otherDatabase`. */
export async function readCallingUser({ origin, replica, signal }: PushContext): Promise<UserDescriptor> {
  const { value: caller } = await origin.user({ signal });
  if (isOtherCaller(replica, identityOf(origin, caller))) {
    throw new RowsyncError('needsPerson', 'push.identity', {
      message:
        'The calling user, its role, permissions or time zone, or the address of the origin changed since the last pull; nothing was sent',
      hint: 'Run rowsync pull first: it reads the tables again as the present user sees them. The changes wait here.',
    });
  }
  return caller;
}

/** Whether missing rows are gone and not hidden: the caller is the one that read the table. @throws RowsyncError `push.identity` if it changed now. */
export async function isSameCaller({ context, table }: TablePush): Promise<boolean> {
  await readCallingUser(context);
  return readSweep(context.replica, table.id).identityChecked;
}

/** The same before anything is sent. @throws RowsyncError `push.identity`, `guard.deletes`. */
export async function requireSameCaller(run: TablePush): Promise<void> {
  if (await isSameCaller(run)) return;
  const { table } = run;
  throw new RowsyncError('needsPerson', 'guard.deletes', {
    message: `${table.localName}: the origin does not return some of the rows to push, and the calling user or its role changed since they were read`,
    hint: `Check the rights of the calling user, then run rowsync pull ${shellWord(table.localName)}; --confirm if rows are really gone.`,
  });
}
