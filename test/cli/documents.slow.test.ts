/** The queries that the documents for users show, asked of the sample data. */
import { expect, test } from 'vitest';
import { makeWorkspace } from '../support/child.ts';
import { blocks } from '../support/documents.ts';
import { startTestSandbox } from '../support/sandbox.ts';
import { runCli } from '../support/session.ts';

/** The queries that the sample data can answer. */
function queries(): readonly string[] {
  const statements = blocks('sql').flatMap(({ code }) =>
    code.split(/;\n/).filter((statement) => statement.trim() !== ''),
  );
  const quoted = blocks('sh').flatMap(({ code }) => [
    ...code.matchAll(/rowsync sql (?:--\S+ (?:csv )?)?(['"])(.+?)\1/g),
  ]);
  return [...statements, ...quoted.map((match) => match[2] ?? '')];
}

test('every query that is shown runs on the sample data', async () => {
  await using sandbox = await startTestSandbox();
  using workspace = makeWorkspace(sandbox);
  await runCli(['pull'], workspace);

  const answers = [];
  for (const sql of queries()) answers.push({ sql, stderr: (await runCli(['sql', sql], workspace)).stderr });

  expect(answers.length).toBeGreaterThan(8);
  expect(answers.filter(({ stderr }) => stderr !== '')).toEqual([]);
}, 60_000);
