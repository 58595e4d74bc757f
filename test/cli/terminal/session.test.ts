/** The streams that a command writes to: what is lost, what counts as a failure, and when writing stops. */
import { closeSync, fstatSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { afterEach, expect, test, vi } from 'vitest';
import { outputTo, readAll, writeAll, writeProse } from '../../../src/cli/terminal/session.ts';
import { temporaryFolder } from '../../support/replica.ts';
import { collectingOutput } from '../../support/session.ts';

afterEach(() => vi.unstubAllEnvs());

test('a log that could not be written is written again once that is possible', () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'log');
  writeFileSync(path, '');
  // A descriptor that takes nothing stands for a full disk; then the same one takes text.
  const file = openSync(path, 'r');
  const output = outputTo(Object.assign(new PassThrough(), { fd: file }));
  output.log('lost\n');
  const failure = output.logFailure;
  closeSync(file);
  expect(openSync(path, 'a')).toBe(file);

  output.log('again\n');
  output.log('and on\n');

  closeSync(file);
  expect(failure).toContain('EBADF');
  expect(output.logFailure).toBeNull();
  expect([output.failure, output.isClosed]).toEqual([null, false]);
  expect(readFileSync(path, 'utf8')).toBe('\nagain\nand on\n');
});

/** A stream that fails each write with this code. */
function failing(code: string, parts: { isTTY?: boolean } = {}): Writable {
  const stream = new Writable({ write: (_chunk, _encoding, done) => done(Object.assign(new Error(code), { code })) });
  return Object.assign(stream, parts);
}

test.each([
  ['EPIPE', {}, false],
  ['ECONNRESET', {}, false],
  ['ENOSPC', {}, true],
  ['EIO', { isTTY: true }, false],
])('after %s at %j nothing more is written, and it is a failure: %s', async (code, parts, isFailure) => {
  const output = outputTo(failing(code, parts));

  await output.write('first');
  await output.write('second');

  expect(output.isClosed).toBe(true);
  expect(output.failure?.message ?? null).toBe(isFailure ? code : null);
});

test('a text goes into a file completely, and a failure is kept', async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'out');
  const file = openSync(path, 'w');
  const output = outputTo(Object.assign(new PassThrough(), { fd: file }));

  await output.write('all of it\n');
  closeSync(file);
  await output.write('lost\n');

  expect(readFileSync(path, 'utf8')).toBe('all of it\n');
  expect(output.failure?.message).toContain('EBADF');
});

test.each([
  [{ isTTY: true, columns: 100 }, 100],
  [{ isTTY: true, columns: 5 }, 40],
  [{ isTTY: true }, 80],
  [{ columns: 100 }, null],
])('the width of %j is %j', (parts, width) => {
  const output = outputTo(Object.assign(new PassThrough(), parts));

  expect(output.width()).toBe(width);
  expect(output.isTerminal).toBe(width !== null);
});

test('a stream is that of systemd if systemd says so, and no other one is', () => {
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, 'log'), '');
  const file = openSync(join(folder.path, 'log'), 'r');
  const { dev, ino } = fstatSync(file, { bigint: true });
  const isSystemd = (): boolean => outputTo(Object.assign(new PassThrough(), { fd: file })).isSystemdStream;

  const without = isSystemd();
  vi.stubEnv('JOURNAL_STREAM', `${dev}:${ino}`);
  const own = isSystemd();
  vi.stubEnv('JOURNAL_STREAM', `${dev}:${ino + 1n}`);
  const other = isSystemd();
  closeSync(file);

  expect([without, own, other]).toEqual([false, true, false]);
});

test('an answer in pieces ends when its reader has gone', async () => {
  const taken: number[] = [];
  function* pieces(): Iterable<string> {
    for (let piece = 1; piece <= 1_000; piece += 1) {
      taken.push(piece);
      yield `${piece}\n`;
    }
  }

  await writeAll(
    collectingOutput(null, (text) => text.includes('3')),
    pieces(),
  );

  // The next piece is made before it is seen that nobody reads it.
  expect(taken).toEqual([1, 2, 3, 4]);
});

test('prose is wrapped to the terminal, and left as it is elsewhere', async () => {
  const [narrow, pipe] = [collectingOutput(40), collectingOutput()];
  const text = `${'word '.repeat(20).trim()}\n`;

  for (const output of [narrow, pipe]) await writeProse(output, text);

  expect(
    Math.max(
      ...narrow
        .text()
        .split('\n')
        .map(({ length }) => length),
    ),
  ).toBeLessThanOrEqual(40);
  expect(pipe.text()).toBe(text);
});

test.each([
  ['all of it', 9, 'all of it'],
  ['all of it', 8, null],
  ['', 0, ''],
])('an input %j of at most %i characters is read as %j', async (text, charsMax, expected) => {
  expect(await readAll(Readable.from([Buffer.from(text)]), charsMax)).toBe(expected);
});

test('a letter that comes in two pieces is one letter', async () => {
  const [first, second] = [Buffer.from('é').subarray(0, 1), Buffer.from('é').subarray(1)];

  expect(await readAll(Readable.from([first, second], { objectMode: false }), 10)).toBe('é');
});
