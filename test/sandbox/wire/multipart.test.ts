/** multipart/related: the vendor's bytes, the corners of RFC 2046, and every way to get it wrong. */
import { describe, expect, test } from 'vitest';
import { boundaryFrom, MULTIPART_LIMITS, MultipartReader, type Part } from '../../../src/sandbox/wire/multipart.ts';
import { WireFault } from '../../../src/wire/fault.ts';

const BOUNDARY = 'part-5f2a.12345678';

/** Lines of a body with CR LF between them. */
function lines(...texts: readonly string[]): Buffer {
  return Buffer.from(texts.join('\r\n'), 'latin1');
}

function read(body: Uint8Array, options: { chunkBytes?: number; boundary?: string } = {}): readonly Part[] | WireFault {
  const reader = new MultipartReader(options.boundary ?? BOUNDARY);
  const size = options.chunkBytes ?? Math.max(1, body.length);
  for (let at = 0; at < body.length; at += size) reader.write(body.subarray(at, at + size));
  return reader.end();
}

/** Parts as headers and latin1 text, or the message of the fault. */
function plain(parts: readonly Part[] | WireFault): unknown {
  if (parts instanceof WireFault) return parts.message;
  return parts.map(({ headers, bytes }) => [Object.fromEntries(headers), bytes.toString('latin1')]);
}

/** As the vendor's PHP client sends it (origin facts 7.4.3): no line break at the end. */
const VENDOR = lines(
  `--${BOUNDARY}`,
  'Content-Type: application/json;charset=UTF-8',
  '',
  '[{"File":"cid:5f2a90"}]',
  `--${BOUNDARY}`,
  'Content-Type: image/png',
  "Content-Disposition: attachment;filename*=UTF-8''%E2%82%AC.png",
  'Content-ID: 5f2a90',
  '',
  '\x89PNG\r\n\x1a\n--part-\r\n--\r\n',
  `--${BOUNDARY}--`,
);

const VENDOR_PARTS = [
  [{ 'content-type': 'application/json;charset=UTF-8' }, '[{"File":"cid:5f2a90"}]'],
  [
    {
      'content-type': 'image/png',
      'content-disposition': "attachment;filename*=UTF-8''%E2%82%AC.png",
      'content-id': '5f2a90',
    },
    '\x89PNG\r\n\x1a\n--part-\r\n--\r\n',
  ],
];

describe('reading', () => {
  test("the vendor's bytes, in chunks of any size", () => {
    for (let chunkBytes = 1; chunkBytes <= VENDOR.length; chunkBytes += 1) {
      expect(plain(read(VENDOR, { chunkBytes }))).toEqual(VENDOR_PARTS);
    }
  });

  test('what stands before the first and behind the last boundary is ignored', () => {
    const body = Buffer.concat([
      lines('This is a message', 'in parts', ''),
      VENDOR,
      lines(' ', '', `--${BOUNDARY}`, 'x'),
    ]);

    for (const chunkBytes of [1, 7, body.length]) expect(plain(read(body, { chunkBytes }))).toEqual(VENDOR_PARTS);
  });

  test('spaces behind a boundary, folded headers, spaces around colons', () => {
    const body = lines(`--${BOUNDARY} \t`, 'A : 1', 'B:2', '\t3', '  4', '', 'x', `--${BOUNDARY}--`);

    expect(plain(read(body))).toEqual([[{ a: '1', b: '2 3 4' }, 'x']]);
  });

  test('a part without headers does not swallow the next', () => {
    const body = lines(`--${BOUNDARY}`, '', 'one', `--${BOUNDARY}`, 'A: 1', '', 'two', `--${BOUNDARY}--`);

    expect(plain(read(body))).toEqual([
      [{}, 'one'],
      [{ a: '1' }, 'two'],
    ]);
  });

  test('a part may be empty, with its own empty line or without', () => {
    const body = lines(`--${BOUNDARY}`, 'A: 1', '', '', `--${BOUNDARY}`, 'A: 2', '', `--${BOUNDARY}--`);

    for (const chunkBytes of [1, 2, 3, body.length]) {
      expect(plain(read(body, { chunkBytes }))).toEqual([
        [{ a: '1' }, ''],
        [{ a: '2' }, ''],
      ]);
    }
  });

  test('LF alone is content, whatever line it begins', () => {
    const text = `\none\n\ntwo\n--part-\n--\n${BOUNDARY}\n`;

    expect(plain(read(lines(`--${BOUNDARY}`, '', text, `--${BOUNDARY}--`)))).toEqual([[{}, text]]);
  });

  test('a part may consist of line breaks', () => {
    const body = lines(`--${BOUNDARY}`, '', '\r\n\r\n', `--${BOUNDARY}--`);

    for (const chunkBytes of [1, 2, 3, body.length])
      expect(plain(read(body, { chunkBytes }))).toEqual([[{}, '\r\n\r\n']]);
  });

  test('no parts are no parts', () => {
    expect(plain(read(lines(`--${BOUNDARY}--`)))).toEqual([]);
  });
});

describe('boundaries', () => {
  test.each([
    ['multipart/related;boundary=part-5f2a.12345678', 'part-5f2a.12345678'],
    ['Multipart/Related; Boundary="a b\'()+_,-./:=?"; type="text/xml"', "a b'()+_,-./:=?"],
    ['multipart/related; boundary=----=_Part_1', '----=_Part_1'],
  ])('%s', (header, boundary) => {
    expect(boundaryFrom(header)).toBe(boundary);
  });

  test.each([
    undefined,
    'multipart/related',
    'multipart/related; boundary=',
    'multipart/related; boundary=""',
    `multipart/related; boundary=${'a'.repeat(71)}`,
    'multipart/related; boundary="a "',
    'multipart/related; boundary=é',
    'multipart/related; boundary="a\r\nb"',
  ])('%j names none', (header) => {
    expect(boundaryFrom(header)).toMatchObject({ status: 400, source: 'Content-Type' });
  });
});

describe('faults', () => {
  test.each([
    ['nothing', lines(''), 'No line of the body is the boundary'],
    ['another boundary', lines('--other', '', 'x', '--other--'), 'No line of the body is the boundary'],
    [
      'lines that end with LF',
      Buffer.from(VENDOR.toString('latin1').replaceAll('\r\n', '\n')),
      'does not end with CR LF',
    ],
    [
      'a first boundary behind LF alone',
      lines(`preamble\n--${BOUNDARY}`, '', 'x', `--${BOUNDARY}--`),
      'A boundary is behind LF alone',
    ],
    [
      'a file that runs into the next part, whose boundary is behind LF alone',
      lines(`--${BOUNDARY}`, '', `x\n--${BOUNDARY}`, '', 'y', `--${BOUNDARY}--`),
      'A boundary is behind LF alone',
    ],
    [
      'a last boundary behind LF alone',
      lines(`--${BOUNDARY}`, '', `x\n--${BOUNDARY}--`, ''),
      'A boundary is behind LF alone',
    ],
    [
      'headers with LF between them',
      lines(`--${BOUNDARY}`, 'A: 1\nB: 2', '', 'x', `--${BOUNDARY}--`),
      'Part 1 has a line that is not a header',
    ],
    [
      'headers that end with LF',
      lines(`--${BOUNDARY}`, 'A: 1\n\nx', `--${BOUNDARY}--`, '', ''),
      'Part 1 has a line that is not a header',
    ],
    ['a boundary that goes on', lines(`--${BOUNDARY}x`, '', 'x', `--${BOUNDARY}--`), 'The boundary line before part 1'],
    [
      'a boundary line that ends with a letter and LF',
      lines(`--${BOUNDARY}x\n`, '', 'x', ''),
      'The boundary line before part 1',
    ],
    [
      'a boundary inside a file',
      lines(`--${BOUNDARY}`, '', 'x', `--${BOUNDARY}y`, ''),
      'The boundary line before part 2',
    ],
    ['endless spaces behind a boundary', lines(`--${BOUNDARY}${' '.repeat(300)}`), 'The boundary line before part 1'],
    [
      'a header without colon',
      lines(`--${BOUNDARY}`, 'Content-Type', '', 'x', `--${BOUNDARY}--`),
      'Part 1 has a line that is not a header',
    ],
    [
      'a header with a null',
      lines(`--${BOUNDARY}`, 'A: \0', '', 'x', `--${BOUNDARY}--`),
      'Part 1 has a line that is not a header',
    ],
    [
      'a header with a bare CR',
      lines(`--${BOUNDARY}`, 'A: 1\rB: 2', '', `--${BOUNDARY}--`),
      'Part 1 has a line that is not a header',
    ],
    [
      'a header that is no UTF-8',
      lines(`--${BOUNDARY}`, 'A: \xe9', '', 'x', `--${BOUNDARY}--`),
      'The headers of part 1 are not UTF-8',
    ],
    [
      'a header twice',
      lines(`--${BOUNDARY}`, 'A: 1', 'a: 2', '', 'x', `--${BOUNDARY}--`),
      'Part 1 has two headers of one name',
    ],
  ])('%s', (_, body, message) => {
    for (const chunkBytes of [1, body.length || 1]) expect(plain(read(body, { chunkBytes }))).toContain(message);
  });

  test('a body that is cut anywhere is a fault', () => {
    for (let length = 0; length < VENDOR.length; length += 1) {
      expect(read(VENDOR.subarray(0, length))).toBeInstanceOf(WireFault);
    }
  });

  test('a fault stays, whatever comes after it', () => {
    const reader = new MultipartReader(BOUNDARY);
    const fault = reader.write(lines(`--${BOUNDARY}x`, ''));

    expect(fault).toBeInstanceOf(WireFault);
    expect(reader.write(VENDOR)).toBe(fault);
    expect(reader.end()).toBe(fault);
  });
});

describe('bounds', () => {
  function readWithin(limits: Partial<typeof MULTIPART_LIMITS>, body: Buffer): readonly Part[] | WireFault {
    const reader = new MultipartReader(BOUNDARY, { ...MULTIPART_LIMITS, ...limits });
    reader.write(body);
    return reader.end();
  }

  test('a body that is too large is answered with 413, before its end', () => {
    const reader = new MultipartReader(BOUNDARY, { ...MULTIPART_LIMITS, bytesMax: VENDOR.length - 1 });

    expect(reader.write(VENDOR)).toMatchObject({ status: 413 });
    expect(plain(readWithin({ bytesMax: VENDOR.length }, VENDOR))).toEqual(VENDOR_PARTS);
  });

  test('the number of parts', () => {
    expect(plain(readWithin({ partsMax: 2 }, VENDOR))).toEqual(VENDOR_PARTS);
    expect(plain(readWithin({ partsMax: 1 }, VENDOR))).toBe('The body has more than 1 parts');
  });

  test('the headers of one part, also while they do not end', () => {
    const header = `A: ${'x'.repeat(95)}`;

    expect(readWithin({ headerBytesMax: 100 }, lines(`--${BOUNDARY}`, header, '', '', `--${BOUNDARY}--`))).toHaveLength(
      1,
    );
    expect(plain(readWithin({ headerBytesMax: 99 }, lines(`--${BOUNDARY}`, header, '', '', '')))).toContain(
      'more than 99',
    );
    expect(plain(readWithin({ headerBytesMax: 99 }, lines(`--${BOUNDARY}`, header, '')))).toContain('more than 99');
  });
});
