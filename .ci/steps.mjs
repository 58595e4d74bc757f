/**
 * Runs commands one after the other until one fails, and prints `N passed, N failed` at the end. A command counts as one, and those that run tests as
 * often as vitest says.
 */
import { spawn } from 'node:child_process';
import process from 'node:process';

/**
 * Runs a command with its output on ours; returns whether it succeeded, and its output.
 *
 * @param {string} command
 * @returns {Promise<{ ok: boolean, output: string }>}
 */
function run(command) {
  return new Promise((resolve) => {
    const child = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      output += text;
      process.stdout.write(text);
    });
    child.on('close', (code) => resolve({ ok: code === 0, output }));
  });
}

/**
 * @param {readonly string[]} commands
 */
async function main(commands) {
  let total = 0;
  for (const command of commands) {
    process.stdout.write(`\n== ${command}\n`);
    const { ok, output } = await run(command);
    // The closing line of vitest, such as `Tests  1 failed | 350 passed | 2 skipped (353)`.
    const closing = output.match(/^ *Tests  .*$/gm)?.at(-1) ?? '';
    const [passed, failed] = ['passed', 'failed'].map((word) => Number(closing.match(`(\\d+) ${word}`)?.[1] ?? 0));
    const hasTests = /\btest\b/.test(command);
    if (hasTests) total += passed;
    if (!ok || failed > 0 || (hasTests && passed === 0)) return { passed: total, failed: Math.max(failed, 1) };
    if (!hasTests) total += 1;
  }
  return { passed: total, failed: 0 };
}

const { passed, failed } = await main(process.argv.slice(2));
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
