import { expect, test } from 'vitest';
import { startTestSandbox } from '../../support/sandbox.ts';
import { look } from './thing.ts';

test('keeps the bytes of files, one revision after another', async () => {
  const file = (text: string): { name: string; mediaType: string; bytes: Buffer } => ({
    name: 'a;b.txt',
    mediaType: 'text/plain',
    bytes: Buffer.from(text),
  });
  await using sandbox = await startTestSandbox({
    tables: [{ name: 'T', columns: [{ name: 'F', type: 'Attachment' }], rows: [{ F: file('one') }] }],
  });

  sandbox.store.update('T', 1, { F: file('two') });

  expect(sandbox.store.rows('T')[0]?.values['F']).toMatch(/^a;b\.txt;2;[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  expect(look(sandbox, 'SELECT revision, CAST(bytes AS TEXT) AS text FROM _sandbox_files ORDER BY revision')).toEqual([
    { revision: 1n, text: 'one' },
    { revision: 2n, text: 'two' },
  ]);
});
