/**
 * Asks a person at a terminal, one line each. Questions go to stderr, so that stdout stays for results. A hidden
 * answer is never echoed and never kept.
 */
import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import { RowsyncError, usageError } from '../../base/errors.ts';
import { writeProse, type Session } from '../../cli/terminal/session.ts';
import { printable } from '../../base/text.ts';

export class Prompter {
  readonly #stderr: Session['stderr'];
  readonly #lines: Interface;
  /** What is typed ahead waits in it. */
  readonly #answers: NodeJS.AsyncIterator<string>;
  #isHidden = false;
  #isClosed = false;

  constructor({ stdin, stderr, stopSignal }: Pick<Session, 'stdin' | 'stderr' | 'stopSignal'>) {
    this.#stderr = stderr;
    const echo = new Writable({
      write: (chunk: unknown, _encoding, done) => {
        if (!this.#isHidden) stderr.stream.write(chunk);
        done();
      },
    });
    // Terminal mode takes the echo from the terminal and gives it to us.
    const signal = stopSignal(); // SIGTERM ends the input
    this.#lines = createInterface({ input: stdin, output: echo, terminal: true, historySize: 0, signal });
    this.#answers = this.#lines[Symbol.asyncIterator]();
    this.#lines.on('close', () => {
      this.#isClosed = true;
    });
  }

  /** The trimmed answer, or `preset` for an empty one. Asks again until `complain` has nothing to say. */
  async ask(
    question: string,
    { preset = '', complain = () => null }: { preset?: string; complain?: (answer: string) => string | null } = {},
  ): Promise<string> {
    // Ends with an answer that is accepted, or with the input.
    for (;;) {
      const prompt = `${printable(question)}${preset === '' ? '' : ` [${printable(preset)}]`}: `;
      if (this.#isClosed) await this.#stderr.write(prompt); // what was typed ahead still counts
      else {
        this.#lines.setPrompt(prompt);
        this.#lines.prompt();
      }
      const answer = (await this.#next()).trim() || preset;
      const complaint = complain(answer);
      if (complaint === null) return answer;
      await this.say(complaint);
    }
  }

  /** An answer that is not shown; null if it is empty. */
  async askHidden(question: string): Promise<string | null> {
    this.#isHidden = true; // before the question, since some type fast
    await this.#stderr.write(`${question}: `);
    try {
      return (await this.#next()).trim() || null;
    } finally {
      this.#isHidden = false;
      await this.#stderr.write('\n');
    }
  }

  async say(line: string): Promise<void> {
    await writeProse(this.#stderr, `${printable(line)}\n`);
  }

  /** Gives the terminal back. */
  [Symbol.dispose](): void {
    this.#lines.close();
  }

  async #next(): Promise<string> {
    const { value, done } = await this.#answers.next();
    if (done === true) throw ended();
    return value;
  }
}

/** Whether a person says yes. Enter, Ctrl-C, SIGTERM and the end of the input are a no. */
export async function isAgreed(
  session: Pick<Session, 'stdin' | 'stderr' | 'stopSignal'>,
  question: string,
): Promise<boolean> {
  using prompter = new Prompter(session);
  try {
    return /^y(?:es)?$/i.test(await prompter.ask(`${question} (yes or no)`, { preset: 'no' }));
  } catch (thrown) {
    if (!(thrown instanceof RowsyncError)) throw thrown;
    await prompter.say(''); // they leave the cursor behind the question
    return false;
  }
}

function ended(): RowsyncError {
  return usageError(
    'The input ended before all questions were answered; nothing was written',
    'Run it again, or give the answers as options: rowsync init --help.',
  );
}
