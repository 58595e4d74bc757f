/**
 * Moving a replica aside for a new one: a script of the old one's edits is never overwritten.
 */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { moveAsideWithScript } from '../../../src/extras/backup/rebuild-command.ts';
import { startTwoWay } from '../../support/two-way.ts';

const STAMP = '20260601T120000Z';

test('two scripts of one second are both kept', async () => {
  await using fixture = await startTwoWay({});
  const moveAside = (line: string): string => {
    fixture.replica.close();
    const { scriptPath } = moveAsideWithScript(fixture.path, STAMP, (_path, write) => write(line));
    fixture.restart();
    return scriptPath ?? '';
  };

  const scripts = [moveAside('-- first'), moveAside('-- second')];

  expect(scripts.map((path) => readFileSync(path, 'utf8'))).toEqual(['-- first\n', '-- second\n']);
});
