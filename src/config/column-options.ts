/**
 * The options `columns` and `mask` of a table: which of its columns come here, and which come with other values. Part of the one table of
 * options.
 */
import * as z from 'zod';
import { matchesPattern } from '../base/pattern.ts';

const COLUMNS_MUST_BE = 'must be a mapping of exclude or include, each a list of column names or patterns';
const LIST_MUST_BE = 'must be a list of column names or patterns, such as [Notes*]';
const ONE_MUST_BE = 'must be a mapping of either exclude or include, not of both';
const MASK_MUST_BE = 'must be hash, last4, year, domain, null, or a constant, such as { constant: hidden }';

const patterns = z
  .array(z.string({ error: LIST_MUST_BE }).min(1, { error: LIST_MUST_BE }), { error: LIST_MUST_BE })
  .min(1, { error: LIST_MUST_BE });

/** Which columns come here. */
export const columns = z
  .strictObject(
    {
      exclude: patterns.optional().meta({ description: 'Columns that are left out; all others come.' }),
      include: patterns.optional().meta({ description: 'Columns that come; all others are left out.' }),
    },
    { error: COLUMNS_MUST_BE },
  )
  .refine(({ exclude, include }) => (exclude === undefined) !== (include === undefined), { error: ONE_MUST_BE })
  .optional()
  .meta({
    description:
      'Which columns to copy, by their names at the origin or patterns; case is ignored. A column that is left out is never requested. ' +
      'The key, the times of creation and change, and the columns in match and sort always come.',
  });

/** What is stored in the place of values. */
export const mask = z
  .record(
    z.string().min(1),
    z.union(
      [
        z.enum(['hash', 'last4', 'year', 'domain', 'null']),
        z.null().transform(() => 'null' as const),
        z.strictObject({ constant: z.string({ error: MASK_MUST_BE }) }),
      ],
      { error: MASK_MUST_BE },
    ),
    { error: 'must be a mapping from column names or patterns to masks, such as { E-Mail: hash }' },
  )
  .optional()
  .meta({
    description:
      'Columns whose values are replaced before anything is stored, by their names at the origin or patterns. The most specific name ' +
      'decides. Masks: hash (keyed; equal values stay equal), last4 (the last four characters), year (of a date, as a number), ' +
      'domain (of an e-mail or web address), null (nothing), { constant: text } (that text). Masked columns cannot be edited here.',
  });

/** What of a table's options would need a column that its `mask` changes: the options by their names, with what they name. */
export function maskedNeeds(options: {
  readonly mask?: Readonly<Record<string, unknown>> | undefined;
  readonly match?: string | undefined;
  readonly sort?: readonly string[] | undefined;
}): readonly { readonly pattern: string; readonly option: 'match' | 'sort'; readonly name: string }[] {
  const needs = [
    ...(options.match === undefined ? [] : [{ option: 'match' as const, name: options.match }]),
    ...(options.sort ?? []).map((name) => ({ option: 'sort' as const, name })),
  ];
  return Object.keys(options.mask ?? {}).flatMap((pattern) =>
    needs
      .filter(({ name }) => matchesPattern(pattern, name, { ignoreCase: true }))
      .map((need) => ({ pattern, ...need })),
  );
}
