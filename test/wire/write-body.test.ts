/** Bodies of writes by Content-Type, and files that travel with rows. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SERVER_FORMATS } from '../../src/sandbox/wire/format.ts';
import { boundaryFrom, MultipartReader, type Part } from '../../src/sandbox/wire/multipart.ts';
import { readWriteBody } from '../../src/sandbox/wire/write-body.ts';
import { WireFault } from '../../src/wire/fault.ts';
import { WIRE_FORMATS } from '../../src/wire/format.ts';
import { type OutgoingBytes, type StreamedBytes, writeMultipart, writeWriteBody } from '../../src/wire/write-body.ts';
import * as golden from '../fixtures/wire/documents.ts';
import { fuzzRuns } from '../support/fuzz.ts';

const BOUNDARY = 'part-5f2a.12345678';

function partsOf(
  body: Uint8Array,
  options: { chunkBytes?: number; boundary?: string } = {},
): readonly Part[] | WireFault {
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

describe('writing', () => {
  const content = { rows: golden.OUTGOING, zone: golden.ROW_ZONE, files: [] };
  const file = { contentId: 'f1', name: '€ "1".png', type: 'image/png', bytes: Buffer.from('PNG\r\n') };

  test('rows alone have the type of their format', () => {
    expect(writeWriteBody(WIRE_FORMATS.json, content, Math.random)).toEqual({
      contentType: 'application/json;charset=utf-8',
      bytes: Buffer.from(golden.OUTGOING_JSON),
    });
    expect(writeWriteBody(WIRE_FORMATS.xml, content, Math.random)).toEqual({
      contentType: 'text/xml;charset=utf-8',
      bytes: Buffer.from(golden.OUTGOING_XML),
    });
  });

  test('files go as the vendor sends them', () => {
    const { contentType, bytes } = writeWriteBody(WIRE_FORMATS.json, { ...content, files: [file] }, () => 0);
    const boundary = `part-${'0'.repeat(32)}`;

    expect(contentType).toBe(`multipart/related;boundary=${boundary}`);
    expect((bytes as Buffer).toString()).toBe(
      [
        `--${boundary}`,
        'Content-Type: application/json;charset=utf-8',
        '',
        golden.OUTGOING_JSON,
        `--${boundary}`,
        'Content-Type: image/png',
        "Content-Disposition: attachment; filename*=UTF-8''%E2%82%AC%20%221%22.png",
        'Content-ID: f1',
        '',
        'PNG\r\n',
        `--${boundary}--`,
        '',
      ].join('\r\n'),
    );
  });

  test.each(['json', 'xml'] as const)('what goes out as %s comes in again', (extension) => {
    const format = WIRE_FORMATS[extension];
    const { contentType, bytes } = writeWriteBody(format, { ...content, files: [file] }, () => 0.25);

    const read = readWriteBody(bytes as Buffer, contentType);

    expect(read).toMatchObject({
      format: SERVER_FORMATS[extension],
      rows: [{ id: 5 }, { id: null }],
      files: new Map([['f1', file]]),
    });
  });

  test.each(['(f1', 'f1)', 'f'.repeat(65), ''])('the content id %j is a mistake of ours', (contentId) => {
    const files = [{ ...file, contentId }];

    expect(() => writeWriteBody(WIRE_FORMATS.json, { ...content, files }, Math.random)).toThrow(
      'content ids are plain',
    );
  });

  test.each([{ name: 'a\r\nSet-Cookie: b' }, { name: 'a\u0000' }, { type: 'image/png\r\nA: b' }])(
    'a line break or control character in %j is refused',
    (change) => {
      const files = [{ ...file, ...change }];

      expect(() => writeWriteBody(WIRE_FORMATS.json, { ...content, files }, Math.random)).toThrow(
        expect.objectContaining({ code: 'origin.unsendable' }),
      );
    },
  );
});

describe('writing', () => {
  const zeros = (): number => 0;

  test('headers, bytes and a boundary of 128 random bits', () => {
    const parts = [
      { headers: [['Content-Type', 'application/json']], bytes: Buffer.from('[]') },
      { headers: [['Content-ID', 'f1']], bytes: Buffer.from('\r\nx') },
    ] as const;
    let word = 0;
    const random = (): number => (word += 1) / 16;

    expect(writeMultipart(parts, random).contentType).toBe(
      'multipart/related;boundary=part-10002000300040005000600070008000',
    );
    word = 0;
    expect((writeMultipart(parts, random).bytes as Buffer).toString()).toBe(
      '--part-10002000300040005000600070008000\r\nContent-Type: application/json\r\n\r\n[]\r\n' +
        '--part-10002000300040005000600070008000\r\nContent-ID: f1\r\n\r\n\r\nx\r\n' +
        '--part-10002000300040005000600070008000--\r\n',
    );
  });

  test.each([
    ['the smallest', 0, '0'],
    ['the largest', 1 - Number.EPSILON, 'f'],
  ])('a boundary of %s random numbers has as many digits', (_what, number, digit) => {
    expect(writeMultipart([], () => number).contentType).toBe(`multipart/related;boundary=part-${digit.repeat(32)}`);
  });

  test('whatever is written is read again, in chunks of any size', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 60 }),
      fc.string({ unit: fc.constantFrom('\r', '\n', '-', '--part-', '0') }).map((text) => Buffer.from(text)),
    );
    const header = fc.tuple(fc.stringMatching(/^[A-Za-z]{1,8}$/), fc.stringMatching(/^[!-~]([ -~]{0,20}[!-~])?$/));
    const part = fc.record({
      headers: fc.uniqueArray(header, { maxLength: 3, selector: ([name]) => name.toLowerCase() }),
      bytes,
    });
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 4 }),
        fc.integer({ min: 1, max: 50 }),
        fc.double({ min: 0, max: 0.99 }),
        (parts, chunkBytes, number) => {
          const body = writeMultipart(parts, () => number);
          const boundary = boundaryFrom(body.contentType);
          if (boundary instanceof WireFault) throw new Error(boundary.message);

          const back = partsOf(body.bytes as Buffer, { chunkBytes, boundary });

          expect(plain(back)).toEqual(
            parts.map((item) => [
              Object.fromEntries(item.headers.map(([name, value]) => [name.toLowerCase(), value])),
              Buffer.from(item.bytes).toString('latin1'),
            ]),
          );
        },
      ),
      fuzzRuns(500),
    );
  });

  async function whole(bytes: OutgoingBytes): Promise<Buffer> {
    if (bytes instanceof Uint8Array) return Buffer.from(bytes);
    const chunks: Uint8Array[] = [];
    for await (const chunk of bytes.read()) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  function streamed(length: number, ...chunks: readonly string[]): OutgoingBytes {
    return {
      length,
      async *read() {
        for (const chunk of chunks) yield await Promise.resolve(Buffer.from(chunk));
      },
    };
  }

  test('streamed parts give the same bytes as parts in memory, as often as they are read', async () => {
    const headers = [['Content-ID', 'f1']] as const;
    const { bytes } = writeMultipart([{ headers, bytes: streamed(5, 'ab', 'cde') }], zeros);

    const expected = writeMultipart([{ headers, bytes: Buffer.from('abcde') }], zeros).bytes as Buffer;
    expect(bytes.length).toBe(expected.length);
    expect(await whole(bytes)).toEqual(expected);
    expect(await whole(bytes)).toEqual(expected);
  });

  test.each([
    ['shorter', 6],
    ['longer', 4],
    ['empty', 1],
  ])('a part that turns out %s than it said ends the body', async (title, length) => {
    const part = title === 'empty' ? streamed(length) : streamed(length, 'ab', 'cde');
    const { bytes } = writeMultipart([{ headers: [], bytes: part }], zeros);

    await expect(whole(bytes)).rejects.toThrow('changed in length');
  });

  test('of a part that grows, nothing is sent behind the length that it had', async () => {
    const { bytes } = writeMultipart([{ headers: [], bytes: streamed(2, 'ab', 'cde') }], zeros);
    const sent: Uint8Array[] = [];
    const send = async (): Promise<void> => {
      for await (const piece of (bytes as StreamedBytes).read()) sent.push(piece);
    };

    await expect(send()).rejects.toThrow('changed in length');
    expect(Buffer.concat(sent).toString()).toMatch(/ab$/);
  });
});
