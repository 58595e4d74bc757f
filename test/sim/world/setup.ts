/**
 * What kind of world a seed makes: how large its table is, how the engine is configured, how busy everybody is, and how
 * bad the weather. Takes the setup tape, one number for each decision, so that shrinking can calm them one by one;
 * produces a setup. Pure.
 */
import type { ConflictPolicy } from '../../../src/reconcile/merge.ts';
import type { LocalRow } from './books.ts';
import { choiceOf, MASK_KEY, type Choosing } from './choosing.ts';
import type { EngineSettings, Fate } from './engine.ts';
import { FIRST_FAULTS, LATER_FAULTS, type FaultKind } from './faults.ts';
import { calmFiles, filesSettings, UPLOAD_FOLDER, type FilesSetup } from './files-setup.ts';
import type { FollowSetup } from './follow-setup.ts';
import type { EtagMode, RuleEffect } from '../model/knobs.ts';
import { MODEL_TOKEN } from '../model/origin.ts';
import type { MomentsSetup } from './moments.ts';
import type { Weather } from './network.ts';
import type { BesideSetup } from './beside.ts';
import type { PoisonSetup } from './poison.ts';
import type { PutbackSetup } from '../putback/setup.ts';
import { rowsOfLife, type RowsSetup } from './rows.ts';
import { Draw, type Tape, type Tapes } from './tape.ts';

/** When every world begins. */
export const START_MS = Date.UTC(2026, 0, 1);
export const DATABASE = '21995';

const HISTORY = { keepDays: 400, bytesMax: 1_000_000_000 };

/** Everything that stays as it is while a world lasts. */
export interface Setup {
  /** Whether the replica was pulled before the world begins. */
  readonly isWarm: boolean;
  readonly rowCount: number;
  readonly systemColumns: boolean;
  readonly pageRows: number;
  /** What the configuration says from the second engine on; null where nobody changes it. */
  readonly laterPageRows: number | null;
  readonly batchRows: number;
  readonly concurrency: number;
  readonly match: string | null;
  readonly policy: ConflictPolicy;
  readonly maxDeletePercent: number;
  /** How many things happen before the faults stop. */
  readonly pointCount: number;
  /** How often an actor acts rather than the engine going on. */
  readonly actRate: number;
  /** How often what is due next is not what happens next. */
  readonly reorderRate: number;
  /** How often the engine dies at a boundary, is made to wait there, or finds the disk full. */
  readonly deathRate: number;
  readonly pauseRate: number;
  readonly fullRate: number;
  /** How ETags come about, and what the origin's workflow does with what the API writes. */
  readonly etag: EtagMode;
  readonly rules: readonly { readonly column: string; readonly does: RuleEffect }[];
  /** Whether the power may fail, so that what was not brought to the disk is gone. */
  readonly losesPower: boolean;
  /**
   * How often a column is hidden from the calling user, or shown again, beside the weights of the other actors; 0 where
   * none ever is.
   */
  readonly hideWeight: number;
  /** Whether structure and rights of the origin stay the same. */
  readonly isAdminAway: boolean;
  readonly actors: readonly (readonly [weight: number, actor: Actor])[];
  readonly weather: Weather;
  /** How often a person decides something by the command line, or the page, between two cycles. */
  readonly personRate: number;
  /** The share of the users' values that the origin's workflow refuses until the faults stop. */
  readonly refusedShare: number;
  /** What is done with attached files; null where the table has none. */
  readonly files: FilesSetup | null;
  /** Whether the table is a mirror: the replica follows the origin, and refuses edits. */
  readonly isMirror: boolean;
  /** The table is followed in two of three cycles, in place of a sweep; left out where it never is. */
  readonly follow?: FollowSetup;
  /** Whether the changes of the table are kept. */
  readonly history?: boolean;
  /** Texts that end every request that carries them; left out, or null, where there are none. */
  readonly poison?: PoisonSetup | null;
  /** Which rows come here; left out for all of them. */
  readonly rows?: RowsSetup;
  /** Which columns come here, and how they are masked; left out where all come as they are. */
  readonly choosing?: Choosing | null;
  /**
   * A key of the configuration that no table has: it says something, or keeps something out; left out, or null, where
   * there is none.
   */
  readonly misspelt?: Misspelt | null;
  /** Whether the origin describes its columns by the letter of the specification, and adds nothing up. */
  readonly isLetter?: boolean;
  /**
   * Whether triggers of users say RAISE(IGNORE) for any column; left out where for the number of a row, or whole rows,
   * alone.
   */
  readonly ignores?: boolean;
  /** What happens to a second table; left out, or null, where there is none. */
  readonly beside?: BesideSetup | null;
  /** Moments are proven, and young answers wanted; left out, or null, where they are not. */
  readonly moments?: MomentsSetup | null;
  /** Behind this world, rows are put back in another one; left out, or null, where they are not. */
  readonly putback?: PutbackSetup | null;
}

/** Cycles until nothing moves any more, once the faults have stopped (L1), and the one that shows it. */
export function cyclesMaxOf({ follow }: Setup): number {
  // Each sweep begins with joining windows that shrank, and reads the rows of both.
  return follow === undefined ? 4 : 8;
}

/** Who acts between two steps of the engine. */
export type Actor =
  | 'user'
  | 'colleague'
  | 'admin'
  | 'clock'
  | 'kill'
  | 'copy'
  | 'files'
  | 'hider'
  | 'cutter'
  | 'originClock'
  | 'formula'
  | 'beside';

/** What is worth the way to the beginning and the end of a world. */
const POINTS_MIN = 40;
/** In one world of so many, columns are hidden. */
const WORLDS_PER_HIDER = 20;

/**
 * Draws whether and how often columns are hidden; from a tape of its own, so that all other worlds stay as they are.
 */
export function drawHideWeight(tape: Tape): number {
  return tape.decide(1 / WORLDS_PER_HIDER) === 0 ? 0 : tape.draw().pick([3, 8]);
}

/**
 * Draws whether the origin keeps to the letter, from a tape of its own; none of these seeds is named anywhere as one
 * that finds something.
 */
export function drawLetter(tapes: Tapes): boolean {
  return !tapes.of('letter').draw().isCalm && tapes.seed % 11 === 10;
}

/** Draws whether triggers of users ignore updates of any column. */
export function drawIgnores(tapes: Tapes): boolean {
  return !tapes.of('ignores').draw().isCalm && tapes.seed % 23 === 18;
}

/** What stands under a key that no table has. */
export type Misspelt = 'stray' | 'excluding';

/** Draws a misspelt key. What keeps something out would hold a first pull, so it comes to known replicas only. */
export function drawMisspelt(tapes: Tapes, isWarm: boolean): Misspelt | null {
  const draw = tapes.of('misspelt').draw();
  if (draw.isCalm || tapes.seed % 17 !== 9) return null;
  return draw.pick(isWarm ? (['stray', 'excluding'] as const) : (['stray'] as const));
}

/**
 * Draws a setup; whether and how it has files, and hidden columns, was drawn before. A long world does not end early.
 */
export function drawSetup(tape: Tape, drawn: Pick<Setup, 'files' | 'hideWeight'>, isLong = false): Setup {
  const { files, hideWeight } = drawn;
  const pick = <T>(list: readonly T[]): T => tape.draw().pick(list);
  const actors = [...drawActors(tape), [files?.weight ?? 0, 'files'] as const, [hideWeight, 'hider'] as const];
  const setup = {
    isWarm: pick([true, true, true, false]),
    rowCount: pick([2, 0, 1, 3, 4, 5, 6, 7, 8]),
    systemColumns: pick([false, false, false, true]),
    pageRows: pick([3, 3, 2, 4]),
    batchRows: pick([2, 3, 4, 1]),
    concurrency: pick([1, 2, 4]),
    match: pick(['Code', null]),
    policy: pick<ConflictPolicy>(['origin', 'local', 'ask']),
    maxDeletePercent: pick([100, 50, 100]),
    pointCount: POINTS_MIN + tape.draw().below(161),
    actRate: pick([0.1, 0.2, 0.4]),
    reorderRate: pick([0, 0.1, 0.5]),
    deathRate: pick([0, 0.003, 0.01, 0.04]),
    pauseRate: pick([0, 0.05, 0.3]),
    fullRate: pick([0, 0, 0, 0.02]),
    losesPower: pick([false, false, false, false, true]),
    etag: pick<EtagMode>(['page', 'page', 'page', 'page', 'weak', 'table', 'flaky', 'absent']),
    rules: pick<Setup['rules']>([
      [],
      [],
      [],
      [],
      [{ column: 'A', does: 'upper' }],
      [{ column: 'B', does: 'putBack' }],
      [{ column: 'B', does: 'touchOther' }],
    ]),
    hideWeight,
    isAdminAway: actors.every(([weight, actor]) => (actor !== 'admin' && actor !== 'hider') || weight === 0),
    actors,
    weather: drawWeather(tape),
    files,
    laterPageRows: pick([null, null, null, null, null, 2, 3, 4]),
  };
  const pointCount = shorten(setup.pointCount, isLong ? tape.drawCalm() : tape.draw());
  // Drawn last, so that worlds which were kept before stay as they were.
  const refusedShare = pick([0, 0, 0, 0, 0, 0, 0.1, 0.3]);
  const personRate = pick([0, 0, 0, 0.1, 0.4]);
  const isMirror = pick([false, false, false, false, false, false, false, false, false, true]);
  const match = isMirror ? null : setup.match;
  const weather =
    setup.weather.size === 0 ? setup.weather : new Map([...setup.weather, ...drawRates(tape, LATER_FAULTS)]);
  return { ...setup, match, pointCount, refusedShare, personRate, isMirror, weather };
}

/**
 * Whether the columns keep their names, and the calling user his rights, but that one may be hidden from him for a
 * while.
 */
export function areColumnsKept({ isAdminAway, actors }: Setup): boolean {
  return isAdminAway || (isAbout(actors, 'hider') && !isAbout(actors, 'admin'));
}

/** What one can ask of the worlds of a run, to look for what only such worlds show. */
export const TRAITS: Readonly<Record<string, (setup: Setup) => boolean>> = {
  user: ({ actors }) => isAbout(actors, 'user'),
  colleague: ({ actors }) => isAbout(actors, 'colleague'),
  admin: ({ actors }) => isAbout(actors, 'admin'),
  hider: ({ hideWeight }) => hideWeight > 0,
  cuts: ({ actors }) => isAbout(actors, 'cutter'),
  kill: ({ actors }) => isAbout(actors, 'kill'),
  copy: ({ actors }) => isAbout(actors, 'copy'),
  person: ({ personRate }) => personRate > 0,
  files: ({ files }) => files !== null,
  power: ({ losesPower }) => losesPower,
  full: ({ fullRate }) => fullRate > 0,
  weather: ({ weather }) => weather.size > 0,
  refused: ({ refusedShare }) => refusedShare > 0,
  rules: ({ rules }) => rules.length > 0,
  poison: ({ poison = null }) => poison !== null,
  mirror: ({ isMirror }) => isMirror,
  rows: ({ rows }) => rows !== undefined,
  letter: ({ isLetter }) => isLetter === true,
  beside: ({ beside = null }) => beside !== null,
  moments: ({ moments = null }) => moments !== null,
  ignores: ({ ignores }) => ignores === true,
  putback: ({ putback = null }) => putback !== null,
  cold: ({ isWarm }) => !isWarm,
  match: ({ match }) => match !== null,
  unmatched: ({ match, isMirror }) => match === null && !isMirror,
  origin: ({ policy }) => policy === 'origin',
  local: ({ policy }) => policy === 'local',
  ask: ({ policy }) => policy === 'ask',
};

function isAbout(actors: Setup['actors'], wanted: Actor): boolean {
  return actors.some(([weight, actor]) => actor === wanted && weight > 0);
}

/** Lets most worlds end early: short ones find as much in the same time, and some defects need a long one. */
function shorten(pointCount: number, draw: Draw): number {
  const most = draw.isCalm ? 1 : (draw.below(1_000) / 1_000) ** 4;
  return POINTS_MIN + Math.floor((pointCount - POINTS_MIN) * most);
}

/** Operations on files that a full disk does not allow. */
const TAKES_SPACE: ReadonlySet<string> = new Set(['file create', 'file write', 'file makeFolder']);

/** Whether an operation on a file fails on a full disk. */
export function takesSpace(what: string): boolean {
  return TAKES_SPACE.has(what);
}

/** Draws what happens to the engine at a boundary: a transaction, a step of a push, or an operation on a file. */
export function drawFate(
  { deathRate, pauseRate, fullRate }: Setup,
  tape: Tape,
  { isTransaction, what }: { readonly isTransaction: boolean; readonly what: string },
): Fate {
  const rate = deathRate + pauseRate + fullRate;
  const value = rate === 0 ? 0 : tape.decide(rate);
  if (value === 0) return 'on';
  return new Draw(value).weighted<Fate>([
    [pauseRate, 'pause'],
    [deathRate, 'dieBefore'],
    [isTransaction ? deathRate : 0, 'dieInside'],
    [isTransaction ? deathRate : 0, 'dieAfter'],
    [isTransaction || takesSpace(what) ? fullRate : 0, 'full'],
  ]);
}

/**
 * A setup in which nothing happens but the first pull, and what tells such a replica from others. Setups that differ in
 * no more than what warm.ts writes into a copy, or in nothing that a pull stores, have one and the same.
 */
export function calmSetup(setup: Setup): { readonly key: string; readonly calm: Setup } {
  const none = {
    pointCount: 0,
    actRate: 0,
    reorderRate: 0,
    deathRate: 0,
    pauseRate: 0,
    fullRate: 0,
    losesPower: false,
  };
  const { rowCount, systemColumns, pageRows, follow, isMirror } = setup;
  // Where ETags prove nothing, a table without rows is not looked at a second time.
  const isProven = rowCount > 0 || (setup.etag !== 'absent' && setup.etag !== 'flaky');
  const etag = isProven ? 'page' : 'flaky';
  const files = setup.files === null ? null : calmFiles(setup.files, rowCount);
  const weather = new Map<string, number>();
  const calm = { ...setup, ...none, isWarm: false, concurrency: 1, match: null, etag, files, weather } as const;
  return {
    key: JSON.stringify([
      rowCount,
      systemColumns,
      pageRows,
      follow?.windowPages,
      etag,
      files,
      isMirror,
      setup.history === true,
      rowsOfLife(setup, 1)?.text,
      setup.choosing,
      setup.isLetter === true,
      ...(setup.beside == null ? [] : ['beside']),
      ...(setup.moments == null ? [] : [setup.moments.aheadMs]),
    ]),
    calm,
  };
}

function drawActors(tape: Tape): Setup['actors'] {
  const often = (list: readonly number[]): number => tape.draw().pick(list);
  return [
    [often([10, 10, 3, 0]), 'user'],
    [often([5, 10, 1, 0]), 'colleague'],
    [often([0, 0, 1, 4]), 'admin'],
    [often([0, 1]), 'clock'],
    [often([0, 0.3, 1]), 'kill'],
    [often([0, 0, 0, 0.7]), 'copy'],
  ];
}

/** Some seeds have fair weather; in the others each fault has a rate of its own. */
function drawWeather(tape: Tape): Weather {
  const isFair = tape.draw().pick([true, true, false, false, false]);
  const drawn = drawRates(tape, FIRST_FAULTS);
  return isFair ? new Map() : drawn;
}

/** Draws how often each of these faults strikes; most of them never. */
export function drawRates(tape: Tape, faults: readonly FaultKind[]): Weather {
  const rates = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0.005, 0.005, 0.02, 0.02, 0.05, 0.2];
  const drawn = faults.map(({ name }) => [name, tape.draw().pick(rates)] as const);
  return new Map(drawn.filter(([, rate]) => rate > 0));
}

/** Whether a row comes to an engine; they are counted from 1. */
export function selectionOf(setup: Setup, life: number): (row: LocalRow) => boolean {
  return rowsOfLife(setup, life)?.selects ?? (() => true);
}

/** What the configuration of an engine would say; they are counted from 1. */
export function settingsOf(setup: Setup, life: number): EngineSettings {
  const pageRows = life === 1 ? setup.pageRows : (setup.laterPageRows ?? setup.pageRows);
  const { concurrency, maxDeletePercent, match, policy, batchRows, files, isMirror } = setup;
  const editing = isMirror ? null : ({ match, conflict: policy, workflow: 'run' } as const);
  const shared = { maxDeletePercent, concurrency };
  const columns = choiceOf(setup.choosing ?? null, life, match);
  return {
    origin: {
      url: 'https://origin.example',
      database: DATABASE,
      credentials: { kind: 'bearer', token: MODEL_TOKEN },
      concurrency,
      compress: false,
      maskKey: () => MASK_KEY,
      limits: { retry: { attemptsMax: 3, baseWaitMs: 100, waitMsMax: 1_000, totalMs: 60_000 } },
    },
    pull: {
      ...shared,
      pageRows,
      windowPages: setup.follow?.windowPages,
      follows: setup.follow === undefined ? 'none' : 'all',
      tableOptions: () => ({
        sort: null,
        columns,
        rows: rowsOfLife(setup, life)?.text ?? null,
        editing,
        history: setup.history === true ? HISTORY : null,
      }),
    },
    push: {
      ...shared,
      maxPushRows: 1_000,
      uploadDir: files === null ? null : UPLOAD_FOLDER,
      secrets: [],
      batchLimits: { rowsMax: batchRows, bytesMax: 100_000 },
      tableOptions: () => ({ conflict: policy, workflow: 'run' }),
      columns: () => columns,
    },
    files: files === null ? null : filesSettings(files, concurrency),
  };
}
