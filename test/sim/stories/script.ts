/**
 * A world in which nothing is drawn: its tapes are all calm, and a script says who does what when, and what strikes at
 * which step. This is the seam between the world and whoever writes such scripts (exhaustive.ts). Types only.
 */
import type { PersonDecision } from '../../../src/capture/person-decision.ts';
import type { TransactionFacts } from '../../support/surround.ts';
import type { Fate } from '../world/engine.ts';
import type { RequestKind } from '../world/faults.ts';
import type { OriginModel } from '../model/origin.ts';
import type { Column } from '../world/names.ts';
import type { Setup } from '../world/setup.ts';

/** What a script can do to a world between two steps of the engine. */
export interface Hands {
  /** A user runs statements on the replica. */
  readonly user: (statements: string) => void;
  /** Someone changes something at the origin; the sentence is for the story. */
  readonly atOrigin: (sentence: string, change: (origin: OriginModel) => void) => void;
  /** A user has a file to attach, and may have had another one of this name before. */
  readonly haveFile: (name: string, content: string) => void;
  /** The process dies. */
  readonly kill: () => void;
  /** Someone copies the replica, and someone puts the copy in its place. */
  readonly copy: () => void;
  readonly restore: () => void;
  /** A person decides this before the next cycle. */
  readonly decides: (decision: PersonDecision) => void;
  /** The calling user gets a role that sees every other row. */
  readonly narrowsRole: () => void;
  /** A column is hidden from the calling user, and shown again. */
  readonly hidesColumn: (column: Column) => void;
  readonly showsColumn: () => void;
  /** Someone makes a backup of the origin, and the next time brings it back. */
  readonly backsUpOrRestores: () => void;
  /** The methods of requests that have left and not arrived. */
  readonly underWay: readonly string[];
}

/** What happens on purpose. */
export interface Script {
  readonly setup: Setup;
  /** Whether the world continues after what happened up to now; else the faults stop, and it comes to rest. */
  readonly goesOn: (trace: readonly string[]) => boolean;
  /** Before the next thing happens; true where something was done instead. */
  readonly act: (trace: readonly string[], hands: Hands) => boolean;
  /** At a transaction, or at a step of a push. */
  readonly fate: (what: string, facts: TransactionFacts | null) => Fate;
  /** The fault that strikes a request that leaves now, by name. */
  readonly fault: (kind: RequestKind, method: string) => string | null;
  /** Of the death that just happened: whether requests under way are lost, and whether the power failed. */
  readonly losesRequests: () => boolean;
  readonly cutsPower: () => boolean;
}
