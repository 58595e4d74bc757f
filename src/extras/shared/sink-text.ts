/**
 * The state of a sink, in lines for people.
 */
import { countText, plural, printable } from '../../base/text.ts';
import type { SinkStatus } from './sinks.ts';

export function sinkLines(sink: SinkStatus): readonly string[] {
  const { name, tables, problem } = sink;
  const held = tables.filter(({ problem: own }) => own !== null);
  return [
    `sink      ${name}: ${sinkSentence(sink)}`,
    ...(problem === null ? [] : [`  since ${problem.since}: ${problem.message}`, `  what to do: ${problem.hint}`]),
    ...held.flatMap(({ tableName, problem: own }) => [
      `  ${tableName}: ${own?.message ?? ''}`,
      `  what to do: ${own?.hint ?? ''}`,
    ]),
  ].map(printable);
}

export function sinkSentence({ epoch, lagRows, lagSeconds, problem, tables }: SinkStatus): string {
  if (problem !== null) return `cannot continue (${problem.code}); ${lagText(lagRows, lagSeconds)}`;
  if (epoch === null) return 'nothing was sent yet';
  const loading = tables.filter(({ state }) => state === 'loading' || state === 'waits').length;
  const held = tables.filter(({ state }) => state === 'held').length;
  return [
    lagText(lagRows, lagSeconds),
    ...(loading === 0 ? [] : [`${plural(loading, 'table')} loading`]),
    ...(held === 0 ? [] : [`${plural(held, 'table')} held`]),
  ].join(', ');
}

function lagText(rows: number, seconds: number): string {
  return rows === 0 ? 'up to date' : `${plural(rows, 'changed row')} behind, ${countText(seconds)} s`;
}
