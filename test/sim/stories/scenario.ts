/**
 * What short stories are made of (scenarios.ts): a setup in which nothing is drawn, and acts with their moments. An act
 * happens once a line of the trace matches that came after the act before it. Rows of a warm replica: 1 to `rowCount`;
 * their texts are those of `makeOrigin`. Pure.
 */
import type { PersonDecision } from '../../../src/capture/person-decision.ts';
import type { Hands } from './script.ts';
import type { Setup } from '../world/setup.ts';

/** One act of someone. */
export interface ScenarioAct {
  /** A line of the trace after the act before; null for as soon as possible. */
  readonly after: RegExp | null;
  readonly act: (hands: Hands) => void;
}

/** A short story. */
export interface Scenario {
  readonly name: string;
  readonly setup: Setup;
  readonly acts: readonly ScenarioAct[];
  /**
   * Cycles that end after the last act, and after whatever goes wrong, before the faults stop: those are gone through
   * step by step.
   */
  readonly cycles: number;
  /** Lines that the undisturbed story has. */
  readonly proofs: readonly RegExp[];
  /**
   * What the rows of the undisturbed story are at the end, as `endOf` in exhaustive.ts tells them; absent where oracles
   * say enough.
   */
  readonly end?: RegExp;
  /** What the rows are at every end of it, whatever goes wrong. */
  readonly everyEnd?: RegExp;
  /** Whether rows, but for their ids and made-up codes, are the same at the end wherever the engine dies. */
  readonly hasOneEnd: boolean;
}

/** A warm replica of three rows, without actors. */
export const CALM: Setup = {
  isWarm: true,
  rowCount: 3,
  systemColumns: false,
  pageRows: 2,
  laterPageRows: null,
  batchRows: 2,
  concurrency: 1,
  match: 'Code',
  policy: 'origin',
  maxDeletePercent: 100,
  pointCount: 0,
  actRate: 0,
  reorderRate: 0,
  deathRate: 0,
  pauseRate: 0,
  fullRate: 0,
  losesPower: false,
  refusedShare: 0,
  personRate: 0,
  etag: 'page',
  rules: [],
  hideWeight: 0,
  isAdminAway: true,
  actors: [],
  weather: new Map(),
  files: null,
  isMirror: false,
};

/** A user runs statements on the replica. */
export function user(after: RegExp | null, statements: string): ScenarioAct {
  return { after, act: (hands) => hands.user(statements) };
}

/** A colleague edits a row. */
export function colleague(after: RegExp | null, id: number, cells: Readonly<Record<string, string>>): ScenarioAct {
  const sentence = `colleague: sets ${JSON.stringify(cells)} in row ${id}`;
  return { after, act: (hands) => hands.atOrigin(sentence, (origin) => void origin.update('Thing', id, cells)) };
}

/** A colleague deletes a row. */
export function colleagueDeletes(after: RegExp | null, id: number): ScenarioAct {
  const sentence = `colleague: deletes row ${id}`;
  return { after, act: (hands) => hands.atOrigin(sentence, (origin) => void origin.delete('Thing', id)) };
}

/** A colleague inserts a row. */
export function colleagueInserts(after: RegExp | null, cells: Readonly<Record<string, string>>): ScenarioAct {
  const sentence = `colleague: inserts ${JSON.stringify(cells)}`;
  return { after, act: (hands) => hands.atOrigin(sentence, (origin) => void origin.insert('Thing', cells)) };
}

/** An administrator renames a column. */
export function renamesColumn(after: RegExp | null, name: string, now: string): ScenarioAct {
  const sentence = `administrator: renames the column ${name} to ${now}`;
  return { after, act: (hands) => hands.atOrigin(sentence, (origin) => origin.renameColumn('Thing', name, now)) };
}

/** A person decides something before the next cycle. */
export function decides(after: RegExp | null, decision: PersonDecision): ScenarioAct {
  return { after, act: (hands) => hands.decides(decision) };
}

/** Administrators are about, as those of `ADMINISTERED` are: the calling user gets a role that sees every other row. */
export function narrowsRole(after: RegExp | null): ScenarioAct {
  return { after, act: (hands) => hands.narrowsRole() };
}

/** Someone copies the replica. */
export function copies(after: RegExp | null): ScenarioAct {
  return { after, act: (hands) => hands.copy() };
}

/** Someone puts the copy in the place of the replica. */
export function putsBack(after: RegExp | null): ScenarioAct {
  return { after, act: (hands) => hands.restore() };
}

/** An administrator revokes the token, until the end. */
export function revokesToken(after: RegExp | null): ScenarioAct {
  return {
    after,
    act: (hands) => hands.atOrigin('administrator: revokes the token', (origin) => origin.revokeToken()),
  };
}

/** Someone makes a backup of the origin, and the next time brings it back. */
export function backsUpOrRestores(after: RegExp | null): ScenarioAct {
  return { after, act: (hands) => hands.backsUpOrRestores() };
}

/** Where administrators are at work, unseen by pulls. */
export const ADMINISTERED: Setup = { ...CALM, isAdminAway: false, actors: [[0, 'admin']] };

/** With an attachment column; every other row of the origin has a file. */
export const WITH_FILES: Setup = {
  ...CALM,
  files: { mode: 'latest', showsHistory: true, maxFileBytes: null, everyRows: 2, weight: 0 },
};

/** A file lies where users take files from. */
export function hasFile(name: string, content: string): ScenarioAct {
  return { after: null, act: (hands) => hands.haveFile(name, content) };
}

/** A colleague uploads a file. */
export function colleagueUploads(after: RegExp | null, id: number, name: string): ScenarioAct {
  const file = { name, mediaType: 'text/plain', bytes: Buffer.from(`content of ${name}`) };
  const sentence = `colleague: uploads ${name} to row ${id}`;
  return {
    after,
    act: (hands) => hands.atOrigin(sentence, (origin) => void origin.update('Thing', id, { File: file })),
  };
}

/** The moment at which a cycle has ended. */
export const CYCLE_ENDS = /^the cycle ends/;

/** The moment at which a request of a method leaves. */
export const SENT = (method: string): RegExp => new RegExp(`^request \\d+: ${method} `);
