/**
 * `rowsync sink` without a server: which tables its words name.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { EXIT } from '../../../src/base/errors.ts';
import { takeLock } from '../../../src/replica/lock.ts';
import { makeWorkspace } from '../../support/child.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { runCli } from '../../support/session.ts';
import { NOTE } from '../../support/two-way.ts';

test('a table of a sink goes by its name here or at the origin', async () => {
  await using sandbox = await startTestSandbox({ tables: [{ ...NOTE, name: 'Long Note' }] });
  using made = makeWorkspace(sandbox);
  const { folder } = made;
  writeFileSync(join(folder, 'server.url'), 'postgresql://nobody@127.0.0.1:1/none', { mode: 0o600 });
  writeFileSync(
    join(folder, 'rowsync.yaml'),
    JSON.stringify({
      origin: { url: sandbox.url, database: sandbox.database, tokenFile: 'token' },
      replica: { path: 'replica.db', names: 'snake' },
      sinks: { warehouse: { postgres: { urlFile: 'server.url', schema: 'crm' } } },
    }),
  );
  await runCli(['pull'], { folder });
  const codeOf = async (name: string): Promise<unknown> => {
    const { stderr } = await runCli(['sink', 'load', name, '--json'], { folder });
    return (JSON.parse(stderr) as { error: { code: string } }).error.code;
  };

  const codes = [await codeOf('long_note'), await codeOf('Long Note'), await codeOf('Note')];

  expect(codes).toEqual(['sink.unreachable', 'sink.unreachable', 'usage.invalid']);
});

test.each([
  ['no sink', {}],
  ['other sinks', { lake: { postgres: { urlFile: 'server.url', schema: 'lake' } } }],
])('a load is not said to come from a daemon that knows %s', async (_what, known) => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using made = makeWorkspace(sandbox);
  const { folder } = made;
  writeFileSync(join(folder, 'server.url'), 'postgresql://nobody@127.0.0.1:1/none', { mode: 0o600 });
  const configure = (sinks: object): void =>
    writeFileSync(
      join(folder, 'rowsync.yaml'),
      JSON.stringify({
        origin: { url: sandbox.url, database: sandbox.database, tokenFile: 'token' },
        replica: { path: 'replica.db' },
        sinks,
      }),
    );
  configure(known);
  await runCli(['pull'], { folder });
  configure({ ...known, warehouse: { postgres: { urlFile: 'server.url', schema: 'crm' } } });
  const lock = takeLock(join(folder, 'replica.db'), 0o600);

  const { exitCode, stdout, stderr } = await runCli(['sink', 'load', '--sink', 'warehouse'], { folder });
  lock.close();

  expect(stdout).toBe('');
  expect(exitCode).toBe(EXIT.usage);
  expect(stderr).toContain('does not know the sink warehouse yet');
});

test('a load that is left to the daemon is said in JSON, too', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using made = makeWorkspace(sandbox, 'sinks: { warehouse: { postgres: { urlFile: server.url, schema: crm } } }\n');
  const { folder } = made;
  writeFileSync(join(folder, 'server.url'), 'postgresql://nobody@127.0.0.1:1/none', { mode: 0o600 });
  await runCli(['pull'], { folder });
  const lock = takeLock(join(folder, 'replica.db'), 0o600);

  const { exitCode, stdout } = await runCli(['sink', 'load', 'Note', '--json'], { folder });
  lock.close();

  expect(exitCode).toBe(EXIT.done);
  expect(JSON.parse(stdout)).toEqual({ requested: ['Note'] });
});
