/**
 * The flags of Node for every process of rowsync: the executable, the service and child processes. SIGUSR1 would open
 * Node's debugger, and with it the memory that holds the token, to every process of the same user.
 */

/** For every process: no environment in a crash report. */
const COMMON = ['--disable-proto=delete', '--report-exclude-env'];

/**
 * For a process that may hold as many rows as the systemd unit's memory allows. Without --disable-sigusr1, with which
 * Node blocks the signal: a daemon begins a cycle on it. `keepDebuggerShut` takes it from the debugger.
 */
export const NODE_FLAGS: readonly string[] = [...COMMON, '--max-old-space-size=512'];

/** For a child process with a smaller heap. */
export function childFlags(heapMiBMax: number): readonly string[] {
  return [...COMMON, '--disable-sigusr1', `--max-old-space-size=${heapMiBMax}`, '--v8-pool-size=1'];
}

/** Takes SIGUSR1 from Node's debugger, for the process of a command or a daemon. Called before anything is loaded. */
export function keepDebuggerShut(): void {
  process.on('SIGUSR1', () => undefined);
}
