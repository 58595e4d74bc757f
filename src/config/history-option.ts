/**
 * The option `history`: whether the changes of a table are kept, how long, and how much room they may take. Part of the one table of
 * options.
 */
import * as z from 'zod';

const HISTORY_MUST_BE = 'must be true, false or a mapping of keep and maxBytes';

/** What is kept of the changes of a table. */
export const history = z
  .union(
    [
      z.boolean(),
      z.strictObject({
        keep: dayCount('How long changes are kept; 400d by default. Unit: days, with d behind the number.').optional(),
        maxBytes: size(
          'How much the changes of one table may take in the replica; the oldest go first. 2GB by default.',
        ).optional(),
      }),
    ],
    { error: HISTORY_MUST_BE },
  )
  .optional()
  .meta({
    description:
      'Whether every change of a row is kept in sync_history, with old values, time and cause. true keeps 400 days and at most ' +
      '2 GB of each table; a mapping sets other bounds. By default nothing is kept.',
  });

/** A size as people write it, 2GB, or a number of bytes; in bytes. */
function size(doc: string) {
  const error = 'must be a size such as 500MB or 2GB, or a whole number of bytes';
  return z
    .union(
      [
        z
          .int()
          .min(1)
          .max(1024 ** 5),
        z.string().regex(/^[1-9]\d{0,5}(?:KB|MB|GB|TB)$/),
      ],
      { error },
    )
    .transform((given) => (typeof given === 'number' ? given : bytesOf(given)))
    .meta({ description: doc });
}

function bytesOf(given: string): number {
  return Number(given.slice(0, -2)) * 1000 ** (['KB', 'MB', 'GB', 'TB'].indexOf(given.slice(-2)) + 1);
}

/** A number of days as people write it, 400d; in days. */
function dayCount(doc: string) {
  const error = 'must be a number of days, such as 400d';
  return z
    .string({ error })
    .regex(/^[1-9]\d{0,4}d$/, { error })
    .transform((given) => Number(given.slice(0, -1)))
    .meta({ description: doc });
}
