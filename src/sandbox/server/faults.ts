/**
 * Faults on request: which requests are answered badly, and how. Invariant: the same rules, the same seed and the same
 * sequence of requests give the same faults. A rule draws for every request that it matches, whatever the other rules
 * do. Carrying faults out is server.ts. No I/O and no clock.
 */
import { Random } from '../data/random.ts';
import type { SeenRequest } from './requests.ts';

/** A field of a fault beside those that every rule has: the largest number that it takes, and its default. */
interface NumberField {
  readonly max: number;
  readonly missing: number;
}

/**
 * Every fault with its fields. delay waits and continues. All others end the request, and the first rule that fires
 * wins. Of these, tooMany (429), unavailable (503) and failure (500) answer in place of the method, which does not run.
 * So do html (a page with status 200), gzipBomb, resetBefore, and notModified: 304 to every request with If-None-Match,
 * whatever changed. The others run the method first. resetAfter cuts the connection instead of answering, and truncated
 * closes it in the middle of the body. wrongLength announces `bytes` too few. staleEtag repeats the request's
 * If-None-Match as the ETag of content that changed. drip sends `bytes` at a time with `ms` between.
 */
export const FAULTS = {
  delay: { ms: { max: 600_000, missing: 1000 } },
  tooMany: { retryAfter: { max: 86_400, missing: 1 } },
  unavailable: { retryAfter: { max: 86_400, missing: 1 } },
  failure: {},
  html: {},
  gzipBomb: { megabytes: { max: 100_000, missing: 1024 } },
  resetBefore: {},
  notModified: {},
  resetAfter: {},
  truncated: {},
  wrongLength: { bytes: { max: 1_000_000, missing: 1 } },
  staleEtag: {},
  drip: { bytes: { max: 1_000_000, missing: 16 }, ms: { max: 60_000, missing: 100 } },
} as const satisfies Readonly<Record<string, Readonly<Record<string, NumberField>>>>;

/** The name of a fault. */
export type FaultName = keyof typeof FAULTS;

/** One rule. Without `method` or `table` it concerns all of them; it fires where all of its conditions hold. */
export interface FaultRule {
  readonly fault: FaultName;
  /** A method as it is logged: select, describe, upsert, …, or other. */
  readonly method?: string | undefined;
  /** Name or alias as the address has it, in any case. */
  readonly table?: string | undefined;
  /** Of firing, from 0 to 1; 1 unless given. */
  readonly probability?: number | undefined;
  /** Fires at this request alone, counted among those that method and table match; 1 is the first. */
  readonly nth?: number | undefined;
  /** Fires so many times at most. */
  readonly count?: number | undefined;
  readonly ms?: number | undefined;
  readonly retryAfter?: number | undefined;
  readonly bytes?: number | undefined;
  readonly megabytes?: number | undefined;
}

/** All rules, in order, with the seed of their probabilities (1 unless given). */
export interface FaultPlan {
  readonly seed?: number | undefined;
  readonly faults: readonly FaultRule[];
}

/** A fault that is to happen, its numbers filled in. */
export interface Fault {
  readonly name: FaultName;
  readonly ms: number;
  readonly retryAfter: number;
  readonly bytes: number;
  readonly megabytes: number;
}

/** What is to happen to one request. */
export interface Verdict {
  readonly delayMs: number;
  readonly fault: Fault | null;
}

const RULES_MAX = 1000;
const COMMON = ['fault', 'method', 'table', 'probability', 'nth', 'count'];

/** Reads a plan from a file or a request. A list of problems, each with its place, where it cannot be used. */
export function readFaultPlan(input: unknown): FaultPlan | readonly string[] {
  if (!isObject(input)) return ['the whole: must be an object with a list "faults"'];
  const problems = Object.keys(input)
    .filter((key) => key !== 'seed' && key !== 'faults')
    .map((key) => `${key}: is not known; seed and faults are`);
  const { seed = 1, faults } = input;
  if (!isIntegerBetween(seed, 0, 0xffff_ffff)) problems.push('seed: must be a whole number from 0 to 4294967295');
  if (!Array.isArray(faults)) return [...problems, 'faults: must be a list'];
  if (faults.length > RULES_MAX) return [...problems, `faults: must have at most ${RULES_MAX} rules`];
  const rules = (faults as unknown[]).map((rule, index) => readRule(rule, `faults[${index}]`, problems));
  if (problems.length > 0) return problems;
  return { seed: Number(seed), faults: rules.filter((rule) => rule !== undefined) };
}

function readRule(input: unknown, place: string, problems: string[]): FaultRule | undefined {
  if (!isObject(input)) {
    problems.push(`${place}: must be an object`);
    return undefined;
  }
  const { fault } = input;
  if (typeof fault !== 'string' || !isFaultName(fault)) {
    problems.push(`${place}.fault: must be one of ${Object.keys(FAULTS).join(', ')}`);
    return undefined;
  }
  const fields: Readonly<Record<string, NumberField>> = FAULTS[fault];
  const before = problems.length;
  for (const [key, value] of Object.entries(input)) {
    const problem = fieldProblem(key, value, fields, fault);
    if (problem !== undefined) problems.push(`${place}.${key}: ${problem}`);
  }
  return problems.length > before ? undefined : { ...input, fault };
}

function fieldProblem(
  key: string,
  value: unknown,
  fields: Readonly<Record<string, NumberField>>,
  fault: string,
): string | undefined {
  const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
  if (field !== undefined)
    return isIntegerBetween(value, 0, field.max) ? undefined : `must be a whole number up to ${field.max}`;
  switch (key) {
    case 'fault':
      return undefined;
    case 'method':
    case 'table':
      return typeof value === 'string' && value !== '' ? undefined : 'must be a name';
    case 'probability':
      return typeof value === 'number' && value >= 0 && value <= 1 ? undefined : 'must be a number from 0 to 1';
    case 'nth':
    case 'count':
      return isIntegerBetween(value, 1, Number.MAX_SAFE_INTEGER) ? undefined : 'must be a whole number from 1';
    default:
      return `is not known for ${fault}; ${[...COMMON, ...Object.keys(fields)].join(', ')} are`;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isIntegerBetween(value: unknown, min: number, max: number): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max;
}

function isFaultName(name: string): name is FaultName {
  return Object.hasOwn(FAULTS, name);
}

/** A rule at work: how many requests it matched, and how many it spoiled. */
export interface RuleState {
  readonly rule: FaultRule;
  readonly matchedCount: number;
  readonly firedCount: number;
}

interface LiveRule {
  readonly rule: FaultRule;
  readonly random: Random;
  matchedCount: number;
  firedCount: number;
}

/** The rules of a running sandbox; they may be replaced at any time, which starts their counting anew. */
export class Faults {
  #seed = 1;
  #rules: readonly LiveRule[] = [];

  constructor(plan: FaultPlan) {
    this.replace(plan);
  }

  /** The seed of the plan in force. */
  get seed(): number {
    return this.#seed;
  }

  /** The rules in force, with their counts. */
  get states(): readonly RuleState[] {
    return this.#rules.map(({ rule, matchedCount, firedCount }) => ({ rule, matchedCount, firedCount }));
  }

  /** Puts another plan in force. */
  replace({ seed = 1, faults }: FaultPlan): void {
    this.#seed = seed;
    // A sequence for each rule: adding one at the end leaves the others' faults as they were.
    const random = (index: number): Random => new Random(Math.imul(seed + 1, 0x9e_37_79_b1) + index * 7919);
    this.#rules = faults.map((rule, index) => ({ rule, random: random(index), matchedCount: 0, firedCount: 0 }));
  }

  /**
   * What is to happen to a request; `isConditional` tells whether it has If-None-Match, `tableNames` what else its
   * table is called than in its address. Called once for each.
   */
  next(request: SeenRequest, isConditional: boolean, tableNames: readonly string[] = []): Verdict {
    let delayMs = 0;
    let fault: Fault | null = null;
    for (const live of this.#rules) {
      if (!wantsToFire(live, request, tableNames)) continue;
      const { rule } = live;
      const needsCondition = rule.fault === 'notModified' || rule.fault === 'staleEtag';
      if ((fault !== null && rule.fault !== 'delay') || (needsCondition && !isConditional)) continue;
      live.firedCount += 1;
      if (rule.fault === 'delay') delayMs += filledIn(rule).ms;
      else fault = filledIn(rule);
    }
    return { delayMs, fault };
  }
}

function wantsToFire(live: LiveRule, request: SeenRequest, tableNames: readonly string[]): boolean {
  const { rule } = live;
  const wanted = rule.table?.toLowerCase();
  const isNamed = [request.table, ...tableNames].some((name) => name?.toLowerCase() === wanted);
  if (rule.method !== undefined && rule.method.toLowerCase() !== request.method) return false;
  if (wanted !== undefined && !isNamed) return false;
  live.matchedCount += 1;
  const isDrawn = live.random.next() < (rule.probability ?? 1);
  if (rule.nth !== undefined && rule.nth !== live.matchedCount) return false;
  return isDrawn && (rule.count === undefined || live.firedCount < rule.count);
}

function filledIn(rule: FaultRule): Fault {
  const fields: Readonly<Record<string, NumberField>> = FAULTS[rule.fault];
  const number = (field: 'ms' | 'retryAfter' | 'bytes' | 'megabytes'): number =>
    rule[field] ?? fields[field]?.missing ?? 0;
  return {
    name: rule.fault,
    ms: number('ms'),
    retryAfter: number('retryAfter'),
    bytes: number('bytes'),
    megabytes: number('megabytes'),
  };
}
