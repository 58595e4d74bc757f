/**
 * What the account has from a configuration that says nothing of tables.
 */
import type { Surroundings } from '../../src/daemon/account-facts.ts';

/** Where the configuration says nothing. */
export const NOTHING_KEPT: Omit<Surroundings, 'keeper' | 'complaints' | 'nowMs'> = {
  lateAfterMs: new Map(),
  editsLateAfterMs: new Map(),
  withoutFiles: new Set(),
  leftOut: new Set(),
  misnamed: [],
  added: [],
};
