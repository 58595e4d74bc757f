import { expect, test } from 'vitest';
import { maskedValue } from '../../../src/sandbox/store/replica-mask.ts';

test.each([
  [{ name: 'Mail', type: 'EMail' }, 'row7@example.invalid'],
  [{ name: 'Owner', type: 'User' }, 'Person 7 <row7@example.invalid>'],
  [{ name: 'Site', type: 'URL' }, 'https://example.invalid/7'],
  [{ name: 'Name', type: 'Text' }, 'Name 7'],
  [{ name: 'Phone', type: 'Phone', width: 6 }, '7'],
  [{ name: 'No', type: 'Autonumber', width: 4 }, 'No 7'],
  [{ name: 'Salary', type: 'Numeric' }, null],
  [{ name: 'Born', type: 'Date' }, null],
  [{ name: 'Scan', type: 'Attachment' }, null],
])('%j is shown as %j in the row 7', (column, value) => {
  expect(maskedValue(column, 7)).toBe(value);
});

test('texts of a narrow column stay different from row to row', () => {
  const column = { name: 'A long name', type: 'Text', width: 3 };

  expect(new Set([1, 22, 333].map((id) => maskedValue(column, id))).size).toBe(3);
});
