/** A table with a column of every type and rule that writes care about, and two rows. */
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { testClock } from '../support/clock.ts';
import { startTestSandbox, type TestSandbox } from '../support/sandbox.ts';
import { post } from './client.ts';

/** Columns in the order of their aliases, from `f_2445930` for Id. */
export const people: TableSpec = {
  name: 'Person',
  columns: [
    { name: 'Name', type: 'Text', width: 10, options: ['Required'] },
    { name: 'E-Mail', type: 'EMail', options: ['Unique'] },
    { name: 'Notes', type: 'Multiline' },
    { name: 'Active', type: 'Checkbox', defaultValue: true },
    { name: 'Score', type: 'Numeric', defaultValue: 7 },
    { name: 'Born', type: 'Date' },
    { name: 'Alarm', type: 'Time' },
    { name: 'Seen', type: 'Timestamp' },
    { name: 'Took', type: 'Duration' },
    { name: 'Boss', type: 'User' },
    { name: 'Frozen', type: 'Text', readOnly: true, defaultValue: 'ice' },
    { name: 'Photo', type: 'Attachment' },
    { name: 'Label', type: 'Text', computed: { how: 'join', columns: ['Name', 'E-Mail'] } },
  ],
  rows: [
    { Name: 'Ada', 'E-Mail': 'ada@example.org', Score: 1 },
    { Name: 'Bob', 'E-Mail': 'bob@example.org', Score: 2 },
  ],
};

/** A sandbox at 2026-01-01T00:00:00Z. */
export function startPeople(tables: readonly TableSpec[] = [people]): Promise<TestSandbox> {
  return startTestSandbox({ tables, clock: testClock() });
}

/** Sends rows as JSON and reads the statuses; the call itself must succeed. */
export async function statuses(sandbox: TestSandbox, path: string, rows: unknown): Promise<readonly unknown[]> {
  const answer = await post(sandbox, path, rows);
  if (answer.status !== 200) throw new Error(`${path} was answered ${answer.status}: ${answer.text}`);
  return JSON.parse(answer.text) as unknown[];
}
