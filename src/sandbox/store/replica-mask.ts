/**
 * What the sandbox puts in place of a masked value. It is made of the name of the column and the id of the row alone,
 * so no byte of the value is in it. Texts are made up, since required and unique columns need one; values of other
 * types are left out.
 */
import { columnType, type Value } from '../../wire/schema.ts';
import type { ColumnSpec } from './spec.ts';

/** The value of a masked column in a row. */
export function maskedValue({ name, type, width }: ColumnSpec, id: number): Value {
  switch (columnType(type)) {
    case 'EMail':
      return `row${id}@example.invalid`;
    case 'User':
      return `Person ${id} <row${id}@example.invalid>`;
    case 'URL':
      return `https://example.invalid/${id}`;
    case 'Text':
    case 'Phone':
    case 'Multiline':
    case 'Autonumber':
    case 'Unknown': {
      const text = `${name} ${id}`;
      return width === undefined || text.length <= width ? text : String(id).slice(-width);
    }
    default:
      return null;
  }
}
