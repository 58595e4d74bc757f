/**
 * The progress of a pull or verify, of rows and then of files. A bar on a terminal, otherwise a line every ten
 * seconds: what a short one did is in its report. Nothing where a program reads the output.
 *
 * The expected number of rows is known from the sweep before. In a first pull, tables are counted instead.
 */
import { SingleBar } from 'cli-progress';
import type { Clock } from '../../base/clock.ts';
import type { FilesProgress } from '../../files/context.ts';
import { positionAfter, PULL_BEGINNING, type PullPosition, type PullProgress } from '../../pull/report.ts';
import type { Output } from './session.ts';
import { countText, displayWidth, durationText, plural, printable, truncate, bytesText } from '../../base/text.ts';

export interface ProgressState extends PullPosition {
  readonly elapsedMs: number;
}

/** Listens to a pull; `stop` clears the bar and must be called before anything else is printed. */
export interface Progress {
  readonly onProgress: (event: PullProgress) => void;
  /** Files come after the rows; the first event of theirs ends the bar of the rows. */
  readonly onFiles: (event: FilesProgress) => void;
  stop(): void;
}

const BAR_WIDTH = 20;

const LINE_EVERY_MS = 10_000;

/** Progress on an output: a bar if it is a terminal that nothing else writes to, else lines. */
export function startProgress(output: Output, clock: Clock, { isShared }: { readonly isShared: boolean }): Progress {
  const rows = counter<PullProgress, PullPosition>(clock, PULL_BEGINNING, positionAfter);
  let files: Counter<FilesProgress, FilesState> | null = null;
  const format = (): string => {
    const width = (output.width() ?? BAR_WIDTH) - 1;
    return files === null ? barText(rows.state(), width) : filesBarText(files.state(), width);
  };
  // The bar draws itself ten times a second from the counters.
  const isBar = output.isTerminal && !isShared;
  const bar = isBar ? new SingleBar({ stream: output.stream, format, clearOnComplete: true, hideCursor: true }) : null;
  bar?.start(1, 0);
  let lastLineMs = clock.monotonicMs();
  const sayLine = (): void => {
    if (isBar || clock.monotonicMs() - lastLineMs < LINE_EVERY_MS) return;
    lastLineMs = clock.monotonicMs();
    void output.write(`${files === null ? lineText(rows.state()) : filesLineText(files.state())}\n`);
  };
  return {
    onProgress: (event) => {
      rows.count(event);
      if (event.kind === 'page') sayLine();
    },
    onFiles: (event) => {
      if (event.kind === 'start') files = countFiles(clock);
      files?.count(event);
      if (files !== null) sayLine();
    },
    stop: () => bar?.stop(),
  };
}

interface Counter<Event, State> {
  readonly count: (event: Event) => void;
  readonly state: () => State & { readonly elapsedMs: number };
}

/** Follows the steps of work from its beginning. */
function counter<Event, State>(
  clock: Clock,
  beginning: State,
  after: (before: State, event: Event) => State,
): Counter<Event, State> {
  const startMs = clock.monotonicMs();
  let state = beginning;
  return {
    count: (event) => {
      state = after(state, event);
    },
    state: () => ({ ...state, elapsedMs: clock.monotonicMs() - startMs }),
  };
}

/** The bar in one line of at most `width` columns. */
export function barText(state: ProgressState, width: number): string {
  const { tablesDoneCount, tableCount } = state;
  if (tableCount === null) return truncate('listing tables', width);
  const total = Math.max(state.expectedRowCount, state.rowCount);
  const isRowsKnown = state.expectedRowCount > 0;
  const share = isRowsKnown ? state.rowCount / total : tablesDoneCount / tableCount;
  const position = isRowsKnown
    ? `${String(Math.floor(share * 100)).padStart(3)} %  ${countText(state.rowCount)} of ${countText(total)} rows`
    : `${tablesDoneCount} of ${plural(tableCount, 'table')}  ${plural(state.rowCount, 'row')}`;
  const facts = [`${drawnBar(share)} ${position}`, ...paceOf(state)].join('  ');
  const room = width - displayWidth(facts) - 2;
  const table = printable(state.table ?? '');
  // The name of the table comes last and is the first to be cut; a stump of it would only flicker.
  return room < 4 || table === '' ? truncate(facts, width) : `${facts}  ${truncate(table, room)}`;
}

function lineText(state: ProgressState): string {
  const facts = [`${plural(state.rowCount, 'row')} so far`, ...paceOf(state)];
  return `${printable(state.table ?? '')}: ${facts.join(', ')}`;
}

function paceOf({ rowCount, expectedRowCount, elapsedMs }: ProgressState): readonly string[] {
  const share = expectedRowCount === 0 ? 1 : rowCount / expectedRowCount;
  return paceTexts({ done: rowCount, share, elapsedMs }, (perSecond) => `${countText(perSecond)} rows/s`);
}

/** How fast, and how long still; nothing while it is too early to say. */
function paceTexts(
  { done, share, elapsedMs }: Readonly<Record<'done' | 'share' | 'elapsedMs', number>>,
  rateText: (perSecond: number) => string,
): readonly string[] {
  if (elapsedMs < 500) return [];
  const rate = rateText(Math.round((done / elapsedMs) * 1000));
  return share === 0 || share >= 1 ? [rate] : [rate, `${durationText((elapsedMs / share) * (1 - share))} left`];
}

function drawnBar(share: number): string {
  const filled = Math.round(Math.min(1, share) * BAR_WIDTH);
  return '█'.repeat(filled) + '░'.repeat(BAR_WIDTH - filled);
}

interface FilesState {
  readonly what: 'download' | 'verify';
  readonly fileCount: number;
  readonly filesDone: number;
  /** Null where it is not known how many there will be. */
  readonly expectedBytes: number | null;
  readonly bytes: number;
}

type TimedFiles = FilesState & { readonly elapsedMs: number };

const NO_FILES: FilesState = { what: 'download', fileCount: 0, filesDone: 0, expectedBytes: null, bytes: 0 };

export function countFiles(clock: Clock): Counter<FilesProgress, FilesState> {
  return counter<FilesProgress, FilesState>(clock, NO_FILES, (before, event) => {
    if (event.kind === 'bytes') return { ...before, bytes: before.bytes + event.bytes };
    if (event.kind === 'file') return { ...before, filesDone: before.filesDone + 1 };
    const { what, fileCount, bytes: expectedBytes } = event;
    return { ...NO_FILES, what, fileCount, expectedBytes };
  });
}

/** The bar in one line of at most `width` columns. */
export function filesBarText(state: TimedFiles, width: number): string {
  return truncate(`${drawnBar(shareDone(state))} ${factsOf(state).join('  ')}`, width);
}

/** The same without a bar. */
export function filesLineText(state: TimedFiles): string {
  return `${state.what === 'verify' ? 'verifying files' : 'files'}: ${factsOf(state).join(', ')}`;
}

function factsOf(state: TimedFiles): readonly string[] {
  const { bytes, elapsedMs, expectedBytes, fileCount, filesDone } = state;
  const ofBytes = expectedBytes === null ? '' : ` of ${bytesText(Math.max(bytes, expectedBytes))}`;
  const pace = paceTexts(
    { done: bytes, share: shareDone(state), elapsedMs },
    (perSecond) => `${bytesText(perSecond)}/s`,
  );
  const files = `${countText(Math.min(filesDone, fileCount))} of ${plural(fileCount, 'file')}`;
  return [files, `${bytesText(bytes)}${ofBytes}`, ...pace];
}

/** By bytes where they are known, else by files. */
function shareDone({ bytes, expectedBytes, fileCount, filesDone }: FilesState): number {
  const [done, all] = expectedBytes === null || expectedBytes === 0 ? [filesDone, fileCount] : [bytes, expectedBytes];
  return all === 0 ? 0 : Math.min(1, done / all);
}
