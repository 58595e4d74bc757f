/**
 * The one way from the command line into the sandbox: loaded when a command needs it, so that a program that replicates
 * production carries no server in memory.
 */
const loadSandbox = () => import('../../sandbox/main.ts');

type Start = Awaited<ReturnType<typeof loadSandbox>>['startSandbox'];

export type RunningSandbox = Awaited<ReturnType<Start>>;

export type TlsFiles = NonNullable<Parameters<Start>[0]['tls']>;

/** Loads and starts a sandbox. @throws RowsyncError for options that make no sense, or a port that is taken. */
export async function startSandbox(options: Parameters<Start>[0]): Promise<RunningSandbox> {
  const sandbox = await loadSandbox();
  return sandbox.startSandbox(options);
}
