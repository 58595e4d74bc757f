/**
 * The clean-up of `rowsync contract --write-in`: only rows with a marker are deleted, and what it cannot know is said.
 */
import { expect, test } from 'vitest';
import { cleanUp, cleanUpText, failedText, noMadeRows } from '../../../src/extras/questions/clean-up.ts';

const SENT_MS = 1_000_000;
const mark = { id: 1, name: 'Name', alias: 'name', type: 'Text', dataOptions: '' };
const table = { recordName: 'Contract Test', alias: 't', key: 'Id', columns: [mark] };

/** A clean-up after a run that was told these ids, at an origin that shows these rows to one read after the other. */
async function clean(made: Partial<ReturnType<typeof noMadeRows>>, ...reads: readonly (readonly object[])[]) {
  const deleted: string[] = [];
  let count = 0;
  const call = (path: string) => {
    if (path.includes('/delete.json')) deleted.push(path);
    const rows = path.includes('/select.json') ? reads[count++] : [];
    return Promise.resolve({ status: 200, headers: { get: () => null }, text: JSON.stringify(rows) });
  };
  const cleaned = await cleanUp({ table, mark, call }, { ...noMadeRows(), ...made }, SENT_MS + 20_000);
  const [line, exitCode] = cleanUpText(cleaned, 'Contract Test');
  return { line, exitCode, deleted };
}

function row(id: number, text = 'rowsync contract 0123456789ab 1'): object {
  return { '@row.id': id, Name: text };
}

test('rows with a marker are deleted past the recycle bin, and no other', async () => {
  const { line, exitCode, deleted } = await clean({}, [row(4), row(5, 'Ada'), row(6)], [row(5, 'Ada')]);

  expect([line, exitCode]).toEqual(['2 rows deleted, none left', 0]);
  expect(deleted).toEqual(['t/delete.json?id=4&id=6&purge=1']);
});

test('a row that was made and is never shown is named', async () => {
  const { line, exitCode } = await clean({ ids: new Set([4, 5]) }, [row(4)], []);

  expect(exitCode).toBe(3);
  expect(line).toBe(
    '1 row deleted. The origin said that it made rows with these ids in the table "Contract Test", but does not show them: 5. ' +
      'Delete by hand the rows that this run made.',
  );
});

test('a row without a marker whose id the origin named is not deleted, and named', async () => {
  const { line, exitCode, deleted } = await clean({ ids: new Set([4]) }, [row(4, 'Ada')]);

  expect([exitCode, deleted]).toEqual([3, []]);
  expect(line).toContain('could not be deleted, or have no marker: 4.');
});

test('an unanswered request may make a row for two minutes', async () => {
  const { line, exitCode } = await clean({ unansweredMs: [SENT_MS] }, [row(4), row(5)], []);

  expect(exitCode).toBe(75);
  expect(line).toBe(
    '2 rows deleted. A request that left less than two minutes ago was not answered, and the origin or a proxy may still carry it out: ' +
      'run rowsync contract --clean-up "Contract Test" in 1 min 40 s.',
  );
  expect((await clean({ unansweredMs: [SENT_MS - 100_000] }, [])).exitCode).toBe(0);
});

test.for<readonly [what: string, status: number, rows: unknown, exitCode: number, said: string]>([
  ['500 rows', 200, Array.from({ length: 500 }, (_, id) => row(id + 1)), 3, 'The table has 500 rows or more). Delete'],
  ['a column that was renamed', 400, {}, 3, 'refused (400)). '],
  ['rows without an id', 200, [{}], 75, 'not one of the known ones). '],
])('a clean-up that fails because of %s says what to do by hand', async ([, status, rows, exitCode, said]) => {
  const call = () => Promise.resolve({ status, headers: { get: () => null }, text: JSON.stringify(rows) });

  const failed = await cleanUp({ table, mark, call }, noMadeRows(), SENT_MS).catch((thrown: unknown) =>
    failedText(thrown, { table, mark }),
  );

  expect(failed).toEqual([expect.stringContaining(said), exitCode]);
  expect(failed).toEqual([
    expect.stringContaining(
      'or delete by hand the rows of the table "Contract Test" whose column "Name" begins with "rowsync contract".',
    ),
    exitCode,
  ]);
});
