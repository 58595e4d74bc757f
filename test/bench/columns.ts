/**
 * What a choice of columns saves and costs: the bytes of a pull without half of the columns, and the time of one that
 * masks some, against a whole one.
 */
import { join } from 'node:path';
import type { ColumnChoice } from '../../src/reconcile/column-selection.ts';
import type { Bench } from './benches.ts';
import { takeTurns, timeMs } from './measure.ts';
import { pullOnce } from './ours.ts';

const NOTHING: ColumnChoice = {
  include: null,
  exclude: [],
  masks: [],
  isOfOneTable: true,
  match: null,
  sort: null,
};

/** Nine of seventeen columns: about every second one. */
const HALF: ColumnChoice = {
  ...NOTHING,
  exclude: ['Email', 'Remarks', 'Price', 'Paid', 'Pickup', 'Shipped', 'Record Owner', '* By'],
};

const MASKED: ColumnChoice = {
  ...NOTHING,
  masks: [
    { pattern: 'Email', kind: 'hash' },
    { pattern: 'Customer', kind: 'hash' },
    { pattern: 'Ordered', kind: 'year' },
  ],
};

/** Pulls of the same rows, chosen and whole. */
export const columnsBench: Bench = async ({ origins, folder, roundCount, isSmoke }) => {
  const origin = await origins.serve(isSmoke ? 4_000 : 100_000);
  let count = 0;
  const pulled = (compress: boolean, columns: ColumnChoice | null) => {
    count += 1;
    return pullOnce(origin, join(folder, `columns-${count}.db`), { compress, columns });
  };
  const bytesRatio = async (compress: boolean): Promise<number> => {
    const [half, whole] = [await pulled(compress, HALF), await pulled(compress, null)];
    return half.receivedBytes / whole.receivedBytes;
  };
  const what = `${origin.rowCount} rows without 9 of 17 columns ÷ with all`;
  const plain = await bytesRatio(false);
  const gzip = await bytesRatio(true);
  await pulled(false, MASKED); // the sandbox renders the pages once
  const { oursMs, bareMs } = await takeTurns(roundCount, {
    ours: () => timeMs(() => pulled(false, MASKED)),
    bare: () => timeMs(() => pulled(false, null)),
  });
  return [
    { name: 'columns.bytesRatio', value: plain, unit: '×', bound: null, note: `bytes of a pull of ${what}` },
    { name: 'columns.gzipBytesRatio', value: gzip, unit: '×', bound: null, note: 'the same with gzip' },
    {
      name: 'columns.maskTimeRatio',
      value: oursMs / bareMs,
      unit: '×',
      bound: null,
      note: `time of a pull of ${origin.rowCount} rows with two hashes and a year ÷ without`,
    },
  ];
};
