import { describe, expect, test } from 'vitest';

import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
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

describe('workflow rules', () => {
  const ruled: TableSpec = {
    ...people,
    rules: [
      { when: 'create', set: 'Seen', to: 'Now()' },
      { when: 'update', set: 'Notes', to: 'Concat("was ", [Name])', where: '[Score] > 10' },
      { when: 'write', set: 'Frozen', to: '[Notes]', where: 'not IsNull([Notes])' },
      { when: 'write', set: 'Boss', to: 'User()' },
    ],
  };

  // Specification, sandbox: 1-3, 4.6-25
  test('change other columns after a write, in their order', async () => {
    await using sandbox = await startPeople([ruled]);

    await post(sandbox, 'Person/upsert.json', [{ Name: 'New' }, { Id: '1', Score: 11 }, { Id: '2', Score: 9 }]);

    const boss = 'Alice Martin <alice.martin@example.com>';
    expect(person(sandbox, 3)).toMatchObject({ Seen: '2026-01-01T00:00:00Z', Notes: null, Frozen: 'ice', Boss: boss });
    expect(person(sandbox, 1)).toMatchObject({ Seen: null, Notes: 'was Ada', Frozen: 'was Ada', Boss: boss });
    expect(person(sandbox, 2)).toMatchObject({ Notes: null, Frozen: 'ice', Boss: boss });
  });

  test('do not run where nothing changed', async () => {
    await using sandbox = await startPeople([ruled]);

    expect(await statuses(sandbox, 'Person/update.json', { Id: '1', Name: 'Ada' })).toMatchObject([{ status: 304 }]);
    expect(person(sandbox, 1)).toMatchObject({ Boss: null });
  });

  // Specification, sandbox: 4.6-2
  test('are suppressed by workflow=0, for those who may', async () => {
    await using sandbox = await startPeople([ruled]);

    await post(sandbox, 'Person/update.json?workflow=0', { Id: '1', Score: 11 });
    await post(sandbox, 'Person/update.json?workflow=1', { Id: '2', Score: 11 });

    expect(person(sandbox, 1)).toMatchObject({ Score: 11, Notes: null });
    expect(person(sandbox, 2)).toMatchObject({ Notes: 'was Bob' });
  });

  // Specification, sandbox: 4.6-3
  test('cannot be suppressed without ManageData: the call fails', async () => {
    await using sandbox = await startPeople([ruled]);
    sandbox.store.changeUser({ admin: ['ManageUsers'] });

    const answer = await post(sandbox, 'Person/update.json?workflow=0', { Id: '1', Score: 11 });

    expect(answer.status).toBe(403);
    expect(JSON.parse(answer.text)).toMatchObject({ error: 403, code: 2400, source: 'workflow' });
    expect(person(sandbox, 1)).toMatchObject({ Score: 1 });
  });

  test.each([
    ['names a column that is gone', { when: 'write', set: 'Nope', to: '1' }],
    ['has a formula of another type', { when: 'write', set: 'Score', to: '"text"' }],
    ['has a formula that cannot be read', { when: 'write', set: 'Score', to: '1 +' }],
    ['breaks a constraint', { when: 'write', set: 'E-Mail', to: '"bob@example.org"' }],
  ] as const)('that %s fails the row, which then is as before', async (_what, rule) => {
    await using sandbox = await startPeople([{ ...people, rules: [rule] }]);

    expect(await statuses(sandbox, 'Person/update.json', { Id: '1', Score: 11 })).toMatchObject([{ status: 400 }]);
    expect(person(sandbox, 1)).toMatchObject({ Score: 1, 'E-Mail': 'ada@example.org' });
  });
});
