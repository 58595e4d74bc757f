import { expect, test } from 'vitest';
import { startSandbox, type TableSpec } from '../../src/sandbox/library.ts';

test('serves the tables of a test, answers badly when told to, and says what it was asked', async () => {
  const columns = [{ name: 'Name', type: 'Text', options: ['Required'] }];
  const sandbox = await startSandbox({ tables: [{ name: 'Customer', columns, rows: [{ Name: 'Ada' }] }] });
  const path = `${sandbox.url}/secure/api/v2/${sandbox.database}/Customer/create.json`;
  const create = (name: string | null): Promise<Response> =>
    fetch(path, {
      method: 'POST',
      headers: { Authorization: `Bearer ${sandbox.token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify([{ Name: name }]),
    });
  sandbox.setFaults({ faults: [{ fault: 'unavailable', count: 1 }] });

  expect((await create('Bob')).status).toBe(503);
  sandbox.setFaults({ faults: [] });
  expect(await (await create(null)).json()).toMatchObject([{ status: 400 }]);
  expect(await (await create('Bob')).json()).toMatchObject([{ status: 201, id: 2 }]);

  expect(sandbox.rows('Customer').map(({ values }) => values['Name'])).toEqual(['Ada', 'Bob']);
  expect(sandbox.requests.map(({ method, status }) => [method, status])).toEqual([
    ['create', 503],
    ['create', 200],
    ['create', 200],
  ]);
  const misspelt = { faults: [{ fault: 'unavailabel', count: 1 }] } as unknown as Parameters<
    typeof sandbox.setFaults
  >[0];
  expect(() => sandbox.setFaults(misspelt)).toThrow(
    expect.objectContaining({
      code: 'sandbox.option',
      message: expect.stringContaining('faults[0].fault: must be one of') as string,
    }) as Error,
  );
  expect((await create('Cy')).status).toBe(200);
  expect(() => sandbox.rows('Custmer')).toThrow(
    expect.objectContaining({ code: 'sandbox.data', hint: 'It has: Customer.' }) as Error,
  );
  await sandbox.stop();
  await expect(create('Eve')).rejects.toThrow('fetch failed');
});

test('has users with tokens and passwords, whose roles differ', async () => {
  await using sandbox = await startSandbox();
  const reader = sandbox.users.find(({ role }) => role === 'Reader');
  const login = Buffer.from(`${reader?.email}:${reader?.password}`).toString('base64');
  const answer = await fetch(`${sandbox.url}/secure/api/v2/${sandbox.database}/user.json`, {
    headers: { Authorization: `Basic ${login}` },
  });

  expect(await answer.json()).toMatchObject({ email: reader?.email, role: 'Reader' });
});

test.each([
  [{ nam: 'Customer', columns: [] }, 'a table has no "nam"'],
  [{ name: 'Customer' }, 'a table needs a name and columns'],
  [{ name: 'Customer', columns: [{ name: 'Name', type: 'Txt' }] }, 'no type is called "Txt"'],
  [
    { name: 'Customer', columns: [{ name: 'Name', type: 'Text', options: ['Requird'] }] },
    'no option is called "Requird"',
  ],
  [{ name: 'Customer', columns: [{ name: 'Name', type: 'Text', readonly: true }] }, 'a column has no "readonly"'],
])('refuses tables with a word that would do nothing: %j', async (table, problem) => {
  const tables = [table] as unknown as readonly TableSpec[];

  await expect(startSandbox({ tables })).rejects.toMatchObject({
    code: 'sandbox.data',
    message: expect.stringContaining(problem) as string,
  });
});
