/**
 * `rowsync changes`: prints the history as events, one JSON object a line.
 */
import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';
import { InvalidArgumentError, type Command } from 'commander';
import { EXIT } from '../../base/errors.ts';
import { printableJson } from '../../base/text.ts';
import { readEvents, sequenceNumber } from './events.ts';
import { openReader } from '../../replica/reader.ts';
import { loadNamedConfig } from '../../cli/runtime/invocation.ts';
import type { Invocation, Runner } from '../../extra.ts';

/** Between two looks at the file. */
const POLL_MS = 1_000;

const EXAMPLES = `
Each line is one event in the JSON format of CloudEvents 1.0; "data" is the entry of the history. The id of an event is its number:
keep the last one that you have worked up, and ask for those after it. Every change comes in order, and at least once.
A daemon with a page gives the same as server-sent events at /changes.

Examples:
  rowsync changes --after 0 | jq -r '[.id, .type, .subject] | @tsv'
  rowsync changes --after 4711 --follow | ./to-queue`;

interface ChangesOptions {
  readonly after: number;
  readonly follow?: boolean;
}

/** Adds the command. */
export function addChangesCommand(program: Command, runner: Runner): void {
  program
    .command('changes')
    .description('print the history as events, one JSON object a line')
    .requiredOption('--after <seq>', 'the number of the last event that you have; 0 for all', numberOf)
    .option('--follow', 'wait for more until you stop it')
    .addHelpText('after', EXAMPLES)
    .action((options: ChangesOptions, command: Command) =>
      runner(command, (invocation) => printChanges(invocation, options)),
    );
}

function numberOf(text: string): number {
  const number = sequenceNumber(text);
  if (number === null) throw new InvalidArgumentError('It is the id of an event, a whole number.');
  return number;
}

async function printChanges(invocation: Invocation, { after, follow = false }: ChangesOptions): Promise<number> {
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  const { clock, stdout } = invocation.session;
  const signal = follow ? invocation.session.stopSignal() : AbortSignal.abort();
  let seq = await printAfter(invocation, config.replica.path, after);
  for (;;) {
    if (signal.aborted || stdout.isClosed) return EXIT.done; // ends: the user stops it, or its reader goes away
    await clock.sleep(POLL_MS, signal);
    if (!signal.aborted) seq = await printAfter(invocation, config.replica.path, seq);
  }
}

/** Prints what there is behind a number; returns the last one. Opens the file anew each time: another may be there by now. */
async function printAfter({ session: { stdout } }: Invocation, path: string, after: number): Promise<number> {
  const source = pathToFileURL(resolve(path)).href;
  const reader = openReader(path);
  let seq = after;
  try {
    for (;;) {
      const events = readEvents(reader, seq, source);
      await stdout.write(events.map(({ json }) => `${printableJson(json)}\n`).join(''));
      seq = events.at(-1)?.seq ?? seq;
      if (events.length === 0 || stdout.isClosed) return seq; // ends: every block lies behind the last one
    }
  } finally {
    reader.close();
  }
}
