/** A table of a sandbox with a name that needs quoting, and a look into the store past the sandbox. */
import Database from 'better-sqlite3';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import type { TestSandbox } from '../../support/sandbox.ts';

export const thing: TableSpec = {
  name: 'Big "Thing"',
  columns: [
    { name: 'A b', type: 'Text' },
    { name: 'N', type: 'Numeric' },
    { name: 'C', type: 'Checkbox' },
    { name: 'T', type: 'Timestamp' },
  ],
  rows: [{ 'A b': 'x', N: 7, C: true, T: '2026-01-01T00:00:00Z' }],
};

/** Reads the store as any other SQLite client would. */
export function look(sandbox: TestSandbox, query: string): readonly unknown[] {
  const client = new Database(sandbox.store.path, { readonly: true });
  try {
    return client.prepare(query).safeIntegers().all();
  } finally {
    client.close();
  }
}
