/**
 * `rowsync check --bundle`: canaries in every place that is private, and none of them in the file.
 */
import { readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { makeWorkspace } from '../../support/child.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { runCli } from '../../support/session.ts';
import { NOTE } from '../../support/two-way.ts';

const CONFIG = `tables: { Note: { push: true, match: Code, rows: '[Title] <> "canary-filter"' } }
notify: { command: [/usr/bin/canary-command], webhook: "https://canary-host.example/canary-path" }
schedule: { pull: "*/7 * * * *" }
limits: { concurrency: 3 }
`;

test('says how things are, and no value, secret, address or path', async () => {
  const title = 'canary-value';
  const rows = [
    { Title: title, Code: 'canary-code' },
    { Title: 'b', Code: 'b' },
  ];
  await using sandbox = await startTestSandbox({ tables: [{ ...NOTE, rows }] });
  using workspace = makeWorkspace(sandbox, CONFIG);
  const { folder } = workspace;
  expect((await runCli(['pull'], { folder })).exitCode).toBe(0);
  const db = new Database(join(folder, 'replica.db'));
  db.exec(`UPDATE "Note" SET "Title" = 'canary-edit' WHERE _id = 1;
    INSERT INTO "Note" ("Title", "Code") VALUES ('canary-new', 'b')`);
  db.close();
  // One row is refused: what the origin says of it quotes the value.
  await runCli(['push'], { folder });

  const written = await runCli(['check', '--bundle', 'support.json'], { folder });
  const again = await runCli(['check', '--bundle', 'support.json'], { folder });

  expect([written.exitCode, written.stderr]).toEqual([0, '']);
  expect(written.stdout).toContain('Read it before you send it');
  expect([again.exitCode, again.stderr]).toEqual([2, expect.stringContaining('does not exist yet')]);
  const path = join(folder, 'support.json');
  const text = readFileSync(path, 'utf8');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  for (const secret of ['canary', sandbox.token, sandbox.url, basename(folder), 'example.org', sandbox.user.email])
    expect(text).not.toContain(secret);
  expect(JSON.parse(text)).toMatchObject({
    configuration: {
      origin: { database: '(a number)' },
      tables: { Note: { push: true, match: '(4 characters)' } },
      schedule: { pull: '*/7 * * * *' },
      limits: { concurrency: 3 },
    },
    tables: [{ table: 'Note', state: 'steady', rows: 2 }],
    failures: [{ table: 'Note', count: 1 }],
    runs: [{ kind: 'push' }, { kind: 'pull', outcome: 'done', inserted: 2 }],
    problems: [{ table: 'Note', count: 1 }],
  });
});

test('works without a replica, and says that there is none', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using workspace = makeWorkspace(sandbox);
  const { folder } = workspace;

  expect((await runCli(['check', '--bundle', 'support.json'], { folder })).exitCode).toBe(0);

  const bundle: unknown = JSON.parse(readFileSync(join(folder, 'support.json'), 'utf8'));
  expect(bundle).toMatchObject({ sizes: { replica: null }, problems: [{ code: 'replica.unpulled' }] });
});
