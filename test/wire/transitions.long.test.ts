/**
 * Stamps at every change of the clocks that the zone database knows: what is shown in a zone leads back to the same
 * instant.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  inputTextFromUtc,
  isZone,
  offsetTextFromUtc,
  utcFromInputText,
  utcFromOffsetText,
} from '../../src/wire/time-zones.ts';

const DATABASE = '/usr/share/zoneinfo';
const FROM = Date.UTC(2000) / 1000;
const TO = Date.UTC(2038) / 1000;
/** Behind the second header of a TZif file (RFC 8536) come instants of eight bytes. */
const HEADER_BYTES = 44;

/** Seconds since 1970 at which the clocks of a zone change. */
function transitionsOf(zone: string): readonly number[] {
  const bytes = readFileSync(join(DATABASE, zone));
  const countAt = (header: number, index: number): number => bytes.readUInt32BE(header + 20 + index * 4);
  const [utc, standard, leaps, times, types, letters] = [0, 1, 2, 3, 4, 5].map((index) => countAt(0, index)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const second = HEADER_BYTES + times * 5 + types * 6 + letters + leaps * 8 + standard + utc;
  return Array.from({ length: countAt(second, 3) }, (_, index) =>
    Number(bytes.readBigInt64BE(second + HEADER_BYTES + index * 8)),
  );
}

const zones = existsSync(DATABASE)
  ? Intl.supportedValuesOf('timeZone').filter((zone) => isZone(zone) && existsSync(join(DATABASE, zone)))
  : [];

test.skipIf(zones.length === 0)('a stamp at a change of the clocks of any zone is the same when it comes back', () => {
  const wrong: string[] = [];
  let count = 0;
  for (const zone of zones) {
    for (const at of transitionsOf(zone).filter((second) => second >= FROM && second < TO)) {
      for (const second of [at - 1, at, at + 1799]) {
        count += 1;
        const utc = new Date(second * 1000).toISOString().replace('.000', '');
        const [shown, typed] = [offsetTextFromUtc(utc, zone), inputTextFromUtc(utc, zone)];
        if (utcFromOffsetText(shown) !== utc) wrong.push(`${zone}: ${utc} is shown as ${shown}`);
        if (utcFromInputText(typed, zone) !== utc) wrong.push(`${zone}: ${utc} is sent as ${typed}`);
      }
    }
  }

  expect(wrong).toEqual([]);
  expect(count).toBeGreaterThan(1000);
});
