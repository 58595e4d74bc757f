/**
 * Work on the replica beside that of the daemon. It ends before the file may be closed: at a reload and at the end.
 */
import type { DaemonPart, DaemonView } from '../../daemon/context.ts';
import type { Resources } from '../../daemon/resources.ts';

interface Running {
  readonly stop: () => Promise<void> | void;
}

/** A part of a daemon that runs such work. `start` never rejects. */
export function workBeside(
  view: DaemonView,
  start: (resources: Resources) => Promise<Running>,
): Pick<DaemonPart, 'prepare'> {
  let running: Promise<Running> | null = null;
  const begin = (): void => {
    running = start(view.resources());
  };
  return {
    prepare: async (config) => {
      const before = running;
      running = null;
      await (await before)?.stop();
      return {
        use: async () => {
          if (config !== null) begin();
        },
        giveBack: async () => {
          if (before !== null) begin();
        },
      };
    },
  };
}
