/** The table of what is certain about a change, written out. */
import { describe, expect, test } from 'vitest';

import { verdictOnChange } from '../../src/origin/requests.ts';

const NOTHING = { hasDescriptor: false, isPage: false };

describe('a change that was', () => {
  test('never sent may be sent', () => {
    expect(verdictOnChange({ kind: 'fault', isSent: false }, NOTHING)).toBe('again');
  });

  test('sent and not answered may have happened', () => {
    expect(verdictOnChange({ kind: 'fault', isSent: true }, NOTHING)).toBe('unknown');
  });

  test.each([
    [200, 'unknown', 'unknown'],
    [201, 'unknown', 'unknown'],
    [202, 'unknown', 'unknown'],
    [204, 'unknown', 'unknown'],
    [206, 'unknown', 'unknown'],
    [301, 'refused', 'refused'],
    [302, 'unknown', 'unknown'],
    [303, 'unknown', 'unknown'],
    [304, 'unknown', 'unknown'],
    [307, 'refused', 'refused'],
    [308, 'refused', 'refused'],
    [400, 'refused', 'refused'],
    [401, 'refused', 'refused'],
    [403, 'refused', 'refused'],
    [404, 'refused', 'refused'],
    [405, 'refused', 'refused'],
    [408, 'refused', 'refused'],
    [409, 'refused', 'refused'],
    [411, 'refused', 'refused'],
    [413, 'refused', 'refused'],
    [414, 'refused', 'refused'],
    [415, 'refused', 'refused'],
    [422, 'refused', 'refused'],
    [425, 'refused', 'refused'],
    [429, 'again', 'again'],
    [431, 'refused', 'refused'],
    [500, 'unknown', 'unknown'],
    [501, 'unknown', 'unknown'],
    [502, 'unknown', 'unknown'],
    [503, 'again', 'unknown'],
    [504, 'unknown', 'unknown'],
    [599, 'unknown', 'unknown'],
  ] as const)('answered %i: %s with a descriptor, %s without', (status, withDescriptor, without) => {
    expect(verdictOnChange({ kind: 'answer', status }, { hasDescriptor: true, isPage: false })).toBe(withDescriptor);
    expect(verdictOnChange({ kind: 'answer', status }, { hasDescriptor: false, isPage: false })).toBe(without);
  });

  test.each([
    [400, 'unknown'],
    [403, 'unknown'],
    [404, 'unknown'],
    [429, 'again'],
    [503, 'unknown'],
  ] as const)('answered %i by a page of somebody else: %s', (status, verdict) => {
    expect(verdictOnChange({ kind: 'answer', status }, { hasDescriptor: false, isPage: true })).toBe(verdict);
  });
});
