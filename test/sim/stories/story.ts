/**
 * What happened in a world, told to people: the trace without what happens in every cycle. Takes a trace; produces
 * text. Pure.
 */

/** Lines that say little: a run is recorded, a question is answered as always. */
const DULL = [
  /^commit: Recording a run$/,
  /^commit: Storing (who|what|the description)/,
  /^commit: Noting unchanged/,
  /^request \d+: (user|describe) /,
  /^commit: (Looking for|Settling the missing|Finishing the sweep)/,
];

/** The story; `isWhole` leaves nothing out. */
export function storyOf(trace: readonly string[], isWhole: boolean): string {
  const dull = new Set<string>();
  const lines = trace.filter((line) => {
    const isDull = DULL.some((pattern) => pattern.test(line));
    const number = /^request (\d+): (?:user|describe) /.exec(line)?.[1];
    if (number !== undefined) dull.add(number);
    const end = /^request (\d+) ends: (?:200|304)$/.exec(line)?.[1];
    return isWhole || (!isDull && !(end !== undefined && dull.has(end)));
  });
  return lines.map((line) => `  ${line}`).join('\n');
}
