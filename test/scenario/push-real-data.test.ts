/**
 * A day's work on a real database, in plain SQL, pushed: prices of a supplier, the name of a customer, new orders with
 * their lines, deletes. The origin must have exactly that, and nothing else.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { readOrigin, readReplica, type Tables } from '../support/compare.ts';
import { codesOf, pushNow } from '../support/push.ts';
import { startFixture } from '../support/replica.ts';
import { twoWaySettings } from '../support/two-way.ts';

const DATA = fileURLToPath(new URL('../../../shared/data/northwind.sqlite', import.meta.url));

const NUMBERS = Array.from({ length: 10 }, (_, index) => 30_001 + index);

const WORK = `
  BEGIN;
  UPDATE "Products" SET "UnitPrice" = round("UnitPrice" * 1.1, 2) WHERE "SupplierID" = 1;
  UPDATE "Customers" SET "CompanyName" = 'Alfreds Feinkost' WHERE "CustomerID" = 'ALFKI';
  ${NUMBERS.map(
    (number) => `
  INSERT INTO "Orders" ("OrderID", "CustomerID", "OrderDate", "Freight")
    VALUES ('${number}', 'ALFKI', '2026-11-21T09:00:00Z', 12.5);
  INSERT INTO "Order Details" ("OrderID", "ProductID", "UnitPrice", "Quantity", "Discount")
    VALUES (${number}, 1, 19.8, 3, 0), (${number}, 2, 20.9, 1, 0.05);`,
  ).join('')}
  DELETE FROM "Order Details" WHERE _id IN (1, 2);
  COMMIT;`;

/** Rows of a table by the values of some columns, as text. */
function rowsOf(tables: Tables, table: string, columns: readonly string[]): readonly string[] {
  return (tables[table] ?? []).map((row) => columns.map((column) => String(row[column])).join('|'));
}

test.skipIf(!existsSync(DATA))(
  'a day of edits in SQL on Northwind reaches the origin, and nothing else does',
  async () => {
    await using fixture = await startFixture({ dataPath: DATA }, { settings: twoWaySettings() });
    await fixture.pull();
    const before = readOrigin(fixture.sandbox);
    fixture.execute(WORK);

    const report = await pushNow(fixture);

    expect(codesOf(report)).toEqual([]);
    expect(fixture.rows('SELECT * FROM sync_failures')).toEqual([]);
    const after = readOrigin(fixture.sandbox);
    const prices = (tables: Tables, supplier: boolean): readonly number[] =>
      (tables['Products'] ?? [])
        .filter((row) => (row['SupplierID'] === 1n) === supplier)
        .map((row) => Number(row['UnitPrice']));
    expect(prices(after, true)).toEqual(prices(before, true).map((price) => Math.round(price * 110) / 100));
    expect(prices(after, false)).toEqual(prices(before, false));
    const names = (tables: Tables): readonly string[] => rowsOf(tables, 'Customers', ['CustomerID', 'CompanyName']);
    expect(names(after)).toEqual(
      names(before).map((name) => (name.startsWith('ALFKI|') ? 'ALFKI|Alfreds Feinkost' : name)),
    );
    const orders = (tables: Tables): readonly string[] =>
      rowsOf(tables, 'Orders', ['OrderID', 'CustomerID', 'Freight']);
    expect(orders(after)).toEqual([...orders(before), ...NUMBERS.map((number) => `${number}|ALFKI|12.5`)]);
    const lines = (tables: Tables): readonly string[] =>
      rowsOf(tables, 'Order Details', ['OrderID', 'ProductID', 'Quantity', 'Discount']);
    expect(lines(after)).toEqual([
      ...lines(before).slice(2),
      ...NUMBERS.flatMap((number) => [`${number}|1|3|0`, `${number}|2|1|0.05`]),
    ]);
    const others = (tables: Tables): readonly unknown[] =>
      Object.entries(tables).filter(([name]) => !['Products', 'Customers', 'Orders', 'Order Details'].includes(name));
    expect(others(after)).toEqual(others(before));
    expect(readReplica(fixture.path)).toEqual(after);
  },
  60_000,
);
