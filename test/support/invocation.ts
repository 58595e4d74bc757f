/**
 * One use of a command, with what it prints.
 *
 *    const { invocation, stdout, stderr } = invocationIn(workspace.folder, { isJson: true });
 */
import type { Extra, Invocation } from '../../src/extra.ts';
import { testClock } from './clock.ts';
import { collectingOutput, sessionIn } from './session.ts';

/** Makes one for a folder, with these extras, and without any unless given. */
export function invocationIn(
  folder: string,
  changes: Partial<Omit<Invocation, 'session'>> & { readonly width?: number | null } = {},
) {
  const { width, ...rest } = changes;
  const [stdout, stderr] = [collectingOutput(width ?? null), collectingOutput(width ?? null)];
  const clock = testClock();
  const invocation: Invocation = {
    session: sessionIn(folder, { stdout, stderr, clock }),
    extras: [],
    configPath: undefined,
    isJson: false,
    isVerbose: false,
    ...rest,
  };
  return { invocation, stdout, stderr, clock };
}

/** An extra with nothing but these parts. */
export function extraWith(parts: Omit<Extra, 'name'>): Extra {
  return { name: 'an extra', ...parts };
}
