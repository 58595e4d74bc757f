/**
 * Worlds in which moments are proven, and questions asked that want a young answer. They have a second table beside the
 * first one, answers take long, and the clock of the origin may be behind or ahead; its structure and rights, and the
 * clocks, stay as they are. Takes a tape of its own, of some seeds only, so that all other worlds stay as they are;
 * produces setups, and what is asked between two cycles.
 */
import type { RowsyncError } from '../../../src/base/errors.ts';
import { ageMsOf } from '../../../src/extras/shared/freshness.ts';
import type { Replica } from '../../../src/replica/database.ts';
import type { TransactionFacts } from '../../support/surround.ts';
import { Moments, type MomentsParts } from '../oracles/moments.ts';
import type { Oracles } from '../oracles/oracles.ts';
import type { Beside } from './beside.ts';
import type { Life } from './engine.ts';
import type { Setup } from './setup.ts';
import type { Tape, Tapes } from './tape.ts';

/** What is special about such a world. */
export interface MomentsSetup {
  /** How far the clock of the origin is ahead of this machine's. */
  readonly aheadMs: number;
  /** One way of a request. */
  readonly latencyMs: number;
  readonly besideWeight: number;
}

/** Whose seeds have such worlds: none that is named anywhere as one that finds something. */
const isOne = (seed: number): boolean => seed % 25 === 14 || seed % 21 === 20;

/** Draws it; null for a world without. */
export function drawMoments(tapes: Tapes): MomentsSetup | null {
  const draw = tapes.of('moments').draw();
  if (draw.isCalm || !isOne(tapes.seed)) return null;
  return {
    aheadMs: draw.pick([0, -1_200_000, 1_200_000]),
    latencyMs: draw.pick([25, 700]),
    besideWeight: draw.pick([5, 10, 20]),
  };
}

/** Changes without a stamp, other rights and clocks that are set are no part of what a moment promises. */
const AWAY: ReadonlySet<string> = new Set(['admin', 'hider', 'clock', 'originClock', 'formula']);

/** Answers that look right and are not: no question is answered rightly after one. */
const LIES: ReadonlySet<string> = new Set([
  'empty200',
  'truncated',
  'missingCell',
  'cellOfOtherType',
  'rowTwice',
  'unasked304',
  'otherAnswer',
]);

/** A setup in which moments are proven. */
export function withMoments(setup: Setup, moments: MomentsSetup): Setup {
  const actors = setup.actors.map(
    ([weight, actor]) => [actor === 'beside' ? moments.besideWeight : AWAY.has(actor) ? 0 : weight, actor] as const,
  );
  const beside = { weight: moments.besideWeight, isSteady: true } as const;
  const weather = new Map([...setup.weather].filter(([fault]) => !LIES.has(fault)));
  return {
    ...setup,
    moments,
    actors,
    weather,
    beside,
    systemColumns: true,
    hideWeight: 0,
    isAdminAway: true,
  };
}

/** What is asked between two cycles; `within` is how old an answer may be. */
type Ask =
  | { readonly kind: 'nothing' | 'moment'; readonly within?: never }
  | { readonly kind: 'fresh'; readonly within: string };

/** Draws it. */
function drawAsk(tape: Tape): Ask {
  const draw = tape.draw();
  const kind = draw.weighted([
    [2, 'nothing'],
    [3, 'moment'],
    [3, 'fresh'],
  ] as const);
  return kind === 'fresh' ? { kind, within: draw.pick(['10m', '1s', '10s', '1m', '1h']) } : { kind };
}

/** What asks, and is told. */
export interface AskingParts extends MomentsParts {
  readonly tape: Tape;
  readonly oracles: Pick<Oracles, 'onCycle'>;
  readonly count: (what: string) => void;
  readonly note: (line: string) => void;
  readonly fail: (oracle: string, what: string) => void;
}

/** Who asks in a world; null in one without. */
export function askingOf(
  beside: Beside | null,
  parts: Omit<AskingParts, 'beside'> & { readonly setup: Setup },
): Asking | null {
  return parts.setup.moments == null || beside === null ? null : new Asking({ ...parts, beside });
}

/** Asks in one world. */
export class Asking {
  readonly oracle: Moments;
  readonly #parts: AskingParts;

  constructor(parts: AskingParts) {
    this.#parts = parts;
    this.oracle = new Moments(parts);
  }

  /** Between two cycles: a moment is wanted, or a young answer, or nothing; returns why it is refused. */
  async ask(life: Life): Promise<readonly RowsyncError[]> {
    const { tape, user, nowMs, oracles, count, note, fail } = this.#parts;
    const { kind, within } = drawAsk(tape);
    if (kind === 'nothing') return [];
    oracles.onCycle({ pull: true, push: false, confirm: false, files: 'withPull' });
    const allowedMs = nowMs() - (ageMsOf(within ?? '') ?? 0);
    const judge: Parameters<Life['answer']>[2] = (tables) => {
      for (const what of this.oracle.complaintsOfAnswer(tables, allowedMs)) fail('answer', what);
    };
    const refusal =
      within === undefined ? await life.proveMoment() : await life.answer(() => user.connection, within, judge);
    const end = refusal === null ? 'had' : 'refused';
    count(`${kind} ${end}`);
    note(`${within === undefined ? 'a moment' : `an answer within ${within}`} is ${end}`);
    return refusal === null ? [] : [refusal];
  }

  /** Looks at a transaction that is about to be committed. */
  onCommit(facts: TransactionFacts, replica: Replica): void {
    for (const what of this.oracle.complaints(facts, replica)) this.#parts.fail('moment', what);
  }
}
