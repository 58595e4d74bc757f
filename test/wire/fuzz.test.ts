/**
 * Random and damaged input to everything that reads bytes of strangers: the result is a value or a fault, nothing else
 * is thrown, and nothing hangs. FUZZ_RUNS asks for a longer run (test/support/fuzz.ts).
 */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { RowsyncError } from '../../src/base/errors.ts';
import { WireFault } from '../../src/wire/fault.ts';
import { FORMATS } from '../support/formats.ts';
import { COLUMN_TYPES } from '../../src/wire/schema.ts';
import { readXml, type XmlElement } from '../../src/wire/xml-tree.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import * as golden from '../fixtures/wire/documents.ts';
import { MultipartReader } from '../../src/sandbox/wire/multipart.ts';
import { readWriteBody } from '../../src/sandbox/wire/write-body.ts';

const XML_SEEDS = [
  golden.DATABASE_XML,
  golden.TABLE_XML,
  golden.USER_XML,
  golden.ROWS_XML,
  golden.STATUSES_XML,
  golden.DELETES_XML,
  golden.ATTACHMENTS_XML,
  golden.ERROR_XML,
  golden.OUTGOING_XML,
];
const XML_TOKENS = [
  '<',
  '>',
  '/',
  '</',
  '/>',
  '<!--',
  '-->',
  '<![CDATA[',
  ']]>',
  '<?',
  '?>',
  '<!DOCTYPE a>',
  '&',
  ';',
  '&amp;',
]
  .concat(['&#0;', '&#x41;', '"', "'", '=', ' ', '\r\n', '\0', '\ud800', '<a>', '</a>', '<a b="c"/>', ' i:nil="true"'])
  .concat(['_x0041_', '__proto__', '1e400', '<row id="1">', '</row>', '</Response>']);
const JSON_SEEDS = [
  golden.OUTGOING_JSON,
  golden.ROWS_JSON,
  golden.STATUSES_JSON,
  golden.DELETES_JSON,
  golden.ATTACHMENTS_JSON,
];
const JSON_TOKENS = [
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '"',
  '\\',
  '\\u0000',
  '1e999',
  '-',
  '0.1',
  '12345678901234567890',
  'null',
  'true',
].concat(['{"__proto__":1}', '"@row.id":', '"@row.type":1,', ' ', '\0', '\ud800', '[[[[[[[[[[', ']]]]]]]]]]']);
const BOUNDARY = 'b-1';
const PART_SEEDS = [
  `--b-1\r\nContent-Type: application/json\r\n\r\n[{"A":"cid:1"}]\r\n--b-1\r\nContent-Disposition: x; filename*=UTF-8''%41\r\nContent-ID: 1\r\n\r\nPNG\r\n--b-1--`,
  `--b-1\r\nContent-Type: text/xml\r\n\r\n<r><r><A>x</A></r></r>\r\n--b-1--\r\n`,
];
const PART_TOKENS = [
  '\r\n',
  '\r',
  '\n',
  '--',
  '--b-1',
  '\r\n--b-1',
  '\r\n\r\n',
  ':',
  ';',
  '"',
  'Content-ID: 1\r\n',
  'filename="',
  '%',
  '\0',
  '\xff',
];

/** A document with up to six places damaged: a token put in, a stretch cut out, the rest cut off. */
function damaged(seeds: readonly string[], tokens: readonly string[]): fc.Arbitrary<string> {
  const damage = fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    cutCount: fc.oneof(fc.integer({ min: 0, max: 8 }), fc.constant(1e9)),
    token: fc.oneof(fc.constantFrom('', ...tokens), fc.string({ maxLength: 3, unit: 'binary' })),
  });
  return fc.tuple(fc.constantFrom(...seeds), fc.array(damage, { maxLength: 6 })).map(([seed, damages]) => {
    let text = seed;
    for (const { at, cutCount, token } of damages) {
      const index = Math.floor(at * text.length);
      text = text.slice(0, index) + token + text.slice(index + cutCount);
    }
    return text;
  });
}

function soup(tokens: readonly string[]): fc.Arbitrary<string> {
  const token = fc.oneof(fc.constantFrom(...tokens), fc.string({ maxLength: 4, unit: 'binary' }));
  return fc.array(token, { maxLength: 30 }).map((pieces) => pieces.join(''));
}

const xmlText = fc.oneof(
  damaged(XML_SEEDS, XML_TOKENS),
  soup(XML_TOKENS),
  soup(XML_TOKENS).map((text) => `<r><r>${text}</r></r>`),
);
const jsonText = fc.oneof(damaged(JSON_SEEDS, JSON_TOKENS), soup(JSON_TOKENS), fc.json());
const partsText = fc.oneof(
  damaged(PART_SEEDS, PART_TOKENS),
  soup(PART_TOKENS),
  soup(PART_TOKENS).map((text) => `--b-1\r\n${text}`),
);

/** How reading ended: in a value, or in the kind of our error; anything else that is thrown fails the test. */
function endOf(read: () => unknown): string {
  try {
    read();
    return 'value';
  } catch (error) {
    if (error instanceof RowsyncError) return error.kind;
    throw error;
  }
}

function isTree(element: XmlElement, depth: number): boolean {
  return depth <= 16 && element.text.isWellFormed() && element.children.every((child) => isTree(child, depth + 1));
}

const RUNS = fuzzRuns(1_000);
const TEST_MS_MAX = Math.max(30_000, RUNS.numRuns * 20);

test('the XML reader gives a tree of well-formed text or a fault', { timeout: TEST_MS_MAX }, () => {
  fc.assert(
    fc.property(xmlText, (text) => {
      const root = readXml(text);

      expect(root instanceof WireFault || isTree(root, 1)).toBe(true);
    }),
    RUNS,
  );
});

test.each(['json', 'xml'] as const)(
  'the readers of %s answers give a value or one of our errors',
  { timeout: TEST_MS_MAX },
  (extension) => {
    const format = FORMATS[extension];
    fc.assert(
      fc.property(extension === 'json' ? jsonText : xmlText, (text) => {
        const ends = [
          endOf(() => format.readDatabase(text, 'describe')),
          endOf(() => format.readTable(text, 'describe')),
          endOf(() => format.readUser(text, 'user')),
          endOf(() => format.readRows(text, golden.ROW_COLUMNS, 'select')),
          endOf(() => format.readStatuses(text, 1, 'upsert')),
          endOf(() => format.readAttachments(text, 'attachments')),
        ];

        expect(ends.filter((end) => end !== 'value' && end !== 'wireFormat')).toEqual([]);
        expect(endOf(() => format.readError(text))).toBe('value');
      }),
      RUNS,
    );
  },
);

test.each(['json', 'xml'] as const)(
  'the reader of %s rows gives rows or a fault, and their values read',
  { timeout: TEST_MS_MAX },
  (extension) => {
    const format = FORMATS[extension];
    const readers = COLUMN_TYPES.map((type) => format.inputReader(type, 'Europe/Paris'));
    fc.assert(
      fc.property(extension === 'json' ? jsonText : xmlText, (text) => {
        const rows = format.readInputRows(text);
        if (rows instanceof WireFault) return;
        for (const { id, cells } of rows) {
          expect(id === null || Number.isSafeInteger(id)).toBe(true);
          for (const raw of cells.values()) for (const read of readers) read(raw);
        }
      }),
      RUNS,
    );
  },
);

test('the multipart reader gives the same for chunks of every size', { timeout: TEST_MS_MAX }, () => {
  fc.assert(
    fc.property(partsText, fc.integer({ min: 1, max: 40 }), (text, chunkBytes) => {
      const bytes = Buffer.from(text, 'latin1');
      const whole = new MultipartReader(BOUNDARY);
      const chunked = new MultipartReader(BOUNDARY);

      whole.write(bytes);
      for (let at = 0; at < bytes.length; at += chunkBytes) chunked.write(bytes.subarray(at, at + chunkBytes));

      expect(chunked.end()).toEqual(whole.end());
    }),
    RUNS,
  );
});

test('the reader of bodies gives rows or a fault for any bytes and any type', { timeout: TEST_MS_MAX }, () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.oneof(xmlText, jsonText).map((text) => Buffer.from(text)),
    partsText.map((text) => Buffer.from(text, 'latin1')),
  );
  const type = fc.oneof(
    fc.constantFrom('application/json', 'text/xml', `multipart/related;boundary=${BOUNDARY}`, 'multipart/related', ''),
    fc.string(),
  );
  fc.assert(
    fc.property(bytes, type, (body, contentType) => {
      const read = readWriteBody(body, contentType);

      const isSane = read instanceof WireFault ? [400, 413, 415].includes(read.status) : Array.isArray(read.rows);
      expect(isSane).toBe(true);
    }),
    RUNS,
  );
});
