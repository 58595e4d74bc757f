/** What the page for questions is told of the machine. */
import { expect, test, vi } from 'vitest';
import { machineZone } from '../../../src/extras/page/ask.ts';

test.each([
  ['Europe/Paris', 'Europe/Paris'],
  // Node knows no name for a path, and gives one that Intl refuses where there is none.
  [':/etc/localtime', 'UTC'],
  ['', 'UTC'],
])('takes the zone of a machine with TZ=%j for %s', (tz, zone) => {
  vi.stubEnv('TZ', tz);

  expect(machineZone()).toBe(zone);
});
