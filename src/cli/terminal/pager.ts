/**
 * Long texts on a terminal, through the pager of the environment as git does it: $PAGER, else less, which ends by
 * itself if all fits on one screen. Anywhere else, and where there is no pager, the text is written as it is.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { processEnvironment } from '../../config/secrets.ts';
import type { Session } from './session.ts';

/** What a shell says of a command that it cannot run, or that does not exist. */
const NOT_RUN: readonly number[] = [126, 127];

export async function writePaged(session: Pick<Session, 'stdout'>, text: string): Promise<void> {
  const { stdout } = session;
  const environment = processEnvironment();
  const command = environment['PAGER'] ?? 'less';
  if (!stdout.isTerminal || command === '') return stdout.write(text);
  // As in git, Ctrl-C is for the pager: without rowsync, the shell would read the same terminal.
  const ignore = (): void => undefined;
  process.on('SIGINT', ignore);
  const pager = spawn('/bin/sh', ['-c', command], {
    stdio: ['pipe', 'inherit', 'inherit'],
    env: { LESS: 'FRX', ...environment },
  });
  pager.stdin.on('error', () => undefined); // a reader who has seen enough leaves
  pager.stdin.end(text);
  const isRun = await once(pager, 'close').then(
    ([code]) => !NOT_RUN.includes(Number(code)),
    () => false, // there is no shell
  );
  process.off('SIGINT', ignore);
  if (!isRun) await stdout.write(text);
}
