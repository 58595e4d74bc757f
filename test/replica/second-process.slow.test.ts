/**
 * A second process on the same replica: it is refused until the first has ended, however that ends, and readers are
 * served meanwhile.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { openReplica } from '../../src/replica/database.ts';
import { makeWorkspace, runRowsync } from '../support/child.ts';
import { startPull } from '../support/pull-process.ts';
import { startFixture, temporaryFolder } from '../support/replica.ts';

const JOB = { url: 'http://127.0.0.1:9', database: '1', token: 'x', pageRows: 5, concurrency: 1, hold: true };

test('is told to come back later, and gets in at once when the first was killed', async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  const holder = startPull({ ...JOB, path });
  await holder.said('ready');
  holder.go();
  await holder.said('open');

  const other = startPull({ ...JOB, path });
  await other.said('ready');
  other.go();
  const outcome = await other.ended;
  const opening = (): void => openReplica(path, { clock: systemClock }).close();

  expect(opening).toThrow(expect.objectContaining({ code: 'replica.inUse', exitCode: 75 }));
  expect(opening).toThrow(path);
  expect(outcome).toEqual({ codes: ['replica.inUse'], exitCode: 75 });

  holder.kill();
  await holder.ended;

  expect(opening).not.toThrow();
});

test('ends with exit code 75 on the command line, while readers are served', async () => {
  await using fixture = await startFixture({ tables: [{ name: 'Note', columns: [{ name: 'Title', type: 'Text' }] }] });
  await fixture.pull();
  using workspace = makeWorkspace(fixture.sandbox, '');
  const config = join(workspace.folder, 'rowsync.yaml');
  writeFileSync(config, readFileSync(config, 'utf8').replace('path: replica.db', `path: ${fixture.path}`));

  const refused = await runRowsync(['pull'], { folder: workspace.folder });
  const status = await runRowsync(['status'], { folder: workspace.folder });

  expect(refused).toMatchObject({ exitCode: 75 });
  expect(refused.stderr).toContain('Another rowsync process works on');
  expect(status).toMatchObject({ exitCode: 0 });
});
