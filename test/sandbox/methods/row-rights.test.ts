import { describe, expect, test } from 'vitest';
import type { TestSandbox } from '../../support/sandbox.ts';
import { call, post } from '../client.ts';
import { people, startPeople, statuses } from '../people.ts';

function person(sandbox: TestSandbox, id: number): Readonly<Record<string, unknown>> | undefined {
  return sandbox.store.rows('Person').find((row) => row.id === id)?.values;
}

describe('rights', () => {
  test('refuse a reader as a whole', async () => {
    await using sandbox = await startPeople();
    sandbox.store.setRole({ name: 'Reader', canWrite: false, hiddenTables: [], hiddenColumns: [] });
    sandbox.store.changeUser({ role: 'Reader' });

    const answer = await post(sandbox, 'Person/create.json', { Name: 'A' });

    expect(answer.status).toBe(403);
    expect(JSON.parse(answer.text)).toMatchObject({ error: 403, code: 3001, source: 'Person' });
  });

  test('hide tables and columns', async () => {
    await using sandbox = await startPeople([people, { name: 'Secret', columns: [] }]);
    const hiddenColumns = [['Person', 'Score']] as const;
    sandbox.store.setRole({ name: 'Half', canWrite: true, hiddenTables: ['Secret'], hiddenColumns });
    sandbox.store.changeUser({ role: 'Half' });

    expect(await post(sandbox, 'Secret/create.json', {})).toMatchObject({ status: 403 });
    expect(await statuses(sandbox, 'Person/update.json', { Id: '1', Score: 3 })).toEqual([
      {
        status: 403,
        key: '1',
        errors: [{ error: 403, code: 3101, message: 'Column is not accessible', source: 'Score' }],
      },
    ]);
  });

  test('limit a role to its own rows, and say so in @row.allow', async () => {
    await using sandbox = await startPeople();
    sandbox.store.setRole({ name: 'Own', canWrite: true, editOwnOnly: true, hiddenTables: [], hiddenColumns: [] });
    sandbox.store.changeUser({ role: 'Own' });
    sandbox.store.update('Person', 2, { 'Record Owner': 'Jonas Weber <jonas.weber@example.com>' });

    const rows = JSON.parse((await call(sandbox, 'Person/select.json?column=Name')).text) as unknown;
    const result = await statuses(sandbox, 'Person/update.json', [
      { Id: '1', Score: 3 },
      { Id: '2', Score: 3 },
    ]);

    expect(rows).toEqual([
      { '@row.id': 1, '@row.allow': 'Edit, Delete', Name: 'Ada' },
      { '@row.id': 2, '@row.allow': '', Name: 'Bob' },
    ]);
    expect(result).toMatchObject([{ status: 200 }, { status: 403, errors: [{ error: 403, code: 4000 }] }]);
    expect(person(sandbox, 2)).toMatchObject({ Score: 2 });
  });

  test('let nobody add rows to a table without allowAdd', async () => {
    await using sandbox = await startPeople([{ ...people, allowAdd: false }]);

    const result = await statuses(sandbox, 'Person/upsert.json', [{ Name: 'A' }, { Id: '1', Score: 9 }]);

    expect(result).toMatchObject([{ status: 403, errors: [{ error: 403, code: 4002 }] }, { status: 200 }]);
  });
});
