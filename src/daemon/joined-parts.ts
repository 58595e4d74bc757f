/**
 * Parts that extras add to a daemon, such as notices and servers. Each part gets every event that is logged, and the
 * account after each piece of work. It reports what is wrong, and gets some seconds when the daemon ends.
 */
import type { Clock } from '../base/clock.ts';
import { loggerOf, type Logger } from '../base/log.ts';
import type { Problem } from '../reconcile/account/account.ts';
import type { FoundComplaint } from '../reconcile/account/facts.ts';
import type { Config } from '../config/load.ts';
import type { DaemonExtra, DaemonPart, DaemonView, Prepared, WorkEvent } from './context.ts';
import type { Resources } from './resources.ts';

/** How long all of them may take at the end. */
const CLOSE_MS_MAX = 5_000;

export class JoinedParts {
  #all: readonly DaemonPart[] = [];

  get all(): readonly DaemonPart[] {
    return this.#all;
  }

  async join(extras: readonly DaemonExtra[], view: DaemonView): Promise<void> {
    this.#all = await Promise.all(extras.flatMap(({ join }) => join?.(view) ?? []));
  }

  /** A log whose events they take as well, once they have joined. */
  heard(log: Logger): Logger {
    return loggerOf((level) => (event, facts = {}) => {
      log[level](event, facts);
      for (const part of this.#all) part.takeEvent?.(event, facts);
    });
  }

  /** Has them open what a configuration wants; null closes all. @throws RowsyncError with everything left as it was. */
  async prepare(config: Config | null): Promise<Prepared> {
    const prepared: Prepared[] = [];
    const giveBack = async (): Promise<void> => {
      for (const one of prepared) await one.giveBack();
    };
    try {
      for (const part of this.#all) if (part.prepare !== undefined) prepared.push(await part.prepare(config));
    } catch (thrown) {
      await giveBack();
      throw thrown;
    }
    const use = async (): Promise<void> => {
      for (const one of prepared) await one.use();
    };
    return { use, giveBack };
  }

  async betweenWork(resources: Resources): Promise<boolean> {
    const left: (boolean | undefined)[] = [];
    for (const part of this.#all) left.push(await part.betweenWork?.(resources));
    return left.includes(true);
  }

  takeWork(event: WorkEvent): void {
    for (const part of this.#all) part.takeWork?.(event);
  }

  takeAccount(problems: readonly Problem[]): void {
    for (const part of this.#all) part.takeAccount?.(problems);
  }

  words(): { readonly notes: readonly string[]; readonly complaints: readonly FoundComplaint[] } {
    const words = this.#all.flatMap((part) => part.word?.() ?? []);
    return {
      notes: words.flatMap(({ lines = [] }) => lines),
      complaints: words.flatMap(({ complaints }) => complaints),
    };
  }

  async close(clock: Clock): Promise<void> {
    const closed = new AbortController();
    const closing = Promise.all(this.#all.map(async (part) => part.close?.()));
    await Promise.race([closing, clock.sleep(CLOSE_MS_MAX, closed.signal)]);
    closed.abort();
  }
}
