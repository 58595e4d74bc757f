/**
 * `npm run bench [-- --json] [-- --rounds N] [-- --smoke] [-- NAME…]`: runs the benchmarks, all or by name, and prints
 * their figures. Exit code 1 when one could not run; never because of a figure.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BENCHES } from './benches.ts';
import { roundedText, type Figure } from './measure.ts';
import { Origins } from './origin.ts';

const ROUNDS_DEFAULT = 5;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean' }, smoke: { type: 'boolean' }, rounds: { type: 'string' } },
});

function chosen(): readonly string[] {
  const names = Object.keys(BENCHES);
  const unknown = positionals.filter((name) => !names.includes(name));
  if (unknown.length > 0)
    throw new Error(`no benchmark is called ${unknown.join(', ')}; there are ${names.join(', ')}`);
  return positionals.length === 0 ? names : positionals;
}

function line({ name, value, unit, bound, note }: Figure): string {
  const promise = bound === null ? '' : `, ${bound.kind === 'atLeast' ? 'at least' : 'at most'} ${bound.value}`;
  return `${name.padEnd(30)} ${roundedText(value).padStart(12)} ${unit}${promise}  (${note})\n`;
}

const isSmoke = values.smoke === true;
const roundCount = Number(values.rounds ?? (isSmoke ? 1 : ROUNDS_DEFAULT));
if (!Number.isSafeInteger(roundCount) || roundCount < 1) throw new Error('--rounds takes a whole number from 1');

const names = chosen();
const folder = await mkdtemp(join(tmpdir(), 'rowsync-bench-'));
const origins = new Origins(folder);
try {
  const figures: Figure[] = [];
  for (const name of names) {
    const found = (await BENCHES[name]?.({ origins, folder, roundCount, isSmoke })) ?? [];
    figures.push(...found);
    if (values.json !== true) process.stdout.write(found.map(line).join(''));
  }
  if (values.json === true) {
    const machine = { node: process.version, cpu: cpus()[0]?.model ?? '', cpuCount: cpus().length };
    process.stdout.write(`${JSON.stringify({ machine, roundCount, isSmoke, figures }, null, 2)}\n`);
  }
} finally {
  await origins.stop();
  await rm(folder, { recursive: true, force: true });
}
