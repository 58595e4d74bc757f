/** `--fresh` and `--moment` are added to the commands that there are. */
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { addFreshOptions } from '../../../src/extras/fresh/options.ts';

/** A program with these commands, and the options of the one that was called. */
function programOf(...names: readonly string[]) {
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  for (const name of names)
    program
      .command(name)
      .exitOverride()
      .configureOutput({ writeErr: () => undefined });
  addFreshOptions(program);
  return (...words: readonly string[]): unknown => {
    program.parse(words, { from: 'user' });
    return program.commands.find((command) => command.name() === words[0])?.opts();
  };
}

test('questions take an age or a moment, never both', () => {
  for (const name of ['sql', 'export']) {
    expect(programOf('sql', 'export')(name, '--fresh', '10m')).toEqual({ fresh: '10m' });
    expect(programOf('sql', 'export')(name, '--moment')).toEqual({ moment: true });
    expect(() => programOf('sql', 'export')(name, '--moment', '--fresh', '10m')).toThrow('cannot be used with');
  }
});

test('pulls and backups take a moment alone; commands that are not there are left out', () => {
  expect(programOf('pull', 'backup')('pull', '--moment')).toEqual({ moment: true });
  expect(programOf('pull', 'backup')('backup', '--moment')).toEqual({ moment: true });
  expect(() => programOf('pull')('pull', '--fresh', '10m')).toThrow('unknown option');
  expect(() => programOf('push')('push', '--moment')).toThrow('unknown option');
});
