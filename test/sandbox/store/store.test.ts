import { expect, test } from 'vitest';
import { startTestSandbox } from '../../support/sandbox.ts';
import { call } from '../client.ts';
import { thing } from './thing.ts';

test('undoes several changes as one when a later one fails', async () => {
  await using sandbox = await startTestSandbox({ tables: [thing] });
  const before = await call(sandbox, `${sandbox.store.table(thing.name).alias}/select.json`);

  expect(() => {
    sandbox.store.change(() => {
      sandbox.store.insert(thing.name, {});
      sandbox.store.addColumn(thing.name, { name: 'New', type: 'Text' });
      sandbox.store.insert(thing.name, { Nope: 1 });
    });
  }).toThrow(/has a column "Nope"/);

  const after = await call(sandbox, `${sandbox.store.table(thing.name).alias}/select.json`);
  expect(after.text).toBe(before.text);
  expect(sandbox.store.insert(thing.name, {})).toBe(2);
});
