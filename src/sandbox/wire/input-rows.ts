/**
 * Reads the rows of a write from JSON or XML (specification 2.5, 4.6; origin facts 7.4 and 7.5).
 *
 * A JSON body is an array of objects, or one bare object for a single row. Of two equal keys in one object the last
 * counts, as with every JSON parser in use. Fields that begin with `@row.` other than `@row.id` are ignored, so that a
 * row can be sent back as it was read. Faults of a body are values, because the sandbox answers them.
 */
import { ExactNumber, parseExactJson } from '../../wire/exact-json.ts';
import { WireFault } from '../../wire/fault.ts';
import { describeKind, isObject } from '../../wire/json.ts';
import { rowIdFrom } from '../../wire/writes.ts';
import { isNil } from '../../wire/xml.ts';
import { nameFromElement } from '../../wire/xml-names.ts';
import { attributeOf, readXml, type XmlElement } from '../../wire/xml-tree.ts';

/** One row of a write as it came: what its values mean depends on the columns, which the reader does not know. */
export interface InputRow {
  /** `@row.id`, or the attribute `id`; null where none was given. */
  readonly id: number | null;
  /** Raw values by column name or alias, in the order they came; the format's `inputReader` reads them. */
  readonly cells: ReadonlyMap<string, unknown>;
}

/** The deepest value that a cell may hold; a column's value is never nested, so this only bounds the work. */
const CELL_DEPTH_MAX = 8;

/** Reads the rows of a JSON body. */
export function readInputRows(text: string): readonly InputRow[] | WireFault {
  let json: unknown;
  try {
    json = parseExactJson(text);
  } catch (error) {
    return new WireFault(`The body is not complete JSON${placeOf(error)}`);
  }
  const items: readonly unknown[] = Array.isArray(json) ? json : [json];
  const rows: InputRow[] = [];
  for (const [index, item] of items.entries()) {
    const row = readJsonRow(item, index + 1);
    if (row instanceof WireFault) return row;
    rows.push(row);
  }
  return rows;
}

/** The place that V8 names; the rest of its message quotes the body. */
function placeOf(error: unknown): string {
  const place = /\(line (\d+) column (\d+)\)/.exec(error instanceof Error ? error.message : '');
  return place === null ? '' : ` (line ${place[1]}, column ${place[2]})`;
}

function readJsonRow(item: unknown, number: number): InputRow | WireFault {
  if (!isObject(item)) return new WireFault(`Row ${number} of the body is ${describeKind(item)}, not an object`);
  const cells = new Map<string, unknown>();
  let id: number | null | undefined = null;
  for (const [name, value] of Object.entries(item)) {
    if (name === '@row.id') {
      id = value === null ? null : rowIdFrom(value);
    } else if (!name.startsWith('@row.')) {
      if (!isShallow(value, CELL_DEPTH_MAX)) return new WireFault(`Row ${number} of the body nests values too deeply`);
      cells.set(name, value);
    }
  }
  if (id === undefined) return new WireFault(`"@row.id" of row ${number} is not an integer`, { source: '@row.id' });
  return { id, cells };
}

function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return true;
  return depth > 0 && Object.values(value).every((inner) => isShallow(inner, depth - 1));
}

/** Reads the rows of a write: elements of the second level are rows, of the third cells; of equal names the last. */
export function readXmlInputRows(text: string): readonly InputRow[] | WireFault {
  const root = readXml(text);
  if (root instanceof WireFault) return root;
  if (isText(root)) return new WireFault('The root element of the body holds text instead of rows');
  const rows: InputRow[] = [];
  for (const [index, element] of root.children.entries()) {
    const row = readXmlRow(element, index + 1);
    if (row instanceof WireFault) return row;
    rows.push(row);
  }
  return rows;
}

function isText({ children, text }: XmlElement): boolean {
  return children.length === 0 && text.trim() !== '';
}

function readXmlRow(row: XmlElement, number: number): InputRow | WireFault {
  if (isText(row)) return new WireFault(`Row ${number} of the body holds text instead of columns`);
  const idText = attributeOf(row, 'id') ?? '';
  const id = idText === '' ? null : rowIdFrom(idText);
  if (id === undefined) return new WireFault(`The attribute "id" of row ${number} is not an integer`, { source: 'id' });
  const cells = new Map<string, string | null>();
  for (const cell of row.children) {
    if (cell.children.length > 0) return new WireFault(`Row ${number} of the body has a column that holds elements`);
    cells.set(nameFromElement(cell.name), cell.text === '' || isNil(cell) ? null : cell.text);
  }
  return { id, cells };
}
