/**
 * How V8 keeps the memory of this process small. Called before anything is loaded, and by benchmarks that measure what a process of rowsync
 * takes.
 */
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Functions of more bytes are not optimised; V8's own default. */
const OPTIMISED_BYTES_MAX = 61_440;
/** How much the space for young objects grows at once for a process that pulls. The rows of a page then fit, and are not copied again and again. */
const YOUNG_GROWTH = 8;
/** Objects made between two looks at the space: fifty kilobytes. */
const OBJECTS = 1000;
/** Looks after which the space stays as it is; ten are enough. */
const LOOKS_MAX = 200;

/**
 * What is young stays in one megabyte instead of up to 32, and the heap is cleaned when it has doubled instead of quadrupled. A first pull
 * takes half the memory for it, and half more time of the processor. No code is optimised while the program is loaded: V8 would begin with the
 * functions of Node that take paths apart, and its compilers take six megabytes.
 */
export function keepMemorySmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--heap-growing-percent=100');
  setFlagsFromString('--max-optimized-bytecode-size=0');
}

/** The work begins: has V8 optimise code from now on. */
export function optimiseCode(): void {
  setFlagsFromString(`--max-optimized-bytecode-size=${OPTIMISED_BYTES_MAX}`);
}

/**
 * For a process that reads many rows: gives young objects eight megabytes instead of one. A first pull then takes a quarter less time of the
 * processor, and a tenth more memory. V8 takes the size itself only at its own start. Later the space can grow by its factor, when objects survive a
 * collection; this makes some that do.
 */
export function prepareForRows(): void {
  setFlagsFromString(`--semi-space-growth-factor=${YOUNG_GROWTH}`);
  const before = youngBytes();
  const survivors: object[] = [];
  for (let look = 0; look < LOOKS_MAX && youngBytes() <= before; look += 1) {
    for (let made = 0; made < OBJECTS; made += 1) survivors.push({ look, made });
  }
  setFlagsFromString('--semi-space-growth-factor=1');
}

/** How many bytes young objects may take before V8 collects them. */
function youngBytes(): number {
  const space = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
  return space === undefined ? 0 : space.space_used_size + space.space_available_size;
}
