/**
 * Valid bodies with random damage, sent to a running sandbox. The answer is one that is specified, in the format that
 * was asked for, and what was refused as a whole changed nothing. FUZZ_RUNS asks for a longer run
 * (test/support/fuzz.ts).
 */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { fuzzRuns } from '../../support/fuzz.ts';
import { post } from '../client.ts';
import { startPeople } from '../people.ts';

const BODIES = [
  ['application/json', '[{"@row.id":1,"Name":"x","Score":1.5},{"Id":"2","Seen":"2026-01-01T00:00:00Z"}]'],
  ['text/xml', '<?xml version="1.0"?><a><r id="1"><Name>x</Name><Score>1.5</Score></r><r><Id>2</Id><Notes/></r></a>'],
  [
    'multipart/related;boundary=b',
    '--b\r\nContent-Type: application/json\r\n\r\n[{"Id":"1","Photo":"cid:f"},{"Id":"2","Photo":null}]\r\n' +
      '--b\r\nContent-Disposition: attachment; filename="a.txt"\r\nContent-ID: <f>\r\n\r\nabc\r\n--b--\r\n',
  ],
] as const;

/** Bytes to put in place of others: those that formats are made of, and any. */
const patch = fc.record({
  at: fc.nat(200),
  length: fc.nat(12),
  bytes: fc.oneof(
    fc.constantFrom(
      '',
      '"',
      '\\',
      '{',
      '[',
      '<',
      '>',
      '&',
      '\r\n',
      '\r\n--b',
      '--',
      'cid:',
      'null',
      '\0',
      '1e999',
      ']]>',
    ),
    fc.string({ maxLength: 8, unit: 'binary' }),
  ),
});

test('a damaged body has a specified answer, and changes nothing unless its rows say so', async () => {
  await using sandbox = await startPeople();
  const contents = (): string => JSON.stringify(sandbox.store.rows('Person'));

  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...BODIES),
      fc.array(patch, { minLength: 1, maxLength: 3 }),
      async ([type, body], patches) => {
        let damaged = Buffer.from(body);
        for (const { at, length, bytes } of patches) {
          const middle = Buffer.from(bytes, 'latin1');
          damaged = Buffer.concat([damaged.subarray(0, at), middle, damaged.subarray(at + length)]);
        }
        const before = contents();

        const { status, text, headers } = await post(sandbox, 'Person/upsert.json', damaged, { type });

        expect([200, 400, 415]).toContain(status);
        expect(headers['content-type']).toBe('application/json;charset=utf-8');
        const answer = JSON.parse(text) as unknown;
        const rows = Array.isArray(answer) ? (answer as { readonly status: number }[]) : [];
        expect(status === 200).toBe(Array.isArray(answer));
        expect(rows.every((row) => [200, 201, 304, 400, 403, 404].includes(row.status))).toBe(true);
        const isChanged = rows.some((row) => row.status < 300);
        expect(isChanged || contents() === before).toBe(true);
      },
    ),
    fuzzRuns(400),
  );
});
