/**
 * Long texts on a terminal, through the pager of the environment as git does it: $PAGER, else less, which ends by itself where everything fits
 * on one screen. Anywhere else, and where there is no pager, the text is written as it is.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { processEnvironment } from '../../config/secrets.ts';
import type { Session } from './session.ts';

/** What a shell says when there is no such command. */
const NOT_FOUND = 127;

export async function writePaged(session: Pick<Session, 'stdout'>, text: string): Promise<void> {
  const { stdout } = session;
  const environment = processEnvironment();
  const command = environment['PAGER'] ?? 'less';
  if (!stdout.isTerminal || command === '') return stdout.write(text);
  const pager = spawn('/bin/sh', ['-c', command], {
    stdio: ['pipe', 'inherit', 'inherit'],
    env: { LESS: 'FRX', ...environment },
  });
  pager.stdin.on('error', () => undefined); // a reader who has seen enough leaves
  pager.stdin.end(text);
  const code = await once(pager, 'close').then(
    ([exitCode]) => Number(exitCode),
    () => NOT_FOUND,
  );
  if (code === NOT_FOUND) await stdout.write(text);
}
