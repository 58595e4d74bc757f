/**
 * Answers one question of an agent at a time, over a replica that is opened read-only for it. Its parent ends it if an answer takes too long
 * (extras/shared/child-pool.ts). A wrong question gets status 400.
 */
import { asRowsyncError } from '../../base/errors.ts';
import { serveQuestions, type AnswerChunks } from '../shared/child-process.ts';
import { boundMemory } from '../shared/browse.ts';
import { openReader } from '../../replica/reader.ts';
import { answerQuestion } from './answers.ts';
import type { ToolRequest } from './request.ts';

/** Memory of SQLite for one answer. */
const SQLITE_BYTES_MAX = 96 * 1024 * 1024;

/** Answers until the parent process ends. */
export function serveTools(): void {
  serveQuestions(answer);
}

function answer({ replicaPath, question, nowMs, problems }: ToolRequest): AnswerChunks {
  const reply = (status: number, value: unknown): AnswerChunks => ({
    status,
    type: 'application/json',
    chunks: [JSON.stringify(value)],
  });
  try {
    const reader = openReader(replicaPath);
    try {
      boundMemory(reader, SQLITE_BYTES_MAX);
      return reply(200, answerQuestion(reader, question, { nowMs, problems }));
    } finally {
      reader.close();
    }
  } catch (thrown) {
    const { message, hint, code } = asRowsyncError(thrown);
    return reply(400, { error: message, hint, code });
  }
}
