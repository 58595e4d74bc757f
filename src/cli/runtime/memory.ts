/**
 * How V8 keeps the memory of this process small. Called before anything is loaded, and by benchmarks of memory.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Functions of more bytes are not optimised; V8's own default. */
const OPTIMISED_BYTES_MAX = 61_440;
/** How much the space for young objects grows at once for a pull; the rows of a page then fit, and are not copied. */
const YOUNG_GROWTH = 8;
/** Keeps almost two megabytes of objects over a collection of young ones, and collects again. */
const SURVIVE = `
const survivors = Array.from({ length: 25_000 }, (_, made) => ({ made }));
gc({ type: 'minor' });
gc({ type: 'minor' });
`;

/**
 * What is young stays in one megabyte instead of up to 32, and the heap is cleaned when it has doubled instead of
 * quadrupled. A first pull takes half the memory for it, and half more time of the processor. No code is optimised
 * while the program is loaded: V8 would begin with the functions of Node that take paths apart, and its compilers take
 * six megabytes.
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

/** For a push: V8's last compiler takes longer than its code saves. Without it, 20,000 edits take a tenth less. */
export function leaveOutLastCompiler(): void {
  setFlagsFromString('--no-turbofan');
}

/**
 * For a process that reads many rows: gives young objects eight megabytes instead of one. A first pull then takes a
 * quarter less time of the processor, and a tenth more memory. V8 takes the size itself only at its own start. Later a
 * collection lets the space grow by its factor, if more survived the ones before than the space holds. So this has some
 * objects survive one, and asks for another.
 */
export function prepareForRows(): void {
  setFlagsFromString('--expose-gc');
  setFlagsFromString(`--semi-space-growth-factor=${YOUNG_GROWTH}`);
  runInNewContext(SURVIVE);
  setFlagsFromString('--semi-space-growth-factor=1');
}
