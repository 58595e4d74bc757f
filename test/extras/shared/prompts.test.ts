/**
 * What ends a question at a terminal beside an answer.
 */
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { isAgreed, Prompter } from '../../../src/extras/shared/prompts.ts';
import { collectingOutput } from '../../support/session.ts';

/** A terminal at which nobody types, and what SIGTERM aborts. */
function silentTerminal() {
  const stopping = new AbortController();
  const stderr = collectingOutput();
  stderr.onText = (text) => {
    if (text.endsWith(': ')) stopping.abort();
  };
  return { stdin: new PassThrough(), stderr, stopSignal: () => stopping.signal };
}

test('what is told between questions is cut at blanks, not within words', async () => {
  const stderr = collectingOutput(20);
  using prompter = new Prompter({ stdin: new PassThrough(), stderr, stopSignal: () => new AbortController().signal });

  await prompter.say('nothing is written before the last question');

  expect(stderr.text()).toBe('nothing is written\nbefore the last\nquestion\n');
});

test('SIGTERM at a question of yes or no is a no', async () => {
  const session = silentTerminal();

  expect(await isAgreed(session, 'Write it?')).toBe(false);
  expect(session.stderr.text()).toContain('Write it? (yes or no) [no]: ');
});

test('SIGTERM at any other question ends the input, for later questions too', async () => {
  const session = silentTerminal();
  using prompter = new Prompter(session);

  await expect(prompter.ask('Table')).rejects.toThrow('The input ended');
  await expect(prompter.askHidden('Token')).rejects.toThrow('The input ended');
});
