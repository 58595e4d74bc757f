/** A column as the origin describes it: a text that may be written, unless told otherwise. */
import type { ColumnDescriptor } from '../../src/wire/schema.ts';

export function describedColumn(name: string, change: Partial<ColumnDescriptor> = {}): ColumnDescriptor {
  return {
    id: 1,
    name,
    alias: name,
    type: 'Text',
    dataOptions: [],
    displayOptions: [],
    width: null,
    kind: 'Updatable',
    readOnly: false,
    other: {},
    ...change,
  };
}
