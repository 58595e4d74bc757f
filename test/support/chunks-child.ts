/**
 * A child process that answers questions in chunks, and reports each message that it gets and each chunk before it is
 * made. Started by test/extras/shared/child-process.slow.test.ts.
 */
import { jsonAnswer, serveQuestions, type AnswerChunks } from '../../src/extras/shared/child-process.ts';

process.on('message', () => process.send?.('heard'));

serveQuestions((request: { readonly count: number } | 'json'): AnswerChunks => {
  if (request === 'json') return jsonAnswer(201, { a: ['ä'] });
  const { count } = request;
  return { status: 200, type: 'text/plain', headers: { X: 'y' }, chunks: chunksOf(count) };
});

function* chunksOf(count: number): Generator<string> {
  for (let index = 0; index < count; index += 1) {
    process.send?.({ kind: 'making', index });
    yield `chunk ${index}`;
  }
}
