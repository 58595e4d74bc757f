/**
 * The tool process: answers one question of an agent at a time, over a replica that is opened read-only for it. Its parent ends it if an answer takes
 * too long (daemon/page/host.ts). Input: questions on its channel. Output: JSON; a wrong question gets status 400.
 */
import { asRowsyncError } from '../base/errors.ts';
import { serveQuestions } from '../daemon/page/process.ts';
import type { PageReply } from '../daemon/page/request.ts';
import { boundMemory } from '../replica/browse.ts';
import { openReader } from '../replica/reader.ts';
import { answerQuestion } from './answers.ts';
import type { ToolRequest } from './request.ts';

/** Memory of SQLite for one answer. */
const SQLITE_BYTES_MAX = 96 * 1024 * 1024;

/** Answers until the parent process ends. */
export function serveTools(): void {
  serveQuestions(answer);
}

function answer({ replicaPath, question, nowMs, word }: ToolRequest): PageReply {
  const reply = (status: number, value: unknown): PageReply => ({
    status,
    type: 'application/json',
    chunks: [JSON.stringify(value)],
  });
  try {
    const reader = openReader(replicaPath);
    try {
      boundMemory(reader, SQLITE_BYTES_MAX);
      return reply(200, answerQuestion(reader, question, { nowMs, word }));
    } finally {
      reader.close();
    }
  } catch (thrown) {
    const { message, hint, code } = asRowsyncError(thrown);
    return reply(400, { error: message, hint, code });
  }
}
