/**
 * The photos and pictures of a real database, served by the sandbox as attachments, come back byte for byte, and leave
 * so.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { uploadKeeper } from '../../src/files/uploaded-files.ts';
import { quoted, withDatabase } from '../support/compare.ts';
import { startFilesFixture } from '../support/files.ts';
import { pushNow } from '../support/push.ts';
import { twoWaySettings } from '../support/two-way.ts';

const ORIGINAL = fileURLToPath(new URL('../../../shared/data/northwind.sqlite', import.meta.url));
const RUN_MS_MAX = 60_000;

/** Every BLOB of the file, by table, key and column. */
function originals(): ReadonlyMap<string, Buffer> {
  return withDatabase(ORIGINAL, (db) => {
    const columns = db
      .prepare<[], { name: string; column: string; key: string }>(
        `SELECT t.name, c.name AS "column", k.name AS key FROM sqlite_schema t, pragma_table_info(t.name) c, pragma_table_info(t.name) k
         WHERE t.type = 'table' AND c.type = 'BLOB' AND k.pk = 1`,
      )
      .all();
    const blobs = columns.flatMap(({ name, column, key }) =>
      db
        .prepare<[], { key: unknown; bytes: Buffer }>(
          `SELECT ${quoted(key)} AS key, ${quoted(column)} AS bytes FROM ${quoted(name)} WHERE ${quoted(column)} IS NOT NULL`,
        )
        .all()
        .map(({ key: value, bytes }) => [`${name}/${String(value)}/${column}`, bytes] as const),
    );
    return new Map(blobs);
  });
}

test.skipIf(!existsSync(ORIGINAL))(
  'every picture of Northwind is here as it was there',
  async () => {
    await using fixture = await startFilesFixture({ dataPath: ORIGINAL });
    await fixture.pull();

    const report = await fixture.pullFiles();

    const expected = originals();
    const here = new Map(
      fixture.files().map((file) => {
        const [table] = fixture.rows(
          `SELECT local_name AS "key" FROM _rowsync_columns WHERE kind = 'Key' AND table_id =
             (SELECT id FROM _rowsync_tables WHERE local_name = ?)`,
          file.table,
        ) as { key: string }[];
        const [row] = fixture.rows(
          `SELECT ${quoted(table?.key ?? '')} AS key FROM ${quoted(file.table)} WHERE _id = ?`,
          file.row_id,
        ) as { key: string }[];
        const place: string = `${file.table}/${row?.key}/${file.column}`;
        return [place, readFileSync(file.path ?? '')] as const;
      }),
    );
    expect(expected.size).toBeGreaterThan(10);
    expect(report).toMatchObject({ downloadedCount: expected.size, failedCount: 0, error: null });
    expect([...here.keys()].toSorted()).toEqual([...expected.keys()].toSorted());
    for (const [place, bytes] of expected) expect([place, here.get(place)?.equals(bytes)]).toEqual([place, true]);
    expect(fixture.problems()).toEqual([]);
  },
  RUN_MS_MAX,
);

test.skipIf(!existsSync(ORIGINAL))(
  'every picture of Northwind that is attached by SQL arrives as it left',
  async () => {
    await using fixture = await startFilesFixture({ dataPath: ORIGINAL }, { settings: twoWaySettings() });
    await fixture.pull();
    const pictures = fixture.rows('SELECT _id, "Photo" FROM "Employees" WHERE "Photo" IS NOT NULL ORDER BY _id') as {
      _id: number;
    }[];
    const contents = [...originals()].filter(([name]) => name.startsWith('Employees/')).map(([, bytes]) => bytes);
    expect(contents.length).toBeGreaterThan(5);
    expect(pictures).toHaveLength(contents.length);
    for (const [index, { _id }] of pictures.entries()) {
      const path = join(fixture.folder, `${_id}.bmp`);
      writeFileSync(path, contents.at(-1 - index) ?? '');
      fixture.execute(`UPDATE "Employees" SET "Photo" = 'file:${path}' WHERE _id = ${_id}`);
    }

    const report = await pushNow(fixture, { keepUpload: uploadKeeper(fixture.filesContext()) });

    expect(report.tables.map(({ error, held }) => error ?? held)).not.toContainEqual(expect.anything());
    const there = withDatabase(fixture.sandbox.store.path, (db) =>
      db
        .prepare<[], { bytes: Buffer }>(
          `SELECT bytes FROM _sandbox_files WHERE revision = 2 AND name LIKE '%.bmp' ORDER BY row_id`,
        )
        .all(),
    );
    expect(there.map(({ bytes }, index) => bytes.equals(contents.at(-1 - index) ?? Buffer.alloc(0)))).toEqual(
      contents.map(() => true),
    );
    expect(fixture.sandbox.requests.count({ method: 'attachment' })).toBe(0);
    expect(fixture.problems()).toEqual([]);
  },
  RUN_MS_MAX,
);
