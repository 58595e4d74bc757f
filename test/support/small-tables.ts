/** Tables of a few rows for tests of pulls, and both sides of one to compare. */
import type { ColumnSpec, TableSpec } from '../../src/sandbox/store/spec.ts';
import type { Fixture } from './replica.ts';

/** Numbered notes, with the times at which they were made. */
export function notes(count: number, name = 'Note'): TableSpec {
  const rows = Array.from({ length: count }, (_, index) => ({ Title: `note ${index + 1}` }));
  return { name, columns: [{ name: 'Title', type: 'Text' }], rows, createdFromMs: Date.UTC(2026, 0, 1) };
}

/** Three goods with a title and a price, without the times of rows. */
export function goods(name = 'Good', columns: readonly ColumnSpec[] = []): TableSpec {
  return {
    name,
    columns: [{ name: 'Title', type: 'Text' }, { name: 'Price', type: 'Numeric' }, ...columns],
    rows: [
      { Title: 'a', Price: 1 },
      { Title: 'b', Price: 2 },
      { Title: 'c', Price: 3 },
    ],
    systemColumns: false,
  };
}

/** A column in the replica and at the origin, by row id: what must be equal after a pull. */
export function sides(fixture: Fixture, table = 'Note', column = 'Title'): { here: unknown; there: unknown } {
  const there = fixture.sandbox.store.rows(table).map(({ id, values }) => ({ _id: id, [column]: values[column] }));
  return { here: fixture.rows(`SELECT _id, "${column}" FROM "${table}" ORDER BY _id`), there };
}
