/**
 * What kind of world rows are put back in: its tables, how they refer to each other, and how bad the weather is. It
 * comes behind the world of its seed, with an origin and a replica of its own, and draws from tapes of its own. Pure.
 */
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { FIRST_FAULTS, LATER_FAULTS } from '../world/faults.ts';
import type { Weather } from '../world/network.ts';
import { drawRates, START_MS } from '../world/setup.ts';
import type { Tapes } from '../world/tape.ts';

/** Everything that stays as it is while such a world lasts. */
export interface PutbackSetup {
  /** Tables whose names are unique, by which rows are found again. */
  readonly unique: ReadonlySet<string>;
  /** The table whose key is its name; null if the origin numbers the rows of all. */
  readonly named: string | null;
  /** Whether an order must have a customer. */
  readonly isRequired: boolean;
  readonly history: boolean;
  readonly systemColumns: boolean;
  readonly rowCount: number;
  readonly batchRows: number;
  /** Commands before the faults stop. */
  readonly commandCount: number;
  readonly weather: Weather;
  /** How often a change, or its answer, is lost beside the weather. */
  readonly lossRate: number;
  /** The share of notes that the origin refuses until the faults stop. */
  readonly refusedShare: number;
  readonly deathRate: number;
  readonly pauseRate: number;
  /** How often what is due next is not what happens next. */
  readonly reorderRate: number;
  /** How often a colleague does something between two steps. */
  readonly colleagueRate: number;
}

/** A column that refers to rows of a table. */
export interface Reference {
  readonly table: string;
  readonly column: string;
  readonly to: string;
}

/** Every reference. */
export const REFERENCES: readonly Reference[] = [
  { table: 'Customer', column: 'Parent', to: 'Customer' },
  { table: 'Order', column: 'Customer', to: 'Customer' },
  { table: 'Line', column: 'Order', to: 'Order' },
];

/** The tables, parents first. */
export const TABLES = ['Customer', 'Order', 'Line'] as const;

/** One seed of so many has one. */
const SEEDS_PER_WORLD = 24;

/** Draws it; null for most seeds. */
export function drawPutback(tapes: Tapes): PutbackSetup | null {
  const tape = tapes.of('putback');
  const draw = tape.draw();
  if (draw.isCalm || tapes.seed % SEEDS_PER_WORLD !== 5) return null;
  const isFair = draw.chance(0.5);
  const weather = drawRates(tape, [...FIRST_FAULTS, ...LATER_FAULTS]);
  return {
    unique: new Set(TABLES.filter(() => draw.chance(0.6))),
    named: draw.pick([null, null, 'Customer', 'Order']),
    isRequired: draw.chance(0.3),
    history: draw.chance(0.5),
    systemColumns: draw.chance(0.5),
    rowCount: 2 + draw.below(4),
    batchRows: draw.pick([2, 3, 1, 50]),
    commandCount: 1 + draw.below(4),
    weather: isFair ? new Map() : weather,
    lossRate: draw.pick([0, 0.3, 0.6]),
    refusedShare: draw.pick([0, 0, 0.2]),
    deathRate: draw.pick([0, 0.01, 0.03]),
    pauseRate: draw.pick([0, 0.1]),
    reorderRate: draw.pick([0, 0.2]),
    colleagueRate: draw.pick([0, 0.05, 0.2]),
  };
}

/** The tables of such a world, still empty. */
export function tablesOf({ unique, named, isRequired, systemColumns }: PutbackSetup): readonly TableSpec[] {
  return TABLES.map((name) => ({
    name,
    createdFromMs: START_MS,
    systemColumns,
    ...(named === name ? { key: 'Name' } : {}),
    columns: [
      { name: 'Name', type: 'Text', options: unique.has(name) || named === name ? ['Unique', 'Required'] : [] },
      { name: 'Note', type: 'Text' },
      ...REFERENCES.filter(({ table }) => table === name).map(({ column }) => ({
        name: column,
        type: 'Text' as const,
        options: isRequired && name === 'Order' ? ['Required'] : [],
      })),
    ],
  }));
}

/** Whether rows of a table are known by their names. */
export function isIdentified({ unique, named }: PutbackSetup, table: string): boolean {
  return unique.has(table) || named === table;
}

/** The column that has the keys of a table. */
export function keyColumn({ named }: PutbackSetup, table: string): string {
  return named === table ? 'Name' : 'Id';
}
