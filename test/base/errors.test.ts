/** What is thrown, as errors that say what to do. */
import { expect, test } from 'vitest';
import { asRowsyncError } from '../../src/base/errors.ts';

test.each([
  ['EMFILE', 'system.descriptors'],
  ['ENFILE', 'system.descriptors'],
  ['ERR_MODULE_NOT_FOUND', 'system.installation'],
  ['MODULE_NOT_FOUND', 'system.installation'],
  ['EOTHER', 'bug.assertion'],
])('%s is %s', (code, expected) => {
  const error = asRowsyncError(Object.assign(new Error('open'), { code }));

  expect(error.code).toBe(expected);
  expect(error.hint).not.toBe('');
});
