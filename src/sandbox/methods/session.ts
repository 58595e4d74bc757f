/**
 * What formulas know besides the row: who calls, when, and which users the database has.
 */
import type { MethodCall } from './call.ts';
import type { FormulaSession, FormulaUser } from '../formula/types.ts';
import type { User } from '../store/catalog.ts';

/** The session of a call; `Now()` is the moment of the call. */
export function sessionOf({ store, user, nowMs }: MethodCall): FormulaSession {
  const { database, users } = store.catalog;
  return {
    user: formulaUser(user),
    databaseId: database.id,
    nowMs,
    findUser: (email) => {
      const wanted = email.toLowerCase();
      const found = users.find((candidate) => candidate.email.toLowerCase() === wanted);
      return found && formulaUser(found);
    },
  };
}

function formulaUser({ id, email, firstName, lastName, role, timezone }: User): FormulaUser {
  return { id, email, name: `${firstName} ${lastName}`.trim(), role, timeZone: timezone };
}
