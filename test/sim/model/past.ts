/**
 * States of a moment ago, for reads that lag behind writes. Takes the state before each change; produces the state that
 * a read sees. Keeps no more than the longest lag needs.
 */
import type { ModelDraw } from './knobs.ts';
import { copyState, type ModelState } from './state.ts';

/** What was, until when. */
export class Past {
  #states: readonly { readonly untilMs: number; readonly state: ModelState }[] = [];

  /** Notes the state that a change ends now. */
  keep(state: ModelState, nowMs: number, lagMsMax: number): void {
    const needed = this.#states.filter(({ untilMs }) => untilMs > nowMs - lagMsMax);
    this.#states = [...needed, { untilMs: nowMs, state: copyState(state) }];
  }

  /** The state that a read sees which lags by up to so much. */
  asRead(now: ModelState, nowMs: number, lagMsMax: number, draw: ModelDraw): ModelState {
    if (lagMsMax === 0 || this.#states.length === 0) return now;
    const atMs = nowMs - Math.floor(draw('lag') * (lagMsMax + 1));
    return this.#states.find(({ untilMs }) => untilMs > atMs)?.state ?? now;
  }
}
