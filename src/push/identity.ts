/**
 * Who is calling: asked at the start of a push, and again whenever the origin does not return a row that it had. Whoever lost rights
 * in between sees less, and a row that is hidden is not gone (I5).
 */
import { stampFromMs } from '../base/clock.ts';
import { RowsyncError } from '../base/errors.ts';
import { shellWord } from '../base/text.ts';
import type { Batch } from '../capture/batches.ts';
import { valueOf } from '../origin/answers.ts';
import { identityOf, judgeIdentity } from '../reconcile/identity.ts';
import type { Connection } from '../replica/connection.ts';
import { readIdentity, readIdentityChange, readTable } from '../replica/ledger.ts';
import type { UserDescriptor } from '../wire/schema.ts';
import type { PushContext, TablePush } from './context.ts';

/**
 * Asks who is calling. Another user may see other rows, and has other rights: what stands here was read as somebody else.
 * @throws RowsyncError `push.identity`.
 */
export async function identify({ origin, replica, signal }: PushContext): Promise<UserDescriptor> {
  const caller = valueOf(await origin.user({ signal }));
  const verdict = judgeIdentity(readIdentity(replica), identityOf(origin, caller));
  if (verdict === 'otherDatabase' || verdict === 'changed') {
    throw new RowsyncError('needsPerson', 'push.identity', {
      message:
        verdict === 'changed'
          ? 'The calling user, its role, permissions or time zone, or the address of the origin changed since the last pull; nothing was sent'
          : `${replica.path} holds another database than the configuration names; nothing was sent`,
      hint: 'Run rowsync pull first: it reads the tables again as the present user sees them. The changes wait here.',
    });
  }
  return caller;
}

/**
 * The stamp of a batch that is sent now: always later than that of the last change of the caller, since whoever sends it is the present one, also
 * in the very second of the change, or where the clock was set back since. A change behind it is never before it (ledger.ts).
 */
export function stampOfSending(from: Connection, nowMs: number): string {
  const at = stampFromMs(nowMs);
  const changedAt = readIdentityChange(from);
  return changedAt === null || changedAt < at ? at : stampFromMs(Date.parse(changedAt) + 1_000);
}

/**
 * Whether the present caller is shown what the sender of a batch was shown: nobody else has called since, and every row was proven to
 * whoever called then.
 */
export function isSender(
  from: Connection,
  { id }: { readonly id: number },
  { sentAt }: Pick<Batch, 'sentAt'>,
): boolean {
  const changedAt = readIdentityChange(from);
  return readTable(from, id).identityChecked && (changedAt === null || changedAt < sentAt);
}

/**
 * Makes sure that rows which the origin does not return are not merely hidden. @throws RowsyncError `push.identity` where the caller
 * changed, `guard.deletes` where it changed before and no pull has proven the rows since.
 */
export async function requireSameCaller({ context, table }: TablePush): Promise<void> {
  await identify(context);
  if (readTable(context.replica, table.id).identityChecked) return;
  throw new RowsyncError('needsPerson', 'guard.deletes', {
    message: `${table.localName}: the origin does not return some of the rows that were pushed, and the calling user or its role changed since they were read`,
    hint: `Check the rights of the calling user, then run rowsync pull ${shellWord(table.localName)}; --confirm if rows are really gone.`,
  });
}
