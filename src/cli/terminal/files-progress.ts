/**
 * The progress of downloads and verifications of files: how many, how many bytes, how fast, how long still. Pure but for
 * the counter's own state.
 */
import type { Clock } from '../../base/clock.ts';
import type { FilesProgress } from '../../files/context.ts';
import { bytesText, countText, durationText, plural, truncate } from '../../base/text.ts';

/** What is known of the work so far. */
export interface FilesProgressState {
  readonly what: 'download' | 'verify';
  readonly fileCount: number;
  readonly filesDone: number;
  /** Null where it is not known how many there will be. */
  readonly expectedBytes: number | null;
  readonly bytes: number;
  readonly elapsedMs: number;
}

/** Sums the events. */
export class FilesCounter {
  readonly #clock: Clock;
  #startMs: number;
  #state: Omit<FilesProgressState, 'elapsedMs'> = {
    what: 'download',
    fileCount: 0,
    filesDone: 0,
    expectedBytes: null,
    bytes: 0,
  };

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startMs = clock.monotonicMs();
  }

  count(event: FilesProgress): void {
    if (event.kind === 'start') {
      const { what, fileCount, bytes: expectedBytes } = event;
      this.#state = { what, fileCount, filesDone: 0, expectedBytes, bytes: 0 };
      this.#startMs = this.#clock.monotonicMs();
    } else if (event.kind === 'bytes') {
      this.#state = { ...this.#state, bytes: this.#state.bytes + event.bytes };
    } else {
      this.#state = { ...this.#state, filesDone: this.#state.filesDone + 1 };
    }
  }

  state(): FilesProgressState {
    return { ...this.#state, elapsedMs: this.#clock.monotonicMs() - this.#startMs };
  }
}

const BAR_WIDTH = 20;

/** The bar in one line of at most `width` columns. */
export function filesBarText(state: FilesProgressState, width: number): string {
  const filled = Math.round(shareDone(state) * BAR_WIDTH);
  const bar = `${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)}`;
  return truncate(`${bar} ${facts(state).join('  ')}`, width);
}

/** The same without a bar. */
export function filesLineText(state: FilesProgressState): string {
  return `${state.what === 'verify' ? 'verifying files' : 'files'}: ${facts(state).join(', ')}`;
}

function facts(state: FilesProgressState): readonly string[] {
  const { bytes, elapsedMs, expectedBytes, fileCount, filesDone } = state;
  const ofBytes = expectedBytes === null ? '' : ` of ${bytesText(Math.max(bytes, expectedBytes))}`;
  const rate = elapsedMs < 500 ? '' : `${bytesText(Math.round((bytes / elapsedMs) * 1000))}/s`;
  const share = shareDone(state);
  const left =
    elapsedMs < 500 || share === 0 || share >= 1 ? '' : `${durationText((elapsedMs / share) * (1 - share))} left`;
  const files = `${countText(Math.min(filesDone, fileCount))} of ${plural(fileCount, 'file')}`;
  return [files, `${bytesText(bytes)}${ofBytes}`, rate, left].filter((fact) => fact !== '');
}

/** By bytes where they are known, else by files. */
function shareDone({ bytes, expectedBytes, fileCount, filesDone }: FilesProgressState): number {
  const [done, all] = expectedBytes === null || expectedBytes === 0 ? [filesDone, fileCount] : [bytes, expectedBytes];
  return all === 0 ? 0 : Math.min(1, done / all);
}
