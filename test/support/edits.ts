/**
 * Random edits by SQL clients, as transactions that any client can run, each with its lines for the ledger (ledger.ts).
 * Which row an edit concerns is decided inside of the transaction, so that nothing has to be read beforehand.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '../../src/sandbox/data/random.ts';
import { token, type TokenKind } from './ledger.ts';
import type { Transaction } from './sql-clients.ts';

/** A table that may be edited here. */
export interface EditedTable {
  readonly name: string;
  readonly texts: readonly string[];
  /** A column of texts that is too short for what is sometimes written into it. */
  readonly short?: string | undefined;
  /** The unique column by which rows are matched. */
  readonly match?: string | undefined;
  /** The column of attached files. */
  readonly file?: string | undefined;
}

/** One transaction and what it writes. */
export interface Edit {
  readonly transaction: Transaction;
  /** Tokens that stand in the file once it is committed; those that may have found no row are left out. */
  readonly sure: readonly string[];
}

/** Tables keep so many rows, so that deletes never look like the end of a table. */
const ROWS_KEPT = 40;
const EDITS_MAX = 4;

/** Makes edits from a random sequence; tokens of several `Edits` differ by `series`. */
export class Edits {
  readonly #random: Random;
  readonly #tables: readonly EditedTable[];
  readonly #uploads: string;
  #serial: number;

  constructor(random: Random, options: { tables: readonly EditedTable[]; uploads: string; series?: number }) {
    this.#random = random;
    this.#tables = options.tables;
    this.#uploads = options.uploads;
    this.#serial = (options.series ?? 0) * 10_000_000;
  }

  /** A transaction of a few edits; it stays open for `holdMs`, and now and then is taken back. */
  next(holdMs = 0): Edit {
    const count = this.#random.integer(1, EDITS_MAX);
    const edits = Array.from({ length: count }, () => this.#one());
    const end = this.#random.chance(0.05) ? 'ROLLBACK' : 'COMMIT';
    const statements = [
      'CREATE TEMP TABLE IF NOT EXISTS pick (id INTEGER, tag TEXT)',
      ...edits.flatMap(({ sql }) => sql),
    ];
    return {
      transaction: { begin: 'BEGIN IMMEDIATE', statements, holdMs, end },
      sure: end === 'COMMIT' ? edits.flatMap(({ sure }) => sure) : [],
    };
  }

  #one(): { readonly sql: readonly string[]; readonly sure: readonly string[] } {
    const table = this.#random.pick(this.#tables);
    const draw = this.#random.next();
    if (draw < 0.15) return this.#insert(table);
    if (draw < 0.28) return { sql: this.#delete(table), sure: [] };
    if (draw < 0.4) return { sql: this.#replace(table), sure: [] };
    if (draw < 0.55 && table.file !== undefined) return { sql: this.#attach(table, table.file), sure: [] };
    return { sql: this.#update(table), sure: [] };
  }

  #insert({ name, texts, match }: EditedTable): { readonly sql: readonly string[]; readonly sure: readonly string[] } {
    const [tag, value] = [this.#token('t'), this.#token('v')];
    const code = match === undefined || this.#random.chance(0.3) ? null : this.#token('k');
    const columns = ['Tag', texts[0], ...(code === null ? [] : [match])].map((column) => `"${column}"`);
    const values = [tag, value, ...(code === null ? [] : [code])].map((text) => `'${text}'`);
    return {
      sql: [
        `INSERT INTO "${name}" (${columns.join(', ')}) VALUES (${values.join(', ')})`,
        `INSERT INTO ledger ("table", tag, op) VALUES ('${name}', '${tag}', 'insert')`,
        `INSERT INTO ledger ("table", tag, op, col, value) VALUES ('${name}', '${tag}', 'set', '${texts[0]}', '${value}')`,
      ],
      sure: [tag, value],
    };
  }

  #delete({ name }: EditedTable): readonly string[] {
    return [
      ...this.#pick(name),
      `DELETE FROM temp.pick WHERE (SELECT count(*) FROM "${name}") <= ${ROWS_KEPT}`,
      `DELETE FROM "${name}" WHERE _id IN (SELECT id FROM temp.pick)`,
      `INSERT INTO ledger ("table", tag, op) SELECT '${name}', tag, 'delete' FROM temp.pick`,
    ];
  }

  /** The row is replaced by one with the same id: SQLite deletes it without a trigger. */
  #replace({ name, texts }: EditedTable): readonly string[] {
    const [column, value] = [this.#random.pick(texts), this.#token('v')];
    return [
      ...this.#pick(name),
      `CREATE TEMP TABLE "copy" AS SELECT * FROM "${name}" WHERE _id IN (SELECT id FROM temp.pick)`,
      `UPDATE temp."copy" SET "${column}" = '${value}'`,
      `INSERT OR REPLACE INTO "${name}" SELECT * FROM temp."copy"`,
      `DROP TABLE temp."copy"`,
      this.#note(name, column, value),
    ];
  }

  #update({ name, texts, short }: EditedTable): readonly string[] {
    const isLong = short !== undefined && this.#random.chance(0.03);
    const column = isLong ? short : this.#random.pick(texts);
    const value = `${this.#token('v')}${isLong ? 'x'.repeat(100) : ''}`;
    return [
      ...this.#pick(name),
      `UPDATE "${name}" SET "${column}" = '${value}' WHERE _id IN (SELECT id FROM temp.pick)`,
      this.#note(name, column, value),
    ];
  }

  #attach({ name }: EditedTable, column: string): readonly string[] {
    const file = this.#token('p');
    const path = join(this.#uploads, `${file}.txt`);
    writeFileSync(path, `${file}\n`.repeat(this.#random.integer(1, 5_000)));
    return [
      ...this.#pick(name),
      `UPDATE "${name}" SET "${column}" = 'file:${path}' WHERE _id IN (SELECT id FROM temp.pick)`,
      this.#note(name, column, file),
    ];
  }

  #pick(name: string): readonly string[] {
    const offset = this.#random.integer(0, 1_000_000);
    return [
      'DELETE FROM temp.pick',
      `INSERT INTO temp.pick SELECT _id, "Tag" FROM "${name}" ORDER BY _id
       LIMIT 1 OFFSET (${offset} % max(1, (SELECT count(*) FROM "${name}")))`.replaceAll(/\s+/g, ' '),
    ];
  }

  #note(name: string, column: string, value: string): string {
    return `INSERT INTO ledger ("table", tag, op, col, value) SELECT '${name}', tag, 'set', '${column}', '${value}' FROM temp.pick`;
  }

  #token(kind: TokenKind): string {
    this.#serial += 1;
    return token(kind, this.#serial);
  }
}
