/**
 * Values as the sandbox writes and reads them, against the forms of the specification (2.4), not against the client.
 */
import { expect, test } from 'vitest';
import { readInput, readXmlInput, writeOutput, writeXmlOutput } from '../../../src/sandbox/wire/value-forms.ts';
import type { ColumnType, Value } from '../../../src/wire/schema.ts';

test.each<readonly [ColumnType, Value, string, string | null]>([
  ['Text', 'a "b"\n', '"a \\"b\\"\\n"', 'a "b"\n'],
  ['Multiline', 'one\ntwo\r\nthree', '"one\\r\\ntwo\\r\\nthree"', 'one\r\ntwo\r\nthree'],
  ['Numeric', 12.5, '12.5', '12.500000'],
  ['Numeric', 9007199254740993n, '9007199254740993', '9007199254740993.000000'],
  ['Numeric', '0.0000005', '0.0000005', '0.000001'],
  ['Numeric', '-0.0000004', '-0.0000004', '0.000000'],
  ['Duration', 90, '90', 'PT90S'],
  ['Duration', -0.5, '-0.5', '-PT0.5S'],
  ['Checkbox', true, 'true', 'true'],
  ['Date', '2026-11-21', '"2026-11-21T00:00:00+00:00"', '2026-11-21'],
  ['Time', '08:30:00', '"0001-01-01T08:30:00+00:00"', '08:30:00'],
  ['Timestamp', '2026-07-01T12:00:00.75Z', '"2026-07-01T14:00:00+02:00"', '2026-07-01T14:00:00+02:00'],
  ['Timestamp', '2026-01-01T12:00:00Z', '"2026-01-01T13:00:00+01:00"', '2026-01-01T13:00:00+01:00'],
  ['Text', null, 'null', null],
  ['Numeric', null, 'null', null],
])('%s %s leaves as %s in JSON', (type, value, json, xml) => {
  expect(writeOutput(type, 'Europe/Paris')(value)).toBe(json);
  expect(writeXmlOutput(type, 'Europe/Paris')(value)).toBe(xml);
});

test.each<readonly [ColumnType, unknown, Value | undefined]>([
  ['Date', '2026-11-21', '2026-11-21'],
  ['Date', '2026-11-21T23:30:00-08:00', '2026-11-21'],
  ['Date', '2026-02-30', undefined],
  ['Time', '08:30', '08:30:00'],
  ['Time', '2026-11-21T08:30:15+05:30', '08:30:15'],
  ['Time', '24:00', undefined],
  ['Timestamp', '2026-07-01T12:00:00', '2026-07-01T10:00:00Z'],
  ['Timestamp', '2026-07-01T12:00:00Z', '2026-07-01T12:00:00Z'],
  ['Timestamp', 'yesterday', undefined],
  ['Attachment', 'cid:f1', 'cid:f1'],
])('%s %j of a write is read as %j', (type, sent, value) => {
  expect(readInput(type, 'Europe/Paris')(sent)).toBe(value);
  expect(readXmlInput(type, 'Europe/Paris')(sent)).toBe(value);
});
