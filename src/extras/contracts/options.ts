/**
 * The option `contracts`.
 */
import { resolve } from 'node:path';
import { section, text } from '../../config/option-kinds.ts';
import type { OptionSection } from '../../config/options.ts';

/** Where registered queries are, null for views only; how long old names stay, 0 for not at all. */
export interface ContractSettings {
  readonly folder: string | null;
  readonly keepDays: number;
}

declare module '../../config/options.ts' {
  interface ExtraSettings {
    /** Left out where queries are not watched. */
    readonly contracts?: ContractSettings;
  }
}

const contracts = section(
  {
    folder: text({
      mustBe: 'must be the path of a folder',
      doc: 'The folder of registered queries, each a file that ends with .sql. One that ends with .check.sql is a check: it must return no row.',
    }).optional(),
    keepOldNames: text({
      pattern: /^[1-9]\d{0,4}d$/,
      mustBe: 'must be a number of days, such as 30d',
      doc: 'How long a table or column that the origin renames can still be read under its old name, by a view or a generated column. By default not at all. Unit: days, with d after the number.',
    }).optional(),
  },
  'Queries that must outlive changes of the schema. Views in the replica, and with them saved questions of the page, are watched as well. Without this section, none are.',
);

export const CONTRACT_OPTIONS: OptionSection = {
  key: 'contracts',
  schema: contracts.optional(),
  read: (options, context) => {
    const given = contracts.optional().parse(options);
    if (given === undefined) return { settings: undefined };
    const { folder, keepOldNames = '0d' } = given;
    const keepDays = Number(keepOldNames.slice(0, -1));
    return { settings: { folder: folder === undefined ? null : resolve(context.folder, folder), keepDays } };
  },
};
