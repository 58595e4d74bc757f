/**
 * The tables of the sandbox that the contract suite starts. Every type of the specification with and without a value,
 * names that need escaping, enough rows for two pages. Produces table specs.
 */
import type { Cells, TableSpec } from '../../src/sandbox/store/spec.ts';

/** The table that is only read. */
export const READ_TABLE = 'Order/Line 50%';
/** The table that is written to. */
export const WRITE_TABLE = 'Contact';

const ROW_COUNT = 620;

/** Specs for `startSandbox`. */
export function contractTables(): readonly TableSpec[] {
  return [
    {
      name: READ_TABLE,
      columns: [
        { name: 'Title', type: 'Text', options: ['AllowFind'] },
        { name: 'Notes & "more"', type: 'Multiline' },
        { name: 'Paid', type: 'Checkbox' },
        { name: 'Price', type: 'Numeric' },
        { name: 'Day', type: 'Date' },
        { name: 'Hour', type: 'Time' },
        { name: 'Seen at', type: 'Timestamp' },
        { name: 'Took', type: 'Duration' },
        { name: 'Agent', type: 'User' },
        { name: 'Call', type: 'Phone' },
        { name: 'Mail', type: 'EMail' },
        { name: 'Page', type: 'URL' },
        { name: 'Full title', type: 'Text', computed: { how: 'join', columns: ['Title', 'Call'] } },
        { name: 'Scan', type: 'Attachment', options: ['AllowSeeRevisionHistory'] },
      ],
      rows: Array.from({ length: ROW_COUNT }, (_, index) => rowOf(index)),
    },
    {
      name: WRITE_TABLE,
      columns: [
        { name: 'Name', type: 'Text', options: ['Required'], width: 40 },
        { name: 'Code', type: 'Text', options: ['Required'], width: 60 },
        { name: 'External Id', type: 'Text', options: ['Unique'] },
        { name: 'Notes', type: 'Multiline' },
        { name: 'Active', type: 'Checkbox' },
        { name: 'Balance', type: 'Numeric' },
        { name: 'Born', type: 'Date' },
        { name: 'Wakes', type: 'Time' },
        { name: 'Met', type: 'Timestamp' },
        { name: 'Waited', type: 'Duration' },
        { name: 'Photo', type: 'Attachment', options: ['AllowSeeRevisionHistory'] },
      ],
      rows: [{ Name: 'Ada', Code: 'a', 'External Id': 'a-1' }],
    },
  ];
}

/** Every fifth row is empty but for its title, which repeats, so that a sort by it has ties. */
function rowOf(index: number): Cells {
  const title = `Line ${String(index % 100).padStart(3, '0')}`;
  if (index % 5 === 4) return { Title: title };
  return {
    Title: title,
    'Notes & "more"': `one\ntwo <${index}>`,
    Paid: index % 2 === 0,
    Price: index / 4,
    Day: '2024-02-29',
    Hour: '23:59:58',
    'Seen at': `2026-07-${String((index % 28) + 1).padStart(2, '0')}T12:00:00Z`,
    Took: 90 * index,
    Agent: 'Ann Lee <ann@example.com>',
    Call: `+33 ${index}`,
    Mail: 'ann@example.com',
    Page: 'https://example.com/?a=b&c=d',
    ...(index < 3
      ? { Scan: { name: `scan;${index}.txt`, mediaType: 'text/plain', bytes: Buffer.from(`scan ${index}`) } }
      : {}),
  };
}
