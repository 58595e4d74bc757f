/** Bodies of writes by Content-Type, and files that travel with rows. */
import { describe, expect, test } from 'vitest';
import { SERVER_FORMATS } from '../../src/sandbox/wire/format.ts';
import { readWriteBody } from '../../src/sandbox/wire/write-body.ts';
import { WIRE_FORMATS } from '../../src/wire/format.ts';
import { writeWriteBody } from '../../src/wire/write-body.ts';
import * as golden from '../fixtures/wire/documents.ts';

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
