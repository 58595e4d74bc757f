/**
 * A process that answers questions: chunk by chunk, as the parent takes them, and no longer than the parent is there.
 * Its memory is bounded by test/extras/page/memory.test.ts.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { on, once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const CHILD = fileURLToPath(new URL('../../support/chunks-child.ts', import.meta.url));

interface Answering {
  readonly child: ChildProcess;
  readonly ask: (request: unknown) => void;
  readonly more: () => void;
  /** The next messages of the child. */
  readonly next: (count: number) => Promise<readonly unknown[]>;
  [Symbol.dispose](): void;
}

function startChild(): Answering {
  const child = fork(CHILD, { serialization: 'advanced' });
  const inbox = on(child, 'message', { close: ['exit'] });
  return {
    child,
    ask: (request) => void child.send({ kind: 'ask', request }),
    more: () => void child.send({ kind: 'more' }),
    next: async (count) => {
      const messages: unknown[] = [];
      while (messages.length < count) {
        const found: IteratorResult<readonly unknown[], unknown> = await inbox.next();
        if (found.done === true) break;
        messages.push(found.value[0]);
      }
      return messages;
    },
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  };
}

const making = (index: number) => ({ kind: 'making', index });
const chunk = (index: number) => ({ kind: 'chunk', data: `chunk ${index}` });

test('a chunk is made once the one before it was taken, and the process answers one question after the other', async () => {
  using answering = startChild();
  const { ask, more, next } = answering;

  ask({ count: 2 });
  const first = await next(4);
  more();
  const second = await next(3);
  more();
  const end = await next(2);
  ask({ count: 0 });
  const empty = await next(3);
  ask('json');
  const json = await next(3);

  // What was sent before a message was heard did not wait for it.
  const head = { kind: 'head', status: 200, type: 'text/plain', headers: { X: 'y' } };
  expect(first).toEqual(['heard', head, making(0), chunk(0)]);
  expect(second).toEqual(['heard', making(1), chunk(1)]);
  expect(end).toEqual(['heard', { kind: 'end' }]);
  expect(empty).toEqual(['heard', head, { kind: 'end' }]);
  expect(json).toEqual([
    'heard',
    { kind: 'head', status: 201, type: 'application/json', headers: {} },
    { kind: 'chunk', data: '{"a":["ä"]}' },
  ]);
});

test('the process ends with the channel to its parent, also in the middle of an answer', async () => {
  using answering = startChild();
  answering.ask({ count: 2 });
  await answering.next(4);

  answering.child.disconnect();
  const [code, signal] = (await once(answering.child, 'exit')) as [number | null, string | null];

  expect([code, signal]).toEqual([0, null]);
});
