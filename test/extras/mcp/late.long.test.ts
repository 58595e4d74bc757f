/** A query of an agent that would never end is ended at its time limit, with its process. */
import { expect, test } from 'vitest';
import { startAgent } from '../../support/agent.ts';
import { makeWorkspace } from '../../support/child.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { runCli } from '../../support/session.ts';

test('an answer that takes too long is ended, and the next one comes', { timeout: 60_000 }, async () => {
  await using sandbox = await startTestSandbox({ tables: [{ name: 'Note', columns: [], rows: [] }] });
  using workspace = makeWorkspace(sandbox);
  await runCli(['pull'], workspace);
  await using agent = await startAgent(workspace.folder);
  const endless = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n';

  const late = await agent.call('query', { sql: endless });
  const next = await agent.call('query', { sql: 'SELECT 1' });

  expect(late).toMatchObject({ isError: true });
  expect(late.text).toMatch(/longer than 10 s/);
  expect(next.value).toMatchObject({ rows: [[1]] });
});
