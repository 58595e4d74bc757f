/**
 * The progress of a pull on a terminal.
 */
import { expect, test } from 'vitest';
import type { Clock } from '../../../src/base/clock.ts';
import { barText, startProgress, type ProgressState } from '../../../src/cli/terminal/progress.ts';
import { displayWidth } from '../../../src/base/text.ts';
import { collectingOutput } from '../../support/session.ts';

const running: ProgressState = {
  tableCount: 12,
  tablesDoneCount: 3,
  expectedRowCount: 20_000,
  rowCount: 5_000,
  elapsedMs: 2_000,
  table: 'Order Details',
};

function clockAt(times: { ms: number }): Clock {
  return {
    nowMs: () => times.ms,
    monotonicMs: () => times.ms,
    random: () => 0,
    sleep: async () => {},
  };
}

test('a bar shows rows, rate and time left where the last sweep tells how many rows there are', () => {
  expect(barText(running, 100)).toBe(
    '█████░░░░░░░░░░░░░░░  25 %  5,000 of 20,000 rows  2,500 rows/s  6.0 s left  Order Details',
  );
});

test('a bar counts tables during a first pull', () => {
  expect(barText({ ...running, expectedRowCount: 0 }, 100)).toBe(
    '█████░░░░░░░░░░░░░░░ 3 of 12 tables  5,000 rows  2,500 rows/s  Order Details',
  );
});

test.each([40, 60, 79, 119])('a bar fits into %i columns', (width) => {
  const text = barText({ ...running, table: '漢字'.repeat(40) }, width);

  expect(displayWidth(text)).toBeLessThanOrEqual(width);
});

test('a bar never shows more than all of the rows', () => {
  const text = barText({ ...running, rowCount: 25_000 }, 100);

  expect(text).toContain('100 %  25,000 of 25,000 rows');
  expect(text).not.toContain('left');
});

test('a bar starts without numbers that mean nothing yet', () => {
  const text = barText(
    { tableCount: null, tablesDoneCount: 0, expectedRowCount: 0, rowCount: 0, elapsedMs: 0, table: null },
    80,
  );

  expect(text).toBe('listing tables');
});

test('a bar keeps a hostile table name from the terminal', () => {
  expect(barText({ ...running, table: '\u001B[2J' }, 120)).toContain(String.raw`\u001b[2J`);
});

test('without a terminal, a long table says every ten seconds that it goes on', () => {
  const output = collectingOutput();
  const time = { ms: 0 };
  const progress = startProgress(output, clockAt(time), { isShared: false });
  const page = { kind: 'page', table: 'Order', rowCount: 500 } as const;

  progress.onProgress({ kind: 'start', tableCount: 1, expectedRowCount: 3_000 });
  progress.onProgress({ kind: 'tableStart', table: 'Order' });
  progress.onProgress(page);
  time.ms = 10_000;
  progress.onProgress(page);
  progress.onProgress(page);
  time.ms = 12_000;
  progress.onProgress({ kind: 'tableEnd' });
  progress.stop();

  expect(output.text().split('\n')).toEqual(['Order: 1,000 rows so far, 100 rows/s, 20 s left', '']);
});

test('a terminal that the log writes to as well gets lines', () => {
  const output = collectingOutput(80);
  const time = { ms: 0 };
  const progress = startProgress(output, clockAt(time), { isShared: true });

  time.ms = 10_000;
  progress.onProgress({ kind: 'page', table: 'Order', rowCount: 500 });
  progress.stop();

  expect(output.text()).toBe('Order: 500 rows so far, 50 rows/s\n');
});

test('on a terminal, the bar leaves an empty line and a visible cursor behind', () => {
  const output = collectingOutput(80);
  const progress = startProgress(output, clockAt({ ms: 0 }), { isShared: false });

  progress.onProgress({ kind: 'start', tableCount: 2, expectedRowCount: 0 });
  progress.stop();

  expect(output.text()).toContain('0 of 2 tables');
  expect(output.text().lastIndexOf('\u001B[?25h')).toBeGreaterThan(output.text().lastIndexOf('\u001B[?25l'));
  expect(output.text().endsWith('\u001B[1G\u001B[2K')).toBe(true);
});
